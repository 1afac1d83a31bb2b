"""Small annotated notes in which the words around a span show that it is one."""

from pathlib import Path

from deid_runtime.annotations.jsonl import render_jsonl
from deid_runtime.annotations.note import AnnotatedNote
from tests.benchmarks.baselines.notes import gold_notes


def annotated(count: int = 40) -> list[AnnotatedNote]:
    """Return ``count`` notes, each of another patient."""
    return gold_notes(count)


def write_notes(path: Path, notes: list[AnnotatedNote]) -> Path:
    """Write notes as JSON Lines and return the path."""
    path.write_bytes(b"".join(map(render_jsonl, notes)))
    return path
