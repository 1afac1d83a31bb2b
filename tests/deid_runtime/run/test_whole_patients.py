"""Test that surrogates agree over all notes of a patient, with rules only, so that no model is needed."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified, Quarantined
from deid_runtime.run.crosswalk import read_crosswalk, write_key_pair
from deid_runtime.run.job import RunOptions, Summary, deidentify_files
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, PatientRecord
from tests.commands import read_rows, write_rows

KEY = bytes(range(32))
SETTINGS = Settings(use_models=False)
RECORDS = {"p1": PatientRecord("p1", {"given": "Rosalind", "family": "Okafor", "city": "Duluth"})}
PIPELINE = load_pipeline(SETTINGS, key=KEY, records=RECORDS)

FULL = "Dictated by: Ann Holm, MD\n"
INITIALS = "Signed by: AH, MD\n"
#: Texts that name people in full, by initials and by ambiguous words, with a date, a number and an address.
TEXTS = (
    FULL,
    INITIALS,
    "Signed by: Arno Hurst, MD\n",
    "Dictated by: ANN HOLM, MD\nSeen on 03/04/2051, MRN: 4471902.\n",
    "Rosalind, of Duluth, rang 212-664-9182.\nSigned by: A. Holm, MD\n",
    "Call 212-664-9183 or 218-555-4410.\n",
)


def note(number: int, text: str, patient: str = "p1") -> Note:
    return Note(f"n{number}", text, patient)


def replaced(notes: list[Note]) -> dict[str, str]:
    outcomes = PIPELINE.deidentify(notes, whole_patients=True)
    assert [outcome.note_id for outcome in outcomes] == [note.id for note in notes]
    return {outcome.note_id: outcome.text for outcome in outcomes if isinstance(outcome, Deidentified)}


def initials(dictated: str) -> str:
    given, family = dictated.removeprefix("Dictated by: ").removesuffix(", MD\n").split()
    return given[0] + family[0]


def test_initials_follow_a_name_that_only_another_note_has() -> None:
    for patient in map(str, range(20)):
        made = replaced([note(1, INITIALS, patient), note(2, FULL, patient)])

        assert made["n1"] == f"Signed by: {initials(made['n2'])}, MD\n"


def test_one_patient_does_not_follow_another() -> None:
    notes = [note(1, INITIALS, "a"), note(2, FULL, "b"), note(3, INITIALS, ""), note(4, FULL, "")]

    alone = {
        outcome.note_id: outcome.text for outcome in PIPELINE.deidentify(notes) if isinstance(outcome, Deidentified)
    }

    assert replaced(notes) == alone


NOTES = [note(number, text, patient) for number, (text, patient) in enumerate(product(TEXTS, ("p1", "p2", "")))]


@settings(max_examples=25)
@given(st.permutations(NOTES))
def test_the_order_of_the_notes_makes_no_difference(shuffled: list[Note]) -> None:
    assert replaced(shuffled) == replaced(NOTES)


def test_patients_searched_in_parts_are_served_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = [note(number, text) for number, text in enumerate(TEXTS * 3)]
    expected = replaced(notes)

    monkeypatch.setattr("deid_runtime.pipeline.processing._CHUNK_NOTES", 2)

    assert replaced(notes) == expected


def test_a_note_that_cannot_be_read_stops_no_other_and_adds_nothing() -> None:
    bad = note(1, f"{FULL}\0")
    outcomes = PIPELINE.deidentify([note(0, INITIALS), bad, note(2, TEXTS[3])], whole_patients=True)

    assert isinstance(outcomes[1], Quarantined)
    assert replaced([note(0, INITIALS), note(2, TEXTS[3])]) == {
        outcome.note_id: outcome.text for outcome in outcomes if isinstance(outcome, Deidentified)
    }


# Whole runs from file to file.


def write_jsonl(path: Path, notes: list[Note]) -> Path:
    rows = ({"id": note.id, "patient": note.patient, "text": note.text} for note in notes)
    write_rows(path, rows)
    return path


def deidentify(path: Path, out: Path, settings: Settings = SETTINGS, **changes: Any) -> Summary:
    options = RunOptions(**{"quiet": True, "keep_ids": True, "whole_patients": True, **changes})
    return deidentify_files([path], out, settings, options, key=KEY, records=RECORDS)


def sorted_notes() -> list[Note]:
    """Make 12 patients with up to 6 notes each, mixed with notes without a patient."""
    notes = []
    for patient in range(12):
        for text in TEXTS[patient % 3 :]:
            notes.append(note(len(notes), text, f"p{patient}"))
        notes.append(note(len(notes), TEXTS[patient % 6], ""))
    return notes


@pytest.mark.parametrize(("workers", "batch_size"), [(1, 7), (1, 1000), (2, 3)])
def test_output_is_the_same_for_any_number_of_workers_and_any_batch_size(
    tmp_path: Path, workers: int, batch_size: int
) -> None:
    notes = sorted_notes()
    source = write_jsonl(tmp_path / "in.jsonl", notes)

    deidentify(source, tmp_path / "one.jsonl", batch_size=1)
    deidentify(source, tmp_path / "other.jsonl", workers=workers, batch_size=batch_size)

    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "other.jsonl").read_bytes()
    assert {row["id"]: row["text"] for row in read_rows(tmp_path / "one.jsonl")} == replaced(notes)


def test_runs_note_by_note_are_as_ever_and_the_manifest_tells_which_it_was(tmp_path: Path) -> None:
    notes = sorted_notes()
    source = write_jsonl(tmp_path / "in.jsonl", notes)

    summary = deidentify(source, tmp_path / "single.jsonl", whole_patients=False)
    whole = deidentify(source, tmp_path / "whole.jsonl")

    alone = [outcome.text for outcome in PIPELINE.deidentify(notes) if isinstance(outcome, Deidentified)]
    assert [row["text"] for row in read_rows(summary.out)] == alone != [row["text"] for row in read_rows(whole.out)]
    told = [json.loads(each.manifest.read_text())["options"]["whole_patients"] for each in (summary, whole)]
    assert told == [False, True]


def test_a_patient_who_comes_again_is_held_back_with_the_remedy(tmp_path: Path) -> None:
    notes = [note(1, FULL), note(2, INITIALS, "p2"), note(3, INITIALS), note(4, INITIALS), note(5, FULL, "p2")]

    summary = deidentify(write_jsonl(tmp_path / "in.jsonl", notes), tmp_path / "out.jsonl", batch_size=1)

    held_back = read_rows(summary.quarantine)
    assert [row["id"] for row in read_rows(summary.out)] == ["n1", "n2"]
    assert [(row["id"], row["stage"]) for row in held_back] == [(f"n{number}", "patients") for number in (3, 4, 5)]
    assert all("sort the input by patient" in row["reason"] for row in held_back)
    assert summary.counts.quarantined == {"patients": 3}


def test_files_in_a_row_hold_one_patient(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_jsonl(folder / "a.jsonl", [note(1, TEXTS[5], "p0"), note(2, INITIALS)])
    write_jsonl(folder / "b.jsonl", [])
    write_jsonl(folder / "c.jsonl", [note(3, FULL), note(4, TEXTS[5], "p3")])

    summary = deidentify(folder, tmp_path / "out", batch_size=1)

    [_, first], [second, _] = (read_rows(summary.out / name) for name in ("a.jsonl", "c.jsonl"))
    assert first["text"] == f"Signed by: {initials(second['text'])}, MD\n"
    assert (summary.out / "b.jsonl").read_bytes() == b""


def test_masks_are_those_of_each_note(tmp_path: Path) -> None:
    settings = Settings(use_models=False, operator="redact")
    source = write_jsonl(tmp_path / "in.jsonl", sorted_notes())

    deidentify(source, tmp_path / "whole.jsonl", settings)
    deidentify(source, tmp_path / "single.jsonl", settings, whole_patients=False)

    assert (tmp_path / "whole.jsonl").read_bytes() == (tmp_path / "single.jsonl").read_bytes()


def test_tags_number_the_persons_of_all_notes_of_a_patient(tmp_path: Path) -> None:
    notes = [note(1, "Dr. Anna Holm and Dr. Ben Cole."), note(2, "Dr. Ben Cole.")]

    summary = deidentify(
        write_jsonl(tmp_path / "in.jsonl", notes), tmp_path / "out.jsonl", Settings(use_models=False, operator="tag")
    )

    first, second = (row["text"] for row in read_rows(summary.out))
    assert first == "Dr. [DOCTOR-1] and Dr. [DOCTOR-2]."
    assert second == "Dr. [DOCTOR-2]."


def test_safe_harbor_leaves_years_and_names_agree(tmp_path: Path) -> None:
    notes = [note(1, f"{INITIALS}Seen on 03/04/2051."), note(2, FULL)]

    summary = deidentify(
        write_jsonl(tmp_path / "in.jsonl", notes),
        tmp_path / "out.jsonl",
        Settings(use_models=False, safe_harbor=True),
        keep_ids=False,
    )

    first, second = (row["text"] for row in read_rows(summary.out))
    assert first == f"Signed by: {initials(second)}, MD\nSeen on 2051."


def test_date_shifts_of_patients_are_followed(tmp_path: Path) -> None:
    shifts = tmp_path / "shifts.csv"
    shifts.write_text("patient,days\np1,10\n")
    notes = [note(1, "Seen on 03/04/2051."), note(2, "Seen on 03/05/2051."), note(3, "Seen on 03/04/2051.", "p2")]

    summary = deidentify(
        write_jsonl(tmp_path / "in.jsonl", notes),
        tmp_path / "out.jsonl",
        Settings(use_models=False, given_date_shifts=shifts),
    )

    assert [row["text"] for row in read_rows(summary.out)] == ["Seen on 03/14/2051.", "Seen on 03/15/2051."]
    assert [row["id"] for row in read_rows(summary.quarantine)] == ["n3"]


def test_the_crosswalk_has_the_shared_surrogates(tmp_path: Path) -> None:
    pytest.importorskip("pyrage")
    key = tmp_path / "broker"
    public = write_key_pair(key).read_text().strip()
    source = write_jsonl(tmp_path / "in.jsonl", [note(1, INITIALS), note(2, FULL)])

    summary = deidentify(source, tmp_path / "out.jsonl", crosswalk=tmp_path / "crosswalk.age", crosswalk_keys=(public,))

    lines: list[dict[str, Any]] = []
    read_crosswalk(tmp_path / "crosswalk.age", key, lambda line: lines.append(json.loads(line)))
    surrogates = [line["spans"][0]["surrogate"] for line in lines]
    assert surrogates == [initials(read_rows(summary.out)[1]["text"]), " ".join(surrogates[1].split())]
