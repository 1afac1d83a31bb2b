"""The functions that make the surrogate of a span, by label."""

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Final

from deid_runtime.dates.holiday_days import holiday_names
from deid_runtime.dates.holidays import weekday_name
from deid_runtime.dates.parts import DateParts, Grain, single_dates
from deid_runtime.dates.replace import moved_date
from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.ages import replace_age
from deid_runtime.surrogates.areas import replace_state
from deid_runtime.surrogates.contacts import replace_email, replace_ip, replace_url, replace_username
from deid_runtime.surrogates.context import MOVING_LABELS
from deid_runtime.surrogates.countries import replace_country
from deid_runtime.surrogates.facilities import Around, replace_phrase
from deid_runtime.surrogates.forms import changed, holds_text, normal_form, scramble
from deid_runtime.surrogates.names import replace_name
from deid_runtime.surrogates.note_view import AFTER_CHARS, NoteView
from deid_runtime.surrogates.numbers import replace_code, replace_ssn
from deid_runtime.surrogates.over_89 import (
    BEFORE_CHARS,
    birth_shift,
    grouped_shift,
    tells_over_89,
)
from deid_runtime.surrogates.patient import first_free
from deid_runtime.surrogates.phones import replace_phone
from deid_runtime.surrogates.postcodes import replace_zip


def _name(view: NoteView, index: int) -> str:
    return replace_name(view.patient, view.people, view.values[index], view.taken)


def _username(view: NoteView, index: int) -> str:
    return replace_username(view.patient, view.people, view.values[index], view.taken)


def _age(view: NoteView, index: int) -> str:
    span, value = view.spans[index], view.values[index]
    before, after = view.text[max(0, span.start - BEFORE_CHARS) : span.start], view.text[span.end :][:AFTER_CHARS]
    return replace_age(value, after, before) or _scrambled(view, value)


def _date(view: NoteView, index: int) -> str:
    value, parts = view.values[index], view.calendar[index]
    moved = None
    if parts is not None:
        days_moved = _date_shift(view, index, parts)
        moved = _weekday_of_holiday(view, index, parts, days_moved) or moved_date(parts, days_moved)
    if moved is not None:
        return moved
    named = _NAMED_DAY.fullmatch(value)
    if named is None:
        return _scrambled(view, value)
    # Unknown words without digits are most likely a local holiday, so a holiday is a plausible surrogate.
    feasts = holiday_names(view.dates.locale)
    year = f"{named['between']}{_moved_year(view, int(named['year']))}" if named["year"] else ""
    return first_free(
        lambda n: case_like(view.patient.keyed.pick(feasts, f"feast/{n}", normal_form(value)), named["name"]) + year,
        value,
        view.taken,
    )


#: A day that no list knows, with its year or without: *the feast of St Nicholas*, *St Nicholas 2019*.
_NAMED_DAY: Final = re.compile(
    r"(?=.{4,40}\Z)(?P<name>[^\d]*[^\W\d_][^\d]*?)(?:(?P<between>[ ,]+)(?P<year>(?:19|20)\d\d))?"
)


def _moved_year(view: NoteView, year: int) -> int:
    """Return the year of the middle of ``year``, moved as the dates of the patient are."""
    return (date(year, 7, 1) + timedelta(days=view.patient.shift_days)).year


def _date_shift(view: NoteView, index: int, parts: DateParts) -> int:
    """Return the days by which a date moves: those of the patient, unless it reveals an age over 89 or is a birth."""
    start, days_moved = view.spans[index].start, view.patient.shift_days
    years = view.years[view.text[max(0, start - BEFORE_CHARS) : start], view.values[index]]
    if tells_over_89(years, view.note_year):
        return grouped_shift(parts, days_moved, view.note_year, view.patient.keyed)
    if view.born is not None and years == (view.born.year,):
        return birth_shift(parts, days_moved, view.born)
    return days_moved


def _weekday_of_holiday(view: NoteView, index: int, parts: DateParts, days_moved: int) -> str | None:
    """Return the weekday for a holiday beside its own date in another span, or None.

    A second date in place of the name would show that the original was a holiday.
    """
    days = single_dates(parts)
    if len(days) != 1 or days[0].on is None:
        return None
    for step in (-1, 1):
        other = view.calendar.get(index + step) if view.beside(index, "DATE", step) else None
        for day in single_dates(other) if other is not None else ():
            if day.grain is Grain.DAY and day.on is None and day.year is not None:
                named = days[0].on(day.year)
                if (named.month, named.day) == (day.month, day.day):
                    return weekday_name(named + timedelta(days=days_moved), view.values[index])
    return None


def _scrambled(view: NoteView, value: str) -> str:
    if not holds_text(value):
        return value
    return first_free(lambda n: scramble(view.patient.keyed, f"odd value/{n}", value), value, view.taken)


def _phone(view: NoteView, index: int) -> str:
    return replace_phone(view.patient, view.values[index], view.taken, view.codes, view.phones)


def _email(view: NoteView, index: int) -> str:
    return replace_email(view.patient, view.people, view.values[index], view.taken)


def _url(view: NoteView, index: int) -> str:
    return replace_url(view.patient, view.people, view.values[index], view.taken)


def _ip(view: NoteView, index: int) -> str:
    return replace_ip(view.patient, view.values[index], view.taken)


def _ssn(view: NoteView, index: int) -> str:
    return replace_ssn(view.patient, view.values[index], view.taken)


def _code(view: NoteView, index: int) -> str:
    return replace_code(view.patient, view.values[index], view.taken, view.locale)


def _city(view: NoteView, index: int) -> str:
    value = view.values[index]
    made = case_like(view.towns[normal_form(value)], value)
    return made if made != value else changed(value)


def _state(view: NoteView, index: int) -> str:
    value = view.values[index]
    locale = view.context.locales.get(normal_form(value), view.locale)
    return replace_state(view.patient, value, view.taken, locale)


def _zip(view: NoteView, index: int) -> str:
    city, state = view.context.zips.get(normal_form(view.values[index]), ("", ""))
    town = view.towns.get(normal_form(city), "") if city else ""
    return replace_zip(view.patient, view.values[index], view.taken, city, state, town=town, locale=view.locale)


def _country(view: NoteView, index: int) -> str:
    return replace_country(view.patient, view.values[index], view.taken, view.locale, view.at_home)


def _phrase_of(kind: str) -> Callable[[NoteView, int], str]:
    def replace(view: NoteView, index: int) -> str:
        around = Around(view.town, view.context.abbreviations, view.context.apart, view.locale, view.taken)
        return replace_phrase(view.patient, kind, view.values[index], view.taken, around)

    return replace


REPLACE: Final[Mapping[str, Callable[[NoteView, int], str]]] = {
    "PATIENT": _name,
    "DOCTOR": _name,
    "USERNAME": _username,
    "AGE": _age,
    "DATE": _date,
    "PHONE": _phone,
    "FAX": _phone,
    "EMAIL": _email,
    "URL": _url,
    "IPADDR": _ip,
    "SSN": _ssn,
    "MEDICALRECORD": _code,
    "HEALTHPLAN": _code,
    "ACCOUNT": _code,
    "LICENSE": _code,
    "VEHICLE": _code,
    "DEVICE": _code,
    "BIOID": _code,
    "IDNUM": _code,
    "STREET": _phrase_of("street"),
    "CITY": _city,
    "STATE": _state,
    "COUNTRY": _country,
    "ZIP": _zip,
    "HOSPITAL": _phrase_of("facility"),
    "ORGANIZATION": _phrase_of("organization"),
    "LOCATION-OTHER": _phrase_of("place"),
}


def replace_value(view: NoteView, index: int, made: dict[tuple[str, str], str]) -> str:
    """Return the surrogate of a span; ``made`` keeps those that depend only on label and value in the context.

    This saves time, because names are repeated in a note.
    """
    label, value = view.spans[index].label, view.values[index]
    if label in MOVING_LABELS:
        return REPLACE[label](view, index)
    found = made.get((label, value))
    if found is None:
        found = made[label, value] = _with_outer_blanks(REPLACE[label](view, index), value)
    return found


def _with_outer_blanks(made: str, value: str) -> str:
    """Return ``made`` with the blanks at the ends of ``value``: what is left of a span may begin or end with one."""
    bare = value.strip(" \t")
    if bare == value or not bare:
        return made
    at = value.index(bare)
    return value[:at] + made.strip(" \t") + value[at + len(bare) :]
