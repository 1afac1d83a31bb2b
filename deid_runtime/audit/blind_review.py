"""Read the marks of a blind review: JSON Lines, one object per note and reader, without note text.

::

    {"id": "n17", "patient": "p3", "type": "Letter", "reviewer": "mk", "mode": "blind", "read_whole": true,
     "marks": [{"start": 12, "end": 20, "label": "PATIENT"}]}

``start`` and ``end`` are half-open code points of the *de-identified* text; a mark means that an identifier was left
there. ``patient`` and ``type`` may be missing; otherwise they must match the sample. ``read_whole`` means that the
reader read the complete note; without marks, it is then clean. A note that no reader read completely proves nothing.
``mode`` must be ``blind``, because readers who see what the machine found tend to agree with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deid_runtime.annotations import jsonl
from deid_runtime.errors import InputError, SourceError
from deid_runtime.spans import Note, Span
from deid_runtime.system.shown_ids import shown_id

BLIND: Final = "blind"
#: Fields of a line; others are refused, because they could be text.
FIELDS: Final = frozenset({"id", "patient", "type", "reviewer", "mode", "read_whole", "marks"})


@dataclass(frozen=True, slots=True)
class ReadNote:
    """The result of all readers of one note: their marks, and who read it whole.

    ``marked_by`` has the readers with at least one mark.
    """

    id: str
    marks: tuple[Span, ...] = ()
    read_by: frozenset[str] = field(default_factory=frozenset)
    marked_by: frozenset[str] = field(default_factory=frozenset)


def read_reviews(paths: Sequence[Path], notes: Mapping[str, Note]) -> dict[str, ReadNote]:
    """Return what was read and marked, for each note of the sample; a note without a line is unread.

    ``notes`` are the notes of the sample by id. Raises SourceError for a line of another format, a line that is not
    blind, or a second line for the same note and reader; InputError for a note outside the sample or a mark outside
    its text.
    """
    found = {note_id: ReadNote(note_id) for note_id in notes}
    seen: set[tuple[str, str]] = set()
    for path in paths:
        for place, row in jsonl.read_rows(path):
            note_id, reviewer, is_whole, marks = _checked(place, row, notes)
            if (note_id, reviewer) in seen:
                raise SourceError(
                    f"{place}: note {shown_id(note_id)} occurs twice for one reviewer; keep the last line"
                )
            seen.add((note_id, reviewer))
            before = found[note_id]
            found[note_id] = ReadNote(
                note_id,
                tuple(sorted({*before.marks, *marks})),
                before.read_by | ({reviewer} if is_whole else frozenset()),
                before.marked_by | ({reviewer} if marks else frozenset()),
            )
    return found


def _checked(place: str, row: Mapping[str, object], notes: Mapping[str, Note]) -> tuple[str, str, bool, list[Span]]:
    note_id = jsonl.row_id(place, row)
    if row.keys() - FIELDS:
        raise SourceError(f"{place}: unknown fields; expected only {', '.join(sorted(FIELDS))}, without note text")
    if row.get("mode") != BLIND:
        raise SourceError(
            f"{place}: this note was not reviewed in blind mode; readers who see suggestions overlook what it "
            "overlooked, so a bound needs blind reviews"
        )
    reviewer, is_whole, marks = row.get("reviewer"), row.get("read_whole"), row.get("marks")
    if not isinstance(reviewer, str) or not reviewer or not isinstance(is_whole, bool):
        raise SourceError(f"{place}: expected 'reviewer', a name, and 'read_whole', true or false")
    note = notes.get(note_id)
    if note is None:
        raise InputError(f"{place}: note {shown_id(note_id)} is not in the sample")
    if row.get("patient", note.patient) != note.patient or row.get("type", note.type) != note.type:
        raise InputError(f"{place}: note {shown_id(note_id)} has a different patient or type in the sample")
    spans = jsonl.spans_of_rows(place, marks)
    for span in spans:
        if span.end > len(note.text):
            raise InputError(
                f"{place}: note {shown_id(note_id)}: mark [{span.start}, {span.end}) ends after a text of "
                f"{len(note.text)} code points; marks are code points of the de-identified text"
            )
    return note_id, reviewer, is_whole, spans
