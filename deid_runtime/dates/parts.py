"""A date taken apart: the pieces it is written in, and the day it stands for.

A date goes through three functions: :func:`deid_runtime.dates.parse.parse_date` reads it into :class:`DateParts`,
:func:`deid_runtime.dates.shift.shift` moves these by days, :func:`deid_runtime.dates.render.render` writes them the way
the original was written.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal

LONGEST_DATE_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class DateStyle:
    """What the dates of one note tell of each other: the year they are mostly in, and how they are written.

    ``year`` is taken for dates without one, ``day_first`` for ``3/4/19``, ``padded`` for ``10/12``, ``short_months``
    for ``May``, ``padded_days`` for ``10 June``, ``in_figures`` for a day that the original named without a date.
    """

    year: int
    day_first: bool = False
    padded: bool = False
    short_months: bool = False
    padded_days: bool = False
    in_figures: bool = False


class Role(Enum):
    """What a piece of a date says."""

    KEPT = "kept"  # nothing that moves
    YEAR = "year"
    MONTH = "month"  # in figures
    MONTH_WORD = "month word"
    DAY = "day"  # in figures, perhaps with its ending
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
    """What a run of number words says: whether the month, how the day, the words of its year, and between them."""

    month: bool
    day: Literal["", "cardinal", "ordinal"]
    year: tuple[str, ...]
    joint: str  # of tens and units


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a date as written, and what it says.

    ``weekday`` is 0 for Monday. ``writing`` names the words of a month or weekday. ``year`` is the year written behind
    a holiday. ``is_padded`` asks for two figures.
    """

    text: str = field(repr=False)
    role: Role = Role.KEPT
    weekday: int = 0
    writing: str = ""
    year: str = field(default="", repr=False)
    is_padded: bool = False
    said: Said | None = None


class Form(Enum):
    """How the pieces of a date go together."""

    IN_ORDER = "in order"
    SCHEDULE = "schedule"  # weekdays in letters, a list or a range
    WEEK_OF_MONTH = "week of month"  # a date, and the word that counted its week
    DAYS_OF_MONTH = "days of month"  # 5-7 September 2019: a date, the joint, a date, the year
    DAYS_BEHIND_MONTH = "days behind month"  # Sep 5-7, 2019
    DAMAGED = "damaged"  # a date, and how a scanner read it


@dataclass(frozen=True, slots=True)
class DateParts:
    """A date as it was read.

    ``year``, ``month`` and ``day`` are the day that it stands for: of what is coarser the middle. They may be of no
    calendar (month 13), and are None where only weekdays are named. A piece may be a date of its own.
    """

    style: DateStyle
    pieces: tuple["Piece | DateParts", ...] = field(repr=False)
    form: Form = Form.IN_ORDER
    year: int | None = field(default=None, repr=False)
    month: int | None = field(default=None, repr=False)
    day: int | None = field(default=None, repr=False)
