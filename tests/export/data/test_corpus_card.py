"""Test the tables of the data card: computed from the notes, and equal to those of the committed card."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from deid_export.cli.corpus import card as corpus_card
from deid_export.cli.corpus import convert
from deid_export.data.corpus_card import MARK, card_tables
from deid_export.data.marked_tables import with_tables
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
    with pytest.raises(InputError, match="the same name"):
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
