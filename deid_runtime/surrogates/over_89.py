"""Dates that would reveal an age over 89, and the years that replace theirs.

Ages over 89 are written as "90+". A year of birth beside the year of the note would reveal the age again. Therefore, a
date 90 years or more before the note gets a new year. This year depends only on the patient and the time of the note,
and it shows only "over 89". The day, month and form of the date change like those of the patient's other dates. (45 CFR
164.514(b)(2)(i)(C): "all ages over 89 and all elements of dates (including year) indicative of such age".)
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from deid_runtime.dates.parts import DateParts, DateStyle, Grain, single_dates
from deid_runtime.dates.shift import months_of, shift_day, shift_month
from deid_runtime.dates.stated import stated_years
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
#: A two-digit year more than this many years ahead may be a year of birth. It does not date the note.
_YEARS_PLANNED: Final = 5
_YEAR_UNTOLD: Final = 2020
BIRTH_CUE: Final = re.compile(
    r"(?:\bd\.?o\.?b\b|\byob\b|\bborn\b|\bbirth(?:date|day)?\b|\bb\.)[^\w]*(?:(?:on|in|date)\b\W*)?$", re.I
)
_KIN: Final = rf"(?:{alternation((*kin('age'), *kin('not-now')))}|[mp]g[mf])(?:['’]?s)?"
#: A relative in the same sentence, at most three words before an age or a year of birth.
_OF_KIN: Final = re.compile(rf"\b{_KIN}\b(?:[\s,:;(\"“‘'\-]+[\w'’\-]+){{0,3}}[\s,:(\"“‘]*$", re.I)
_NOT_NOW: Final = re.compile(r"\b(?:until|till|reach|live to)\s+(?:age\s+)?[\"'“‘]?$", re.I)
_UNIT: Final = r"[\s-]*(?:(?:y(?:ea)?rs?|y\.?)[\s\-./]*(?:old|o\b\.?)|y\b)?[\s-]*"
_KIN_BEHIND: Final = re.compile(rf"{_UNIT}(?:(?:older|elder|younger|twin|big|little|late|great|own)\s+)?{_KIN}\b", re.I)
#: Words after an age that show that it is the patient's, whoever is named before it.
_PATIENT_BEHIND: Final = re.compile(rf"{_UNIT}(?:[MF]\b|(?:patient|pt|m|f)\b)")
_PATIENT_BEFORE: Final = re.compile(r"\b(?:patient|pt|he|she|client|resident)(?:['’]s)?\b[^.;\n]*$", re.I)
#: Number of characters before a date that show whether it is a date of birth, and around an age that show whose it is.
BEFORE_CHARS: Final = 24
AROUND_AGE_CHARS: Final = 48
_DAYS_IN_YEAR: Final = 365.2425


def year_of_note(years: Iterable[int], ages: Iterable[int], born: date | None, default: int) -> int:
    """Return the year at which ages in a note are stated: its latest year, or ``default`` when it names none.

    ``years`` are the years of its dates; ``ages`` are the ages it states. The year of birth is that of the record,
    or else the earliest year. When an age over 89 plus the year of birth gives a year up to 15 years after the
    latest, return that year. Exception: more ages below 90 than such ages over 89 fit the latest year. Then those are
    the patient's ages, and the age over 89 is another person's (a list of patients) or in the future. As many are
    enough when the date of birth is known and that year is more than 5 years later.
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
    if not later or fitting > len(later):
        return latest
    is_of_others = born is not None and fitting == len(later) and min(later) > latest + _YEARS_PLANNED
    return latest if is_of_others else max(later)


def years_of_visits(years: Mapping[tuple[str, str], Sequence[int]], main_year: int) -> list[int]:
    """Return the years of dates that may tell the time of a note.

    ``years`` are the years of each pair (text before a date, date). A year of two digits is left out when it is read
    as more than 5 years after ``main_year``: in a list of patients it may be of a birth (``8/3/37``).
    """
    return [
        year
        for (_, value), found in years.items()
        for year in found
        if str(year) in value or year <= main_year + _YEARS_PLANNED
    ]


def is_of_patient_now(before: str, after: str) -> bool:
    """Return whether an age between ``before`` and ``after`` may be the patient's age at the time of the note.

    It is not when it is a relative's (``mother died at 91``, ``her 97-year-old brother``) or in the future (``until``).
    """
    if _NOT_NOW.search(before) or _KIN_BEHIND.match(after):
        return False
    return is_of_patient(before) or _PATIENT_BEHIND.match(after) is not None


def is_of_patient(before: str) -> bool:
    """Return whether the age or date of birth after the text ``before`` may be the patient's, and not a relative's."""
    found = _OF_KIN.search(before)
    return found is None or _PATIENT_BEFORE.search(before, found.start()) is not None


def years_of_dates(
    dates: Iterable[tuple[str, str]], style: DateStyle, born: date | None
) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return the years that each of ``dates`` names. A date is the pair (text before it, value).

    A two-digit year belongs to this century if that is at most 15 years after the main year of the note. When the note
    names only years of birth and of the distant past, the limit is 15 years after 2020.

    Years of birth always stay in the past, at most the latest year of the other dates. A date is one of birth when its
    day is that of the record's date of birth or of a date with a four-digit year. It is also one when the words before
    it show it.
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

    visits = [year for (before, _), years in found.items() if not BIRTH_CUE.search(before) for year in years]
    latest_visit = max(visits, default=None)

    def settled(before: str, value: str, year: int) -> int:
        is_short = str(year) not in value and any(map(str.isdecimal, value))
        if is_short and latest_visit is not None and year > latest_visit and BIRTH_CUE.search(before):
            return year - 100
        day = _numbers(value) - {year % 100}
        is_birth = any(day <= numbers for numbers in births.get(year, ()))
        is_past = is_birth or BIRTH_CUE.search(before) or year + 100 > latest
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


def note_year_by_days(note_year: int, born: date | None, dates: Iterable[DateParts | None]) -> int:
    """Return ``note_year``, less one when even the latest of ``dates`` is before the 90th birthday, in that year."""
    if born is None or note_year != born.year + GROUPED_AGE_YEARS:
        return note_year
    singles = [single for parts in dates if parts is not None for single in single_dates(parts)]
    last = [single for single in singles if single.year == note_year]
    is_before = bool(last) and all(
        single.grain is Grain.DAY and (single.month or 0, single.day or 0) < (born.month, born.day) for single in last
    )
    return note_year - is_before


def grouped_shift(parts: DateParts, days: int, note_year: int, keyed: Keyed) -> int:
    """Return the days by which to move ``parts``, a date that reveals an age over 89.

    The new year is 92 to 99 years before the year of the note, so it does not reveal the age. Day and month are those
    to which ``days`` moves the date.
    """
    group = note_year // _NOTES_TOGETHER_YEARS * _NOTES_TOGETHER_YEARS
    target = group - GROUPED_AGE_YEARS - 2 - keyed.number("over 89", str(group)) % 4
    single = next((each for each in single_dates(parts) if each.has_year), None)
    if single is None or single.year is None or single.month is None or single.day is None:
        return days
    year, month, day = single.year, single.month, single.day
    if single.grain in (Grain.YEAR, Grain.DECADE):
        return round((target - year) * _DAYS_IN_YEAR)
    try:
        if single.grain is not Grain.DAY:
            months = months_of(single.grain, days)
            moved, _ = shift_month(year, month, months)
            return round((months + 12 * (target - moved)) * _DAYS_IN_YEAR / 12)
        moved, month, day = shift_day(year, month, day, days)
        return (date(target, month, min(day, monthrange(target, month)[1])) - _day(single)).days
    except ValueError:  # a day that does not exist
        return days + round((target - year) * _DAYS_IN_YEAR)


def _day(single: DateParts) -> date:
    return date(single.year or 0, single.month or 0, single.day or 0)


def birth_shift(parts: DateParts, days: int, born: date) -> int:
    """Return the days by which to move ``parts``, a date in the year of birth: ``days``, unless it has no day.

    A year or month of birth without a day moves like the full date of birth. A move from the middle of that year or
    month could give another result.
    """
    grains = {single.grain for single in single_dates(parts)}
    try:
        to = born + timedelta(days=days)
    except OverflowError:  # 9999-12-31 means unknown
        return days
    if grains == {Grain.YEAR}:
        return round((to.year - born.year) * _DAYS_IN_YEAR)
    if grains != {Grain.MONTH} or any(single.month != born.month for single in single_dates(parts)):
        return days
    return round((12 * (to.year - born.year) + to.month - born.month) * _DAYS_IN_YEAR / 12)
