"""``deid run`` as a process that may hold notes back, and what came out of it, note by note."""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run wrote: each line by note id (run with ``--keep-ids``), ids held back, digest of the whole."""

    lines: dict[str, bytes] = field(repr=False)
    doubled: int
    held_back: frozenset[str] = field(repr=False)
    sha256: str
    counts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Notes of a run against those of the reference, in numbers. ``passed``: each came out once, equal, or was held."""

    notes: int
    equal: int
    different: int
    held_back: int
    lost: int
    doubled: int
    unknown: int

    @property
    def passed(self) -> bool:
        """Whether nothing was lost, doubled, changed or made up."""
        return not (self.different or self.lost or self.doubled or self.unknown)

    def to_json(self) -> dict[str, int]:
        """Return the numbers."""
        return {name: getattr(self, name) for name in self.__slots__}


def start_run(arguments: Sequence[str], out: Path) -> subprocess.Popen[bytes]:
    """Start ``deid run`` with note ids kept."""
    command = [sys.executable, "-m", "deid_runtime", "run", *arguments, "--keep-ids", "--quiet", "--out", str(out)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)


def finish_run(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end; exit unless it is a good one. Code 1, notes held back, is one."""
    code = process.wait()
    if code not in (0, 1):
        sys.exit(f"deid run ended with exit code {code}")


def timed_run(arguments: Sequence[str], out: Path) -> float:
    """Run to the end, return the seconds it took."""
    begun = time.perf_counter()
    finish_run(start_run(arguments, out))
    return time.perf_counter() - begun


def new_key(folder: Path) -> Path:
    """Make a key file."""
    path = folder / "benchmark.key"
    subprocess.run([sys.executable, "-m", "deid_runtime", "key", "new", str(path)], check=True)
    return path


def read_outcome(out: Path) -> Outcome:
    """Read the output of a run and its quarantine, JSON Lines both."""
    data = out.read_bytes()
    lines: dict[str, bytes] = {}
    doubled = 0
    for line in data.splitlines():
        note_id = json.loads(line)["id"]
        doubled += note_id in lines
        lines[note_id] = line
    quarantine = out.with_name(f"{out.name}.quarantine.jsonl")
    rejected = quarantine.read_bytes().splitlines() if quarantine.exists() else []
    held = [json.loads(line)["id"] for line in rejected]
    manifest = json.loads(out.with_name(f"{out.name}.manifest.json").read_text(encoding="utf-8"))
    doubled += len(held) - len(set(held)) + len(lines.keys() & set(held))
    counts = {name: manifest["notes"][name] for name in ("read", "written", "quarantined", "quarantined_by_stage")}
    return Outcome(lines, doubled, frozenset(held), hashlib.sha256(data).hexdigest(), counts)


def compare(ids: Iterable[str], reference: Outcome, run: Outcome) -> Comparison:
    """Compare a run with the embedded engine's on the notes with these ids.

    A note that the reference held back must be held back, too.
    """
    wanted = set(ids)
    equal = sum(run.lines[each] == reference.lines.get(each) for each in run.lines)
    return Comparison(
        notes=len(wanted),
        equal=equal,
        different=len(run.lines) - equal,
        held_back=len(run.held_back),
        lost=len(wanted - run.lines.keys() - run.held_back),
        doubled=run.doubled,
        unknown=len((run.lines.keys() | run.held_back) - wanted),
    )
