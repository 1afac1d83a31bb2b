"""The task of a run, the notes that belong together, and the JSON form of spans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from deid_runtime.run.batches import by_patient
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, PatientRecord, Span

Task = Literal["deidentify", "detect"]
#: Which notes a second look holds back: none (no second look), those that fail, or also those to review.
Gate = Literal["none", "fail", "review"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a worker needs to load its pipeline, and its task."""

    task: Task
    settings: Settings
    key: bytes | None = field(default=None, repr=False)
    records: Mapping[str, PatientRecord] = field(default_factory=dict, repr=False)
    gate: Gate = "none"
    whole_patients: bool = False  # batches hold whole patients; the notes of a patient are processed together


def units(work: Work, notes: Sequence[Note]) -> list[range]:
    """Return the index ranges of the notes that succeed or fail together: one note, or all notes of a patient."""
    if not work.whole_patients:
        return [range(index, index + 1) for index in range(len(notes))]
    rows: list[range] = []
    for row in by_patient(notes):
        start = rows[-1].stop if rows else 0
        rows.append(range(start, start + len(row)))
    return rows


def span_rows(spans: Sequence[Span]) -> list[dict[str, object]]:
    """Return spans as JSON values, without text. `deid detect` and the model `deidentify` output them."""
    return [
        {
            "start": span.start,
            "end": span.end,
            "label": span.label,
            "score": round(span.score, 4),
            "sources": list(span.sources),
        }
        for span in spans
    ]
