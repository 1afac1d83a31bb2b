"""Dates that would reveal an age over 89, and the years that replace theirs.

Ages over 89 are written as "90+". A year of birth beside the year of the note would reveal the age again. Therefore, a
date 90 years or more before the note gets a new year. This year depends only on the patient and the time of the note,
and it shows only "over 89". The day, month and form of the date change as those of the patient's other dates. (45 CFR
164.514(b)(2)(i)(C): "all ages over 89 and all elements of dates (including year) indicative of such age".)
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

#: A person who turns 90 in the year of the note was born this many years earlier.
GROUPED_AGE_YEARS: Final = 90
#: There were no electronic notes before this year: an earlier year refers to the past, not to the time of the note.
_EARLIEST_NOTE: Final = 1990
_LATEST_NOTE: Final = 2199
_YEARS_OF_AGE_AND_BIRTH: Final = 15
_NOTES_TOGETHER_YEARS: Final = 5  # notes of the same five years share one grouped year of birth
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
#: Number of characters before a date that show whether it is a date of birth, and before an age that show whose it is.
BEFORE_CHARS: Final = 24
_DAYS_IN_YEAR: Final = 365.2425


def year_of_note(years: Iterable[int], ages: Iterable[int], born: date | None, default: int) -> int:
    """Return the year at which ages in a note are stated: its latest year, or ``default`` when it names none.

    ``years`` are the years of its dates; ``ages`` are the ages it states. The year of birth is that of the record, else
    the earliest year. When an age over 89 plus the year of birth gives a year up to 15 years after the latest, return
    that year.
    Exception: more ages below 90 than such ages over 89 fit the latest year. Then those are the patient's ages, and the
    age over 89 is another person's or in the future.
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
    """Return whether an age after the text ``before`` may be the patient's age at the time of the note.

    It is not when it is a relative's (``mother died at``) or in the future (``until``).
    """
    return not _NOT_OF_NOW.search(before)


def years_of_dates(
    dates: Iterable[tuple[str, str]], style: DateStyle, born: date | None
) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return the years that each of ``dates`` names. A date is the pair (text before it, value).

    A two-digit year belongs to this century if that is at most 15 years after the main year of the note. When the note
    names only years of birth and of the distant past, the limit is 15 years after 2020.

    Years of birth always stay in the past. A date is one of birth when its day is that of the record's date of birth or
    of a date with a four-digit year. It is also one when the words before it say so.
    """
    found = {(before, value): stated_years(value, style) for before, value in dates}
    births: dict[int, set[frozenset[int]]] = {}  # year -> for each of its dates, the set of its numbers
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
    """Return whether one of ``years`` is so early that a person born then is over 89 in ``note_year``."""
    return bool(years) and min(years) <= note_year - GROUPED_AGE_YEARS


def grouped_offset(value: str, offset: int, style: DateStyle, note_year: int, keyed: Keyed) -> int:
    """Return the days by which to move ``value``, a date that reveals an age over 89.

    The new year is 92 to 99 years before the year of the note, so it does not reveal the age.
    """
    group = note_year // _NOTES_TOGETHER_YEARS * _NOTES_TOGETHER_YEARS
    target = group - GROUPED_AGE_YEARS - 2 - keyed.number("over 89", str(group)) % 4
    moved = replace_date(value, offset, style)
    years = stated_years(moved, style) if moved is not None else ()
    return offset + round((target - years[0]) * _DAYS_IN_YEAR) if years else offset


def birth_offset(value: str, offset: int, style: DateStyle, born: date) -> int:
    """Return the days by which to move ``value``, a date in the year of birth: ``offset``, unless it has no day.

    A year or month of birth without a day moves as the full date of birth does. A move from the middle of that year or
    month could give another result.
    """
    if replace_date(value, 1, style) != value:
        return offset
    try:
        to = born + timedelta(days=offset)
    except OverflowError:  # 9999-12-31 means unknown
        return offset
    if replace_date(value, 31, style) == value:
        return (date(to.year, 7, 2) - date(born.year, 7, 2)).days
    month = month_of(value, style)
    if month is None or month[1] != born.month:
        return offset
    return (date(to.year, to.month, 15) - date(born.year, born.month, 15)).days
