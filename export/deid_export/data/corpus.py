"""Annotated notes as training needs them: read as detectors read them, and named by digests."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.text.reading.view import read_marked


def as_read(notes: Sequence[AnnotatedNote]) -> list[AnnotatedNote]:
    """Return ``notes`` as detectors read them, with spans in offsets of the view."""
    views = (read_marked(note.text, note.spans) for note in notes)
    return [replace(note, text=text, spans=spans) for note, (text, spans) in zip(notes, views, strict=True)]


def text_sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, by which it is known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def corpus_digest(notes: Sequence[AnnotatedNote]) -> str:
    """Return a SHA-256 of ids, texts and spans in their order, which a model card can name its data by."""
    digest = hashlib.sha256()
    for note in notes:
        spans = [(span.start, span.end, span.label) for span in note.spans]
        digest.update(json.dumps([note.id, note.text, spans]).encode())
    return digest.hexdigest()
