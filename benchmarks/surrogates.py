"""Do surrogates keep the form, sex, culture and time of what they stand for, agree with each other, and never meet it?

    python benchmarks/surrogates.py --notes train dev

Method: the annotated notes (files or folders as training reads them, tagged, JSON Lines, i2b2 XML or brat) get
surrogates for their *gold* spans, so that no error of the finders counts, under ``--keys`` keys. Every measure is a
share of what it applies to, and its checkers are in ``surrogate_*forms.py``, which share no code with what makes the
surrogates:

*names*: ``form``: words, punctuation, particles, suffixes, initials and letter case as in the original. ``gender`` and
``culture``: of words whose role is plain and that the lists know, the surrogate is listed for that sex, for a culture
the original is listed for; where the record gives the patient's sex, that decides. ``initials``: two or three letters
that are those of one full name of the note, and of no other of the patient, follow its surrogate.

*dates*: ``form`` of full dates that exist; ``intervals``: full dates that moved by as many days as most of their
patient's. Dates 90 years and more before the patient's latest have no part in it: they would tell an age over 89, and
get another year on purpose.

*agreement*: neighbouring town, state and ZIP by the gazetteer; words that tell the kind of a facility; abbreviations
of a facility named in full in the note.

*numbers*: ``shape``; ``check digits``: where one held, it holds.

*collisions*: surrogates that equal an original of the note or the patient's record, by their letters and digits, for
values of at least three; and words of names. Dates, ages and what is kept by design (holidays) have no part in it.
``consistency``: mentions of a patient with the same letters and digits and the same label (PATIENT and DOCTOR are one)
that have the surrogate most of them have; ``words of names`` the same for each word of the names.

Measured twice. ``note by note`` is how ``deid run`` works: it keeps nothing between notes, so a surrogate that turns
out to be an original of one note gives way there alone, and *consistency* must pay for *collisions*. ``whole patients``
is for those who hold all notes of a patient (``Surrogates.replacements(context=...)``), where both can be had.

``--show`` prints pairs that fail, to mend them; nothing of them is written. Use it where the notes may be read.
"""

import argparse
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

from measuring import RESULTS, describe_machine, write_results
from surrogate_code_forms import (
    COUNTY,
    Gazetteer,
    acronym,
    area_code,
    check_kinds,
    kind_word,
    neighbours,
    passes_luhn,
    read_gazetteer,
    shape,
)
from surrogate_date_forms import full_dates, same_date_form
from surrogate_forms import NameLists, bare, cut, form_faults, read_name_lists, roles, stays

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.context import Context, read_context

_NAMES: Final = frozenset({"PATIENT", "DOCTOR"})
_CODES: Final = frozenset("SSN MEDICALRECORD HEALTHPLAN ACCOUNT LICENSE VEHICLE DEVICE BIOID IDNUM PHONE FAX".split())
_FACILITIES: Final = frozenset({"HOSPITAL", "ORGANIZATION", "STREET", "LOCATION-OTHER"})
_MOVING: Final = frozenset({"DATE", "AGE"})
_LEAST_COMPARED: Final = 3  # letters and digits: shorter values meet by chance
_AGE_GROUPED_YEARS: Final = 90


@dataclass
class Tally:
    """Counts of what was kept, out of how many, by measure."""

    kept: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)
    failed: dict[str, list[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(list), repr=False)

    def add(self, measure: str, is_kept: bool, *shown: str) -> None:
        """Count one case; ``shown`` is only for ``--show``."""
        self.of[measure] += 1
        if is_kept:
            self.kept[measure] += 1
        else:
            self.failed[measure].append(shown)

    def to_json(self) -> dict[str, Any]:
        """Return kept, of and the share of each measure."""
        return {
            measure: {"kept": self.kept[measure], "of": of, "share": round(self.kept[measure] / of, 5)}
            for measure, of in sorted(self.of.items())
        }


@dataclass(frozen=True)
class Replaced:
    """A note with the values of its spans and their surrogates."""

    note: AnnotatedNote
    values: list[str] = field(repr=False)
    made: list[str] = field(repr=False)

    def of(self, labels: frozenset[str]) -> list[tuple[Span, str, str]]:
        """Return span, value and surrogate of the spans with one of ``labels``."""
        rows = zip(self.note.spans, self.values, self.made, strict=True)
        return [row for row in rows if row[0].label in labels]


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, nargs="+", required=True, help="annotated files, or folders of them")
    parser.add_argument("--keys", type=int, default=2, help="measure under so many keys")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N failing pairs of each measure")
    parser.add_argument("--results", type=Path, default=RESULTS / "surrogates.json")
    options = parser.parse_args()
    machine = describe_machine()
    corpora = {path.name: (read_annotated([path]), read_records([path])) for path in options.notes}
    keys = [hashlib.sha256(f"benchmark {number}".encode()).digest() for number in range(options.keys)]
    results: dict[str, Any] = {}
    for name, (notes, records) in corpora.items():
        results[name] = {
            "notes": len(notes),
            "patients": len({note.patient for note in notes}),
            "spans": sum(len(note.spans) for note in notes),
            "corpus_sha256": corpus_digest(notes),
        }
        for way in ("note by note", "whole patients"):
            tally = Tally()
            for key in keys:
                measure(replace_all(notes, records, key, is_whole=way == "whole patients"), records, tally)
            results[name][way] = tally.to_json()
            report(f"{name}, {way}", tally, options.show)
    told = {"question": __doc__.splitlines()[0], "machine": machine, "keys": options.keys, "results": results}
    write_results(options.results, told)


def replace_all(
    notes: Sequence[AnnotatedNote], records: Mapping[str, PatientRecord], key: bytes, *, is_whole: bool
) -> list[Replaced]:
    """Return every note with its surrogates; with ``is_whole`` those of a patient share their context."""
    surrogates = Surrogates(key)
    contexts: dict[str, Context] = {}
    if is_whole:
        by_patient: dict[str, list[tuple[Note, Sequence[Span]]]] = defaultdict(list)
        for note in notes:
            by_patient[note.patient].append((plain(note), note.spans))
        contexts = {patient: read_context(of_patient) for patient, of_patient in by_patient.items()}
    rows = []
    for note in notes:
        context = contexts.get(note.patient) if note.patient else None
        made = surrogates.replacements(plain(note), note.spans, records.get(note.patient), context=context)
        rows.append(Replaced(note, [note.text[span.start : span.end] for span in note.spans], made))
    return rows


def plain(note: AnnotatedNote) -> Note:
    """Return an annotated note as the runtime knows notes."""
    return Note(note.id, note.text, note.patient, note.type)


def measure(rows: Sequence[Replaced], records: Mapping[str, PatientRecord], tally: Tally) -> None:
    """Count all measures over the notes of all patients, made under one key."""
    lists, gazetteer = read_name_lists(), read_gazetteer()
    by_patient: dict[str, list[Replaced]] = defaultdict(list)
    for row in rows:
        record = records.get(row.note.patient)
        fields = record.fields if record else {}
        measure_numbers(row, tally)
        measure_places(row, gazetteer, tally)
        measure_collisions(row, fields, tally)
        by_patient[row.note.patient or row.note.id].append(row)
    for patient, of_patient in by_patient.items():
        record = records.get(patient)
        owners = [_owners(row) for row in of_patient]
        initials = frozenset(letters for of_note in owners for letters in of_note)
        for row in of_patient:
            measure_names(row, record.fields if record else {}, initials, lists, tally)
        measure_initials(of_patient, owners, lists, tally)
        born = full_dates(record.fields.get("dob", "")) if record else set()
        measure_dates(of_patient, born, tally)
        measure_consistency(of_patient, gazetteer, tally)


def measure_names(
    row: Replaced, record: Mapping[str, str], initials: frozenset[str], lists: NameLists, tally: Tally
) -> None:
    """Count form, sex and culture of the names of a note; ``initials`` of full names are no names of the lists."""
    own = {bare(word.text) for name in ("given", "middle") for word in cut(record.get(name, ""))[0]}
    for _, value, made in row.of(_NAMES):
        faults = form_faults(value, made)
        tally.add("names: form", not faults, value, made, ",".join(sorted(faults)))
        if "parts" in faults or value in initials or len(cut(value)[0]) != len(cut(made)[0]):
            continue
        found = zip(roles(value, lists), cut(value)[0], cut(made)[0], strict=True)
        for role, old, new in ((role, bare(old.text), bare(new.text)) for role, old, new in found if role):
            if role == "given":
                sexes = lists.sexes(old)
                if old in own and record.get("sex", "")[:1] in ("F", "M"):
                    sexes = frozenset(record["sex"][:1])
                if len(sexes) == 1:
                    tally.add("names: gender", sexes <= lists.sexes(new), old, new, value, made)
            cultures = lists.cultures(old, is_given=role == "given")
            is_same = not cultures.isdisjoint(lists.cultures(new, is_given=role == "given"))
            tally.add(f"names: culture of {role} names", is_same, old, new, value, made)


def measure_initials(
    rows: Sequence[Replaced], owners_by_note: Sequence[Mapping[str, set[str]]], lists: NameLists, tally: Tally
) -> None:
    """Count whether initials follow the one full name of their note, and of the patient, that they may stand for."""
    of_patient: dict[str, set[str]] = defaultdict(set)
    for owners in owners_by_note:
        for letters, made_letters in owners.items():
            of_patient[letters] |= made_letters
    for row, owners in zip(rows, owners_by_note, strict=True):
        names = [(value, made) for _, value, made in row.of(_NAMES)]
        mentioned = {bare(word.text) for value, _ in names for word in cut(value)[0] if not word.text.isupper()}
        for value, made in names:
            letters = re.sub(r"[. ]", "", value)
            is_word = bare(letters) in mentioned or (len(letters) > 2 and bare(letters) in lists.family)
            # A surrogate with the same letters cannot be followed: the originals would come again.
            is_told = len(of_patient[letters]) == 1 and letters in owners and letters not in owners[letters]
            if len(letters) in (2, 3) and letters.isupper() and not is_word and is_told:
                is_kept = re.sub(r"[. ]", "", made) in owners[letters]
                tally.add("names: initials", is_kept, value, made, str(owners[letters]), row.note.id)


def _owners(row: Replaced) -> dict[str, set[str]]:
    """Return the initials of the full names of a note with those of their surrogates; ``Smith, John`` is John Smith."""
    owners: dict[str, set[str]] = defaultdict(set)
    for _, value, made in row.of(_NAMES):
        words, new = cut(value)[0], cut(made)[0]
        commas = [i for i, word in enumerate(words) if "," in word.before]
        is_plain = len(words) in (2, 3) and len(words) == len(new) and not any(stays(word.text) for word in words)
        if is_plain and len(commas) <= 1 and len(words[0].text) > 1 and len(words[-1].text) > 1:
            at = commas[0] if commas else 0
            old_letters, new_letters = (
                "".join(w.text[0] for w in (*some[at:], *some[:at])).upper() for some in (words, new)
            )
            owners[old_letters].add(new_letters)
    return owners


def measure_numbers(row: Replaced, tally: Tally) -> None:
    """Count shape and check digits of the numbers of a note."""
    for span, value, made in row.of(_CODES):
        tally.add("numbers: shape", shape(value) == shape(made) or not value.isascii(), span.label, value, made)
        tally.add("numbers: no new zero first", made[:1] != "0" or value[:1] == "0", span.label, value, made)
        for kind in sorted(check_kinds(value)) if span.label not in ("PHONE", "FAX") else ():
            tally.add("numbers: check digits", kind in check_kinds(made) or _is_other(kind, made), kind, value, made)


def _is_other(kind: str, made: str) -> bool:
    """Say whether another check holds: ten figures may pass two by chance, and only one can be meant."""
    return bool(check_kinds(made)) or (kind == "luhn" and passes_luhn(re.sub(r"\D", "", made)))


def measure_places(row: Replaced, gazetteer: Gazetteer, tally: Tally) -> None:
    """Count whether neighbouring places agree, facilities keep their kind, and abbreviations follow."""
    labels, values, made = [span.label for span in row.note.spans], row.values, row.made
    for left, right in neighbours([(span.start, span.end) for span in row.note.spans], row.note.text):
        state = values[right] if labels[right] == "STATE" else values[left]
        if bare(state) not in gazetteer.states:
            continue
        shown = values[left], values[right], made[left], made[right]
        if (labels[left], labels[right]) == ("CITY", "STATE") and not COUNTY.search(values[left]):
            towns = gazetteer.towns.get(gazetteer.states.get(bare(made[right]), ""), ())
            tally.add("agreement: town in state", bare(made[left]) in towns, *shown)
        if (labels[left], labels[right]) == ("STATE", "ZIP") and values[right][:5].isdecimal():
            first, last = gazetteer.zips.get(gazetteer.states.get(bare(made[left]), ""), (1, 0))
            tally.add("agreement: ZIP in state", first <= int(made[right][:3]) <= last, *shown)
    facilities = row.of(frozenset({"HOSPITAL", "ORGANIZATION"}))
    full = {acronym(value): acronym(new) for _, value, new in facilities if " " in value}
    for _, value, new in facilities:
        if value.isupper() and value.isalpha() and value in full:
            tally.add("agreement: abbreviation of the full name", new == full[value], value, new, full[value])
    for span, value, new in row.of(_FACILITIES):
        is_facility = span.label in ("HOSPITAL", "ORGANIZATION")
        kind = kind_word(value, is_facility=is_facility)
        if kind:
            is_kept = kind == kind_word(new, is_facility=is_facility)
            tally.add("agreement: kind of place", is_kept, span.label, value, new)
    measure_area_codes(row, gazetteer, tally)


def measure_area_codes(row: Replaced, gazetteer: Gazetteer, tally: Tally) -> None:
    """Count telephone numbers whose area code lies in a state of the note, and still does."""
    states = {gazetteer.states.get(bare(value)): gazetteer.states.get(bare(new), "") for _, value, new in
              row.of(frozenset({"STATE"}))}  # fmt: skip
    for _, value, new in row.of(frozenset({"PHONE", "FAX"})):
        old_code, new_code = area_code(value), area_code(new)
        state = next((code for code, area in gazetteer.area_codes.items() if old_code in area), None)
        if state is not None and state in states:
            is_kept = new_code in gazetteer.area_codes.get(states[state], ())
            tally.add("agreement: area code in state", is_kept, value, new, states[state])


def measure_collisions(row: Replaced, record: Mapping[str, str], tally: Tally) -> None:
    """Count surrogates that are no original of the note or the record."""
    originals = {
        bare(value) for span, value in zip(row.note.spans, row.values, strict=True) if span.label not in _MOVING
    }
    originals |= {bare(value) for name, value in record.items() if name not in ("id", "sex", "gender", "dob")}
    words = {bare(word.text) for _, value, _ in row.of(_NAMES) for word in cut(value)[0] if _is_told(word.text)}
    recorded = [word.text for name in ("given", "middle", "family") for word in cut(record.get(name, ""))[0]]
    words |= {bare(word) for word in recorded if _is_told(word)}
    for span, value, made in zip(row.note.spans, row.values, row.made, strict=True):
        form = bare(made)
        if span.label not in _MOVING and len(form) >= _LEAST_COMPARED:
            tally.add("collisions: none with values", form not in originals, span.label, value, made)
        if span.label in _NAMES:
            for word in (word.text for word in cut(made)[0] if _is_told(word.text)):
                tally.add("collisions: none with words of names", bare(word) not in words, span.label, value, made)


def _is_told(word: str) -> bool:
    return len(word) >= _LEAST_COMPARED and not stays(word)


def measure_dates(rows: Sequence[Replaced], born: set[date], tally: Tally) -> None:
    """Count form and shift of the full dates of one patient."""
    shifts: list[tuple[set[int], str, str]] = []
    full = [day for row in rows for _, value, _ in row.of(frozenset({"DATE"})) for day in full_dates(value)]
    told_since = max((day.year for day in full), default=0) - _AGE_GROUPED_YEARS
    for row in rows:
        for _, value, made in row.of(frozenset({"DATE"})):
            before = full_dates(value)
            if not before:
                continue
            tally.add("dates: form", same_date_form(value, made), value, made)
            moved = {(new - old).days for old in before for new in full_dates(made)}
            known = before & born or before  # of a date of birth with two digits, the century is on record
            if any(day.year > told_since for day in known):
                shifts.append((moved, value, made))
    usual = Counter(days for possible, _, _ in shifts for days in possible)
    if usual:
        most = max(usual, key=lambda days: (usual[days], -abs(days)))
        for possible, value, made in shifts:
            tally.add("dates: intervals", most in possible, value, made, str(most), rows[0].note.patient)


def measure_consistency(rows: Sequence[Replaced], gazetteer: Gazetteer, tally: Tally) -> None:
    """Count the mentions of one patient that have the surrogate most mentions of their form have."""
    made_for: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    words_for: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for span, value, made in zip(row.note.spans, row.values, row.made, strict=True):
            if span.label in _MOVING or not bare(value):
                continue
            form = gazetteer.states.get(bare(made), bare(made)) if span.label == "STATE" else bare(made)
            made_for["NAME" if span.label in _NAMES else span.label, bare(value)][form] += 1
            if span.label in _NAMES:
                old, new = cut(value)[0], cut(made)[0]
                if len(old) == len(new):
                    for left, right in zip(old, new, strict=True):
                        if len(left.text) > 1 and not stays(left.text):
                            words_for[bare(left.text)][bare(right.text)] += 1
    for (label, value), counts in made_for.items():
        kind = "names" if label == "NAME" else "all else"
        _add_counts(tally, f"consistency: {kind}", value, counts, label, rows[0].note.patient)
    for value, counts in words_for.items():
        _add_counts(tally, "consistency: words of names", value, counts, "", rows[0].note.patient)


def _add_counts(tally: Tally, measure: str, value: str, counts: Counter[str], *shown: str) -> None:
    [(_, most)] = counts.most_common(1)
    tally.of[measure] += counts.total()
    tally.kept[measure] += most
    if most < counts.total():
        tally.failed[measure].append((value, str(dict(counts)), *shown))


def report(title: str, tally: Tally, show: int) -> None:
    """Print the shares, and where asked for what failed."""
    print(title)
    for measure, figures in tally.to_json().items():
        print(f"  {measure:<42}{figures['kept']:>8} of {figures['of']:>8}  {figures['share']:.5f}")
        for shown in tally.failed[measure][:show]:
            print("      ", " | ".join(shown))


if __name__ == "__main__":
    main()
