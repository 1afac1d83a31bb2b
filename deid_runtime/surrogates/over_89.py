"""Dates that would tell an age over 89, and the years they get instead.

Ages over 89 are written as "90+". A year of birth beside the year of the note would give them away again, so a date
that lies 90 years or more before the note gets a year that depends on the patient and the time of the note alone, and
says no more than "over 89". Its day, month and form move with the patient's other dates. (45 CFR 164.514(b)(2)(i)(C):
"all ages over 89 and all elements of dates (including year) indicative of such age".)
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Final

from deid_runtime.dates.parts import DateStyle
from deid_runtime.dates.replace import replace_date
from deid_runtime.dates.stated import month_of, stated_years
from deid_runtime.lexicon.vocabulary import alternation, kin
from deid_runtime.surrogates.hashing import Keyed

#: A person who turns 90 in the year of the note was born this many years before.
GROUPED_AGE_YEARS: Final = 90
#: Before electronic notes: a note whose latest year is earlier tells what was, not when it was written.
_EARLIEST_NOTE: Final = 1990
_LATEST_NOTE: Final = 2199
_YEARS_OF_AGE_AND_BIRTH: Final = 15
_NOTES_TOGETHER_YEARS: Final = 5  # notes of the same five years agree on a grouped year of birth
_YEARS_AHEAD: Final = 15
_YEAR_UNTOLD: Final = 2020
_BIRTH_CUE: Final = re.compile(
    r"(?:\bd\.?o\.?b\b|\byob\b|\bborn\b|\bbirth(?:date|day)?\b|\bb\.)[^\w]*(?:(?:on|in|date)\b\W*)?$", re.I
)
_NOT_OF_NOW: Final = re.compile(
    rf"\b(?:{alternation(kin('not-now'))}|[mp]g[mf])\b"
    r"(?:[\s,:(]|\b(?:aged?|who|is|was|now|died|dead|dec(?:eased)?|passed|away|lived|to|at|in|her|his)\b)*$"
    r"|\b(?:until|till|reach|live to)\s+(?:age\s+)?[\"'“‘]?$",
    re.I,
)
#: So much of the text before a date says whether it is one of birth, and before an age whose it is.
BEFORE_CHARS: Final = 24
_DAYS_IN_YEAR: Final = 365.2425


def year_of_note(years: Iterable[int], ages: Iterable[int], born: date | None, default: int) -> int:
    """Return the year that ages in a note are to be counted to: its latest, ``default`` where it names none.

    ``years`` are those its dates name; ``ages`` those stated in it. A year of birth, that of the record or else the
    earliest, and an age over 89 that add up to somewhat later than the latest year mean that the note is from then;
    unless more different younger ages add up to the latest year itself: those are the patient's then, and the other is
    somebody else's, or of years to come.
    """
    named = [year for year in years if year <= _LATEST_NOTE]
    latest = max((year for year in named if year >= _EARLIEST_NOTE), default=default)
    birth = born.year if born is not None else min(named, default=None)
    if birth is None:
        return latest
    told = set(ages)
    later = [birth + age for age in told if age >= GROUPED_AGE_YEARS]
    later = [year for year in later if latest <= year <= latest + _YEARS_OF_AGE_AND_BIRTH]
    fitting = sum(age < GROUPED_AGE_YEARS and birth + age in (latest - 1, latest) for age in told)
    return max(later) if later and fitting <= len(later) else latest


def is_of_patient_now(before: str) -> bool:
    """Say whether an age with ``before`` in front of it may be the patient's at the time of the note: not that of a
    relative (``mother died at``), nor one to come (``until``).
    """
    return not _NOT_OF_NOW.search(before)


def years_of_dates(
    dates: Iterable[tuple[str, str]], style: DateStyle, born: date | None
) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return the years that each of ``dates`` names; a date is the text before it and its value.

    Two-digit years are taken as of this century up to 15 years after the year that the note is mostly in (or after 2020
    where it names none but years of birth and of long ago), but for dates
    of birth, which are in the past: the same day as that of the record or as a date in full, or so called by the words
    before them.
    """
    found = {(before, value): stated_years(value, style) for before, value in dates}
    births: dict[int, set[frozenset[int]]] = {}  # of each year, the numbers of its dates
    for (_, value), years in found.items():
        for year in years:
            if str(year) in value:
                births.setdefault(year, set()).add(_numbers(value))
    if born is not None:
        births.setdefault(born.year, set()).add(frozenset({born.year, born.month, born.day}))

    tells_time = style.year >= _EARLIEST_NOTE and (born is None or style.year != born.year)
    latest = (style.year if tells_time else _YEAR_UNTOLD) + _YEARS_AHEAD

    def settled(before: str, value: str, year: int) -> int:
        is_short = str(year) not in value and any(map(str.isdecimal, value))
        day = _numbers(value) - {year % 100}
        is_birth = any(day <= numbers for numbers in births.get(year, ()))
        is_past = is_birth or _BIRTH_CUE.search(before) or year + 100 > latest
        return year if not is_short or is_past else year + 100

    return {
        (before, value): tuple(settled(before, value, year) for year in years)
        for (before, value), years in found.items()
    }


def _numbers(value: str) -> frozenset[int]:
    return frozenset(int(digits) for digits in re.findall(r"[0-9]{1,4}", value))


def tells_over_89(years: Sequence[int], note_year: int) -> bool:
    """Say whether a date of ``years`` is so long ago that whoever it belongs to is over 89 in ``note_year``."""
    return bool(years) and min(years) <= note_year - GROUPED_AGE_YEARS


def grouped_offset(value: str, offset: int, style: DateStyle, note_year: int, keyed: Keyed) -> int:
    """Return the days by which ``value``, which tells an age over 89, is to move: to a year that does not.

    The year is 92 to 99 years before that of the note.
    """
    group = note_year // _NOTES_TOGETHER_YEARS * _NOTES_TOGETHER_YEARS
    target = group - GROUPED_AGE_YEARS - 2 - keyed.number("over 89", str(group)) % 4
    moved = replace_date(value, offset, style)
    years = stated_years(moved, style) if moved is not None else ()
    return offset + round((target - years[0]) * _DAYS_IN_YEAR) if years else offset


def birth_offset(value: str, offset: int, style: DateStyle, born: date) -> int:
    """Return the days by which ``value``, of the year of birth, is to move: ``offset``, unless it has no day.

    The year or month of birth alone follows the whole date of birth, rather than move from the middle of its stretch.
    """
    if replace_date(value, 1, style) != value:
        return offset
    try:
        to = born + timedelta(days=offset)
    except OverflowError:  # 9999-12-31 stands for unknown
        return offset
    if replace_date(value, 31, style) == value:
        return (date(to.year, 7, 2) - date(born.year, 7, 2)).days
    month = month_of(value, style)
    if month is None or month[1] != born.month:
        return offset
    return (date(to.year, to.month, 15) - date(born.year, born.month, 15)).days
