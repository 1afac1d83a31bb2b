import json

import pytest

from deid_export.adapt.harvest.counting import digest
from deid_export.adapt.harvest.sources import DetectedNotes, annotated, found_before, plain_notes
from deid_runtime.errors import InputError, SourceError
from deid_runtime.formats.records import ReadOptions
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.settings import Settings
from tests.commands import write_rows
from tests.export.adapt.harvest.marked import write_jsonl

ROWS = [("p1", "Seen <DATE>3/4/2031</DATE>."), ("", "Well."), ("p1", "Call <PHONE>212-867-4410</PHONE>.")]


def found(notes):
    return [(n.text, [(s.start, s.end, s.label) for s in n.spans]) for n in notes]


EXPECTED = [
    ("Seen 3/4/2031.", [(5, 13, "DATE")]),
    ("Well.", []),
    ("Call 212-867-4410.", [(5, 17, "PHONE")]),
]


def test_annotated_tables(tmp_path):
    notes = annotated([write_jsonl(tmp_path / "a.jsonl", ROWS)], ReadOptions())

    assert found(notes()) == found(notes()) == EXPECTED


def test_annotated_texts_of_every_kind(tmp_path):
    (tmp_path / "brat").mkdir()
    (tmp_path / "brat" / "1.txt").write_text("Seen 3/4/2031.", encoding="utf-8")
    (tmp_path / "brat" / "1.ann").write_text("T1\tDATE 5 13\t3/4/2031\n", encoding="utf-8")
    (tmp_path / "tagged.txt").write_text("%% patient id=p1\n%% note id=2\nWell.\n", encoding="utf-8")
    (tmp_path / "110-03.xml").write_text(
        '<deIdi2b2><TEXT>Call 212-867-4410.</TEXT><TAGS><CONTACT start="5" end="17" TYPE="PHONE"/></TAGS></deIdi2b2>',
        encoding="utf-8",
    )

    notes = list(annotated([tmp_path], ReadOptions())())

    assert sorted(found(notes)) == sorted(EXPECTED)
    assert sum(note.has_patient for note in notes) == 2


def test_patients_stay_together_and_a_note_without_one_stands_for_one(tmp_path):
    first, second, third = annotated([write_jsonl(tmp_path / "a.jsonl", ROWS)], ReadOptions())()

    assert first.patient == third.patient == digest("patient p1") != second.patient
    assert [note.has_patient for note in (first, second, third)] == [True, False, True]


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ({"id": "n", "text": "Well."}, SourceError, "no list 'spans'"),
        ({"id": "n", "text": "Well.", "spans": [{"start": 0}]}, SourceError, "whole numbers"),
        (
            {"id": "n", "text": "Well.", "spans": [{"start": 0, "end": 9, "label": "DATE"}]},
            InputError,
            "after the text",
        ),
        (
            {"id": "n", "text": "Well.", "spans": [{"start": 0, "end": 2, "label": "DATE"}] * 2},
            InputError,
            "spans overlap",
        ),
    ],
)
def test_a_bad_annotation_is_an_error_without_text(tmp_path, row, error, message):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")

    with pytest.raises(error, match=message) as raised:
        list(annotated([path], ReadOptions())())

    assert "Well" not in str(raised.value)


def test_other_files_are_not_passed_over(tmp_path):
    (tmp_path / "notes.csv").write_text("id,text\n1,Well.\n", encoding="utf-8")

    with pytest.raises(SourceError, match=r"notes\.csv: annotated notes are"):
        list(annotated([tmp_path], ReadOptions())())


def write_found(path, rows):
    write_rows(path, rows)
    return path


DATE = {"start": 5, "end": 13, "label": "DATE", "score": 1.0, "sources": ["pattern"]}


def test_notes_that_were_quarantined_are_left_out_and_named(tmp_path):
    notes = plain_notes([write_jsonl(tmp_path / "a.jsonl", [*ROWS, ROWS[0]], with_spans=False)], ReadOptions())
    rows = write_found(tmp_path / "f.jsonl", [{"id": "n0", "spans": [DATE]}, {"id": "n2", "spans": []}])
    left_out = {}
    once = found_before(notes, rows, left_out=left_out)

    assert found(once()) == found(once()) == [EXPECTED[0], ("Call 212-867-4410.", [])]
    assert left_out == {"n1": "no row in f.jsonl", "n3": "no row in f.jsonl"}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "n1", "spans": []}, {"id": "n0", "spans": []}], r"f\.jsonl:2: no note with this id"),
        ([{"id": "other", "spans": []}], r"f\.jsonl:1: no note with this id"),
        (["n0"], r"f\.jsonl:1: expected an object"),
        ([{"id": "n0"}], r"f\.jsonl:1: no list 'spans'"),
    ],
)
def test_rows_of_other_notes_are_an_error(tmp_path, rows, message):
    notes = plain_notes([write_jsonl(tmp_path / "a.jsonl", ROWS, with_spans=False)], ReadOptions())

    with pytest.raises(SourceError, match=message):
        list(found_before(notes, write_found(tmp_path / "f.jsonl", rows))())


def test_what_was_detected_is_kept_for_later_passes(tmp_path):
    path = write_jsonl(
        tmp_path / "a.jsonl", [*ROWS, ("p2", "All\ud800 well."), ("p2", "Bad \0 note.")], with_spans=False
    )
    left_out = {}
    notes = plain_notes([path], ReadOptions(), left_out=left_out)
    with (
        load_pipeline(Settings(use_models=False), key=None, records={}) as pipeline,
        DetectedNotes(notes, pipeline, left_out=left_out) as detected,
    ):
        assert found(detected()) == EXPECTED
        spent = dict(pipeline.stage_seconds)

        assert found(detected()) == found(detected()) == EXPECTED
        assert pipeline.stage_seconds == spent
    assert set(left_out) == {"n3", "n4"}
    assert "well" not in str(left_out)


def test_a_pass_that_was_broken_off_is_made_again(tmp_path):
    notes = plain_notes([write_jsonl(tmp_path / "a.jsonl", ROWS, with_spans=False)], ReadOptions())
    with (
        load_pipeline(Settings(use_models=False), key=None, records={}) as pipeline,
        DetectedNotes(notes, pipeline) as detected,
    ):
        next(iter(detected()))

        assert found(detected()) == found(detected()) == EXPECTED


def test_missing_inputs_are_named(tmp_path):
    with pytest.raises(SourceError, match="nowhere"):
        plain_notes([tmp_path / "nowhere"], ReadOptions())
