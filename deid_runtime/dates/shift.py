"""Move a date by days: the period it stands for, and its weekdays. The text of the date is not used."""

from calendar import monthrange
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from deid_runtime.dates.parts import DateParts, Grain, Role

_DAYS_IN_WEEK: Final = 7
_DAYS_IN_YEAR: Final = 365.2425
_WEEKDAYS: Final = frozenset({Role.WEEKDAY, Role.WEEKDAY_LETTER, Role.HOLIDAY_WEEKDAY})
_MONTHS: Final[Mapping[Grain, int]] = {
    Grain.MONTH: 1,
    Grain.QUARTER: 3,
    Grain.SEASON: 3,
    Grain.YEAR: 12,
    Grain.DECADE: 120,
}


def shift(parts: DateParts, days: int) -> DateParts:
    """Return ``parts`` moved by ``days``.

    A month, quarter, season, year or decade moves by the number of such periods that is closest to ``days``, so the
    number of periods between two of them stays the same. The move differs from that of a day by half a period at most.
    So a period that is wholly before another period or day is never wholly after it when both are shifted.

    Raises ValueError or OverflowError outside the years 1 to 9999.
    """
    pieces = tuple(
        shift(piece, days)
        if isinstance(piece, DateParts)
        else replace(piece, weekday=(piece.weekday + days) % _DAYS_IN_WEEK)
        if piece.role in _WEEKDAYS
        else piece
        for piece in parts.pieces
    )
    if parts.year is None or parts.month is None or parts.day is None:
        return replace(parts, pieces=pieces)
    year, month, day = parts.year, parts.month, parts.day
    if parts.grain is Grain.DAY or not 1 <= month <= 12:
        year, month, day = shift_day(year, month, day, days)
    else:
        year, month = shift_month(year, month, months_of(parts.grain, days))
    return replace(parts, pieces=pieces, year=year, month=month, day=day)


def months_of(grain: Grain, days: int) -> int:
    """Return the number of months by which a period longer than a day moves: the whole periods closest to ``days``."""
    months = _MONTHS[grain]
    return months * round(days / (months * _DAYS_IN_YEAR / 12))


def shift_month(year: int, month: int, months: int) -> tuple[int, int]:
    """Return (year, month) moved by ``months``. Raises ValueError outside the years 1 to 9999."""
    place = year * 12 + month - 1 + months
    if not 12 <= place < 12 * 10_000:
        raise ValueError("the year is outside the calendar")
    return place // 12, place % 12 + 1


def shift_day(year: int, month: int, day: int, days: int) -> tuple[int, int, int]:
    """Return the date ``days`` later. Invalid dates stay invalid: day 0, the 31st of a month of 30 days, month 13.

    Raises ValueError or OverflowError outside the years 1 to 9999.
    """
    if not 1 <= month <= 12:
        moved = date(year, 7, 2) + timedelta(days=days)
        other_month = 0 if month == 0 else _changed_number(month, 13, 99, days)
        other_day = (
            0 if day == 0 else _changed_number(day, 1, 31, days) if day <= 31 else _changed_number(day, 32, 99, days)
        )
        return moved.year, other_month, other_day
    last = monthrange(year, month)[1]
    moved = date(year, month, min(max(day, 1), last)) + timedelta(days=days)
    if day == 0:
        return moved.year, moved.month, 0
    if day > 31:
        return moved.year, moved.month, _changed_number(day, 32, 99, days)
    if day > last:
        return moved.year, moved.month, monthrange(moved.year, moved.month)[1] + day - last
    return moved.year, moved.month, moved.day


def _changed_number(number: int, low: int, high: int, days: int) -> int:
    """Return a different number in ``low..high``, for parts of dates that do not exist."""
    size = high - low + 1
    return low + (number - low + (days % (size - 1) + 1)) % size
