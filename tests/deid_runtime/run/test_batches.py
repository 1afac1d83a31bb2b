import json
from pathlib import Path

import pytest

from deid_runtime.formats.records import Meter, ReadOptions, Unreadable
from deid_runtime.formats.sources import find_inputs
from deid_runtime.run.batches import (
    BATCH_CHARS,
    PATIENT_CHARS,
    PATIENT_RECORDS,
    Batch,
    by_patient,
    make_batches,
)
from deid_runtime.spans import Note


def write(path: Path, rows: list[tuple[str, str]]) -> None:
    path.write_text("".join(json.dumps({"id": note_id, "text": text}) + "\n" for note_id, text in rows))


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_every_record_comes_once_in_order_with_tables_announced(tmp_path: Path, batch_size: int) -> None:
    write(tmp_path / "a.jsonl", [(f"a{number}", "x") for number in range(7)])
    write(tmp_path / "b.jsonl", [])
    (tmp_path / "c.txt").write_text("text")
    meter = Meter()

    batches = list(make_batches(find_inputs([tmp_path])[0], ReadOptions(), meter, batch_size))

    entries = [(source.name, item.id if item else None) for batch in batches for source, item in batch.entries]
    assert entries == [
        ("a.jsonl", None), *(("a.jsonl", f"a{number}") for number in range(7)), ("b.jsonl", None), ("c.txt", "c"),
    ]  # fmt: skip
    assert all(len(batch.entries) <= batch_size for batch in batches)
    assert meter.read_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_an_id_that_comes_again_is_unreadable_across_files(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [("n", "one"), ("n", "two")])
    (tmp_path / "n.txt").write_text("three")

    [batch] = make_batches(find_inputs([tmp_path])[0], ReadOptions(), Meter(), 100)

    items = [item for _, item in batch.entries if item]
    assert items[0] == Note("n", "one")
    assert [(type(item), item.id) for item in items[1:]] == [(Unreadable, "n"), (Unreadable, "n")]
    assert batch.notes == [Note("n", "one")]


def test_batches_are_bounded_in_characters(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [(str(number), "x" * (BATCH_CHARS // 2)) for number in range(4)])

    batches = list(make_batches(find_inputs([tmp_path])[0], ReadOptions(), Meter(), 100))

    assert [len(batch.notes) for batch in batches] == [2, 2]


def whole_patients(path: Path, patients: list[str], batch_size: int = 1, text: str = "x") -> list[Batch]:
    """Return the batches of one note per patient, in this order; ``!`` is a line that is no note."""
    with path.open("w") as file:
        for number, patient in enumerate(patients):
            row = {"id": str(number), "patient": patient, "text": text}
            file.write("no note\n" if patient == "!" else json.dumps(row) + "\n")
    return list(make_batches(find_inputs([path])[0], ReadOptions(), Meter(), batch_size, whole_patients=True))


def served(batches: list[Batch]) -> list[str]:
    return ["".join(note.patient or "-" for note in batch.notes) for batch in batches]


@pytest.mark.parametrize(
    ("patients", "batch_size", "expected"),
    [
        pytest.param("aaabcc", 1, ["", "aaa", "b", "cc"], id="one-batch-a-patient"),
        pytest.param("aaabcc", 4, ["aaa", "bcc"], id="several-patients-a-batch"),
        pytest.param("aa  bb", 1, ["", "aa", "-", "-", "bb"], id="notes-of-no-patient-stand-alone"),
        pytest.param("a!a!b", 1, ["", "aa", "b"], id="what-is-no-note-parts-nobody"),
        pytest.param("!!ab", 1, ["", "", "", "a", "b"], id="nor-waits-for-anybody"),
        pytest.param("aba", 1, ["", "a", "b", ""], id="again-after-others"),
        pytest.param("a ab", 1, ["", "a", "-", "", "b"], id="again-after-a-note-of-no-patient"),
        pytest.param("abaab", 1, ["", "a", "b", "", "", ""], id="all-that-come-again"),
    ],
)
def test_patients_are_not_parted(patients: str, batch_size: int, expected: list[str], tmp_path: Path) -> None:
    batches = whole_patients(tmp_path / "in.jsonl", [patient.strip() for patient in patients], batch_size)

    assert served(batches) == expected
    entries = [item for batch in batches for _, item in batch.entries if item]
    assert len(entries) == len(patients)


@pytest.mark.parametrize(
    ("patients", "text"),
    [
        pytest.param(["p"] * (PATIENT_RECORDS + 2), "x", id="records"),
        pytest.param(["p"] + ["!"] * PATIENT_RECORDS + ["p"], "x", id="records-that-are-no-notes-among-them"),
        pytest.param(["p"] * 5, "x" * (PATIENT_CHARS // 4 + 1), id="characters"),
    ],
)
def test_a_patient_with_too_much_is_held_back_and_the_next_is_served(
    patients: list[str], text: str, tmp_path: Path
) -> None:
    batches = whole_patients(tmp_path / "in.jsonl", [*patients, "q", ""], 100, text)

    items = [item for batch in batches for _, item in batch.entries if item]
    assert len(items) == len(patients) + 2
    assert [note.patient for batch in batches for note in batch.notes] == ["q", ""]
    reasons = {item.reason for item in items if isinstance(item, Unreadable) and item.stage == "patients"}
    assert len(reasons) == 1
    assert "without --whole-patients" in reasons.pop()


def test_a_patient_with_as_much_as_may_be_held_is_served(tmp_path: Path) -> None:
    batches = whole_patients(tmp_path / "in.jsonl", ["o", *["p"] * PATIENT_RECORDS, "q"], 1)

    assert [len(batch.notes) for batch in batches] == [0, 1, PATIENT_RECORDS, 1]


def test_a_note_of_no_patient_may_be_of_any_size(tmp_path: Path) -> None:
    batches = whole_patients(tmp_path / "in.jsonl", [""], 1, "x" * (PATIENT_CHARS + 1))

    assert served(batches) == ["", "-"]


def test_rows_of_one_patient_each() -> None:
    notes = [Note(str(number), "", patient) for number, patient in enumerate(["a", "a", "b", "", "", "a"])]

    assert [[note.patient for note in row] for row in by_patient(notes)] == [["a", "a"], ["b"], [""], [""], ["a"]]
