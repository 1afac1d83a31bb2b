"""Convert annotated notes for training to the text that detectors read, and compute their digests."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.text.reading.view import read_marked


def as_read(notes: Sequence[AnnotatedNote]) -> list[AnnotatedNote]:
    """Return ``notes`` with the text that detectors read, and spans in offsets of that text."""
    views = (read_marked(note.text, note.spans) for note in notes)
    return [replace(note, text=text, spans=spans) for note, (text, spans) in zip(notes, views, strict=True)]


def batch_of(note: AnnotatedNote) -> str:
    """Return the batch of a note: the part of its id before the first dash, ``T1`` for ``T1-007-2``."""
    return note.id.partition("-")[0]


def text_sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, which identifies the text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def corpus_digest(notes: Sequence[AnnotatedNote]) -> str:
    """Return a SHA-256 of ids, texts and spans in their order; a model card identifies its data by it."""
    digest = hashlib.sha256()
    for note in notes:
        spans = [(span.start, span.end, span.label) for span in note.spans]
        digest.update(json.dumps([note.id, note.text, spans]).encode())
    return digest.hexdigest()
