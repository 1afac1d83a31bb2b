"""Read a date that is a named holiday, with the year beside it or without one."""

import re
from typing import Final

from deid_runtime.dates.figures import pieces_around, year_of
from deid_runtime.dates.forms import NUMERIC, TOKEN, weekday_piece
from deid_runtime.dates.holidays import FoundHoliday
from deid_runtime.dates.parts import DateParts, DateStyle, Piece, Role, Said
from deid_runtime.dates.spoken import joint_of, spoken_runs, spoken_year
from deid_runtime.lexicon.calendar_words import WEEKDAY_OF

_YEAR_BEHIND: Final = re.compile(r"(?:,?\s*of|,)?\s*(?P<year>['’]?(?:\d{4}|\d{2}))(?!\w)", re.I)
_YEAR_BEFORE: Final = re.compile(r"(?<!\w)(?P<year>\d{4})\s+$")


def read_holiday(value: str, found: FoundHoliday, style: DateStyle) -> DateParts | None:
    """Return the holiday ``found`` in ``value``, or None when other figures or number words are beside it.

    A holiday without a year is in the main year of the note.
    """
    beside = f"{value[: found.start]} {value[found.end :]}"
    if spoken_runs([token.lower() for token in TOKEN.findall(beside)]):
        return _read_spoken_year(value, found, style)
    return _read_year(value, found, style)


def _read_year(value: str, found: FoundHoliday, style: DateStyle) -> DateParts | None:
    named, before, after = value[found.start : found.end], value[: found.start], value[found.end :]
    year = ""
    stated = _YEAR_BEHIND.match(after)
    if stated:
        year, after = stated["year"], after[stated.end() :]
    elif stated := _YEAR_BEFORE.search(before):
        year, before = stated["year"], before[: stated.start()]
    day = found.on(year_of(year, style) if year else style.year)
    holiday = Piece(named, Role.HOLIDAY if found.holiday.is_day else Role.FEAST, year=year)
    start, end = _beside(before), _beside(after)
    if start is not None and end is not None:
        pieces = (*start, holiday, *end)
    elif NUMERIC.search(f"{before} {after}"):
        return None
    else:  # The day in "2nd night of Chanukah" is not a day of a month, so it is dropped with the name.
        pieces = (holiday,)
    return DateParts(
        style, pieces, year=day.year, month=day.month, day=day.day, has_year=bool(year), on=found.on
    )  # fmt: skip


def _beside(text: str) -> tuple[Piece, ...] | None:
    """Return the words beside a holiday as pieces; None if there is a digit among them."""
    if any(map(str.isdecimal, text)):
        return None
    return tuple(weekday_piece(token) if token.lower() in WEEKDAY_OF else Piece(token) for token in TOKEN.findall(text))


def _read_spoken_year(value: str, found: FoundHoliday, style: DateStyle) -> DateParts | None:
    """Return the holiday ``found`` with a year in number words after it; None for other number words."""
    tokens = TOKEN.findall(value[found.end :])
    lowered = [token.lower() for token in tokens]
    runs = spoken_runs(lowered)
    if len(runs) != 1 or spoken_runs([token.lower() for token in TOKEN.findall(value[: found.start])]):
        return None
    first, last = runs[0]
    words = [word for word in lowered[first:last] if word.isalpha() and word != "and"]
    year = spoken_year(words, style)
    if year is None:
        return None
    day = found.on(year)
    before, rest = _beside(value[: found.start]), pieces_around("".join(tokens[last:]))
    if before is None or rest is None:
        return None
    role = Role.SAID_HOLIDAY if found.holiday.is_day else Role.SAID_FEAST
    said = Said(month=False, day="", year=tuple(words), joint=joint_of(lowered[first:last]))
    pieces = (
        *before,
        Piece(value[found.start : found.end], role),
        *map(Piece, tokens[:first]),
        Piece("".join(tokens[first:last]), Role.SAID, said=said),
        *rest,
    )
    return DateParts(style, pieces, year=day.year, month=day.month, day=day.day, on=found.on)
