"""Small annotated notes, in which the words around a span tell that it is one."""

from pathlib import Path

from deid_runtime.evaluation import GoldNote
from deid_runtime.formats.jsonl import dump_line
from tests.benchmarks.baselines.notes import gold_notes


def annotated(count: int = 40) -> list[GoldNote]:
    """Return one note for each of so many patients."""
    return [GoldNote(note.id, note.text, note.spans, note.patient) for note in gold_notes(count)]


def write_notes(path: Path, notes: list[GoldNote]) -> Path:
    """Write notes as JSON Lines and return the path."""
    rows = [
        {"id": note.id, "patient": note.patient, "text": note.text,
         "spans": [{"start": s.start, "end": s.end, "label": s.label} for s in note.spans]}
        for note in notes
    ]  # fmt: skip
    path.write_bytes(b"".join(dump_line(row) for row in rows))
    return path
