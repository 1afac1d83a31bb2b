"""What becomes of a span: a surrogate, a numbered tag, or a mask."""

import base64
import re
import string
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.errors import InputError, SettingsError
from deid_runtime.settings import Operator
from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.surrogates.ages import replace_age
from deid_runtime.surrogates.calendar_words import HOLIDAYS
from deid_runtime.surrogates.contacts import replace_email, replace_ip, replace_url, replace_username
from deid_runtime.surrogates.dates import DateStyle, month_of, read_style, replace_date
from deid_runtime.surrogates.facilities import abbreviations, replace_phrase
from deid_runtime.surrogates.forms import case_like, changed, holds_text, normal_form, scramble
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.keys import KEY_BYTES
from deid_runtime.surrogates.names import People, find_people, record_roles, replace_name
from deid_runtime.surrogates.numbers import replace_area_code, replace_code, replace_phone, replace_ssn
from deid_runtime.surrogates.patient import Patient, first_free, make_patient
from deid_runtime.surrogates.places import (
    replace_city,
    replace_country,
    replace_state,
    replace_zip,
    state_for,
)

REDACTION: Final = "[***]"

_PATIENTS_CACHED: Final = 256
_PSEUDONYM_BYTES: Final = 10  # 80 bits: 16 characters of base 32, and no chance of two notes with one name
_ADDRESS_GAP_CHARS: Final = 4
_AFTER_CHARS: Final = 12
_FAMILY_CUE: Final = re.compile(r"\b(?:dr|mr|mrs|ms|miss|prof|rev|sr|sra|nurse|officer|attorney)\.?\s+$", re.I)

_FEASTS: Final = tuple(holiday.name for holiday in HOLIDAYS if holiday.name)
_NAME_LABELS: Final = frozenset({"PATIENT", "DOCTOR"})
#: Labels whose values, kept or moved with the rest, may meet an original of the note: no bar to other stand-ins.
_MOVING_LABELS: Final = frozenset({"DATE", "AGE"})


@dataclass(frozen=True, slots=True)
class _NoteView:
    """What the stand-ins of one note may depend on beside the value: its text and the values of its spans."""

    patient: Patient
    text: str = field(repr=False)
    spans: Sequence[Span]
    values: Sequence[str] = field(repr=False)
    taken: frozenset[str] = field(repr=False)
    people: People = field(repr=False)
    dates: DateStyle
    towns: Mapping[str, str] = field(repr=False)
    full_names: Mapping[str, str] = field(repr=False)

    def beside(self, index: int, label: str, step: int) -> str:
        """Return the value of the next span in direction ``step`` if it has ``label`` and is close, else an empty
        string.
        """
        other = index + step
        if not 0 <= other < len(self.spans) or self.spans[other].label != label:
            return ""
        first, second = sorted((self.spans[index], self.spans[other]))
        gap = self.text[first.end : second.start]
        return self.values[other] if len(gap) <= _ADDRESS_GAP_CHARS and not any(c.isalnum() for c in gap) else ""


def _name(view: _NoteView, index: int) -> str:
    span = view.spans[index]
    cue = _FAMILY_CUE.search(view.text[max(0, span.start - _AFTER_CHARS) : span.start])
    family_first = bool(cue) or span.label == "DOCTOR"
    return replace_name(view.patient, view.people, view.values[index], view.taken, family_first=family_first)


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
    moved = replace_date(value, view.patient.offset_days, view.dates, hint)
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
    state = view.beside(index, "STATE", -1)
    city = view.beside(index - 1, "CITY", -1) if state else view.beside(index, "CITY", -1)
    return replace_zip(view.patient, view.values[index], view.taken, city, state)


def _country(view: _NoteView, index: int) -> str:
    return replace_country(view.patient, view.values[index], view.taken)


def _phrase_of(kind: str) -> Callable[[_NoteView, int], str]:
    def replace(view: _NoteView, index: int) -> str:
        return replace_phrase(view.patient, kind, view.values[index], view.taken, view.towns, view.full_names)

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

    def __init__(self, key: bytes, *, operator: Operator = "surrogate", date_shift_days: int = 365) -> None:
        """Keep ``key``, of 32 bytes, to oneself. Dates move by ``-date_shift_days..date_shift_days``, never 0.

        Raises SettingsError when one of them cannot be used.
        """
        if len(key) != KEY_BYTES:
            raise SettingsError(f"a key has {KEY_BYTES} bytes, this one {len(key)}; make one with `deid key new`")
        if operator not in _OPERATORS:
            raise SettingsError(f"unknown operator {operator!r}; expected one of {', '.join(_OPERATORS)}")
        if not 1 <= date_shift_days <= 36_500:
            raise SettingsError(f"dates cannot shift by up to {date_shift_days} days; expected 1 to 36500")
        self._keyed = Keyed(key)
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
        self, note: Note, spans: Sequence[Span], record: PatientRecord | None, *, avoid: Collection[str] = ()
    ) -> list[str]:
        """Return what replaces each of ``spans``, in the same order; never empty, and never with a line break that
        was not there.

        Surrogates are those of ``note.patient``, else of the record's id, else of the note alone. ``avoid`` holds
        further
        originals that no surrogate may equal, for callers who have seen all notes of the patient: with them,
        a value has one surrogate in all notes without exception.

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
        return _OPERATORS[self._operator](self, note, spans, values, record, avoid)

    def _surrogates(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        avoid: Collection[str],
    ) -> list[str]:
        if not spans:
            return []
        view = self._view(note, spans, values, record, avoid)
        return [_safe(_REPLACE[span.label](view, index), values[index], span.label) for index, span in enumerate(spans)]

    def _tags(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        avoid: Collection[str],
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
        patient = self._patients.get(key)
        if patient is None:
            keyed = self._keyed.derive(*identity)
            patient = make_patient(keyed, fields, record_roles(fields), self._date_shift_days)
            self._patients[key] = patient
            if len(self._patients) > _PATIENTS_CACHED:
                self._patients.popitem(last=False)
        else:
            self._patients.move_to_end(key)
        return patient

    def _view(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        avoid: Collection[str],
    ) -> _NoteView:
        patient = self._patient(note, record)
        by_label: dict[str, list[str]] = {}
        for span, value in zip(spans, values, strict=True):
            by_label.setdefault(span.label, []).append(value)
        mentions = [value for span, value in zip(spans, values, strict=True) if span.label in _NAME_LABELS]
        taken = {normal_form(value) for value in avoid} | patient.recorded
        for label, labelled in by_label.items():
            if label not in _MOVING_LABELS:
                taken.update(map(normal_form, labelled))
        people = find_people(patient, mentions)
        taken |= people.name_words()
        taken.discard("")
        frozen = frozenset(taken)
        dates = read_style(by_label.get("DATE", ()), _default_year(patient))
        full_names = abbreviations((*by_label.get("HOSPITAL", ()), *by_label.get("ORGANIZATION", ())))
        view = _NoteView(patient, note.text, spans, values, frozen, people, dates, {}, full_names)
        towns: dict[str, str] = {}
        recorded = patient.record.get("city", "")
        if holds_text(recorded):
            towns[normal_form(recorded)] = replace_city(patient, recorded, frozen, patient.record.get("state", ""))
        states = _states_of_cities(view)
        for index, span in enumerate(spans):
            if span.label == "CITY":
                form = normal_form(values[index])
                if form not in towns:
                    # In the case of the lists: each mention brings its own.
                    value = values[index]
                    named = string.capwords(value) if value.isupper() or value.islower() else value
                    towns[form] = replace_city(patient, named, frozen, states.get(form, ""))
        return _NoteView(patient, note.text, spans, values, frozen, people, dates, towns, full_names)


def _states_of_cities(view: _NoteView) -> dict[str, str]:
    """Return, by normal form, the state written after some mention of each town of this note."""
    states: dict[str, str] = {}
    for index, span in enumerate(view.spans):
        if span.label == "CITY" and (state := view.beside(index, "STATE", 1)):
            states.setdefault(normal_form(view.values[index]), state)
    return states


def _default_year(patient: Patient) -> int:
    """Return the year of dates without one in a note that names no year: any would do, but it must not depend on
    today.
    """
    return 2015 + patient.keyed.number("year", "") % 8


def _safe(made: str, value: str, label: str) -> str:
    """Return ``made`` if it keeps the promises of :meth:`Surrogates.replacements`, else what does."""
    if "\n" in made or "\r" in made:
        made = made if "\n" in value or "\r" in value else re.sub(r"[\r\n]+", " ", made)
    if made and (label in _MOVING_LABELS or made != value or not holds_text(value)):
        return made
    return changed(value)


_OPERATORS: Final[Mapping[str, Callable[..., list[str]]]] = {
    "surrogate": Surrogates._surrogates,
    "tag": Surrogates._tags,
    "redact": Surrogates._redactions,
}
