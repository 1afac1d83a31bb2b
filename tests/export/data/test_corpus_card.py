"""Test the tables of the data card: computed from the notes, and equal to those of the committed card."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from deid_export.cli.corpus import card as corpus_card
from deid_export.cli.corpus import convert
from deid_export.data.corpus_card import MARK, card_tables
from deid_export.data.marked_tables import with_tables
from deid_export.data.subsets import batch_of, halves, nested_subsets
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.errors import InputError
from deid_runtime.records.patients import read_patients
from tests.export.data.test_corpus_check import CORPUS, GOOD, PARTS


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Write two parts; ``dev`` has the text of a note of ``train`` for another patient."""
    paths = []
    for part, batch in (("train", "X1"), ("dev", "Y1")):
        (tmp_path / part).mkdir()
        text = GOOD.replace("X1", batch).replace("67", "67" if part == "train" else "91")
        (tmp_path / part / f"{batch}-001.txt").write_text(text, encoding="utf-8")
        paths.append(tmp_path / part)
    return paths


def rows(table: str) -> dict[str, list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {row[0]: row[1:] for row in cells}


def test_tables_count_the_notes(parts: list[Path]) -> None:
    tables = card_tables(parts)
    size, labels = rows(tables["size"]), rows(tables["labels"])

    assert size[""] == ["train", "dev"]
    assert (size["patients"], size["notes"], size["words (between blanks)"]) == (["1", "1"], ["2", "2"], ["13", "13"])
    assert labels["PATIENT"] == ["A", "name", "1", "1", "1", "100 %"]
    assert labels["AGE"] == ["A over 89, C", "age", "1", "1", "2", "0 %"]
    assert labels["SSN"] == ["A", "identifier", "0", "0", "0", "–"]
    assert labels["all"] == ["", "", "4", "4", "5", "75 %"]
    assert rows(tables["batches"])["Y1"] == ["dev", "1", "2", "13", "4", "30.8"]
    assert rows(tables["kinds"])["telephone, voicemail, portal, e-mail, chat"] == ["1", "1"]
    assert rows(tables["check"])["problems"] == ["1"]  # the letter has the same text in both parts


def test_habits_are_shares_of_each_batch(tmp_path: Path) -> None:
    spans = ("<EMAIL>a@b.example</EMAIL>", "<URL>b.org</URL>", "<PHONE>507 555 0139</PHONE>")
    (tmp_path / "X1-001.txt").write_text(GOOD.replace("Dear", " ".join(spans)), encoding="utf-8")

    assert rows(card_tables([tmp_path])["habits"])["X1"] == ["50 %", "100 %"]


def test_two_parts_of_one_name_are_refused(parts: list[Path]) -> None:
    with pytest.raises(InputError, match="one name"):
        card_tables([parts[0], parts[0]])


def test_the_committed_card_is_true() -> None:
    card = (CORPUS / "README.md").read_text(encoding="utf-8")

    assert with_tables(card, card_tables(PARTS), MARK) == card, (
        "deid-export corpus-card export/corpus/notes/train export/corpus/notes/dev export/corpus/notes/test "
        "--update export/corpus/README.md"
    )


def test_the_command_updates_a_card(parts: list[Path], tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text("".join(f"<!-- corpus-card: {n} -->\n<!-- /corpus-card: {n} -->\n" for n in card_tables(parts)))
    runner = CliRunner()
    arguments = list(map(str, parts))

    assert runner.invoke(corpus_card, [*arguments, "--update", str(card)]).exit_code == 0
    assert card_tables(parts)["labels"] in card.read_text(encoding="utf-8")
    assert card_tables(parts)["labels"] in runner.invoke(corpus_card, arguments).output


@pytest.mark.parametrize("form", ["jsonl", "brat", "i2b2"])
def test_notes_are_the_same_in_every_form(parts: list[Path], tmp_path: Path, form: str) -> None:
    records = tmp_path / "patients.jsonl"
    arguments = [*map(str, parts), "--out", str(tmp_path / "out"), "--form", form, "--patients", str(records)]

    assert CliRunner().invoke(convert, arguments).output == f"4 notes in {tmp_path / 'out'}\n"
    converted = {note.id: (note.text, note.spans) for note in read_annotated([tmp_path / "out"])}
    assert converted == {note.id: (note.text, note.spans) for note in read_annotated(parts)}
    assert read_patients(records) == read_records(parts)
    assert json.loads(records.read_text().splitlines()[0])["phone"] == "507 330 0139"


def notes_of(batches: dict[str, int], each: int = 2) -> list[AnnotatedNote]:
    return [
        AnnotatedNote(f"{batch}-{patient:03}-{note}", f"{batch}-{patient:03}", "", "x", ())
        for batch, patients in batches.items()
        for patient in range(patients)
        for note in range(each)
    ]


def test_subsets_are_nested_and_take_every_batch_alike() -> None:
    notes = notes_of({"T1": 40, "T2": 20})
    shares = (0.1, 0.25, 0.5, 1.0)
    subsets = nested_subsets(notes, shares, seed=3)

    for share, subset in zip(shares, subsets, strict=True):
        assert len({note.patient for note in subset}) == share * 60
        assert abs(sum(batch_of(note) == "T1" for note in subset) - share * 80) <= 2
    for smaller, larger in pairwise(subsets):
        assert {note.id for note in smaller} < {note.id for note in larger}
    assert subsets[-1] == notes
    assert nested_subsets(notes, shares, seed=3) == subsets
    assert nested_subsets(notes, shares, seed=4) != subsets


@pytest.mark.parametrize("share", [0, -0.5, 1.01])
def test_a_share_outside_its_range_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        nested_subsets(notes_of({"T1": 4}), [share], seed=3)


def test_halves_part_the_patients() -> None:
    notes = notes_of({"T1": 7})
    first, second = halves(notes, seed=3)

    assert len({note.patient for note in first}) == 3
    assert not {note.patient for note in first} & {note.patient for note in second}
    assert sorted(first + second, key=lambda note: note.id) == notes
    assert halves(list(reversed(notes)), seed=3)[0] == list(reversed(first))
    with pytest.raises(ValueError, match="two halves"):
        halves(notes_of({"T1": 1}), seed=3)
