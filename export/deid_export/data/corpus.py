"""Annotated notes as training needs them: plain text and gold spans, from tagged text, JSON Lines, i2b2 XML or brat."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from deid_runtime.annotations.read import annotated_files, check_disjoint, read_annotated, read_records
from deid_runtime.annotations.tagged import parse_header, parse_tagged
from deid_runtime.spans import Span
from deid_runtime.text.reading.view import read_marked

__all__ = [
    "GoldNote",
    "annotated_files",
    "as_read",
    "check_disjoint",
    "corpus_digest",
    "parse_header",
    "parse_tagged",
    "read_corpus",
    "read_records",
    "text_sha256",
]


@dataclass(frozen=True, slots=True)
class GoldNote:
    """One annotated note; ``spans`` are sorted and disjoint, half-open code points of ``text``."""

    id: str
    patient: str
    type: str
    text: str = field(repr=False)
    spans: tuple[Span, ...]


def read_corpus(paths: Sequence[Path]) -> list[GoldNote]:
    """Read annotated files, or folders of them, as :func:`deid_runtime.annotations.read.read_annotated` does.

    Raises SourceError when a path holds no annotated note or a line cannot be read, InputError for a note whose spans
    overlap or end behind its text.
    """
    return [GoldNote(note.id, note.patient, note.type, note.text, note.spans) for note in read_annotated(paths)]


def as_read(notes: Sequence[GoldNote]) -> list[GoldNote]:
    """Return ``notes`` as detectors read them, with spans in offsets of the view."""
    views = (read_marked(note.text, note.spans) for note in notes)
    return [replace(note, text=text, spans=spans) for note, (text, spans) in zip(notes, views, strict=True)]


def text_sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, by which it is known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def corpus_digest(notes: Sequence[GoldNote]) -> str:
    """Return a SHA-256 of texts and spans, which a model card can name its data by."""
    digest = hashlib.sha256()
    for note in notes:
        spans = [(span.start, span.end, span.label) for span in note.spans]
        digest.update(json.dumps([note.id, note.text, spans]).encode())
    return digest.hexdigest()
