"""Derive the patient's date of birth from the notes when the record does not have it.

Lone years of birth move with it. So a year of birth agrees with the full date of birth, and with the age at
the time of the note.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from deid_runtime.dates.forms import read_style
from deid_runtime.dates.parts import DateParts, Grain, single_dates
from deid_runtime.dates.replace import read_dates
from deid_runtime.spans import Note, Span
from deid_runtime.surrogates.ages import stated_ages
from deid_runtime.surrogates.over_89 import (
    AROUND_AGE_CHARS,
    BEFORE_CHARS,
    BIRTH_CUE,
    is_of_patient,
    is_of_patient_now,
)

_DEFAULT_YEAR: Final = 2020  # of notes without any full date; it does not affect a date of birth
_EARLIEST_NOTE: Final = 1990
_OLDEST: Final = 120


@dataclass(frozen=True, slots=True)
class BirthEvidence:
    """The evidence of one note about the date of birth of its patient.

    ``days`` are full dates of birth, ``months`` the middle of months of birth, ``years`` the lone years
    of birth. ``spans`` are the first and last possible day according to each age of the patient.
    """

    days: tuple[date, ...] = field(default=(), repr=False)
    months: tuple[date, ...] = field(default=(), repr=False)
    years: tuple[int, ...] = field(default=(), repr=False)
    spans: tuple[tuple[date, date], ...] = field(default=(), repr=False)


def births_in(
    note: Note,
    spans: Sequence[Span],
    values: Sequence[str],
    dates: Sequence[DateParts | None] | None = None,
    *,
    locale: str = "US",
    usual: bool | None = None,
) -> BirthEvidence:
    """Return the evidence of a note about the date of birth. ``dates`` are its parsed dates, in the order of the text.

    Without them, they are read here, with the ``locale`` and the ``usual`` order of day and month of the patient.
    """
    dated = [(span, value) for span, value in zip(spans, values, strict=True) if span.label == "DATE"]
    cued = [index for index, (span, _) in enumerate(dated) if _is_birth(note.text, span.start)]
    if not cued:
        return BirthEvidence()
    if dates is None:
        texts = [value for _, value in dated]
        dates = read_dates(texts, read_style(texts, _DEFAULT_YEAR, locale, usual=usual))
    days, months, years = [], [], []
    for index in cued:
        parts = dates[index]
        singles = single_dates(parts) if parts is not None else []
        day = _day(singles[0]) if len(singles) == 1 and singles[0].has_year else None
        if day is not None and singles[0].grain is Grain.DAY:
            days.append(day)
        elif day is not None and singles[0].grain is Grain.MONTH:
            months.append(day)
        elif day is not None and singles[0].grain is Grain.YEAR:
            years.append(day.year)
    possible = _by_ages(note, spans, values, dates) if years and not days else ()
    return BirthEvidence(tuple(days), tuple(months), tuple(years), possible)


def likely_birth(evidence: Iterable[BirthEvidence]) -> date | None:
    """Return the date of birth by ``evidence``, or the middle of the possible time; None without evidence.

    The order of the notes does not matter.
    """
    notes = list(evidence)
    for found in ([day for note in notes for day in note.days], [day for note in notes for day in note.months]):
        if found:
            counts = Counter(found)
            return min(counts, key=lambda day: (-counts[day], day))
    years = Counter(year for note in notes for year in note.years)
    if not years:
        return None
    year = min(years, key=lambda year: (-years[year], year))
    first, last = date(year, 1, 1), date(year, 12, 31)
    for start, end in sorted(span for note in notes for span in note.spans):
        if max(first, start) <= min(last, end):
            first, last = max(first, start), min(last, end)
    return None if (first, last) == (date(year, 1, 1), date(year, 12, 31)) else first + (last - first) // 2


def _is_birth(text: str, start: int) -> bool:
    before = text[max(0, start - AROUND_AGE_CHARS) : start]
    cue = BIRTH_CUE.search(before[-BEFORE_CHARS:])
    return cue is not None and is_of_patient(before[: len(before) - len(cue[0])])


def _by_ages(
    note: Note, spans: Sequence[Span], values: Sequence[str], dates: Sequence[DateParts | None]
) -> tuple[tuple[date, date], ...]:
    """Return the first and last possible day of birth for each age of the patient, at the latest date of the note."""
    days = [
        day
        for parts in dates
        if parts is not None
        for single in single_dates(parts)
        if single.grain is Grain.DAY and single.has_year and single.has_month
        if (day := _day(single)) is not None and day.year >= _EARLIEST_NOTE
    ]
    if not days:
        return ()
    now = max(days)
    return tuple(
        (_years_before(now, age + 1) + timedelta(days=1), _years_before(now, age))
        for age in patient_ages(note.text, spans, values)
        if age <= _OLDEST
    )


def patient_ages(text: str, spans: Sequence[Span], values: Sequence[str]) -> list[int]:
    """Return the ages in years that a note states for its patient at the time of the note."""
    ages: list[int] = []
    for span, value in zip(spans, values, strict=True):
        if span.label != "AGE":
            continue
        before = text[max(0, span.start - AROUND_AGE_CHARS) : span.start]
        after = text[span.end : span.end + AROUND_AGE_CHARS]
        if is_of_patient_now(before, after):
            ages += stated_ages(value, after)
    return ages


def _years_before(day: date, years: int) -> date:
    return day.replace(year=day.year - years, day=min(day.day, 28) if day.month == 2 else day.day)


def _day(single: DateParts) -> date | None:
    try:
        return date(single.year or 0, single.month or 0, single.day or 0)
    except ValueError:
        return None
