"""The words of the marks of names and places in notes, among which an attacker without a tagger chooses."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.spans import Span
from deid_runtime.surrogates.forms import normal_form

#: Labels of people.
PEOPLE: Final = frozenset({"PATIENT", "DOCTOR"})
#: Labels of people and places: those with words that an attacker can look up. Dates and numbers are not among them.
LOOKED_UP: Final = PEOPLE | frozenset("HOSPITAL ORGANIZATION STREET CITY STATE COUNTRY LOCATION-OTHER".split())
_LETTER: Final = r"[^\W\d_]"
#: Bounded, because anyone may have written the text.
_WORD: Final = re.compile(rf"{_LETTER}{{1,64}}['’ʻ]{_LETTER}{{1,64}}|{_LETTER}{{2,64}}")
_MOST_WORDS: Final = 24  # of one mark; a longer one is not a name


@dataclass(frozen=True, slots=True)
class MarkedNote:
    """A note with marks: half-open spans, sorted and disjoint. ``patient`` is the id that notes of a patient share."""

    patient: str = field(repr=False)
    text: str = field(repr=False)
    marks: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class MarkedWord:
    """A word of a mark. ``start`` and ``end`` are its half-open code point offsets in the text of its note."""

    start: int
    end: int
    label: str
    text: str = field(repr=False)
    value: str = field(repr=False)  # normal form of the whole mark
    place: int  # 0 for the first word of the mark
    words: int  # of the mark

    @property
    def form(self) -> str:
        """The normal form of the word."""
        return normal_form(self.text)


def marked_words(note: MarkedNote) -> list[MarkedWord]:
    """Return the words of two letters or more in the marks of names and places, in order of the marks."""
    return [word for mark in note.marks if mark.label in LOOKED_UP for word in _words_of(note.text, mark)]


def _words_of(text: str, mark: Span) -> Iterator[MarkedWord]:
    found = [match for match, _ in zip(_WORD.finditer(text, mark.start, mark.end), range(_MOST_WORDS), strict=False)]
    value = normal_form(text[mark.start : mark.end])
    for place, match in enumerate(found):
        yield MarkedWord(match.start(), match.end(), mark.label, match[0], value, place, len(found))


def all_words(notes: Sequence[MarkedNote]) -> list[list[MarkedWord]]:
    """Return the marked words of each note."""
    return [marked_words(note) for note in notes]
