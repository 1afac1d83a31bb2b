"""What becomes of a note in a run, as small records that travel between processes."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from deid_runtime.run.batches import by_patient
from deid_runtime.run.crosswalk import crosswalk_line
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, PatientRecord, Span

if TYPE_CHECKING:
    from deid_runtime.pipeline import Deidentified, Detected, Pipeline, Quarantined

Task = Literal["deidentify", "detect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What every worker needs to load its pipeline, and what it is to do."""

    task: Task
    settings: Settings
    key: bytes | None = field(default=None, repr=False)
    records: Mapping[str, PatientRecord] = field(default_factory=dict, repr=False)
    with_crosswalk: bool = False
    whole_patients: bool = False  # batches are of whole patients, and each is served as one


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A note as it may be handed on."""

    text: str = field(repr=False)
    note_pseudonym: str
    patient_pseudonym: str
    labels: Mapping[str, int]
    crosswalk: bytes = field(default=b"", repr=False)  # originals in clear: never to be written as it is


@dataclass(frozen=True, slots=True)
class Found:
    """The spans of a note as one line of JSON, which is made here to share the work among the workers."""

    line: bytes
    labels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A note that goes to quarantine."""

    stage: str
    reason: str


Outcome = Rewritten | Found | Rejected


def process(pipeline: "Pipeline", work: Work, notes: Sequence[Note]) -> list[Outcome]:
    """Return one outcome a note, in order."""
    from deid_runtime.pipeline import Deidentified, Detected

    def outcome_of(note: Note, result: "Deidentified | Detected | Quarantined") -> Outcome:
        if isinstance(result, Deidentified):
            line = crosswalk_line(note, result) if work.with_crosswalk else b""
            return Rewritten(result.text, result.note_pseudonym, result.patient_pseudonym, _count(result.spans), line)
        if isinstance(result, Detected):
            return Found(_span_line(result.note_id, result.spans), _count(result.spans))
        return Rejected(result.stage, result.reason)

    results = (
        pipeline.deidentify(notes, whole_patients=work.whole_patients)
        if work.task == "deidentify"
        else pipeline.detect(notes)
    )
    return [outcome_of(note, result) for note, result in zip(notes, results, strict=True)]


def units(work: Work, notes: Sequence[Note]) -> list[range]:
    """Return the indexes of what can only be served or given up as a whole: notes, or all notes of a patient."""
    if not work.whole_patients:
        return [range(index, index + 1) for index in range(len(notes))]
    rows: list[range] = []
    for row in by_patient(notes):
        start = rows[-1].stop if rows else 0
        rows.append(range(start, start + len(row)))
    return rows


def _count(spans: Sequence[Span]) -> dict[str, int]:
    return dict(Counter(span.label for span in spans))


def _span_line(note_id: str, spans: Sequence[Span]) -> bytes:
    rows = [
        {
            "start": span.start,
            "end": span.end,
            "label": span.label,
            "score": round(span.score, 4),
            "sources": list(span.sources),
        }
        for span in spans
    ]
    return (json.dumps({"id": note_id, "spans": rows}, ensure_ascii=False) + "\n").encode("utf-8")
