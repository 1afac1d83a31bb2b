"""Decide which figure is the day when no date of a note has a figure over 12: 12/3/1931 is in March or in December.

The evidence is a weekday beside a date, or the same day written clearly elsewhere: in figures (``1931-03-12``), in
words (``12 March 1931``), or in the patient's record. Each votes for the order that it agrees with.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from typing import Final

from deid_runtime.lexicon.calendar_words import MONTH_OF, WEEKDAY_OF

#: Locales that write the day before the month.
DAY_FIRST_LOCALES: Final = frozenset({"GB", "IE", "AU", "NZ", "IN"})
_LAST_MONTH: Final = 12
_NEWEST_SHORT_YEAR: Final = 29  # of two figures: later ones belong to the last century
_LONGEST_CHARS: Final = 80
_PAIR: Final = re.compile(r"(?<![\d/.-])(\d{1,2})\s?([-/.])\s?(\d{1,2})(?:\s?\2\s?['’]?(\d{4}|\d{2}))?(?!\d)")
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_ISO: Final = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_NUMBER: Final = re.compile(r"(?<!\d)\d{1,4}(?!\d)")


def told_order(values: Sequence[str], days: Iterable[date] = (), year: int | None = None) -> bool | None:
    """Return whether the ambiguous figures of ``values``, the dates of a note, have the day first; None if unknown.

    ``days`` are days that the note is likely to name, such as the date of birth of the record. ``year`` is the year of
    dates that name none. With equal evidence for both orders, the answer is None.
    """
    pairs = [(value, found) for value in values for found in _PAIR.finditer(value[:_LONGEST_CHARS])]
    pairs = [(value, found) for value, found in pairs if _is_ambiguous(int(found[1]), int(found[3]))]
    if not pairs:
        return None
    named = {*days, *(day for value in values if (day := _plain_day(value[:_LONGEST_CHARS])) is not None)}
    votes = sum(_vote(value, found, named, year) for value, found in pairs)
    return None if not votes else votes > 0


def _is_ambiguous(first: int, second: int) -> bool:
    return first != second and 1 <= first <= _LAST_MONTH and 1 <= second <= _LAST_MONTH


def _vote(value: str, found: re.Match[str], named: Collection[date], year: int | None) -> int:
    """Return 1 for the day first, -1 for the month first, 0 when neither or both agree."""
    written = int(found[4]) if found[4] else year
    if written is None:
        return 0
    if found[4] and len(found[4]) == 2:
        written += 2000 if written <= _NEWEST_SHORT_YEAR else 1900
    readings = date(written, int(found[3]), int(found[1])), date(written, int(found[1]), int(found[3]))
    weekdays = list(_weekdays(value))
    if len(weekdays) == 1:
        votes = [reading.weekday() == weekdays[0] for reading in readings]
    else:
        votes = [found[4] is not None and reading in named for reading in readings]
    return votes[0] - votes[1]


def _weekdays(value: str) -> Iterator[int]:
    for word in _WORD.findall(value):
        known = WEEKDAY_OF.get(word.lower())
        if known is not None:
            yield known[1]


def _plain_day(value: str) -> date | None:
    """Return the day of a full date whose form, or a word, shows the month."""
    iso = _ISO.search(value)
    try:
        if iso is not None:
            return date(*map(int, iso.groups()))
        months = [MONTH_OF[word.lower()][1] + 1 for word in _WORD.findall(value) if word.lower() in MONTH_OF]
        numbers = _NUMBER.findall(value)
        years = [int(number) for number in numbers if len(number) == 4]
        days = [int(number) for number in numbers if len(number) < 3]
        return date(years[0], months[0], days[0]) if len(months) == len(years) == len(days) == 1 else None
    except ValueError:
        return None
