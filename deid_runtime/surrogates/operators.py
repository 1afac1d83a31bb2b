"""The operators that replace a span: by a surrogate, a numbered tag, or a mask."""

import base64
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from deid_runtime.dates.forms import read_style
from deid_runtime.errors import InputError, SettingsError
from deid_runtime.records.birth_dates import date_of_birth
from deid_runtime.settings import Dates, Operator
from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.surrogates.ages import replace_age
from deid_runtime.surrogates.by_label import replace_value
from deid_runtime.surrogates.context import MOVING_LABELS, Context, read_context
from deid_runtime.surrogates.forms import changed, holds_text, loose_marks
from deid_runtime.surrogates.identities import number_mentions
from deid_runtime.surrogates.key_versions import keyed_for
from deid_runtime.surrogates.keys import KEY_BYTES
from deid_runtime.surrogates.line_breaks import unbroken, written_like
from deid_runtime.surrogates.name_parts import record_roles
from deid_runtime.surrogates.note_view import AFTER_CHARS, Named, dated_values, view_context, view_note, year_of_ages
from deid_runtime.surrogates.over_89 import BEFORE_CHARS, years_of_dates
from deid_runtime.surrogates.patient import DAYS_IN_WEEK, Patient, make_patient, shift_of
from deid_runtime.surrogates.safe_harbor import KEPT, NO_YEAR, UNKNOWN_NOTE_YEAR, year_alone, zip3
from deid_runtime.system.shown_ids import shown_id

REDACTION: Final = "[***]"
_LARGEST_SHIFT_DAYS: Final = 36_500
_PATIENTS_CACHED: Final = 256
_PSEUDONYM_BYTES: Final = 10  # 80 bits: 16 characters of base 32; a collision is practically impossible


class Surrogates:
    """Replaces the spans of notes by one operator under one key.

    The result depends only on the key, the note, its spans and the patient's record. It does not depend on earlier
    calls, their order, or the process. Not thread-safe: make one object for each thread.
    """

    def __init__(
        self,
        key: bytes,
        *,
        operator: Operator = "surrogate",
        date_shift_days: int = 365,
        date_shift_whole_weeks: bool = False,
        given_date_shifts: Mapping[str, int] | None = None,
        dates: Dates = "shift",
        safe_harbor: bool = False,
    ) -> None:
        """Set the secret key of 32 bytes. Dates move by ``-date_shift_days..date_shift_days`` days, never 0.

        With ``date_shift_whole_weeks``, dates move by whole weeks only, which keeps weekdays; without it, never by
        whole weeks. ``given_date_shifts`` maps patient ids to date shifts in days from another source; then every
        patient needs one. ``dates="year"`` keeps only the year of a date. ``safe_harbor`` applies
        :mod:`deid_runtime.surrogates.safe_harbor`, which includes ``dates="year"``.

        Raises SettingsError when a setting is invalid or contradicts another one.
        """
        if len(key) != KEY_BYTES:
            raise SettingsError(
                f"a key has {KEY_BYTES} bytes, but this one has {len(key)}; make one with `deid key new`"
            )
        if operator not in _OPERATORS:
            raise SettingsError(f"unknown operator {operator!r}; expected one of {', '.join(_OPERATORS)}")
        check_date_settings(
            operator=operator,
            date_shift_days=date_shift_days,
            date_shift_whole_weeks=date_shift_whole_weeks,
            dates=dates,
            safe_harbor=safe_harbor,
        )
        if given_date_shifts is not None and (operator != "surrogate" or dates == "year" or safe_harbor):
            raise SettingsError("given date shifts need shifted dates, but dates are not shifted here; omit them")
        if given_date_shifts is not None and 0 in given_date_shifts.values():
            raise SettingsError("a date shift of 0 days would leave dates unchanged; give another number")
        broken_weeks = sum(days % DAYS_IN_WEEK != 0 for days in (given_date_shifts or {}).values())
        if date_shift_whole_weeks and broken_weeks:
            raise SettingsError(
                f"{broken_weeks} of {len(given_date_shifts or ())} date shifts are not a multiple of "
                f"{DAYS_IN_WEEK} days; with whole weeks, every date shift must be one"
            )
        self._pseudonyms = keyed_for("pseudonyms", key)
        self._shifts = keyed_for("date_shifts", key)
        self._keyed = keyed_for("surrogates", key)
        self._given_date_shifts = given_date_shifts
        self._is_safe_harbor = safe_harbor
        self._only_years = safe_harbor or dates == "year"
        self._operator = operator
        self._date_shift_days = date_shift_days
        self._whole_weeks = date_shift_whole_weeks
        self._patients: OrderedDict[tuple[object, ...], Patient] = OrderedDict()
        self._shared: tuple[Named, frozenset[str]] | None = None
        self._numbered: tuple[Context, Patient, Mapping[tuple[str, str], int]] | None = None

    def __repr__(self) -> str:
        return (
            f"Surrogates(key=<hidden>, operator={self._operator!r}, date_shift_days={self._date_shift_days}, "
            f"date_shift_whole_weeks={self._whole_weeks})"
        )

    def pseudonym(self, kind: str, value: str) -> str:
        """Return the pseudonym of the id of a note or patient: the first letter of ``kind``, ``-``, and 16 characters.

        ``kind`` (``"note"``, ``"patient"``) gives equal ids of different kinds different pseudonyms.
        """
        digest = self._pseudonyms.digest(f"pseudonym {kind}", value)[:_PSEUDONYM_BYTES]
        return f"{kind[:1].upper()}-{base64.b32encode(digest).decode('ascii')}"

    def replacements(
        self,
        note: Note,
        spans: Sequence[Span],
        record: PatientRecord | None,
        *,
        avoid: Collection[str] = (),
        context: Context | None = None,
        written: Sequence[str] | None = None,
    ) -> list[str]:
        """Return the replacement of each of ``spans``, in the same order.

        A replacement is never empty. It has as many line breaks as the value, whatever the operator.

        Surrogates belong to ``note.patient``, else to the id of the record, else only to the note. No surrogate equals
        an original in ``avoid``. ``context`` is the result of :func:`read_context` on all notes of the patient, this
        one included. With it, no surrogate equals an original of any note, and a value has one surrogate in all notes.
        Without it, a surrogate that is an original of one note changes only in that note. ``written`` are the values as
        written in the source, when ``note`` is a normalised reading of it.

        Raises InputError when a span is outside the text.
        """
        for span in spans:
            if span.end > len(note.text):
                raise InputError(
                    f"note {shown_id(note.id)}: span [{span.start}, {span.end}) ends after the text of "
                    f"{len(note.text)} characters",
                    stage="surrogates",
                )
        if written is None:
            written = [note.text[span.start : span.end] for span in spans]
        note, spans = unbroken(note, spans)
        values = [note.text[span.start : span.end] for span in spans]
        made = _OPERATORS[self._operator](self, note, spans, values, record, avoid, context)
        if self._only_years:
            made = self._generalised(note, spans, values, record, made)
        return [
            original if new == value else written_like(new, value, original)
            for new, value, original in zip(made, values, written, strict=True)
        ]

    def _generalised(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        made: Sequence[str],
    ) -> list[str]:
        """Return ``made`` with the parts of values that Safe Harbor allows: years and, with ``safe_harbor``, more."""
        dated = dated_values(note, spans, values)
        style = read_style([value for _, value in dated], UNKNOWN_NOTE_YEAR)
        born = date_of_birth(record.fields.get("dob", "")) if record is not None else None
        years = years_of_dates(dated, style, born)
        every = [year for found in years.values() for year in found]
        note_year = year_of_ages(note, spans, values, every, born, UNKNOWN_NOTE_YEAR)
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
                    before = note.text[max(0, span.start - BEFORE_CHARS) : span.start]
                    stays = replace_age(value, note.text[span.end : span.end + AFTER_CHARS], before)
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
        patient = self._patient(note, record)
        if context is None:
            named = view_context(patient, read_context([(note, spans)]), avoid)
        else:
            named = self._view_shared(patient, context, frozenset(avoid))
        view = view_note(named, note, spans, values)
        return [
            _safe(replace_value(view, index, named.made), values[index], span.label) for index, span in enumerate(spans)
        ]

    def _view_shared(self, patient: Patient, context: Context, avoid: frozenset[str]) -> Named:
        """Return the view of a context, cached for the next notes: with many notes it takes most of the time."""
        if self._shared is not None:
            known, known_avoid = self._shared
            if known.context is context and known.patient is patient and known_avoid == avoid:
                return known
        named = view_context(patient, context, avoid)
        self._shared = (named, avoid)
        return named

    def _tags(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        avoid: Collection[str],
        context: Context | None,
    ) -> list[str]:
        """Return a tag for each span, numbered by person or value: per note, or over all notes of ``context``."""
        patient = self._patient(note, record)
        numbers = self._numbers(patient, context or read_context([(note, spans)]))
        tags = []
        for span, value in zip(spans, values, strict=True):
            before, after = loose_marks(value)
            tags.append(f"{before}[{span.label}-{numbers[span.label, value]}]{after}")
        return tags

    def _numbers(self, patient: Patient, context: Context) -> Mapping[tuple[str, str], int]:
        """Return the numbers of a context, cached for its next notes."""
        if self._numbered is None or self._numbered[0] is not context or self._numbered[1] is not patient:
            self._numbered = (context, patient, number_mentions(patient, context.mentions))
        return self._numbered[2]

    def _redactions(
        self,
        note: Note,
        spans: Sequence[Span],
        values: Sequence[str],
        record: PatientRecord | None,
        avoid: Collection[str],
        context: Context | None,
    ) -> list[str]:
        return [REDACTION.join(loose_marks(value)) for value in values]

    def _patient(self, note: Note, record: PatientRecord | None) -> Patient:
        fields = record.fields if record is not None else {}
        if note.patient or record is not None:
            identity = ("patient", note.patient or (record.id if record is not None else ""))
        else:
            identity = ("note", note.id)
        # The cache key includes the record: if it changes, a result must not depend on which version came first.
        key = (identity, tuple(sorted(fields.items())))
        given = self._given_date_shift(note, identity[1])
        patient = self._patients.get(key)
        if patient is None:
            keyed = self._keyed.derive(*identity)
            shifts = self._shifts.derive(*identity)
            shift_days = given or shift_of(shifts, self._date_shift_days, whole_weeks=self._whole_weeks)
            patient = make_patient(keyed, fields, record_roles(fields), shift_days)
            patient = replace(patient, keeps_states=self._is_safe_harbor)
            self._patients[key] = patient
            if len(self._patients) > _PATIENTS_CACHED:
                self._patients.popitem(last=False)
        else:
            self._patients.move_to_end(key)
        return patient

    def _given_date_shift(self, note: Note, patient: str) -> int | None:
        """Return the patient's date shift in days from the settings, None when no date shifts were given.

        Raises InputError when date shifts were given but not for this patient: any other shift would be wrong.
        """
        if self._given_date_shifts is None:
            return None
        if patient not in self._given_date_shifts or not note.patient:
            reason = "its patient has no row in" if note.patient else "it has no patient id to look up in"
            message = f"note {shown_id(note.id)}: {reason} the table of date shifts; add one and run again"
            raise InputError(message, stage="surrogates")
        return self._given_date_shifts[patient]


def check_date_settings(
    *,
    operator: Operator,
    date_shift_days: int,
    date_shift_whole_weeks: bool,
    dates: Dates = "shift",
    safe_harbor: bool = False,
) -> None:
    """Raise SettingsError when these settings contradict each other or cannot be used."""
    if not 1 <= date_shift_days <= _LARGEST_SHIFT_DAYS:
        raise SettingsError(f"dates cannot shift by up to {date_shift_days} days; expected 1 to {_LARGEST_SHIFT_DAYS}")
    if dates not in ("shift", "year"):
        raise SettingsError(f"dates is {dates!r}; expected 'shift' or 'year'")
    if not date_shift_whole_weeks:
        return
    if operator != "surrogate" or dates == "year" or safe_harbor:
        raise SettingsError("whole weeks need shifted dates, but dates are not shifted here; omit --date-shift-weeks")
    if date_shift_days < DAYS_IN_WEEK:
        raise SettingsError(
            f"dates cannot shift by whole weeks within {date_shift_days} days; expected {DAYS_IN_WEEK} or more"
        )


def _safe(made: str, value: str, label: str) -> str:
    """Return ``made`` if it keeps the guarantees of :meth:`Surrogates.replacements`, or else a corrected value."""
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
