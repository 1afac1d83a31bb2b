"""Months and weekdays in the languages that turn up in notes, and the ways of writing each."""

from collections.abc import Mapping
from typing import Final, Literal

from deid_runtime.errors import SettingsError
from deid_runtime.lexicon.tables import table

MonthUse = Literal["find", "ambiguous", "name", "plain", "abbreviation", "nobody"]
WeekdayUse = Literal["find", "short", "nobody"]
#: A writing is one way of writing all twelve months or all seven days, and so much as its name.
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
    """Return the words of each writing in order: the first one for each place."""
    words: dict[str, dict[int, str]] = {}
    for word, place, writing, _ in rows:
        if not place.isdecimal() or not 1 <= int(place) <= size:
            raise SettingsError(f"{name}.tsv: a word of {writing or 'no writing'} has no number of 1 to {size}")
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


#: Writing to its words, January or Monday first.
MONTHS: Final = _writings("months", _months(), 12)
WEEKDAYS: Final = _writings("weekdays", _weekdays(), 7)
WEEKDAY_LETTERS: Final = WEEKDAYS[_LETTERS]
#: Lower-case word to (writing, place); the place of January and of Monday is 0.
MONTH_OF: Final = _index(_months())
WEEKDAY_OF: Final = _index(_weekdays())

#: Each month in English, in full, in lower case, January first; and as it is shortened.
MONTH_NAMES: Final = tuple(word.lower() for word in MONTHS[ENGLISH])
SHORT_MONTHS: Final = tuple(word.lower() for word in MONTHS[ENGLISH_SHORT])
#: The same for weekdays.
WEEKDAY_NAMES: Final = tuple(word.lower() for word in WEEKDAYS[ENGLISH])


def month_words(use: MonthUse) -> Mapping[str, int]:
    """Return the words for months that have ``use``, in lower case, each with its number, 1 for January."""
    return {word.lower(): int(month) for word, month, _, uses in _months() if use in uses.split()}


def weekday_words(use: WeekdayUse) -> frozenset[str]:
    """Return the words for weekdays that have ``use``, in lower case."""
    return frozenset(word.lower() for word, _, _, uses in _weekdays() if use in uses.split())
