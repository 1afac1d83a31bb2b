"""Test annotated files and folders in all formats, in the order of their names."""

import json
from pathlib import Path

import pytest

from deid_runtime.annotations.read import read_annotated, read_gold
from deid_runtime.errors import InputError, SourceError
from deid_runtime.spans import Span

TAGGED = """%% patient id=P1 given=Alma family=Orr
%% note id=P1-1 type="Phone note"
<PATIENT>Alma Orris</PATIENT> (<AGE>67</AGE>) called <DATE>3/14/2019</DATE>, BP <140/90.
Dr. <DOCTOR>ORRIS</DOCTOR>
%% note id=P1-2 type=Letter
Nothing here.
"""
XML = "<deIdi2b2><TEXT>Elko</TEXT><TAGS></TAGS></deIdi2b2>"


def test_tagged_notes_become_text_and_spans(tmp_path: Path) -> None:
    (tmp_path / "P1.txt").write_text(TAGGED, encoding="utf-8")
    first, second = read_annotated([tmp_path])

    assert (first.id, first.patient, first.type) == ("P1-1", "P1", "Phone note")
    assert [(s.label, first.text[s.start : s.end]) for s in first.spans] == [
        ("PATIENT", "Alma Orris"), ("AGE", "67"), ("DATE", "3/14/2019"), ("DOCTOR", "ORRIS"),
    ]  # fmt: skip
    assert first.text.startswith("Alma Orris (67) called 3/14/2019, BP <140/90.\nDr. ORRIS")
    assert second.spans == ()


def test_a_file_for_each_batch_reads_as_a_file_for_each_patient(tmp_path: Path) -> None:
    patients = ["T1-001", "T1-010", "T1-002", "T10-001", "T2-001"]
    for folder in ("patients", "batches"):
        (tmp_path / folder).mkdir()
    for patient in sorted(patients):
        text = TAGGED.replace("P1", patient)
        (tmp_path / "patients" / f"{patient}.txt").write_text(text, encoding="utf-8")
        with (tmp_path / "batches" / f"{patient.partition('-')[0]}.txt").open("a", encoding="utf-8") as file:
            file.write(text)
    notes = read_annotated([tmp_path / "batches"])

    assert notes == read_annotated([tmp_path / "patients"])
    assert list(dict.fromkeys(note.patient for note in notes)) == ["T1-001", "T1-002", "T1-010", "T10-001", "T2-001"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty", None, "has no annotated note"),
        ("bad.jsonl", "{}\n", r"bad\.jsonl:1: field 'id' must be a string"),
        ("bad.txt", '%% note id="x\ntext\n', r"bad\.txt:1: unbalanced quotes"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    path = tmp_path / name
    if content is None:
        path.mkdir()
    else:
        path.write_text(content, encoding="utf-8")

    with pytest.raises(SourceError, match=message):
        read_annotated([path])


def test_forms_may_stand_side_by_side_in_a_folder(tmp_path: Path) -> None:
    import gzip

    row = {"id": "j1", "text": "seen by Orr", "spans": [{"start": 8, "end": 11, "label": "DOCTOR"}]}
    (tmp_path / "tagged.txt").write_text(TAGGED, encoding="utf-8")
    with gzip.open(tmp_path / "rows.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    (tmp_path / "ward").mkdir()
    (tmp_path / "ward" / "b1.txt").write_text("seen by Quist", encoding="utf-8")
    (tmp_path / "ward" / "b1.ann").write_text("T1\tDOCTOR 8 13\tQuist\nT2\tDOCTOR 8 13\tQuist\n", encoding="utf-8")
    (tmp_path / "110-02.xml").write_text(
        '<deIdi2b2><TEXT>Elko</TEXT><TAGS><LOCATION id="P0" start="0" end="4" TYPE="CITY" /></TAGS></deIdi2b2>',
        encoding="utf-8",
    )

    found = {note.id: note for note in read_annotated([tmp_path])}

    assert list(found) == ["110-02", "j1", "P1-1", "P1-2", "ward/b1"]
    assert found["110-02"].patient == "110"
    assert found["ward/b1"].spans == (Span(8, 13, "DOCTOR"),)


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0, 4, "CITY"), (2, 6, "STATE")], r"n\.jsonl: note n1: spans \[0, 4\) CITY and \[2, 6\) STATE overlap"),
        ([(0, 9, "CITY")], r"n\.jsonl:1: note n1: gold span \[0, 9\) CITY ends after a text of 7 code points"),
    ],
)
def test_spans_that_nothing_can_be_learnt_from_are_named(
    tmp_path: Path, spans: list[tuple[int, int, str]], message: str
) -> None:
    row = {"id": "n1", "text": "Elko NV", "spans": [{"start": a, "end": b, "label": c} for a, b, c in spans]}
    (tmp_path / "n.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")

    with pytest.raises(InputError, match=message):
        read_annotated([tmp_path / "n.jsonl"])


def test_ids_of_files_are_paths_below_the_folder(tmp_path: Path) -> None:
    for name in ("ward/110-02.xml", "ward/110-01.xml", "b.xml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(XML)

    assert [(note.id, note.patient) for note in read_gold(tmp_path)] == [
        ("b", ""),
        ("ward/110-01", "110"),
        ("ward/110-02", "110"),
    ]


def test_repeated_ids_and_missing_files(tmp_path: Path) -> None:
    twice = tmp_path / "gold.jsonl"
    twice.write_text('{"id": "n1", "text": "x", "spans": []}\n' * 2)

    with pytest.raises(SourceError, match="note id n1 occurs twice"):
        read_gold(twice)


@pytest.mark.parametrize("name", ["none.jsonl", "none.xml", "none.ann", "none.txt"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match=f"{name}: cannot be read: No such file"):
        read_annotated([tmp_path / name])


def test_empty_folder_and_unknown_suffix(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no annotated note"):
        read_gold(tmp_path)
    (tmp_path / "notes.docx").write_bytes(b"")
    with pytest.raises(SourceError, match="annotations are read only from"):
        read_gold(tmp_path / "notes.docx")


def test_spans_to_score_against_may_overlap(tmp_path: Path) -> None:
    row = {
        "id": "n1",
        "text": "Elko NV",
        "spans": [{"start": a, "end": b, "label": "CITY"} for a, b in ((0, 4), (0, 7))],
    }
    (tmp_path / "n.jsonl").write_text(json.dumps(row), encoding="utf-8")

    [note] = read_gold(tmp_path / "n.jsonl")
    assert note.spans == (Span(0, 4, "CITY"), Span(0, 7, "CITY"))
