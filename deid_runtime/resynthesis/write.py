"""Write a corpus into a folder, in each form that :func:`deid_runtime.annotations.read.read_annotated` reads."""

import csv
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from deid_runtime.annotations.brat import BRAT_CONFIGURATION, render_brat
from deid_runtime.annotations.i2b2 import render_i2b2
from deid_runtime.annotations.jsonl import render_jsonl
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated
from deid_runtime.annotations.tagged import render_tagged
from deid_runtime.errors import InputError, OutputError
from deid_runtime.resynthesis.originals import patient_key
from deid_runtime.spans import PatientRecord
from deid_runtime.system.shown_ids import shown_id

NOTES: Final = "notes.jsonl"
PATIENTS: Final = "patients.csv"


def write_corpus(folder: Path, form: str, notes: Sequence[AnnotatedNote], records: Mapping[str, PatientRecord]) -> None:
    """Write notes and records, which are by patient id, into the empty ``folder``.

    ``form`` is one of :mod:`deid_runtime.resynthesis.forms`. Tagged text includes the records. The other forms have
    them in ``patients.csv``, as ``deid run --patients`` reads it. The names of i2b2 files contain the number of the
    patient and of the note, because that form identifies patients by file name.

    Raises InputError for a note that the form cannot represent. Raises OutputError when the written files do not read
    back as the same texts and spans.
    """
    written = _WRITERS[form](folder, notes, records)
    if records and form != "tagged":
        _write_records(folder / PATIENTS, records)
    back = read_annotated([folder])
    if [_content(note) for note in _by_id(back)] != [_content(note) for note in _by_id(written)]:
        raise OutputError(f"the notes written as {form} do not read back unchanged; write jsonl")


def _content(note: AnnotatedNote) -> tuple[object, ...]:
    return note.id, note.patient, note.text, note.spans


def _by_id(notes: Sequence[AnnotatedNote]) -> list[AnnotatedNote]:
    return sorted(notes, key=lambda note: note.id)


def _write_jsonl(
    folder: Path, notes: Sequence[AnnotatedNote], _: Mapping[str, PatientRecord]
) -> Sequence[AnnotatedNote]:
    with (folder / NOTES).open("wb") as file:
        file.writelines(map(render_jsonl, notes))
    return notes


def _write_tagged(
    folder: Path, notes: Sequence[AnnotatedNote], records: Mapping[str, PatientRecord]
) -> Sequence[AnnotatedNote]:
    by_patient: defaultdict[str, list[AnnotatedNote]] = defaultdict(list)
    for note in notes:
        by_patient[patient_key(note)].append(note)
    for own in by_patient.values():
        patient = own[0].patient
        record = records.get(patient)
        path = folder / f"{_file_name(patient or own[0].id)}.txt"
        path.write_bytes(render_tagged(patient, record.fields if record else {}, own).encode())
    return notes


def _write_i2b2(
    folder: Path, notes: Sequence[AnnotatedNote], _: Mapping[str, PatientRecord]
) -> Sequence[AnnotatedNote]:
    # Number patients in the order of the new ids, which is random: the old order would show which patient came first.
    numbers: dict[str, str] = {}
    counts: defaultdict[str, int] = defaultdict(int)
    for note in sorted(notes, key=lambda note: (patient_key(note), note.id)):
        numbers.setdefault(patient_key(note), str(len(numbers) + 1))
    written = []
    for note in _by_id(notes):
        patient = numbers[patient_key(note)]
        counts[patient] += 1
        name = f"{patient}-{counts[patient]:02}"
        (folder / f"{name}.xml").write_bytes(render_i2b2(note.text, note.spans))
        written.append(replace(note, id=name, patient=patient))
    return written


def _write_brat(
    folder: Path, notes: Sequence[AnnotatedNote], _: Mapping[str, PatientRecord]
) -> Sequence[AnnotatedNote]:
    written = []
    for note in notes:
        values = (note.text[span.start : span.end] for span in note.spans)
        if any(value != value.strip() for value in values):
            raise InputError(
                f"note {shown_id(note.id)}: brat cannot mark a span with blanks at its ends; write jsonl",
                stage="write",
            )
        name = _file_name(note.id)
        (folder / f"{name}.txt").write_bytes(note.text.encode())
        (folder / f"{name}.ann").write_bytes(render_brat(note.text, note.spans))
        written.append(replace(note, id=name, patient=""))
    (folder / "annotation.conf").write_text(BRAT_CONFIGURATION, encoding="utf-8")
    return written


_WRITERS: Final[
    Mapping[str, Callable[[Path, Sequence[AnnotatedNote], Mapping[str, PatientRecord]], Sequence[AnnotatedNote]]]
] = {
    "jsonl": _write_jsonl,
    "tagged": _write_tagged,
    "i2b2": _write_i2b2,
    "brat": _write_brat,
}


def _file_name(name: str) -> str:
    """Return a file name that is valid on any file system. Distinct names stay distinct."""
    made = quote(name, safe=" ()+,=@[]")
    return f"%2E{made[1:]}" if made.startswith(".") else made


def _write_records(path: Path, records: Mapping[str, PatientRecord]) -> None:
    columns = list(dict.fromkeys(name for record in records.values() for name in record.fields))
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["id", *columns])
        for patient, record in records.items():
            table.writerow([patient, *(record.fields.get(column, "") for column in columns)])
