"""Add the years and months that dates leave out, from the other dates of the note.

A year is added to ``7/23``, ``March`` and ``Christmas``, and a month to ``the 3rd``. A date that names both is never
changed, so its shift does not depend on the note. The rules, the first that applies:

1. In a range (``12/31-1/1``) the second date is the first such day from the first date on. When only the second names
   its year, the first date is the last such day before it. Two dates of one mention that are not a range are close
   to each other.
2. A weekday beside the date (``Tue 3/14``) agrees with it.
3. The day that another date of the note names in full is the same day (``7/23`` and ``07/23/2023``).
4. The day lies within the full dates of the note, otherwise up to 275 days before or 90 days after them: notes mention
   future days, but more often past ones. Of several such days, the one closest to the nearest full date in the text
   is used.
5. A day without a month lies between the date before it in the text and the full date after it. Otherwise it is that of
a
   full date up to two months away (``7/15/24 ... on the 15th``), or among the full dates, or close to the date before.

Without any full date, the year is the main year of the note.
"""

import re
from bisect import bisect_right
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from deid_runtime.dates.parts import DateParts, DateStyle, Grain, Piece, Role, single_dates

_EARLIEST_NOTE: Final = 1990  # there were no electronic notes earlier
_YEARS_BEFORE: Final = 1  # earlier full dates, compared with the year of most full dates, are history or births
_YEARS_AHEAD: Final = 15  # later years are typing errors
_FUTURE_FACTOR: Final = 3  # 90 days ahead are as likely as 270 days ago
_FURTHEST_DAYS: Final = 275
_LONGEST_RANGE_DAYS: Final = 300
_LEAP_YEARS: Final = 4
_TO: Final = re.compile(r"\s*(?:[-\u2010-\u2014]|to|through|thru|until|till)\s*", re.I)
_WEEKDAYS: Final = frozenset({Role.WEEKDAY, Role.WEEKDAY_LETTER})


@dataclass(frozen=True, slots=True)
class _Known:
    """The full dates of a note that belong to its time, in the order of the text, and the position of each."""

    places: Sequence[int]
    days: Sequence[date] = field(repr=False)
    each: frozenset[date] = field(repr=False)
    ordered: Sequence[date] = field(repr=False)  # each date once, ascending
    earliest_year: int

    @property
    def first(self) -> date:
        """The earliest date."""
        return self.ordered[0]

    @property
    def last(self) -> date:
        """The latest date."""
        return self.ordered[-1]

    def nearest(self, place: int) -> date:
        """Return the full date before ``place`` in the text, otherwise the one after it."""
        return self.days[max(bisect_right(self.places, place) - 1, 0)]

    def nearest_to(self, day: date) -> date:
        """Return the full date closest to ``day``."""
        index = bisect_right(self.ordered, day)
        return min(self.ordered[max(index - 1, 0) : index + 1], key=lambda other: abs(other - day))

    def behind(self, place: int) -> date | None:
        """Return the full date after ``place`` in the text."""
        index = bisect_right(self.places, place)
        return self.days[index] if index < len(self.days) else None


def settle(dates: Sequence[DateParts | None], style: DateStyle) -> list[DateParts | None]:
    """Return ``dates``, in the order of the text, with the years and months that they leave out.

    ``style`` is that of the note. Dates that cannot be read (None) and dates that do not exist stay as they are.
    """
    rows = [single_dates(parts) if parts is not None else [] for parts in dates]
    if not any(_is_open(single) for row in rows for single in row):
        return list(dates)
    known = _known(rows, style)
    earliest = known.earliest_year if known is not None else style.year - _YEARS_BEFORE
    last: tuple[date, Grain] | None = None
    settled: list[DateParts | None] = []
    for place, (parts, row) in enumerate(zip(dates, rows, strict=True)):
        found: list[DateParts] = []
        for index, single in enumerate(row):
            day = _day(single)
            if _is_open(single) and parts is not None:
                partners = (found[-1] if found else None, row[index + 1] if index + 1 < len(row) else None)
                told = _settled_day(single, place, known, last, partners, is_range=_is_range(parts))
                if told is not None and told != day:
                    single, day = replace(single, year=told.year, month=told.month, day=told.day), told
            found.append(single)
            if day is not None and day.year >= earliest and single.grain in (Grain.DAY, Grain.MONTH):
                last = (day, single.grain)
        is_changed = parts is not None and any(new is not old for new, old in zip(found, row, strict=True))
        settled.append(_with_days(parts, iter(found)) if parts is not None and is_changed else parts)
    return settled


def _is_open(single: DateParts) -> bool:
    return not (single.has_year and single.has_month) and single.grain in (Grain.DAY, Grain.MONTH)


def _known(rows: Sequence[Sequence[DateParts]], style: DateStyle) -> _Known | None:
    """Return the full dates of the note's time; the months with a year when there are no full dates.

    The note's time is around the year that most of them name, or around the closest to the main year if several are
    tied.
    """
    for grain in (Grain.DAY, Grain.MONTH):
        found = [
            (place, day)
            for place, row in enumerate(rows)
            for single in row
            if single.grain is grain and not _is_open(single) and (day := _day(single)) is not None
        ]
        if not found:
            continue
        years = Counter(day.year for _, day in found)
        of_notes = [year for year in years if year >= _EARLIEST_NOTE] or list(years)
        main = max(of_notes, key=lambda year: (years[year], -abs(year - style.year), year))
        span = range(main - _YEARS_BEFORE, main + _YEARS_AHEAD + 1)
        places, days = zip(*((place, day) for place, day in found if day.year in span), strict=True)
        return _Known(places, days, frozenset(days), sorted(set(days)), span.start)
    return None


def _settled_day(
    single: DateParts,
    place: int,
    known: _Known | None,
    last: tuple[date, Grain] | None,
    partners: tuple[DateParts | None, DateParts | None],
    *,
    is_range: bool,
) -> date | None:
    """Return the day of one date; None when it is unknown.

    ``partners`` are the dates before and after it in its span.
    """
    before = _day(partners[0]) if partners[0] is not None else None
    behind = _day(partners[1]) if partners[1] is not None and not _is_open(partners[1]) else None
    if not single.has_month:
        following = behind or (known.behind(place) if known is not None else None)
        return _day_without_month(single, before, last, following, known, is_range=is_range)
    partner = before or behind
    if partner is not None:
        days = _on_weekday(single, _in_years(single, range(partner.year - 1, partner.year + 2)))
        ordered = [
            day
            for day in (days if is_range else ())
            if 0 <= ((day - partner) if before is not None else (partner - day)).days <= _LONGEST_RANGE_DAYS
        ]
        return min(ordered or days, key=lambda day: abs(day - partner), default=None)
    if known is None:
        return None
    distance = _distance(known, place)
    days = _in_years(single, range(known.first.year - 1, known.last.year + 2))
    days = [day for day in days if distance(day)[0] <= _FURTHEST_DAYS] or days
    days = _on_weekday(single, days)
    days = [day for day in days if day in known.each] or days
    return min(days, key=distance, default=None)


def _distance(known: _Known, place: int) -> Callable[[date], tuple[int, int]]:
    """Return a sort key of days: the distance to the full dates of the note, then to the date before."""
    near = known.nearest(place)

    def distance(day: date) -> tuple[int, int]:
        outside = max((known.first - day).days, _FUTURE_FACTOR * (day - known.last).days, 0)
        return outside, abs((day - near).days)

    return distance


def _in_years(single: DateParts, years: range) -> list[date]:
    """Return the days of a date without a year in ``years``. A 29 February is also searched for in earlier years."""
    first = years.start - (_LEAP_YEARS if (single.month, single.day) == (2, 29) else 0)
    return [day for year in range(first, years.stop) if (day := _day(single, year)) is not None]


def _on_weekday(single: DateParts, days: list[date]) -> list[date]:
    weekdays = [piece.weekday for piece in single.pieces if isinstance(piece, Piece) and piece.role in _WEEKDAYS]
    if len(weekdays) != 1 or single.on is not None:
        return days
    return [day for day in days if day.weekday() == weekdays[0]] or days


def _day_without_month(
    single: DateParts,
    before: date | None,
    last: tuple[date, Grain] | None,
    following: date | None,
    known: _Known | None,
    *,
    is_range: bool,
) -> date | None:
    """Return a day without a month, near the date ``before`` in its span, otherwise near ``last`` or ``following``."""
    near = before or (last[0] if last is not None else following)
    if near is None or single.day is None:
        return None
    if before is None and last is not None and last[1] is Grain.MONTH and single.day <= _days_in(near):
        return near.replace(day=single.day)  # "in March ... on the 3rd"
    days = _in_months(single, near if known is None or before is not None else known.nearest_to(near))
    days += _in_months(single, near)
    if single.has_year:
        days = [day for day in days if day.year == single.year] or days
    days = _on_weekday(single, days)
    if before is not None and is_range:
        days = [day for day in days if day >= before] or days
    else:
        between = [day for day in days if following is not None and near <= day <= following]
        named = [day for day in days if known is not None and day in known.each]
        is_open = known is not None and near not in known.each  # the date before does not name its year either
        among = [day for day in days if is_open and known is not None and known.first <= day <= known.last]
        days = between or named or among or days
    return min(days, key=lambda day: abs(day - near), default=None)


def _in_months(single: DateParts, near: date) -> list[date]:
    """Return the days of a date without a month in the month of ``near`` and in the two months before and after it."""
    months = (near.year * 12 + near.month - 1 + step for step in (-2, -1, 0, 1, 2))
    number = single.day or 0
    return [
        date(month // 12, month % 12 + 1, number)
        for month in months
        if 12 < month < 12 * 9999 and 1 <= number <= monthrange(month // 12, month % 12 + 1)[1]
    ]


def _days_in(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def _day(single: DateParts, year: int | None = None) -> date | None:
    """Return the day that a date stands for, or its day in ``year``; None when there is no such day."""
    year = year or single.year
    if year is None or single.month is None or single.day is None:
        return None
    try:
        return single.on(year) if single.on is not None else date(year, single.month, single.day)
    except ValueError:
        return None


def _is_range(parts: DateParts) -> bool:
    return any(
        _is_range(piece)
        if isinstance(piece, DateParts)
        else piece.role is Role.KEPT and _TO.fullmatch(piece.text) is not None
        for piece in parts.pieces
    )


def _with_days(parts: DateParts, singles: Iterator[DateParts]) -> DateParts:
    """Return ``parts`` with the days of ``singles``, which are its dates in the order of :func:`single_dates`."""
    pieces = tuple(_with_days(piece, singles) if isinstance(piece, DateParts) else piece for piece in parts.pieces)
    if parts.year is not None:
        single = next(singles)
        return replace(parts, pieces=pieces, year=single.year, month=single.month, day=single.day)
    parts = replace(parts, pieces=pieces)
    if not any(isinstance(piece, Piece) and piece.role is Role.HOLIDAY_WEEKDAY for piece in pieces):
        return parts
    weekday = next((day.weekday() for single in single_dates(parts) if (day := _day(single)) is not None), 0)
    return replace(
        parts,
        pieces=tuple(
            replace(piece, weekday=weekday)
            if isinstance(piece, Piece) and piece.role is Role.HOLIDAY_WEEKDAY
            else piece
            for piece in pieces
        ),
    )
