"""The parts of a date: its pieces as written, and the day that it means.

A date passes through four functions. :func:`deid_runtime.dates.parse.parse_date` reads it into :class:`DateParts`,
:func:`deid_runtime.dates.calendar.settle` adds the years and months that it leaves out, from the other dates of the
note. :func:`deid_runtime.dates.shift.shift` moves it by days, and :func:`deid_runtime.dates.render.render` writes it in
the original format.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Final, Literal

LONGEST_DATE_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class DateStyle:
    """The common style of the dates in one note: the main year and the format.

    ``year`` is used for dates without one. ``day_first`` decides the order of ``3/4/19``, ``padded`` the format of
    ``10/12``, ``short_months`` of ``May``, and ``padded_days`` of ``10 June``. ``in_figures`` decides how to write a
    day that the original gave only as a name. ``locale`` is the country of the holidays: ``US``, ``GB``, ``IE``,
    ``CA``, ``AU``, ``NZ``, ``IN`` or ``other``.
    """

    year: int
    day_first: bool = False
    padded: bool = False
    short_months: bool = False
    padded_days: bool = False
    in_figures: bool = False
    locale: str = "US"


class Role(Enum):
    """The meaning of a piece of a date."""

    KEPT = "kept"  # text that a shift does not change
    YEAR = "year"
    MONTH = "month"  # in figures
    MONTH_WORD = "month word"
    MONTH_ROMAN = "month roman"  # in Roman figures
    DAY = "day"  # in figures, with or without an ordinal ending
    DAY_WORD = "day word"  # an ordinal in words
    WEEKDAY = "weekday"
    WEEKDAY_LETTER = "weekday letter"
    SEASON = "season"
    DECADE = "decade"
    QUARTER = "quarter"
    WEEK = "week"  # of the ISO calendar
    WEEK_YEAR = "week year"
    SAID = "said"  # a run of number words
    HOLIDAY = "holiday"  # known to the day
    FEAST = "feast"  # known to the month
    SAID_HOLIDAY = "said holiday"  # before a year in number words
    SAID_FEAST = "said feast"
    HOLIDAY_WEEKDAY = "holiday weekday"  # a holiday beside its own date


@dataclass(frozen=True, slots=True)
class Said:
    """The content of a run of number words: month or not, form of the day, words of the year, and the joint."""

    month: bool
    day: Literal["", "cardinal", "ordinal"]
    year: tuple[str, ...]
    joint: str  # between tens and units


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a date as written, and its meaning.

    ``weekday`` is 0 for Monday. ``writing`` names the word list of a month or weekday (language and length). ``year``
    is the year written beside a holiday. ``is_padded`` requires two figures.
    """

    text: str = field(repr=False)
    role: Role = Role.KEPT
    weekday: int = 0
    writing: str = ""
    year: str = field(default="", repr=False)
    is_padded: bool = False
    said: Said | None = None


class Form(Enum):
    """How the pieces of a date are combined."""

    IN_ORDER = "in order"
    SCHEDULE = "schedule"  # weekdays in letters, a list or a range
    WEEK_OF_MONTH = "week of month"  # a date, and the ordinal that counts its week
    DAYS_OF_MONTH = "days of month"  # 5-7 September 2019: a date, the joint, a date, the year
    DAYS_BEHIND_MONTH = "days behind month"  # Sep 5-7, 2019
    DAMAGED = "damaged"  # a date, and its text as a scanner read it


class Grain(Enum):
    """The length of the period that a date names. A date moves by whole periods of its grain."""

    DAY = "day"
    MONTH = "month"
    QUARTER = "quarter"
    SEASON = "season"
    YEAR = "year"
    DECADE = "decade"


@dataclass(frozen=True, slots=True)
class DateParts:
    """A parsed date.

    ``year``, ``month`` and ``day`` are the day that it stands for, or the middle of a longer period of length
    ``grain``. They may be invalid (month 13), and are None when only weekdays are named. Without ``has_year``, or
    without ``has_month``, the text does not name the year or the month, and these are guesses. ``on`` gives the day of
    a named holiday in a year. A piece may itself be a date.
    """

    style: DateStyle
    pieces: tuple["Piece | DateParts", ...] = field(repr=False)
    form: Form = Form.IN_ORDER
    year: int | None = field(default=None, repr=False)
    month: int | None = field(default=None, repr=False)
    day: int | None = field(default=None, repr=False)
    grain: Grain = Grain.DAY
    has_year: bool = True
    has_month: bool = True
    on: Callable[[int], date] | None = field(default=None, repr=False)


def single_dates(parts: DateParts) -> list[DateParts]:
    """Return the dates in ``parts`` that stand for a day or period, in the order of the text; without lone weekdays."""
    own = [parts] if parts.year is not None else []
    inner = [single for piece in parts.pieces if isinstance(piece, DateParts) for single in single_dates(piece)]
    return inner + own if inner else own
