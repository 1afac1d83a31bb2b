import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deid_runtime.annotations.read import read_annotated, read_gold
from deid_runtime.cli.main import main
from tests.commands import read_rows
from tests.deid_runtime.resynthesis.notes import write_notes

MISSED = "%% patient id=P1\n%% note id=P1-1\n<PATIENT>Alma Halvorsen</PATIENT> came; Halvorsen 8.\n"


def resynthesize(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["corpus", "resynthesize", *map(str, arguments)])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_notes(tmp_path / "notes")


def test_writes_a_corpus_and_its_checks(notes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    result = resynthesize(notes, "-o", out)

    assert result.exit_code == 0, result.stderr
    manifest = json.loads((tmp_path / "out.manifest.json").read_text())
    assert manifest["checks"]["violations"] == {
        "family name": 0, "street": 0, "city, state and ZIP": 0, "original value": 0
    }  # fmt: skip
    assert manifest["checks"]["labels"]["PATIENT"]["spans_after"] == 3
    assert len(read_gold(out / "notes.jsonl")) == 3
    assert "PATIENT                3       3" in result.stdout
    everything = result.output + (tmp_path / "out.manifest.json").read_text()
    assert not any(original in everything for original in ("Halvorsen", "Quist", "P1-1"))


@pytest.mark.parametrize("form", ["tagged", "i2b2", "brat"])
def test_the_form_can_be_chosen(notes: Path, tmp_path: Path, form: str) -> None:
    assert resynthesize(notes, "-o", tmp_path / "out", "--format", form).exit_code == 0
    assert len(read_annotated([tmp_path / "out"])) == 3


def test_dates_can_move_by_whole_weeks(notes: Path, tmp_path: Path) -> None:
    assert resynthesize(notes, "-o", tmp_path / "out", "--date-shift-weeks").exit_code == 0
    assert json.loads((tmp_path / "out.manifest.json").read_text())["options"]["date_shift_whole_weeks"] is True


def test_checks_can_be_json(notes: Path, tmp_path: Path) -> None:
    result = resynthesize(notes, "-o", tmp_path / "out", "--json")

    assert json.loads(result.stdout) == json.loads((tmp_path / "out.manifest.json").read_text())["checks"]


def test_with_originals_left_nothing_is_written(tmp_path: Path) -> None:
    notes = write_notes(tmp_path / "notes", {"P1.txt": MISSED})

    result = resynthesize(notes, "-o", tmp_path / "out")

    assert result.exit_code == 1
    assert "1 originals are left, so nothing was written" in result.stderr
    assert "Halvorsen" not in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_what_is_left_can_be_reviewed_and_judged(tmp_path: Path) -> None:
    notes = write_notes(tmp_path / "notes", {"P1.txt": MISSED})
    review, judged = tmp_path / "review.jsonl", tmp_path / "words.txt"

    assert resynthesize(notes, "-o", tmp_path / "out", "--review", review).exit_code == 1
    [row] = read_rows(review)
    assert (row["note"], row["kind"], row["word"]) == ("P1-1", "family name", "Halvorsen")
    assert stat.S_IMODE(review.stat().st_mode) == 0o600

    judged.write_text("# scores\nHalvorsen  # a made-up one\n")
    result = resynthesize(notes, "-o", tmp_path / "out", "--ordinary-words", judged)
    assert result.exit_code == 0
    [note] = read_annotated([tmp_path / "out"])
    assert note.text.endswith("came; Halvorsen 8.")


def test_an_earlier_output_is_replaced_only_when_asked(notes: Path, tmp_path: Path) -> None:
    assert resynthesize(notes, "-o", tmp_path / "out").exit_code == 0
    before = (tmp_path / "out" / "notes.jsonl").read_bytes()

    assert resynthesize(notes, "-o", tmp_path / "out").exit_code == 2
    assert (tmp_path / "out" / "notes.jsonl").read_bytes() == before
    assert resynthesize(notes, "-o", tmp_path / "out", "--overwrite").exit_code == 0
    assert (tmp_path / "out" / "notes.jsonl").read_bytes() != before


def test_a_bad_word_list_is_named(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_bytes(b"\xff\xfe")

    result = resynthesize(notes, "-o", tmp_path / "out", "--ordinary-words", tmp_path / "words.txt")

    assert result.exit_code == 2
    assert "words.txt is not UTF-8" in result.stderr
