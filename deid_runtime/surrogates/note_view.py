"""What the surrogates of one note depend on: its text, its spans and their values, and the people and places in it.

People and places may come from all notes of the patient: :class:`Named` is computed once for all of them.
"""

import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from deid_runtime.dates.forms import read_style
from deid_runtime.dates.parts import DateStyle
from deid_runtime.records.birth_dates import date_of_birth
from deid_runtime.spans import Note, Span
from deid_runtime.surrogates.ages import stated_ages
from deid_runtime.surrogates.context import Context, beside
from deid_runtime.surrogates.forms import holds_text, normal_form
from deid_runtime.surrogates.initials import first_attempts
from deid_runtime.surrogates.lists import places
from deid_runtime.surrogates.over_89 import (
    BEFORE_CHARS,
    is_of_patient_now,
    year_of_note,
    years_of_dates,
)
from deid_runtime.surrogates.patient import Patient
from deid_runtime.surrogates.people import People, find_people
from deid_runtime.surrogates.phones import AreaCode, plan_phones, replace_area_code
from deid_runtime.surrogates.places import (
    replace_city,
    state_for,
)

#: Number of characters after an age that show whether it is an age in years.
AFTER_CHARS: Final = 12


@dataclass(frozen=True, slots=True)
class Named:
    """What the surrogates of every note of a context depend on."""

    patient: Patient
    context: Context = field(repr=False)
    taken: frozenset[str] = field(repr=False)
    people: People = field(repr=False)
    towns: Mapping[str, str] = field(repr=False)
    phones: Mapping[str, int] = field(repr=False)  # result of plan_phones


@dataclass(frozen=True, slots=True)
class NoteView:
    """What the surrogates of one note depend on in addition to the value: its text and the values of its spans."""

    patient: Patient
    text: str = field(repr=False)
    spans: Sequence[Span]
    values: Sequence[str] = field(repr=False)
    taken: frozenset[str] = field(repr=False)
    context: Context = field(repr=False)
    people: People = field(repr=False)
    dates: DateStyle
    years: Mapping[tuple[str, str], tuple[int, ...]] = field(repr=False)  # (text before a date, date) -> its years
    note_year: int  # the year at which ages are stated
    born: date | None = field(repr=False)
    towns: Mapping[str, str] = field(repr=False)
    phones: Mapping[str, int] = field(repr=False)  # result of plan_phones

    def beside(self, index: int, label: str, step: int) -> str:
        """Return the value of the next span in direction ``step`` if it has ``label`` and is close, else empty."""
        return beside(self.text, self.spans, self.values, index, label, step)

    def town(self, name: str) -> str | None:
        """Return the surrogate of a town that the context or the gazetteer knows, else None."""
        form = normal_form(name)
        known = self.towns.get(form)
        if known is None and form in places().us_cities:
            known = replace_city(self.patient, string.capwords(name), self.taken)
        return known


def area_code_of(patient: Patient, taken: frozenset[str]) -> AreaCode:
    """Return a function that replaces area codes by area codes of the surrogate of their state."""

    def area_code(code: str, local: str, attempt: int) -> str:
        return replace_area_code(patient, code, local, attempt, lambda state: state_for(patient, state, taken))

    return area_code


def view_context(patient: Patient, context: Context, avoid: Collection[str]) -> Named:
    """Return what the surrogates of all notes of a context depend on. Its run time grows with the number of names."""
    people = find_people(patient, context.names, context.handles)
    taken = {normal_form(value) for value in avoid} | patient.recorded | context.originals | people.words
    taken.discard("")
    frozen = frozenset(taken)
    people = replace(people, first_attempts=first_attempts(patient, people, frozen))
    towns = {}
    city, state = patient.record.get("city", ""), patient.record.get("state", "")
    recorded = {normal_form(city): (city, state, "")} if holds_text(city) else {}
    for form, (town, state, country) in {**context.towns, **recorded}.items():
        # Make the surrogate in the letter case of the lists: each mention applies its own case later.
        named = string.capwords(town) if town.isupper() or town.islower() else town
        towns[form] = replace_city(patient, named, frozen, state=state, country=country)
    return Named(
        patient=patient,
        context=context,
        taken=frozen,
        people=people,
        towns=towns,
        phones=plan_phones(patient, context.phones, frozen, area_code_of(patient, frozen)),
    )


def view_note(named: Named, note: Note, spans: Sequence[Span], values: Sequence[str]) -> NoteView:
    """Return what the surrogates of ``spans`` depend on. The context of ``named`` must include this note."""
    patient = named.patient
    dated = dated_values(note, spans, values)
    default_year = _default_year(patient)
    dates = read_style((value for _, value in dated), default_year)
    born = date_of_birth(patient.record.get("dob", ""))
    years = years_of_dates(dated, dates, born)
    note_year = year_of_ages(note, spans, values, years.values(), born, default_year)
    return NoteView(
        patient=patient,
        text=note.text,
        spans=spans,
        values=values,
        taken=named.taken,
        context=named.context,
        people=named.people,
        dates=dates,
        years=years,
        note_year=note_year,
        born=born,
        towns=named.towns,
        phones=named.phones,
    )


def dated_values(note: Note, spans: Sequence[Span], values: Sequence[str]) -> list[tuple[str, str]]:
    """Return (text before the date, date) for each date of the note."""
    return [
        (note.text[max(0, span.start - BEFORE_CHARS) : span.start], value)
        for span, value in zip(spans, values, strict=True)
        if span.label == "DATE"
    ]


def year_of_ages(
    note: Note,
    spans: Sequence[Span],
    values: Sequence[str],
    years: Iterable[Sequence[int]],
    born: date | None,
    default: int,
) -> int:
    """Return the year at which the ages in the note are stated. ``years`` are the years of its dates."""
    ages: list[int] = []
    for span, value in zip(spans, values, strict=True):
        before = note.text[max(0, span.start - BEFORE_CHARS) : span.start]
        if span.label == "AGE" and is_of_patient_now(before):
            ages += stated_ages(value, note.text[span.end : span.end + AFTER_CHARS])
    return year_of_note([year for found in years for year in found], ages, born, default)


def _default_year(patient: Patient) -> int:
    """Return the year for dates without a year in a note that names no year.

    It is 2015 to 2022, from the patient's key: the result must not depend on today's date.
    """
    return 2015 + patient.keyed.number("year", "") % 8
