"""Notes for tests, written with their spans: ``seen by Dr. <DOCTOR>Lee</DOCTOR>``."""

import re

from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.surrogates import Surrogates

KEY = bytes(range(32))
_TAG = re.compile(r"<([A-Z-]+)>(.*?)</\1>", re.S)


def read(marked: str, *, note: str = "n1", patient: str = "p1") -> tuple[Note, list[Span]]:
    """Return the note and its spans."""
    text, spans, place = "", [], 0
    for found in _TAG.finditer(marked):
        text += marked[place : found.start()]
        spans.append(Span(len(text), len(text) + len(found[2]), found[1]))
        text += found[2]
        place = found.end()
    return Note(note, text + marked[place:], patient), spans


def surrogates_of(
    marked: str, record: dict[str, str] | None = None, *, patient: str = "p1", key: bytes = KEY, days: int = 365
) -> list[str]:
    """Return the surrogate of each span of a marked note."""
    note, spans = read(marked, patient=patient)
    known = PatientRecord(patient, record) if record is not None else None
    return Surrogates(key, date_shift_days=days).replacements(note, spans, known)
