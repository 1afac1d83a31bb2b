"""Do memory and rate of a long run stay as they are at its start, and what do two workers gain?

    python benchmarks/long_run.py --notes 100000
    python benchmarks/long_run.py --notes 2000 --compare-workers

Method: notes are made from the training notes of the corpus, each a variation of its own (``vary`` of throughput.py),
and written one by one, so the input may be of any size. ``deid run --progress json`` runs as a process. Its memory is
the sum of the proportional set sizes of all its processes, sampled every second as root, else of their resident set
sizes, which counts shared pages more than once. The rate at the start is that of the second tenth of the notes, since
the first has the start of the workers in it; the rate at the end is that of the last tenth. ``--compare-workers`` runs
the same notes with one worker and with two, in turns. All rates are between reports, without start and end. They
depend on what else the machine does: ``load_before`` tells.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

import psutil
from measuring import RESULTS, describe_machine, write_results
from throughput import vary

from deid_runtime.annotations.read import read_annotated

_ROOT: Final = Path(__file__).resolve().parents[1]
_SAMPLE_S: Final = 1.0


def main() -> None:
    """Measure, print what came of it, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compare-workers", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS / "long_run.json")
    parser.add_argument("extra", nargs="*", help="options of deid, behind --")
    options = parser.parse_args()
    machine = describe_machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = write_notes(folder / "notes.jsonl", options.notes, options.seed)
        key = folder / "k.key"
        subprocess.run([sys.executable, "-m", "deid_runtime", "key", "new", str(key)], check=True)
        counts = (1, 2, 1, 2) if options.compare_workers else (options.workers,)
        runs = [long_run(source, folder / f"out-{number}.jsonl", key, count, options.extra)
                for number, count in enumerate(counts)]  # fmt: skip
    results: dict[str, Any] = {"question": str(__doc__).splitlines()[0], "machine": machine, "notes": options.notes}
    if options.compare_workers:
        rates = {count: max(run["notes_per_s"] for run in runs if run["workers"] == count) for count in (1, 2)}
        results["two_workers_gain"] = round(rates[2] / rates[1], 2)
    print(json.dumps({key: value for key, value in results.items() if key != "machine"} | {"runs": runs}))
    write_results(options.results, {**results, "options": options.extra, "runs": runs})


def write_notes(path: Path, count: int, seed: int) -> Path:
    """Write ``count`` varied notes as JSON Lines, one by one."""
    notes = read_annotated([_ROOT / "export" / "corpus" / "notes" / "train"])
    records = [{"id": note.id, "patient": note.patient, "text": note.text} for note in notes]
    with path.open("w", encoding="utf-8") as file:
        for number, note in enumerate(vary(records, count, Random(seed))):
            row = {"id": f"n{number}", "patient": f"p{number // 10}", "text": note["text"]}
            file.write(json.dumps(row) + "\n")
    return path


def long_run(source: Path, out: Path, key: Path, workers: int, extra: Sequence[str]) -> dict[str, Any]:
    """Run ``deid`` and return its rates and its memory; exit when it fails."""
    command = [
        sys.executable, "-m", "deid_runtime", "run", str(source), "--out", str(out), "--key", str(key),
        "--workers", str(workers), "--progress", "json", *extra,
    ]  # fmt: skip
    reports: list[tuple[float, int]] = []  # seconds and notes
    sizes: list[tuple[float, int]] = []  # seconds and bytes
    begun = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        sampler = threading.Thread(target=_sample, args=(process.pid, begun, sizes), daemon=True)
        sampler.start()
        assert process.stderr
        for line in process.stderr:
            with suppress(ValueError, KeyError, TypeError):
                reports.append((time.monotonic() - begun, json.loads(line)["notes"]))
    seconds = time.monotonic() - begun
    if process.returncode not in (0, 1):
        sys.exit(f"deid run ended with exit code {process.returncode}")
    counts = json.loads(out.with_name(f"{out.name}.manifest.json").read_text())["notes"]
    start, end = _rate(reports, 0.1, 0.2, counts["read"]), _rate(reports, 0.9, 1.0, counts["read"])
    peaks = [size for at, size in sizes if at < seconds / 2], [size for at, size in sizes if at >= seconds / 2]
    return {
        "workers": workers,
        "seconds": round(seconds, 1),
        "notes_per_s": round(_rate(reports, 0.0, 1.0, counts["read"]), 2),
        "notes_per_s_start": round(start, 2),
        "notes_per_s_end": round(end, 2),
        "end_to_start": round(end / start, 3) if start else None,
        "peak_bytes_first_half": max(peaks[0], default=0),
        "peak_bytes_second_half": max(peaks[1], default=0),
        "read": counts["read"],
        "quarantined": counts["quarantined"],
    }


def _rate(reports: Sequence[tuple[float, int]], low: float, high: float, total: int) -> float:
    """Return the notes a second between two parts of all notes, from the reports in it; 0 with too few of them."""
    inside = [(at, notes) for at, notes in reports if low * total <= notes <= high * total]
    if len(inside) < 2:
        return 0.0
    (first_s, first), (last_s, last) = inside[0], inside[-1]
    return (last - first) / (last_s - first_s)


def _sample(pid: int, begun: float, sizes: list[tuple[float, int]]) -> None:
    """Add the memory of a process tree until it ends."""
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        while True:
            total = 0
            for process in (root, *root.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    try:
                        total += process.memory_full_info().pss
                    except psutil.AccessDenied:
                        total += process.memory_info().rss
            sizes.append((time.monotonic() - begun, total))
            time.sleep(_SAMPLE_S)


if __name__ == "__main__":
    main()
