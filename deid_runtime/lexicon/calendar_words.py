"""Months and weekdays in the languages that occur in notes, and the ways to write each."""

from collections.abc import Mapping
from typing import Final, Literal

from deid_runtime.errors import SettingsError
from deid_runtime.lexicon.tables import table

MonthUse = Literal["find", "ambiguous", "name", "plain", "abbreviation", "nobody"]
WeekdayUse = Literal["find", "short", "nobody"]
#: A writing is one way to write all twelve months or all seven days. These are the names of writings.
_LETTERS: Final = "letters"
ENGLISH: Final = "english"
ENGLISH_SHORT: Final = "english short"
ENGLISH_FOUR_LETTERS: Final = "english short, four letters"
TWO_LETTERS: Final = "two letters"


def _months() -> tuple[tuple[str, ...], ...]:
    return table("months", "word", "month", "writing", "uses")


def _weekdays() -> tuple[tuple[str, ...], ...]:
    return table("weekdays", "word", "day", "writing", "uses")


def _writings(name: str, rows: tuple[tuple[str, ...], ...], size: int) -> Mapping[str, tuple[str, ...]]:
    """Return writing to its words in order. When several words have the same place, the first one counts.

    Raises SettingsError for a word without a valid place and for an incomplete writing.
    """
    words: dict[str, dict[int, str]] = {}
    for word, place, writing, _ in rows:
        if not place.isdecimal() or not 1 <= int(place) <= size:
            raise SettingsError(f"{name}.tsv: a word of {writing or 'no writing'} needs a number from 1 to {size}")
        if writing:
            words.setdefault(writing, {}).setdefault(int(place), word)
    for writing, by_place in words.items():
        if len(by_place) != size:
            raise SettingsError(f"{name}.tsv: the writing {writing!r} has {len(by_place)} words; expected {size}")
    return {writing: tuple(by_place[place] for place in range(1, size + 1)) for writing, by_place in words.items()}


def _index(rows: tuple[tuple[str, ...], ...]) -> Mapping[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for word, place, writing, _ in rows:
        if writing and writing != _LETTERS:
            found.setdefault(word.lower(), (writing, int(place) - 1))
    return found


#: Writing to its words, starting with January or Monday.
MONTHS: Final = _writings("months", _months(), 12)
WEEKDAYS: Final = _writings("weekdays", _weekdays(), 7)
WEEKDAY_LETTERS: Final = WEEKDAYS[_LETTERS]
#: Lower-case word to (writing, place). The place of January and of Monday is 0.
MONTH_OF: Final = _index(_months())
WEEKDAY_OF: Final = _index(_weekdays())

#: The months in English in lower case, starting with January: in full, and abbreviated.
MONTH_NAMES: Final = tuple(word.lower() for word in MONTHS[ENGLISH])
SHORT_MONTHS: Final = tuple(word.lower() for word in MONTHS[ENGLISH_SHORT])
#: The weekdays in English, in full, in lower case, starting with Monday.
WEEKDAY_NAMES: Final = tuple(word.lower() for word in WEEKDAYS[ENGLISH])


def month_words(use: MonthUse) -> Mapping[str, int]:
    """Return the words for months that have ``use``: lower-case word to month number, 1 for January."""
    return {word.lower(): int(month) for word, month, _, uses in _months() if use in uses.split()}


def weekday_words(use: WeekdayUse) -> frozenset[str]:
    """Return the words for weekdays that have ``use``, in lower case."""
    return frozenset(word.lower() for word, _, _, uses in _weekdays() if use in uses.split())
