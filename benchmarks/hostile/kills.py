"""Do notes leak, get lost or change when workers and servers are killed or stopped?

    python benchmarks/hostile/kills.py

Method: the same notes are de-identified once in peace, and then again and again while signals hit random processes at
random times. ``workers``: SIGKILL, SIGSTOP and SIGSEGV to the child processes of ``deid run --workers 2``, whose
watchdog is set to seconds (hasty.py). ``server``: SIGKILL and SIGSTOP to tritonserver and the processes of its models,
under ``deid run --server``; the server is supervised as ``deid serve`` does it, and hit once after every start.
Every note that comes out must be as in peace; any other must be in the quarantine. A run whose workers, or server, are
hit again and again before they are ready may end with an error and no output.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
from attacked_runs import (
    RESULTS,
    Outcome,
    compared,
    describe_machine,
    new_key,
    read_outcome,
    run_command,
    total,
    write_notes,
)
from hasty import IDLE_S, LOAD_S
from served_models import Supervised, Variant, supervised, write_variant

from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.serving.supervisor import RestartPolicy

_WORKER_SIGNALS: Final = (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV)
_SERVER_SIGNALS: Final = (signal.SIGKILL, signal.SIGSTOP)
_POLICY: Final = RestartPolicy(first_delay_s=0.2, longest_delay_s=2.0, stopped_s=2.0, canary_s=2.0, silent_s=20.0)
#: Processes in these states were hit before.
_DONE_WITH: Final = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
#: How a run may end early, with nothing written: no worker, or no server, ever got ready.
_REFUSED: Final = re.compile(
    r"deid: (a worker process .* in a row; with too little memory use fewer --workers|no server answers after \d+ s: )"
)
_RUN_LIMIT_S: Final = 1800.0
_LEAST_LINE_CHARS: Final = 20  # shorter lines of a note may stand in a message by chance
_POLL_S: Final = 0.1
_PROMISES: Final = ("bad_exit_code", "hung", "other_text", "leaking", "lost", "stderr_with_text", "left_processes")


@dataclass
class Peace:
    """What the attacked runs are compared with. ``lines``: lines of the notes that must not stand in a message."""

    source: Path
    key: Path
    names: Mapping[str, frozenset[str]]
    expected: Outcome
    seconds: float
    start_seconds: float  # of a run of one note: mostly loading
    lines: frozenset[str] = field(repr=False)


def main() -> None:
    """Attack, print a line for every run, write the results; exit with 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50, help="signals to worker processes")
    parser.add_argument("--server-rounds", type=int, default=50, help="signals to processes of the server")
    parser.add_argument("--rounds-per-run", type=int, default=10)
    parser.add_argument("--notes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "hostile_kills.json")
    options = parser.parse_args()
    choose = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peace = run_in_peace(folder, options.notes)
        worker_rows = attack_workers(folder, peace, choose, options)
        server_rows = attack_server(folder, peace, choose, options)
    rows = [*worker_rows, *server_rows]
    result = {
        "question": __doc__.splitlines()[0],
        "machine": describe_machine(),
        "arguments": {each: value for each, value in vars(options).items() if each != "results"},
        "notes": options.notes,
        "watchdog_idle_s": IDLE_S,
        "watchdog_load_s": LOAD_S,
        "seconds_in_peace": round(peace.seconds, 1),
        "seconds_of_one_note": round(peace.start_seconds, 1),
        "workers": summary(worker_rows),
        "server": summary(server_rows),
        "rows": rows,
    }
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    is_short = total(worker_rows, "hits") < options.rounds or total(server_rows, "hits") < options.server_rounds
    raise SystemExit(1 if is_short or any(total(rows, promise) for promise in _PROMISES) else 0)


def run_in_peace(folder: Path, count: int) -> Peace:
    """De-identify the notes without any attack."""
    source, out = folder / "notes.jsonl", folder / "peace.jsonl"
    names = write_notes(source, count)
    key = new_key(folder)
    begun = time.monotonic()
    done = subprocess.run(run_command(source, out, key, "--workers", "2"), check=False)
    seconds = time.monotonic() - begun
    expected = read_outcome(out, done.returncode)
    if done.returncode not in (0, 1) or len(expected.texts) + len(expected.held_back) != count:
        raise SystemExit(f"the run in peace ended with {done.returncode}; nothing can be compared with it")
    texts = (json.loads(line)["text"] for line in source.open(encoding="utf-8"))
    lines = frozenset(line.strip() for text in texts for line in text.split("\n"))
    kept = frozenset(line for line in lines if len(line) >= _LEAST_LINE_CHARS)
    one = folder / "one.jsonl"
    one.write_bytes(source.read_bytes().partition(b"\n")[0])
    begun = time.monotonic()
    subprocess.run(run_command(one, folder / "one-out.jsonl", key, "--workers", "2"), check=False)
    return Peace(source, key, names, expected, seconds, time.monotonic() - begun, kept)


def attack_workers(
    folder: Path, peace: Peace, choose: random.Random, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Run and hit child processes until there were as many hits as asked for; return a row for each run."""
    rows: list[dict[str, Any]] = []
    while (left := options.rounds - total(rows, "hits")) > 0 and len(rows) < options.rounds:
        hits = min(left, options.rounds_per_run)
        gap_s = max(peace.seconds / (hits + 1), peace.start_seconds)
        out = folder / f"workers-{len(rows)}.jsonl"
        command = run_command(peace.source, out, peace.key, "--workers", "2")
        command[1:3] = [str(Path(__file__).with_name("hasty.py"))]

        def strike(process: "subprocess.Popen[bytes]", hits: int = hits, gap_s: float = gap_s) -> list[str]:
            _runs_for(process, first_wait_s(peace, choose))
            return hit_workers(process, hits, gap_s, choose)

        rows.append({"attack": "workers", **attacked_run(command, out, peace, strike)})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def attack_server(
    folder: Path, peace: Peace, choose: random.Random, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Run with a server that is hit once after every start, until there were as many hits as asked for."""
    rows: list[dict[str, Any]] = []
    if not options.server_rounds:
        return rows
    manifest = read_manifest(find_models(None))
    write_variant(Variant("kills", instances=2), manifest, "v0", folder / "repository")
    with supervised(folder / "repository", _POLICY) as server:
        while (left := options.server_rounds - total(rows, "hits")) > 0 and len(rows) < options.server_rounds:
            hits = min(left, options.rounds_per_run)
            gap_s = max(peace.seconds / (hits + 1), peace.start_seconds)
            out = folder / f"server-{len(rows)}.jsonl"
            command = run_command(peace.source, out, peace.key, "--workers", "2", "--server", server.address)

            def strike(process: "subprocess.Popen[bytes]", hits: int = hits, gap_s: float = gap_s) -> list[str]:
                _runs_for(process, first_wait_s(peace, choose))
                return hit_server(server, process, hits, gap_s, choose)

            rows.append({"attack": "server", **attacked_run(command, out, peace, strike)})
            print(json.dumps(rows[-1]), flush=True)
    return rows


def attacked_run(
    command: Sequence[str], out: Path, peace: Peace, strike: "Callable[[subprocess.Popen[bytes]], list[str]]"
) -> dict[str, Any]:
    """Run ``command`` while ``strike`` hits it; return what was hit and what came of the notes."""
    errors = out.with_suffix(".stderr")
    begun = time.monotonic()
    with errors.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=file, start_new_session=True)
    is_hung = False
    try:
        hits = strike(process)
        process.wait(timeout=_RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        is_hung = True
    finally:
        left = left_processes(process)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    said = errors.read_text(encoding="utf-8", errors="replace")
    is_refused = code == 2 and bool(_REFUSED.search(said)) and not out.exists()
    return {
        **compared(read_outcome(out, code), peace.expected, peace.names),
        "seconds": round(time.monotonic() - begun, 1),
        "hits": len(hits),
        "hit": dict(Counter(hits)),
        "refused": int(is_refused),
        "bad_exit_code": int(code not in (0, 1) and not is_refused and not is_hung),
        "hung": int(is_hung),
        "stderr_with_text": int("Traceback" in said or any(line in said for line in peace.lines)),
        "stderr_end": said[-500:] if code not in (0, 1) else "",
        "left_processes": left,
    }


def first_wait_s(peace: Peace, choose: random.Random) -> float:
    """Return how long a run is left alone: in three of four cases until it must have begun with the notes.

    A run that never had a worker or a server ends with an error, and tells nothing about notes.
    """
    return 0.0 if choose.random() < 0.25 else peace.start_seconds


def left_processes(process: "subprocess.Popen[bytes]") -> int:
    """Count the workers of an ended run that still live; they could hold notes in memory.

    What follows shared memory for Python holds no notes, and stays where it was stopped.
    """
    if process.poll() is None:
        return 0
    group = [each for each in psutil.process_iter() if _group(each.pid) == process.pid]
    return sum(_kind(each) == "worker" for each in group)


def hit_workers(process: "subprocess.Popen[bytes]", hits: int, gap_s: float, choose: random.Random) -> list[str]:
    """Send signals to random children, each after a random time; return what was sent to what."""
    done: list[str] = []
    while len(done) < hits and _runs_for(process, choose.uniform(0, 2 * gap_s)):
        with suppress(psutil.NoSuchProcess):
            children = [each for each in psutil.Process(process.pid).children() if each.status() not in _DONE_WITH]
            # One in five of the hits at most is for what holds no notes.
            weights = [4 if _kind(each) == "worker" else 1 for each in children]
            if children:
                [child] = choose.choices(children, weights)
                done.append(_hit(child, choose.choice(_WORKER_SIGNALS)))
    return done


def hit_server(
    server: Supervised, process: "subprocess.Popen[bytes]", hits: int, gap_s: float, choose: random.Random
) -> list[str]:
    """Send a signal to a random process of the server after each of its starts, as long as the run goes on."""
    done: list[str] = []
    while len(done) < hits and _runs_for(process, choose.uniform(0, 2 * gap_s)):
        starts = server.starts
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(server.pid)
            done.append(_hit(choose.choice([root, *root.children(recursive=True)]), choose.choice(_SERVER_SIGNALS)))
            server.wait_started(starts + 1)
    return done


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the rows of one attack."""
    hit: Counter[str] = Counter()
    for row in rows:
        hit.update(row["hit"])
    counts = ("hits", "written", "held_back", "refused", *_PROMISES)
    codes = Counter(str(row["exit_code"]) for row in rows)
    return {"runs": len(rows), **{name: total(rows, name) for name in counts}, "exit_codes": codes, "hit": hit}


def _hit(process: psutil.Process, number: signal.Signals) -> str:
    what = f"{number.name} {_kind(process)}"
    process.send_signal(number)
    return what


def _kind(process: psutil.Process) -> str:
    """Say what a process is, by its command."""
    try:
        command = " ".join(process.cmdline())
    except psutil.Error:
        return "gone"
    for part, kind in (
        ("spawn_main", "worker"),
        ("resource_tracker", "resource tracker"),
        ("python_backend_stub", "model"),
        ("tritonserver", "server"),
    ):
        if part in command:
            return kind
    return "other"


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _runs_for(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Wait; return False as soon as the process has ended."""
    until = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() >= until:
            return True
        time.sleep(_POLL_S)
    return False


if __name__ == "__main__":
    main()
