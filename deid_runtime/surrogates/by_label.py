"""The functions that make the surrogate of a span, by its label."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from deid_runtime.dates.holiday_days import HOLIDAYS
from deid_runtime.dates.holidays import find_holiday, weekday_name
from deid_runtime.dates.parts import LONGEST_DATE_CHARS
from deid_runtime.dates.replace import replace_date
from deid_runtime.dates.stated import day_named, month_of
from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.ages import replace_age
from deid_runtime.surrogates.areas import replace_state
from deid_runtime.surrogates.contacts import replace_email, replace_ip, replace_url, replace_username
from deid_runtime.surrogates.countries import replace_country
from deid_runtime.surrogates.facilities import Around, replace_phrase
from deid_runtime.surrogates.forms import changed, holds_text, normal_form, scramble
from deid_runtime.surrogates.names import replace_name
from deid_runtime.surrogates.note_view import AFTER_CHARS, NoteView
from deid_runtime.surrogates.numbers import replace_code, replace_ssn
from deid_runtime.surrogates.over_89 import (
    BEFORE_CHARS,
    birth_offset,
    grouped_offset,
    tells_over_89,
)
from deid_runtime.surrogates.patient import first_free
from deid_runtime.surrogates.phones import replace_phone
from deid_runtime.surrogates.postcodes import replace_zip

_FEASTS: Final = tuple(holiday.name for holiday in HOLIDAYS if holiday.name)


def _name(view: NoteView, index: int) -> str:
    return replace_name(view.patient, view.people, view.values[index], view.taken)


def _username(view: NoteView, index: int) -> str:
    return replace_username(view.patient, view.people, view.values[index], view.taken)


def _age(view: NoteView, index: int) -> str:
    end = view.spans[index].end
    value = view.values[index]
    return replace_age(value, view.text[end : end + AFTER_CHARS]) or _scrambled(view, value)


def _date(view: NoteView, index: int) -> str:
    value = view.values[index]
    hint = None
    # only a day without a month needs the month of an earlier date
    if not any(mark in value for mark in "/.-") and len(value) < 30:
        for before in range(index - 1, max(-1, index - 40), -1):
            if view.spans[before].label == "DATE" and (hint := month_of(view.values[before], view.dates)):
                break
    start = view.spans[index].start
    years = view.years[view.text[max(0, start - BEFORE_CHARS) : start], value]
    offset = view.patient.offset_days
    if tells_over_89(years, view.note_year):
        offset = grouped_offset(value, offset, view.dates, view.note_year, view.patient.keyed)
    elif view.born is not None and years == (view.born.year,):
        offset = birth_offset(value, offset, view.dates, view.born)
    weekday = _weekday_of_holiday(view, index, offset)
    if weekday is not None:
        return weekday
    moved = replace_date(value, offset, view.dates, hint)
    if moved is not None:
        return moved
    if any(map(str.isdecimal, value)) or not 4 <= len(value) <= 40 or not any(map(str.isalpha, value)):
        return _scrambled(view, value)
    # Unknown words without digits are most likely a local feast, so a holiday is a plausible surrogate.
    return first_free(
        lambda n: case_like(view.patient.keyed.pick(_FEASTS, f"feast/{n}", normal_form(value)), value),
        value,
        view.taken,
    )


def _weekday_of_holiday(view: NoteView, index: int, offset: int) -> str | None:
    """Return the shifted weekday for a holiday whose date is an adjacent span, else None.

    A second date in place of the name would show that the original was a holiday.
    """
    value = view.values[index]
    found = find_holiday(value) if any(map(str.isalpha, value)) and len(value) <= LONGEST_DATE_CHARS else None
    if found is None or day_named(value, view.dates) is not None:
        return None
    for step in (-1, 1):
        day = day_named(view.beside(index, "DATE", step)[:LONGEST_DATE_CHARS], view.dates)
        if day is not None and found.on(day.year) == day:
            return weekday_name(day + timedelta(days=offset), value)
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
    return replace_state(view.patient, view.values[index], view.taken, view.locale)


def _zip(view: NoteView, index: int) -> str:
    city, state = view.context.zips.get(normal_form(view.values[index]), ("", ""))
    town = view.towns.get(normal_form(city), "") if city else ""
    return replace_zip(view.patient, view.values[index], view.taken, city, state, town=town, locale=view.locale)


def _country(view: NoteView, index: int) -> str:
    return replace_country(view.patient, view.values[index], view.taken, view.locale, view.at_home)


def _phrase_of(kind: str) -> Callable[[NoteView, int], str]:
    def replace(view: NoteView, index: int) -> str:
        around = Around(view.town, view.context.abbreviations, view.context.apart, view.locale)
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
