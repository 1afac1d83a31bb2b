"""Resynthesize a corpus: first collect all originals, then replace each of them and avoid all originals.

Surrogates are made for all notes of a patient together, so that a value has one surrogate in all of them. A surrogate
that contains an original is rejected for this patient: for example, a clinic with another patient's family name. The
next candidate of the same keyed choice replaces it in all notes of the patient.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import SourceError
from deid_runtime.resynthesis.altered import alter_offending, with_values
from deid_runtime.resynthesis.checks import Checks, check_corpus
from deid_runtime.resynthesis.constraints import Constraints, Violation, find_violations, make_constraints
from deid_runtime.resynthesis.originals import MOVING_LABELS, collect_originals, patient_key, towns_of
from deid_runtime.resynthesis.records import replace_record
from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.system.shown_ids import shown_id

_BETWEEN_NOTES: Final = "\n" * 8  # longer than any gap inside an address
_ROUNDS: Final = 8  # at most, of rejected surrogates; only a few values need more than two


@dataclass(frozen=True)
class Resynthesis:
    """The new corpus, in the order of the original notes. ``records`` is by new patient id.

    ``sources`` maps the id of a new note to the id of its original.
    """

    notes: list[AnnotatedNote]
    records: dict[str, PatientRecord]
    checks: Checks
    violations: list[Violation]
    sources: Mapping[str, str] = field(repr=False)


def resynthesize(
    notes: Sequence[AnnotatedNote],
    records: Mapping[str, PatientRecord],
    surrogates: Surrogates,
    *,
    judged: Collection[str] = (),
    keep_ids: bool = False,
) -> Resynthesis:
    """Replace the value of every span, and the values of the patients' ``records``, which are by patient id.

    ``judged`` are words that a person found to be ordinary although they are family names in this corpus. Ids become
    pseudonyms unless ``keep_ids``. Originals that could not be avoided are in the violations of the result. Nobody may
    share a corpus with violations.

    Raises SourceError when a note id is not unique.
    """
    _require_unique(notes)
    originals = collect_originals(notes, records)
    constraints = make_constraints(notes, originals, judged)
    by_patient: defaultdict[str, list[int]] = defaultdict(list)
    for index, note in enumerate(notes):
        by_patient[patient_key(note)].append(index)
    families = frozenset(originals.bearers)
    made: list[AnnotatedNote | None] = [None] * len(notes)
    new_records: dict[str, PatientRecord] = {}
    for key, places in by_patient.items():
        own = [notes[place] for place in places]
        record = records.get(own[0].patient)
        avoid = families | originals.values[key]
        rewritten, rejected = _replace_patient(own, record, surrogates, avoid, constraints)
        for place, note in zip(places, rewritten, strict=True):
            made[place] = note
        if record is not None:
            patient = own[0].patient if keep_ids else surrogates.pseudonym("patient", own[0].patient)
            fields = replace_record(record, own[0].patient, surrogates, avoid | rejected)
            new_records[patient] = PatientRecord(patient, fields)
    complete = [note for note in made if note is not None]
    forbidden = {note.id: originals.values[patient_key(note)] for note in notes}
    found = find_violations(complete, constraints, forbidden)
    checks = check_corpus(notes, complete, len(families), found)
    renamed = complete if keep_ids else [_renamed(note, surrogates) for note in complete]
    sources = {new.id: old.id for old, new in zip(notes, renamed, strict=True)}
    return Resynthesis(renamed, new_records, checks, found.violations, sources)


def replace_spans(
    note: AnnotatedNote,
    replaced: Sequence[Span],
    surrogates: Surrogates,
    record: PatientRecord | None,
    avoid: Collection[str],
) -> AnnotatedNote:
    """Return the note with the values of ``replaced``, which are some or all of its spans, replaced by surrogates.

    The result has all spans, with their offsets in the new text.
    """
    plain = Note(note.id, note.text, note.patient, note.type)
    made = dict(zip(replaced, surrogates.replacements(plain, replaced, record, avoid=avoid), strict=True))
    return with_values(note, [made.get(span, note.text[span.start : span.end]) for span in note.spans])


def _replace_patient(
    notes: Sequence[AnnotatedNote],
    record: PatientRecord | None,
    surrogates: Surrogates,
    avoid: frozenset[str],
    constraints: Constraints,
) -> tuple[list[AnnotatedNote], frozenset[str]]:
    """Return the resynthesized notes of one patient, and the normal forms of the rejected surrogates."""
    originals = constraints.originals.values[patient_key(notes[0])]
    rejected: frozenset[str] = frozenset()
    for _ in range(_ROUNDS):
        made = _replace_together(notes, record, surrogates, avoid | rejected)
        bad = frozenset(form for note in made for form in _offending(note, constraints, originals)) - {""}
        if bad <= rejected:  # nothing new: no violations, or only those without an alternative
            break
        rejected |= bad
    if bad:
        made = [alter_offending(note, constraints, originals, rejected | avoid) for note in made]
    return made, rejected


def _replace_together(
    notes: Sequence[AnnotatedNote], record: PatientRecord | None, surrogates: Surrogates, avoid: Collection[str]
) -> list[AnnotatedNote]:
    """Return the resynthesized notes of one patient, with surrogates made as if all notes were one.

    So initials and abbreviations follow the full name, whichever note of the patient has it.
    """
    text, spans = "", []
    for note in notes:
        spans += [span.shift(len(text)) for span in note.spans]
        text += note.text + _BETWEEN_NOTES
    together = Note(notes[0].id, text, notes[0].patient)
    made = iter(surrogates.replacements(together, spans, record, avoid=avoid))
    return [with_values(note, list(islice(made, len(note.spans)))) for note in notes]


def _offending(note: AnnotatedNote, constraints: Constraints, originals: frozenset[str]) -> set[str]:
    """Return the normal forms of the surrogates of a new note that contain an original."""
    bad = {
        normal_form(value)
        for label, value in ((span.label, note.text[span.start : span.end]) for span in note.spans)
        if label not in MOVING_LABELS
        and (normal_form(value) in originals or next(constraints.in_surrogate(label, value), None))
    }
    for town, span in towns_of(note.text, note.spans):
        if town in constraints.originals.towns:
            bad.add(normal_form(note.text[span.start : span.end]))
    return bad


def _renamed(note: AnnotatedNote, surrogates: Surrogates) -> AnnotatedNote:
    patient = surrogates.pseudonym("patient", note.patient) if note.patient else ""
    return replace(note, id=surrogates.pseudonym("note", note.id), patient=patient)


def _require_unique(notes: Sequence[AnnotatedNote]) -> None:
    seen: set[str] = set()
    for note in notes:
        if note.id in seen:
            raise SourceError(
                f"note id {shown_id(note.id)} occurs twice; ids must be unique, because surrogates depend on them"
            )
        seen.add(note.id)
