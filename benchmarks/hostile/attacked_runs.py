"""What the attacks share: notes to attack with, ``deid run`` in a process of its own, and what came of every note."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(Path(__file__).resolve().parents[1]))  # for `measuring`, which all benchmarks share

from measuring import RESULTS, describe_machine  # noqa: E402

from deid_runtime.annotations.read import read_annotated  # noqa: E402
from deid_runtime.run.staging import quarantine_path  # noqa: E402

__all__ = [
    "RESULTS",
    "ROOT",
    "Outcome",
    "compared",
    "describe_machine",
    "new_key",
    "read_outcome",
    "run_command",
    "total",
    "write_notes",
]

#: Labels whose values are counted as leaked when they stand in an output: nobody's surrogate equals them.
_NAMES = frozenset({"PATIENT", "DOCTOR"})


@dataclass(frozen=True)
class Outcome:
    """What ``deid run`` did: exit code, texts by note id, ids of the notes that were held back."""

    exit_code: int
    texts: Mapping[str, str]
    held_back: frozenset[str]


def write_notes(path: Path, count: int) -> dict[str, frozenset[str]]:
    """Write ``count`` training notes of the corpus as JSON Lines; return the names that are marked in each, by id."""
    notes = read_annotated([ROOT / "export" / "corpus" / "notes" / "train"])[:count]
    if len(notes) < count:
        sys.exit(f"the corpus has {len(notes)} training notes, {count} were asked for")
    with path.open("w", encoding="utf-8") as file:
        for note in notes:
            file.write(json.dumps({"id": note.id, "patient": note.patient, "text": note.text}) + "\n")
    return {
        note.id: frozenset(note.text[span.start : span.end] for span in note.spans if span.label in _NAMES)
        for note in notes
    }


def run_command(source: Path, out: Path, key: Path, *extra: str) -> list[str]:
    """Return the command that de-identifies ``source`` with its ids kept."""
    return [
        sys.executable, "-m", "deid_runtime", "run", str(source), "--out", str(out), "--key", str(key), "--keep-ids",
        "--quiet", *extra,
    ]  # fmt: skip


def new_key(folder: Path) -> Path:
    """Make a key in ``folder``."""
    path = folder / "attack.key"
    subprocess.run([sys.executable, "-m", "deid_runtime", "key", "new", str(path)], check=True)
    return path


def read_outcome(out: Path, exit_code: int) -> Outcome:
    """Read an output and its quarantine; both may be missing, as when a run was refused."""
    return Outcome(
        exit_code,
        {row["id"]: row["text"] for row in _rows(out)},
        frozenset(row["id"] for row in _rows(quarantine_path(out))),
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.open(encoding="utf-8")] if path.exists() else []


def compared(outcome: Outcome, expected: Outcome, names: Mapping[str, frozenset[str]]) -> dict[str, object]:
    """Compare with the outcome of a run in peace.

    ``other_text`` counts notes with another text than in peace, ``leaking`` those that hold a marked name which is
    replaced in peace, ``lost`` those that are neither written nor held back although the run ended well.
    """
    written = outcome.texts
    other = [note for note, text in written.items() if expected.texts.get(note) != text]
    leaking = [
        note
        for note in other
        if any(name in written[note] and name not in expected.texts.get(note, "") for name in names[note])
    ]
    ended_well = outcome.exit_code in (0, 1)
    lost = [note for note in names if note not in written and note not in outcome.held_back] if ended_well else []
    return {
        "exit_code": outcome.exit_code,
        "written": len(written),
        "held_back": len(outcome.held_back),
        "other_text": len(other),
        "leaking": len(leaking),
        "lost": len(lost),
    }


def total(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    """Return the sum of one count over all rows."""
    return sum(int(row[name]) for row in rows)
