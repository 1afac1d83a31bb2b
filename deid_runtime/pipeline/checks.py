"""Checks of notes before the pipeline reads them, and of its own results."""

from collections.abc import Sequence
from itertools import pairwise

from deid_runtime.errors import InputError
from deid_runtime.spans import Note, Span, covered


def why_unreadable(note: Note) -> str:
    """Return why a note cannot be read, or an empty string."""
    for name, value in (("id", note.id), ("text", note.text), ("patient id", note.patient)):
        if not isinstance(value, str):
            return f"the {name} is of type {type(value).__name__}; expected str"
        try:
            value.encode()
        except UnicodeEncodeError as error:
            return (
                f"the {name} has a lone surrogate (half a character) at offset {error.start} and cannot be written "
                "as UTF-8; decode the source again with its actual encoding"
            )
    if not note.id:
        return "the id is empty; expected a unique id, because the pseudonyms of the note and its patient depend on it"
    if "\0" in note.text:
        # A null character mostly means UTF-16 read as UTF-8, or a damaged file. It splits words, so detectors
        # miss them.
        return (
            f"the text has a null character at offset {note.text.index(chr(0))}, a sign of a damaged or wrongly "
            "decoded file; decode the source again, or remove null characters first"
        )
    return ""


def printable(note_id: object) -> str:
    """Return a note id as text that can be encoded as UTF-8; lone surrogate code points are escaped."""
    return str(note_id).encode("utf-8", "backslashreplace").decode()


def check_fusion(found: Sequence[Span], fused: Sequence[Span]) -> None:
    """Raise InputError unless ``fused`` is sorted and disjoint and covers the same code points as ``found``."""
    disjoint = all(left.end <= right.start for left, right in pairwise(fused))
    if not disjoint or covered(fused) != covered(found):
        raise InputError("fusion changed the covered characters; this is a defect, please report it", stage="fusion")


def check_rewrite(before: str, spans: Sequence[Span], after: str, offsets: Sequence[tuple[int, int]]) -> None:
    """Raise InputError unless the text outside the spans is the same in ``before`` and ``after``."""
    if len(spans) != len(offsets):
        raise InputError(
            f"{len(spans)} spans but {len(offsets)} replacements; this is a defect, please report it", stage="rewrite"
        )
    old = new = 0
    for span, (start, end) in zip(spans, offsets, strict=True):
        if before[old : span.start] != after[new:start]:
            raise InputError("text outside the spans was changed; this is a defect, please report it", stage="rewrite")
        old, new = span.end, end
    if before[old:] != after[new:]:
        raise InputError("text outside the spans was changed; this is a defect, please report it", stage="rewrite")
