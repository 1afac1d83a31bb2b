"""What the benchmarks share: which machine this is, and running ``deid`` with its time and memory measured."""

import hashlib
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

RESULTS = Path(__file__).parent / "results"
_SAMPLE_SECONDS = 0.2


@dataclass(frozen=True)
class Measured:
    """One run of ``deid``: wall-clock seconds, the largest memory of its process tree, and its manifest."""

    seconds: float
    peak_bytes: int
    manifest: dict[str, Any]


def keep_to_cores(count: int) -> int:
    """Bind this process and its children to ``count`` cores, where the system can; return how many there are."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    cores = sorted(os.sched_getaffinity(0))[:count]
    os.sched_setaffinity(0, cores)
    return len(cores)


def run_deid(arguments: Sequence[str], out: Path) -> Measured:
    """Run the command as a user would, in a process of its own; exit when it fails or quarantines anything.

    Memory is the sum of the proportional set sizes (shared pages are divided among those who share them) of the process
    and all its descendants, sampled every 0.2 s: peaks shorter than that are missed. ``deid`` hides its memory from
    other processes of its user, so only root can measure it.
    """
    begun = time.perf_counter()
    with subprocess.Popen([sys.executable, "-m", "deid_runtime", *arguments, "--out", str(out)]) as process:
        peak: list[int] = []
        stop = threading.Event()
        sampler = threading.Thread(target=_sample, args=(process.pid, peak, stop))
        sampler.start()
        try:
            code = process.wait()
        finally:
            seconds = time.perf_counter() - begun
            stop.set()
            sampler.join()
    if code:
        sys.exit(f"deid {arguments[0]} ended with exit code {code}; a benchmark needs a clean run")
    if not peak:
        sys.exit("the memory of deid was not measured; it hides it from all users but root: run the benchmark as root")
    manifest = json.loads(out.with_name(f"{out.name}.manifest.json").read_text(encoding="utf-8"))
    return Measured(seconds, max(peak), manifest)


def _sample(pid: int, sizes: list[int], stop: threading.Event) -> None:
    """Add the size of a process tree to ``sizes`` until told to stop; leave none when one may not be seen."""
    try:
        root = psutil.Process(pid)
        while not stop.wait(_SAMPLE_SECONDS):
            total = 0
            for process in (root, *root.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    memory = process.memory_full_info()
                    total += getattr(memory, "pss", memory.uss)
            sizes.append(total)
    except psutil.NoSuchProcess:
        pass
    except psutil.AccessDenied:
        sizes.clear()


def describe_machine() -> dict[str, object]:
    """Say what the figures were measured on."""
    return {
        "processor": _processor(),
        "cores_used": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "platform": platform.platform(),
        "load_before": [round(value, 2) for value in os.getloadavg()],
        "measured": time.strftime("%Y-%m-%d"),
    }


def describe_run(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what a manifest says of versions, models and settings."""
    return {key: manifest[key] for key in ("deid_version", "python", "libraries", "pipeline", "options")}


def describe_file(path: Path) -> dict[str, object]:
    """Name a data file by its digest, so that figures can be compared."""
    data = path.read_bytes()
    return {"name": path.name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Write results as indented JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written: {path}")


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
