from pathlib import Path

import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.errors import InputError
from deid_runtime.records.patients import read_patients
from deid_runtime.resynthesis.forms import FORMS
from deid_runtime.resynthesis.write import PATIENTS, write_corpus
from deid_runtime.spans import PatientRecord, Span
from tests.deid_runtime.resynthesis.notes import write_notes


@pytest.mark.parametrize("form", FORMS)
def test_every_form_reads_back(tmp_path: Path, form: str) -> None:
    source = write_notes(tmp_path / "notes")
    notes, records = read_annotated([source]), read_records([source])
    (tmp_path / "out").mkdir()

    write_corpus(tmp_path / "out", form, notes, records)

    back = read_annotated([tmp_path / "out"])
    assert sorted((note.text, note.spans) for note in back) == sorted((note.text, note.spans) for note in notes)
    if form != "brat":
        assert len({note.patient for note in back}) == 2
    kept = read_records([tmp_path / "out"]) if form == "tagged" else read_patients(tmp_path / "out" / PATIENTS)
    assert kept == records


def test_i2b2_files_are_numbered_by_patient(tmp_path: Path) -> None:
    notes = [
        AnnotatedNote(note_id, patient, "", "text", ()) for note_id, patient in (("c", "x"), ("b", "y"), ("a", "x"))
    ]

    write_corpus(tmp_path, "i2b2", notes, {})

    assert sorted(path.name for path in tmp_path.iterdir()) == ["1-01.xml", "1-02.xml", "2-01.xml"]


@pytest.mark.parametrize(
    ("form", "text"),
    [("i2b2", "a\x07b"), ("brat", "Alma Orr\n"), ("tagged", "Alma\n\nOrr")],
)
def test_a_note_that_a_form_cannot_hold_is_an_error(tmp_path: Path, form: str, text: str) -> None:
    notes = [AnnotatedNote("n1", "", "", text, (Span(0, len(text), "PATIENT"),))]

    with pytest.raises(InputError):
        write_corpus(tmp_path, form, notes, {})


@pytest.mark.parametrize("form", FORMS)
def test_a_value_broken_over_a_line_end_reads_back(tmp_path: Path, form: str) -> None:
    notes = [AnnotatedNote("1-01", "1", "", "by Una\nGallacher.", (Span(3, 16, "DOCTOR"),))]

    write_corpus(tmp_path, form, notes, {})

    [back] = read_annotated([tmp_path])
    assert (back.text, back.spans) == (notes[0].text, notes[0].spans)


def test_ids_that_are_no_file_names_are_written_as_such(tmp_path: Path) -> None:
    notes = [AnnotatedNote("../ward/1", "../x", "", "text", ()), AnnotatedNote(".b", ".y", "", "text", ())]

    write_corpus(tmp_path, "tagged", notes, {"../x": PatientRecord("../x", {"family": 'O"Orr'})})

    assert {path.parent for path in tmp_path.rglob("*.txt")} == {tmp_path}
    assert read_records([tmp_path])["../x"].fields == {"family": 'O"Orr'}
