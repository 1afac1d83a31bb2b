"""A note with its annotated identifiers, and the checks of its spans."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from deid_runtime.errors import InputError
from deid_runtime.spans import Span
from deid_runtime.system.shown_ids import shown_id


@dataclass(frozen=True, slots=True)
class AnnotatedNote:
    """A note with its annotated spans, sorted, with half-open offsets of ``text`` in code points.

    ``patient`` and ``type`` are empty when unknown. Spans of some annotators overlap; training and most writers need
    disjoint spans (:func:`require_disjoint`).

    Raises InputError when a span ends after the text.
    """

    id: str
    patient: str = field(repr=False)
    type: str
    text: str = field(repr=False)
    spans: tuple[Span, ...]

    def __post_init__(self) -> None:
        require_inside(self.id, self.text, self.spans, "gold")


def require_inside(note_id: str, text: str, spans: Sequence[Span], side: str) -> None:
    """Raise InputError when a span ends after the text: its offsets then belong to another text or use another unit.

    ``side`` says which spans are checked: ``"gold"`` or ``"found"``.
    """
    for span in spans:
        if span.end > len(text):
            raise InputError(
                f"note {shown_id(note_id)}: {side} span [{span.start}, {span.end}) {span.label} ends after a text of "
                f"{len(text)} code points; offsets must be half-open code points of the text that was annotated"
            )


def require_disjoint(note: AnnotatedNote) -> None:
    """Raise InputError when two spans share a code point."""
    for left, right in pairwise(note.spans):
        if right.start < left.end:
            raise InputError(
                f"note {shown_id(note.id)}: spans [{left.start}, {left.end}) {left.label} and [{right.start}, "
                f"{right.end}) {right.label} overlap; a character can have only one label, so keep the wider span"
            )


@contextmanager
def errors_in(place: str) -> Iterator[None]:
    """Add ``place``, a file with its line or note, to the start of the message of an InputError."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}", stage=error.stage) from None
