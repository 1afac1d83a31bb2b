"""What becomes of a span: a surrogate, a numbered tag, or a mask."""

import base64
import re
import string
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from deid_runtime.errors import InputError, SettingsError
from deid_runtime.settings import Dates, Operator
from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.surrogates.ages import ages_over_89, replace_age
from deid_runtime.surrogates.calendar_words import HOLIDAYS
from deid_runtime.surrogates.contacts import replace_email, replace_ip, replace_url, replace_username
from deid_runtime.surrogates.context import MOVING_LABELS, Context, beside, read_context
from deid_runtime.surrogates.date_parts import DateStyle, read_style
from deid_runtime.surrogates.dates import month_of, replace_date
from deid_runtime.surrogates.facilities import Around, replace_phrase
from deid_runtime.surrogates.forms import case_like, changed, holds_text, normal_form, scramble
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.keys import KEY_BYTES
from deid_runtime.surrogates.lists import places
from deid_runtime.surrogates.name_parts import record_roles
from deid_runtime.surrogates.names import People, find_people, replace_name
from deid_runtime.surrogates.numbers import replace_area_code, replace_code, replace_phone, replace_ssn
from deid_runtime.surrogates.over_89 import (
    BEFORE_CHARS,
    birth_offset,
    date_of_birth,
    grouped_offset,
    tells_over_89,
    year_of_note,
    years_of_dates,
)
from deid_runtime.surrogates.patient import Patient, first_free, make_patient
from deid_runtime.surrogates.places import (
    replace_city,
    replace_country,
    replace_state,
    replace_zip,
    state_for,
)
from deid_runtime.surrogates.safe_harbor import KEPT, NO_YEAR, UNKNOWN_NOTE_YEAR, year_alone, zip3

REDACTION: Final = "[***]"

_PATIENTS_CACHED: Final = 256
_PSEUDONYM_BYTES: Final = 10  # 80 bits: 16 characters of base 32, and no chance of two notes with one name
_AFTER_CHARS: Final = 12

_FEASTS: Final = tuple(holiday.name for holiday in HOLIDAYS if holiday.name)


@dataclass(frozen=True, slots=True)
class _NoteView:
    """What the stand-ins of one note may depend on beside the value: its text and the values of its spans."""

    patient: Patient
    text: str = field(repr=False)
    spans: Sequence[Span]
    values: Sequence[str] = field(repr=False)
    taken: frozenset[str] = field(repr=False)
    context: Context = field(repr=False)
    people: People = field(repr=False)
    dates: DateStyle
    years: Mapping[tuple[str, str], tuple[int, ...]] = field(repr=False)  # of each date and the text before it
    note_year: int  # that ages are counted to
    born: date | None = field(repr=False)
    towns: Mapping[str, str] = field(repr=False)

    def beside(self, index: int, label: str, step: int) -> str:
        """Return the value of the next span in direction ``step`` if it has ``label`` and is close, else nothing."""
        return beside(self.text, self.spans, self.values, index, label, step)

    def town(self, name: str) -> str | None:
        """Return the stand-in of a town that the context or the gazetteer knows."""
        form = normal_form(name)
        known = self.towns.get(form)
        if known is None and form in places().us_cities:
            known = replace_city(self.patient, string.capwords(name), self.taken)
        return known


def _name(view: _NoteView, index: int) -> str:
    return replace_name(view.patient, view.people, view.values[index], view.taken)


def _username(view: _NoteView, index: int) -> str:
    return replace_username(view.patient, view.people, view.values[index], view.taken)


def _age(view: _NoteView, index: int) -> str:
    end = view.spans[index].end
    value = view.values[index]
    return replace_age(value, view.text[end : end + _AFTER_CHARS]) or _scrambled(view, value)


def _date(view: _NoteView, index: int) -> str:
    value = view.values[index]
    hint = None
    if not any(mark in value for mark in "/.-") and len(value) < 30:  # only a day without a month needs it
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
    moved = replace_date(value, offset, view.dates, hint)
    if moved is not None:
        return moved
    if any(map(str.isdecimal, value)) or not 4 <= len(value) <= 40 or not any(map(str.isalpha, value)):
        return _scrambled(view, value)
    # Words alone that we do not know: a feast of some place, most likely. A holiday looks right there.
    return first_free(
        lambda n: case_like(view.patient.keyed.pick(_FEASTS, f"feast/{n}", normal_form(value)), value),
        value,
        view.taken,
    )


def _scrambled(view: _NoteView, value: str) -> str:
    if not holds_text(value):
        return value
    return first_free(lambda n: scramble(view.patient.keyed, f"odd value/{n}", value), value, view.taken)


def _phone(view: _NoteView, index: int) -> str:
    patient = view.patient
    return replace_phone(
        patient,
        view.values[index],
        view.taken,
        lambda code: replace_area_code(patient, code, lambda state: state_for(patient, state, view.taken)),
    )


def _email(view: _NoteView, index: int) -> str:
    return replace_email(view.patient, view.people, view.values[index], view.taken)


def _url(view: _NoteView, index: int) -> str:
    return replace_url(view.patient, view.people, view.values[index], view.taken)


def _ip(view: _NoteView, index: int) -> str:
    return replace_ip(view.patient, view.values[index], view.taken)


def _ssn(view: _NoteView, index: int) -> str:
    return replace_ssn(view.patient, view.values[index], view.taken)


def _code(view: _NoteView, index: int) -> str:
    return replace_code(view.patient, view.values[index], view.taken)


def _city(view: _NoteView, index: int) -> str:
    value = view.values[index]
    made = case_like(view.towns[normal_form(value)], value)
    return made if made != value else changed(value)


def _state(view: _NoteView, index: int) -> str:
    return replace_state(view.patient, view.values[index], view.taken)


def _zip(view: _NoteView, index: int) -> str:
    city, state = view.context.zips.get(normal_form(view.values[index]), ("", ""))
    return replace_zip(view.patient, view.values[index], view.taken, city, state)


def _country(view: _NoteView, index: int) -> str:
    return replace_country(view.patient, view.values[index], view.taken)


def _phrase_of(kind: str) -> Callable[[_NoteView, int], str]:
    def replace(view: _NoteView, index: int) -> str:
        around = Around(view.town, view.context.abbreviations)
        return replace_phrase(view.patient, kind, view.values[index], view.taken, around)

    return replace


_REPLACE: Final[Mapping[str, Callable[[_NoteView, int], str]]] = {
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


class Surrogates:
    """Replaces the spans of notes by one operator under one key.

    What it answers depends on the key, the note, its spans and the patient's record alone: not on what it was asked
    before, nor on the order or the process. Not safe for use by several threads at once; make one for each.
    """

    def __init__(
        self,
        key: bytes,
        *,
        operator: Operator = "surrogate",
        date_shift_days: int = 365,
        offsets: Mapping[str, int] | None = None,
        dates: Dates = "shift",
        safe_harbor: bool = False,
    ) -> None:
        """Keep ``key``, of 32 bytes, to oneself. Dates move by ``-date_shift_days..date_shift_days``, never 0.

        ``offsets`` are days by patient that come from elsewhere; then patients without one cannot be served. ``dates``
        of ``year`` leaves the year of a date alone; ``safe_harbor`` does what
        :mod:`deid_runtime.surrogates.safe_harbor` says, which includes that.

        Raises SettingsError when one of them cannot be used.
        """
        if len(key) != KEY_BYTES:
            raise SettingsError(f"a key has {KEY_BYTES} bytes, this one {len(key)}; make one with `deid key new`")
        if operator not in _OPERATORS:
            raise SettingsError(f"unknown operator {operator!r}; expected one of {', '.join(_OPERATORS)}")
        if not 1 <= date_shift_days <= 36_500:
            raise SettingsError(f"dates cannot shift by up to {date_shift_days} days; expected 1 to 36500")
        if dates not in ("shift", "year"):
            raise SettingsError(f"dates can be 'shift' or 'year', not {dates!r}")
        if offsets is not None and (operator != "surrogate" or dates == "year" or safe_harbor):
            raise SettingsError("offsets of patients are for shifted dates; here dates are not shifted, leave them out")
        if offsets is not None and 0 in offsets.values():
            raise SettingsError("an offset of 0 days would leave the dates of a patient as they are")
        self._keyed = Keyed(key)
        self._offsets = offsets
        self._is_safe_harbor = safe_harbor
        self._only_years = safe_harbor or dates == "year"
        self._operator = operator
        self._date_shift_days = date_shift_days
        self._patients: OrderedDict[tuple[object, ...], Patient] = OrderedDict()

    def __repr__(self) -> str:
        return f"Surrogates(key=<hidden>, operator={self._operator!r}, date_shift_days={self._date_shift_days})"

    def pseudonym(self, kind: str, value: str) -> str:
        """Return the fixed-form stand-in of a note's or patient's id: the first letter of ``kind``, ``-``, 16
        characters.

        ``kind`` (``"note"``, ``"patient"``) keeps equal ids of different kinds apart.
        """
        digest = self._keyed.digest(f"pseudonym {kind}", value)[:_PSEUDONYM_BYTES]
        return f"{kind[:1].upper()}-{base64.b32encode(digest).decode('ascii')}"

    def replacements(
        self,
        note: Note,
        spans: Sequence[Span],
        record: PatientRecord | None,
        *,
        avoid: Collection[str] = (),
        context: Context | None = None,
    ) -> list[str]:
        """Return what replaces each of ``spans``, in the same order; never empty, and never with a line break that
        was not there.

        Surrogates are those of ``note.patient``, else of the record's id, else of the note alone. ``avoid`` holds
        further originals that no surrogate may equal. ``context`` is what :func:`read_context` reads from all notes of
        the patient, this one with them: whoever holds them all can so have both no surrogate that is an original of any
        and one surrogate for a value in all. Without it a surrogate that is an original of one note gives way there
        alone.

        Raises InputError when a span lies outside the text.
        """
        for span in spans:
            if span.end > len(note.text):
                raise InputError(
                    f"note {note.id}: span [{span.start}, {span.end}) ends past the text of "
                    f"{len(note.text)} characters",
                    stage="surrogates",
                )
        values = [note.text[span.start : span.end] for span in spans]
        made = _OPERATORS[self._operator](self, note, spans, values, record, avoid, context)
        return self._generalised(note, spans, values, record, made) if self._only_years else made

    def _generalised(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        made: Sequence[str],
    ) -> list[str]:
        """Return ``made`` with what Safe Harbor lets stay of a value in its place: years, and more if asked for."""
        dated = _dated(note, spans, values)
        style = read_style((value for _, value in dated), UNKNOWN_NOTE_YEAR)
        born = date_of_birth(record.fields.get("dob", "")) if record is not None else None
        years = years_of_dates(dated, style, born)
        note_year = _note_year(note, spans, values, years.values(), born, UNKNOWN_NOTE_YEAR)
        dates = iter(dated)
        kept: list[str] = []
        for span, value, new in zip(spans, values, made, strict=True):
            stays: str | None = None
            if span.label == "DATE":
                stays = year_alone(value, years[next(dates)], style, note_year)
                if stays is None and self._operator == "surrogate":
                    stays = NO_YEAR
            elif self._is_safe_harbor:
                if span.label == "AGE":
                    stays = replace_age(value, note.text[span.end : span.end + _AFTER_CHARS])
                elif span.label == "ZIP":
                    stays = zip3(value)
                elif span.label in KEPT:
                    stays = value
            kept.append(new if stays is None else stays)
        return kept

    def _surrogates(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        avoid: Collection[str],
        context: Context | None,
    ) -> list[str]:
        if not spans:
            return []
        view = self._view(note, spans, values, record, avoid, context)
        return [_safe(_REPLACE[span.label](view, index), values[index], span.label) for index, span in enumerate(spans)]

    def _tags(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        avoid: Collection[str],
        context: Context | None,
    ) -> list[str]:
        numbers: dict[str, dict[str, int]] = {}
        tags = []
        for span, value in zip(spans, values, strict=True):
            known = numbers.setdefault(span.label, {})
            number = known.setdefault(normal_form(value), len(known) + 1)
            tags.append(f"[{span.label}-{number}]")
        return tags

    def _redactions(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        avoid: Collection[str],
        context: Context | None,
    ) -> list[str]:
        return [REDACTION] * len(spans)

    def _patient(self, note: Note, record: PatientRecord | None) -> Patient:
        fields = record.fields if record is not None else {}
        if note.patient or record is not None:
            identity = ("patient", note.patient or (record.id if record is not None else ""))
        else:
            identity = ("note", note.id)
        # The record is part of the key: should it change, an answer must not depend on which was seen first.
        key = (identity, tuple(sorted(fields.items())))
        offset = self._offset(note, identity[1])
        patient = self._patients.get(key)
        if patient is None:
            keyed = self._keyed.derive(*identity)
            patient = make_patient(keyed, fields, record_roles(fields), self._date_shift_days)
            patient = replace(patient, offset_days=offset or patient.offset_days, keeps_states=self._is_safe_harbor)
            self._patients[key] = patient
            if len(self._patients) > _PATIENTS_CACHED:
                self._patients.popitem(last=False)
        else:
            self._patients.move_to_end(key)
        return patient

    def _offset(self, note: Note, patient: str) -> int | None:
        """Return the offset that came from elsewhere, None where none did.

        Raises InputError for a patient without one: any other would not be the one that was wanted.
        """
        if self._offsets is None:
            return None
        if patient not in self._offsets or not note.patient:
            reason = "its patient has no row in" if note.patient else "it has no patient id to look up in"
            raise InputError(f"note {note.id}: {reason} the offsets; add one and run again", stage="surrogates")
        return self._offsets[patient]

    def _view(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        avoid: Collection[str],
        context: Context | None,
    ) -> _NoteView:
        patient = self._patient(note, record)
        dated = _dated(note, spans, values)
        if context is None:
            context = read_context([(note, spans)])
        people = find_people(patient, context.names)
        taken = {normal_form(value) for value in avoid} | patient.recorded | context.originals | people.words
        taken.discard("")
        frozen = frozenset(taken)
        towns = {}
        city, state = patient.record.get("city", ""), patient.record.get("state", "")
        recorded = {normal_form(city): (city, state, "")} if holds_text(city) else {}
        for form, (town, state, country) in {**context.towns, **recorded}.items():
            # In the case of the lists: each mention brings its own.
            named = string.capwords(town) if town.isupper() or town.islower() else town
            towns[form] = replace_city(patient, named, frozen, state=state, country=country)
        default_year = _default_year(patient)
        dates = read_style((value for _, value in dated), default_year)
        born = date_of_birth(patient.record.get("dob", ""))
        years = years_of_dates(dated, dates, born)
        note_year = _note_year(note, spans, values, years.values(), born, default_year)
        return _NoteView(
            patient, note.text, spans, values, frozen, context, people, dates, years, note_year, born, towns
        )


def _dated(note: Note, spans: Sequence[Span], values: Sequence[str]) -> list[tuple[str, str]]:
    """Return the dates of the note, each with the text before it."""
    return [
        (note.text[max(0, span.start - BEFORE_CHARS) : span.start], value)
        for span, value in zip(spans, values, strict=True)
        if span.label == "DATE"
    ]


def _note_year(
    note: Note,
    spans: Sequence[Span],
    values: Sequence[str],
    years: Iterable[Sequence[int]],
    born: date | None,
    default: int,
) -> int:
    """Return the year that ages in the note are counted to; ``years`` are those of its dates."""
    ages: list[int] = []
    for span, value in zip(spans, values, strict=True):
        if span.label == "AGE":
            ages += ages_over_89(value, note.text[span.end : span.end + _AFTER_CHARS])
    return year_of_note([year for found in years for year in found], ages, born, default)


def _default_year(patient: Patient) -> int:
    """Return the year of dates without one in a note that names no year: any would do, but it must not depend on
    today.
    """
    return 2015 + patient.keyed.number("year", "") % 8


def _safe(made: str, value: str, label: str) -> str:
    """Return ``made`` if it keeps the promises of :meth:`Surrogates.replacements`, else what does."""
    if "\n" in made or "\r" in made:
        made = made if "\n" in value or "\r" in value else re.sub(r"[\r\n]+", " ", made)
    if made and (label in MOVING_LABELS or made != value or not holds_text(value)):
        return made
    return changed(value)


_OPERATORS: Final[Mapping[str, Callable[..., list[str]]]] = {
    "surrogate": Surrogates._surrogates,
    "tag": Surrogates._tags,
    "redact": Surrogates._redactions,
}
