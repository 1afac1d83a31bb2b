"""The data on which the surrogates of one note depend: its text, spans and values, and its people and places.

People and places may come from all notes of the patient: :class:`Named` is computed once for all of them.
"""

import string
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from deid_runtime.dates.forms import read_style
from deid_runtime.dates.parts import DateParts, DateStyle
from deid_runtime.dates.replace import read_dates
from deid_runtime.records.birth_dates import date_of_birth
from deid_runtime.spans import Note, Span
from deid_runtime.surrogates.areas import known_area
from deid_runtime.surrogates.births import births_in, likely_birth, patient_ages
from deid_runtime.surrogates.context import Context, beside
from deid_runtime.surrogates.countries import own_locale
from deid_runtime.surrogates.dialling import codes_of
from deid_runtime.surrogates.forms import holds_text, normal_form
from deid_runtime.surrogates.gazetteer import Area, places
from deid_runtime.surrogates.initials import first_attempts
from deid_runtime.surrogates.locale import LOCALES, locale_of
from deid_runtime.surrogates.over_89 import (
    BEFORE_CHARS,
    note_year_by_days,
    year_of_note,
    years_of_dates,
    years_of_visits,
)
from deid_runtime.surrogates.patient import Patient
from deid_runtime.surrogates.people import People, find_people
from deid_runtime.surrogates.phones import Codes, plan_phones
from deid_runtime.surrogates.places import Setting, home_area, replace_city, town_runs

#: Number of characters after an age that show whether it is an age in years.
AFTER_CHARS: Final = 12


@dataclass(frozen=True, slots=True)
class Named:
    """The data on which the surrogates of every note of a context depend."""

    patient: Patient
    context: Context = field(repr=False)
    taken: frozenset[str] = field(repr=False)
    people: People = field(repr=False)
    towns: Mapping[str, str] = field(repr=False)
    phones: Mapping[str, int] = field(repr=False)  # result of plan_phones
    codes: Codes = field(repr=False)
    locale: str  # one of deid_runtime.surrogates.locale.LOCALES
    at_home: frozenset[str] = field(repr=False)  # countries of addresses, which become other names of the same country
    made: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)  # (label, value) -> its surrogate


@dataclass(frozen=True, slots=True)
class NoteView:
    """The data on which the surrogates of one note depend in addition: its text and the values of its spans."""

    patient: Patient
    text: str = field(repr=False)
    spans: Sequence[Span]
    values: Sequence[str] = field(repr=False)
    taken: frozenset[str] = field(repr=False)
    context: Context = field(repr=False)
    people: People = field(repr=False)
    dates: DateStyle
    calendar: Mapping[int, DateParts | None] = field(repr=False)  # index of a date -> its parts; None: unreadable
    years: Mapping[tuple[str, str], tuple[int, ...]] = field(repr=False)  # (text before a date, date) -> its years
    note_year: int  # the year at which ages are stated
    born: date | None = field(repr=False)  # from the record, else derived from the notes
    towns: Mapping[str, str] = field(repr=False)
    phones: Mapping[str, int] = field(repr=False)  # result of plan_phones
    codes: Codes = field(repr=False)
    locale: str
    at_home: frozenset[str] = field(repr=False)

    def beside(self, index: int, label: str, step: int) -> str:
        """Return the value of the next span in direction ``step`` if it has ``label`` and is close; otherwise empty."""
        return beside(self.text, self.spans, self.values, index, label, step)

    def town(self, name: str) -> str | None:
        """Return the surrogate of a town that the context names, alone or in a facility; otherwise None."""
        return self.towns.get(normal_form(name))


def view_context(patient: Patient, context: Context, avoid: Collection[str]) -> Named:
    """Return the data on which the surrogates of all notes of a context depend.

    Its run time grows with the number of names.
    """
    people = find_people(patient, context.names, context.handles)
    taken = {normal_form(value) for value in avoid} | patient.recorded | context.originals | people.words
    taken.discard("")
    frozen = frozenset(taken)
    people = replace(people, first_attempts=first_attempts(patient, people, frozen))
    locale = locale_of(context.evidence, patient.record)
    settings = _settings(patient, context, locale)
    codes = codes_of(patient, frozen, lambda: _areas_near(patient, settings), locale)
    return Named(
        patient=patient,
        context=context,
        taken=frozen,
        people=people,
        towns=_towns(patient, settings, frozen),
        phones=plan_phones(patient, context.phones, frozen, codes),
        codes=codes,
        locale=locale,
        at_home=_countries_at_home(settings),
    )


def _settings(patient: Patient, context: Context, locale: str) -> dict[str, tuple[str, Setting]]:
    """Return normal form -> (town, where it lies) for the towns of the context, its facilities and the record."""
    found: dict[str, tuple[str, Setting]] = {}
    abroad = _countries_abroad(context.originals) if context.towns else frozenset()
    for facility in context.facilities:
        for town in town_runs(facility, locale):
            found[normal_form(town)] = (town, Setting(locale))
    for form, (town, state, country) in context.towns.items():
        of_state = context.locales.get(normal_form(state), locale) if state else locale
        is_staying, is_far_away = form in context.staying, form in context.far_away
        found[form] = (town, Setting(of_state, state, country, is_staying, abroad, is_far_away))
    city = patient.record.get("city", "")
    if holds_text(city):
        recorded = Setting(locale, patient.record.get("state", ""), patient.record.get("country", ""))
        staying = found.get(normal_form(city))
        if staying is None or not staying[1].stays:
            found[normal_form(city)] = (city, recorded)
    return found


def _countries_abroad(originals: Set[str]) -> frozenset[int]:
    """Return the indices of the countries that the notes name, without those whose addresses the gazetteer knows."""
    known = places()
    named = (known.country_forms[form][0] for form in originals & known.country_forms.keys())
    return frozenset(index for index in named if own_locale(known.countries[index].name) is None)


def _towns(patient: Patient, settings: Mapping[str, tuple[str, Setting]], taken: frozenset[str]) -> dict[str, str]:
    """Return the surrogate of each town; no two are the same.

    Towns choose in a keyed order, so the order in the notes does not decide which of two gets another name.
    """
    made: dict[str, str] = {}
    used: set[str] = set()
    order = sorted(settings, key=lambda form: patient.keyed.number("towns", form)) if len(settings) > 1 else settings
    for form in order:
        town, setting = settings[form]
        # Make the surrogate in the letter case of the lists: each mention applies its own case later.
        named = string.capwords(town) if town.isupper() or town.islower() else town
        made[form] = replace_city(patient, named, taken, setting, used)
        used.add(normal_form(made[form]))
    return made


def _areas_near(patient: Patient, settings: Mapping[str, tuple[str, Setting]]) -> tuple[Area, ...]:
    """Return the states, provinces and counties of the towns."""
    found: dict[Area, None] = {}
    for town, setting in settings.values():
        area = home_area(patient, town, setting.state, setting.locale)
        if area is not None:
            found[area] = None
    return tuple(found)


def _countries_at_home(settings: Mapping[str, tuple[str, Setting]]) -> frozenset[str]:
    """Return the normal forms of countries that follow a town whose surrogate stays in the country."""
    found = set()
    for _, setting in settings.values():
        own = own_locale(setting.country) if setting.country else None
        area = known_area(setting.state, own or setting.locale)
        stays = area is not None and area[0].locale == "other" and own not in LOCALES
        if own is not None and (own in LOCALES or stays):
            found.add(normal_form(setting.country))
    return frozenset(found)


def view_note(named: Named, note: Note, spans: Sequence[Span], values: Sequence[str]) -> NoteView:
    """Return the data on which the surrogates of ``spans`` depend. The context of ``named`` must include this note."""
    patient = named.patient
    dated = dated_values(note, spans, values)
    default_year = named.context.year or _default_year(patient)
    born = date_of_birth(patient.record.get("dob", ""))
    dates = read_style(
        [value for _, value in dated],
        default_year,
        named.locale,
        days=() if born is None else (born,),
        usual=named.context.day_first,
    )
    years = years_of_dates(dated, dates, born)
    parts = read_dates([value for _, value in dated], dates, [years[pair] for pair in dated])
    note_year = year_of_ages(note, spans, values, years_of_visits(years, dates.year), born, default_year)
    if born is None:
        born = named.context.born or likely_birth([births_in(note, spans, values, parts)])
    note_year = note_year_by_days(note_year, born, parts)
    at = [index for index, span in enumerate(spans) if span.label == "DATE"]
    return NoteView(
        patient=patient,
        text=note.text,
        spans=spans,
        values=values,
        taken=named.taken,
        context=named.context,
        people=named.people,
        dates=dates,
        calendar=dict(zip(at, parts, strict=True)),
        years=years,
        note_year=note_year,
        born=born,
        towns=named.towns,
        phones=named.phones,
        codes=named.codes,
        locale=named.locale,
        at_home=named.at_home,
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
    years: Iterable[int],
    born: date | None,
    default: int,
) -> int:
    """Return the year at which the ages in the note are stated. ``years`` are the years of its dates."""
    ages = patient_ages(note.text, spans, values)
    return year_of_note(years, ages, born, default)


def _default_year(patient: Patient) -> int:
    """Return the year for dates without a year in a note that names no year.

    It is 2015 to 2022, from the patient's key: the result must not depend on today's date.
    """
    return 2015 + patient.keyed.number("year", "") % 8
