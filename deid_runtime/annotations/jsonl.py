"""Annotated notes in JSON Lines, plain or gzip: one ``{"id", "text", "spans": [{"start", "end", "label"}]}`` per line.

``patient`` and ``type`` are optional. A span can have its value as ``text``, which must then equal the text at its
offsets.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deid_runtime.annotations.note import AnnotatedNote, errors_in
from deid_runtime.errors import InputError, SourceError
from deid_runtime.formats.jsonl import dump_line, read_objects
from deid_runtime.formats.records import RECORD_LIMIT_BYTES, Meter, Source
from deid_runtime.spans import Span
from deid_runtime.system.shown_ids import shown_id

#: File name suffixes of this format.
SUFFIXES: Final = (".jsonl", ".jsonl.gz", ".json", ".ndjson")


def read_jsonl(path: Path) -> Iterator[AnnotatedNote]:
    """Yield the notes of a file with sorted spans. Blank lines are skipped.

    Raises SourceError for a line without an annotated note, and InputError for a span that cannot be in its note.
    """
    for place, row in read_rows(path):
        note_id = row_id(place, row)
        named = f"{place}: note {shown_id(note_id)}"
        spans = spans_of_rows(named, row.get("spans"))
        text = _string(place, row, "text")
        with errors_in(place):
            note = AnnotatedNote(
                note_id, _name(place, row, "patient", ""), _string(place, row, "type", ""), text, tuple(sorted(spans))
            )
        for span, row_span in zip(spans, row["spans"], strict=True):
            if "text" in row_span and row_span["text"] != text[span.start : span.end]:
                raise InputError(
                    f"{named}: the text given with gold span [{span.start}, {span.end}) differs from the note; "
                    "offsets must count code points, not bytes or UTF-16 units"
                )
        yield note


def read_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield ``(file:line, object)`` for each line that is not blank. Raises SourceError for a line with no object."""
    for number, row in read_objects(Source(path, str(path), "jsonl", 0), RECORD_LIMIT_BYTES, Meter()):
        place = f"{path}:{number}"
        if isinstance(row, str):
            raise SourceError(f"{place}: {row}")
        yield place, row


def row_id(place: str, row: Mapping[str, Any]) -> str:
    """Return the id of a row. Raises SourceError when it is neither a string nor an integer."""
    return _name(place, row, "id")


def spans_of_rows(place: str, rows: object) -> list[Span]:
    """Return the spans of the ``spans`` field of a note, in its order.

    Raises SourceError when it is not a list of spans, and InputError for impossible offsets and unknown labels.
    """
    if not isinstance(rows, list):
        raise SourceError(f"{place}: no list 'spans'; give an empty list when nothing was found")
    spans = []
    for row in rows:
        start, end, label = map(row.get, ("start", "end", "label")) if isinstance(row, Mapping) else (None, None, None)
        if type(start) is not int or type(end) is not int or not isinstance(label, str):
            raise SourceError(f"{place}: each span needs whole numbers 'start' < 'end' and a 'label'")
        with errors_in(place):
            spans.append(Span(start, end, label))
    return spans


def _string(place: str, row: Mapping[str, Any], name: str, default: str | None = None) -> str:
    found = row.get(name, default)
    if not isinstance(found, str):
        raise SourceError(f"{place}: field {name!r} must be a string, found {type(found).__name__}")
    return found


def _name(place: str, row: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return an id as a string; it may be an integer in the file. Raises SourceError for other types."""
    found = row.get(name, default)
    return str(found) if type(found) is int else _string(place, row, name, default)


def render_jsonl(note: AnnotatedNote, *, with_values: bool = False) -> bytes:
    """Return a note as one line. ``with_values`` adds the text of each span, for people who correct the file.

    Raises InputError for a text that UTF-8 cannot hold.
    """
    optional = {"patient": note.patient, "type": note.type}
    row = {"id": note.id} | {name: value for name, value in optional.items() if value}
    spans: list[dict[str, object]] = [
        {"start": span.start, "end": span.end, "label": span.label}
        | ({"text": note.text[span.start : span.end]} if with_values else {})
        for span in note.spans
    ]
    return dump_line({**row, "text": note.text, "spans": spans})
