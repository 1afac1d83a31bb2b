"""Are notes lost, doubled or passed through when a run is disturbed at any point and resumed?

    python benchmarks/chaos/chaos.py --rounds 50

Method: the same notes are de-identified once in peace and in one shard. Then each round disturbs a run in many shards,
resumes it until it ends well, and compares the output. The attacks take turns: SIGKILL and SIGSTOP of the main process
and of workers at random times, an input that is truncated while the run is stopped, a disk that is full (a small
tmpfs, which needs root), a damaged ledger, a damaged or lost shard. In every round the clock of the ledger jumps.
A resumed run must refuse a truncated input, and go on once the input is back. Every note must come out as in peace or
stand in the quarantine, exactly once, and a finished shard must not be done again.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import psutil

sys.path.append(str(Path(__file__).resolve().parents[1] / "hostile"))

from attacked_runs import RESULTS, describe_machine, new_key, run_command, total, write_notes
from looking import POLL_S, can_mount, is_worker, read_rows, runs_for

from deid_runtime.run.job_folder import LEDGER, job_path, read_state
from deid_runtime.run.staging import quarantine_path
from deid_runtime.run.verify import verify_output

_DISTURBED: Final = str(Path(__file__).with_name("disturbed.py"))
_WORKERS: Final = "2"
_RUN_LIMIT_S: Final = 600.0
_MOST_RESUMES: Final = 6
_STOPPED_S: Final = 3.0
#: A run in shards writes each note twice before the end, to the shard and to the output.
_DISK_SHARE: Final = (0.3, 1.6)
_PROMISES: Final = ("lost", "doubled", "other_text", "not_as_in_peace", "redone", "broken", "left")

#: What is counted beside; none of it is a promise.
_COUNTED: Final = ("held_back", "shards_kept", "resumes", "hits", "refused", "full", "damaged")


@dataclass
class Setting:
    """What all rounds share. ``expected`` and ``held_back`` are the bytes of the output and its quarantine in peace.

    A run has about ``shards`` shards. ``start_s`` is the time of a run in peace before its first note, ``work_s`` the
    time after it.
    """

    folder: Path
    source: Path
    key: Path
    extra: tuple[str, ...]
    choose: random.Random
    shards: int
    start_s: float = 0.0
    work_s: float = 0.0
    expected: bytes = b""
    held_back: bytes = b""

    def command(self, out: Path, *more: str) -> list[str]:
        """Return the command of a run with jumps of the clock and little patience."""
        command = run_command(self.source, out, self.key, "--workers", _WORKERS, *self.extra, *more)
        command[1:3] = [_DISTURBED]
        return command


@dataclass
class Round:
    """One run with its output. ``state`` collects what is known about it."""

    setting: Setting
    out: Path
    state: dict[str, Any]

    def start(self, *more: str) -> "subprocess.Popen[bytes]":
        """Start the run, or go on with it."""
        return subprocess.Popen(
            self.setting.command(self.out, *more),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def finish(self, process: "subprocess.Popen[bytes]") -> int:
        """Wait for the end of a run; end it when it takes too long. Return its exit code."""
        try:
            _, said = process.communicate(timeout=_RUN_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.state["broken"] += 1
            said = b"hung"
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        self.state["codes"].append(code)
        if b"Traceback" in said or b"defect" in said:
            self.state["broken"] += 1
            self.state["said"] = said.decode("utf-8", "replace")[-500:]
        return code

    def shards(self) -> dict[int, str]:
        """Return the committed shards by number, each with its row."""
        try:
            state = read_state(job_path(self.out) / LEDGER)
        except OSError:
            return {}
        return {number: json.dumps(shard.to_json()) for number, shard in state.shards.items()}

    def wait_at_random(self, process: "subprocess.Popen[bytes]") -> bool:
        """Wait for a random point of a run, mostly one with shards behind it; return False when the run has ended."""
        choose, setting = self.setting.choose, self.setting
        count = choose.randrange(setting.shards)
        while process.poll() is None and len(self.shards()) < count:
            time.sleep(POLL_S)
        return runs_for(process, choose.uniform(0, setting.work_s / setting.shards if count else setting.start_s))

    def kill_at_random(self) -> None:
        """Start the run and kill its main process at a random point."""
        process = self.start()
        self.wait_at_random(process)
        with suppress(ProcessLookupError):
            process.kill()
        process.communicate()
        self.state["codes"].append(process.returncode)


def kill_main(now: Round) -> None:
    """Kill the main process; its workers must end by themselves."""
    now.kill_at_random()


def stop_main(now: Round) -> None:
    """Stop the main process for a while, let it go on, and kill it in half of the cases."""
    process = now.start()
    now.wait_at_random(process)
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGSTOP)
        time.sleep(_STOPPED_S)
        process.send_signal(now.setting.choose.choice((signal.SIGCONT, signal.SIGKILL)))
    now.finish(process)


def hit_workers(number: signal.Signals) -> Callable[[Round], None]:
    """Return an attack that sends a signal to workers at random times."""

    def hit(now: Round) -> None:
        process = now.start()
        for _ in range(now.setting.choose.randint(1, 3)):
            if not now.wait_at_random(process):
                break
            with suppress(psutil.NoSuchProcess):
                children = [each for each in psutil.Process(process.pid).children() if is_worker(each)]
                if children:
                    now.setting.choose.choice(children).send_signal(number)
                    now.state["hits"] += 1
        now.finish(process)

    return hit


def truncate_input(now: Round) -> None:
    """Cut the input while the run is stopped; a resumed run must refuse it, and go on when it is back."""
    now.kill_at_random()
    source, before = now.setting.source, now.setting.source.stat()
    whole = source.read_bytes()
    committed = now.shards()
    source.write_bytes(whole[: now.setting.choose.randrange(1, len(whole))])
    if committed:
        code = now.finish(now.start("--resume"))
        now.state["refused"] = int(code == 2)
        now.state["broken"] += int(code != 2 or now.out.exists())
    source.write_bytes(whole)
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))


def fill_disk(now: Round) -> None:
    """Run to a disk that is too small, then give it more room."""
    size = len(now.setting.expected)
    disk = now.out.parent
    room = int(size * now.setting.choose.uniform(*_DISK_SHARE)) + 65_536
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(disk)], check=True)
    code = now.finish(now.start())
    now.state["full"] = int(code == 2)
    if code not in (0, 1, 2) or (code == 2 and now.out.exists()):
        now.state["broken"] += 1
    subprocess.run(["mount", "-o", f"remount,size={8 * size + 2**22}", str(disk)], check=True)


def damage_ledger(now: Round) -> None:
    """Change bytes of the ledger, or cut it."""
    now.kill_at_random()
    path = job_path(now.out) / LEDGER
    if not path.exists():
        return
    data = bytearray(path.read_bytes())
    first = data.find(b"\n") + 1
    if now.setting.choose.random() < 0.5:
        del data[now.setting.choose.randrange(first, len(data) + 1) :]
    else:
        # The first line is spared: without it the run is refused, which a test shows.
        for _ in range(now.setting.choose.randint(1, 4)):
            if first < len(data):
                data[now.setting.choose.randrange(first, len(data))] ^= 1 << now.setting.choose.randrange(7)
    path.write_bytes(data)
    now.state["damaged"] = 1


def damage_shard(now: Round) -> None:
    """Change a byte of a file of a committed shard, cut the file, or remove the whole shard."""
    now.kill_at_random()
    folders = [path for path in job_path(now.out).glob("[0-9]*") if path.is_dir()]
    if not folders:
        return
    folder = now.setting.choose.choice(sorted(folders))
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    if now.setting.choose.random() < 0.3:
        shutil.rmtree(folder)
    else:
        path = now.setting.choose.choice(files)
        data = bytearray(path.read_bytes())
        data[now.setting.choose.randrange(len(data))] ^= 1
        path.write_bytes(data if now.setting.choose.random() < 0.7 else data[:-1])
    now.state["damaged"] = 1


ATTACKS: Final[Mapping[str, Callable[[Round], None]]] = {
    "kill main": kill_main,
    "kill workers": hit_workers(signal.SIGKILL),
    "stop main": stop_main,
    "truncate input": truncate_input,
    "damage ledger": damage_ledger,
    "damage shard": damage_shard,
    "fill disk": fill_disk,
    "stop workers": hit_workers(signal.SIGSTOP),
}


def main() -> None:
    """Run all rounds, print a line for each, write the results; exit with 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--notes", type=int, default=300)
    parser.add_argument("--shards", type=int, default=12, help="about so many shards a run")
    parser.add_argument("--no-models", action="store_true", help="patterns and lists alone: shorter rounds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "chaos.json")
    options = parser.parse_args()
    names = [name for name in ATTACKS if name != "fill disk" or can_mount()]
    if "fill disk" not in names:
        print("skipped: fill disk needs root and mount(8), to make a small tmpfs", file=sys.stderr)
    with tempfile.TemporaryDirectory() as name:
        setting = run_in_peace(Path(name), options)
        rows: list[dict[str, Any]] = []
        for number in range(options.rounds):
            rows.append(attack(setting, number, names[number % len(names)]))
            write_result(rows, setting, options)  # so that a measurement that is stopped leaves its rounds
    raise SystemExit(1 if any(total(rows, promise) for promise in _PROMISES) else 0)


def write_result(rows: Sequence[Mapping[str, Any]], setting: Setting, options: argparse.Namespace) -> None:
    """Write what came of all rounds so far."""
    result = {
        "question": str(__doc__).splitlines()[0],
        "machine": describe_machine(),
        "arguments": {each: value for each, value in vars(options).items() if each != "results"},
        "seconds_of_start": round(setting.start_s, 1),
        "seconds_of_work": round(setting.work_s, 1),
        "rounds": len(rows),
        **{name: _sum(rows, name) for name in (*_PROMISES, *_COUNTED)},
        "by_attack": {
            name: {"rounds": len(of), **{each: _sum(of, each) for each in (*_PROMISES, *_COUNTED)}}
            for name in ATTACKS
            if (of := [row for row in rows if row["attack"] == name])
        },
        "rows": rows,
    }
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _sum(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(int(row.get(name, 0)) for row in rows)


def run_in_peace(folder: Path, options: argparse.Namespace) -> Setting:
    """De-identify the notes once without any attack, and in one shard."""
    source, out = folder / "notes.jsonl", folder / "peace.jsonl"
    write_notes(source, options.notes)
    extra = ("--no-models",) if options.no_models else ()
    setting = Setting(folder, source, new_key(folder), extra, random.Random(options.seed), options.shards)
    begun = time.monotonic()
    done = subprocess.run(setting.command(out), check=False)
    seconds = time.monotonic() - begun
    if done.returncode not in (0, 1):
        raise SystemExit(f"the run in peace ended with {done.returncode}; nothing can be compared with it")
    setting.expected, setting.held_back = out.read_bytes(), quarantine_path(out).read_bytes()
    one = folder / "one.jsonl"
    one.write_bytes(source.read_bytes().partition(b"\n")[0])
    begun = time.monotonic()
    subprocess.run(replace(setting, source=one).command(folder / "one-out.jsonl"), check=False)
    setting.start_s = time.monotonic() - begun
    setting.work_s = max(seconds - setting.start_s, 0.5)
    chars = sum(len(json.loads(line)["text"]) + 256 for line in source.open(encoding="utf-8"))
    # A shard ends behind a batch, so batches must be small.
    setting.extra = (*extra, "--batch-size", "4", "--shard-chars", str(max(chars // options.shards, 1)))
    print(f"start {setting.start_s:.1f} s, work {setting.work_s:.1f} s", flush=True)
    return setting


def attack(setting: Setting, number: int, name: str) -> dict[str, Any]:
    """Do one round and return what came of it."""
    place = setting.folder / f"round-{number}"
    place.mkdir()
    state: dict[str, Any] = {"attack": name, "hits": 0, "codes": [], **dict.fromkeys(_PROMISES, 0)}
    now = Round(setting, place / "out.jsonl", state)
    begun = time.monotonic()
    try:
        ATTACKS[name](now)
        kept = {} if state.get("damaged") else now.shards()
        state["shards_kept"] = len(kept)
        state["resumes"] = resume(now, kept)
        compare(now)
    finally:
        if os.path.ismount(place):
            subprocess.run(["umount", str(place)], check=True)
    shutil.rmtree(place)
    state["seconds"] = round(time.monotonic() - begun, 1)
    print(json.dumps(state), flush=True)
    return state


def resume(now: Round, kept: Mapping[int, str]) -> int:
    """Go on with the run until it ends well; return how often that was needed."""
    for number in range(1, _MOST_RESUMES + 1):
        process = now.start("--resume")
        while process.poll() is None:
            # While it works, the finished shards must stay as they were.
            shards = now.shards()
            if shards and any(shards.get(each) != row for each, row in kept.items()):
                now.state["redone"] = 1
            time.sleep(POLL_S * 10)
        if now.finish(process) in (0, 1):
            return number
    now.state["broken"] += 1
    return _MOST_RESUMES


def compare(now: Round) -> None:
    """Count what differs from the run in peace."""
    state, setting = now.state, now.setting
    expected = {row["id"]: row["text"] for row in read_rows(setting.expected)}
    ids = [json.loads(line)["id"] for line in setting.source.open(encoding="utf-8")]
    written = read_rows(now.out.read_bytes()) if now.out.exists() else []
    held_back = read_rows(quarantine_path(now.out).read_bytes()) if quarantine_path(now.out).exists() else []
    seen = Counter(row["id"] for row in (*written, *held_back))
    state["lost"] = sum(each not in seen for each in ids)
    state["doubled"] = sum(count > 1 for count in seen.values())
    state["other_text"] = sum(expected.get(row["id"], row["text"]) != row["text"] for row in written)
    state["held_back"] = len(held_back) - len(read_rows(setting.held_back))
    # A note that was in hand when workers were hit twice is held back; any other difference is broken.
    if now.out.exists() and not state["held_back"]:
        state["not_as_in_peace"] = int(
            now.out.read_bytes() != setting.expected or quarantine_path(now.out).read_bytes() != setting.held_back
        )
        state["broken"] += len(verify_output(now.out).differences)
    state["left"] = sum(path.name.startswith(".") for path in now.out.parent.iterdir())


if __name__ == "__main__":
    main()
