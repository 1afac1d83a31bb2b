"""Test `deid-export adapt select` and `deid-export adapt corrections` on the command line, with the shipped models."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deid_export.cli.main import main
from deid_runtime.annotations.read import read_annotated
from tests.commands import read_rows

NOTES = {
    "n1": "Pt slept well. No fever. Denies pain.",
    "n2": "Ms. Quist was seen on 3/14/2019 by Dr. Orr in Elko. Mark Falk called from Quarry Hill about her.",
    "n3": "Ms. Quist was seen on 4/15/2018 by Dr. Orr in Elko. Mark Falk called from Quarry Hill about her!",
    "n4": "BP 120/80, HR 70.",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["note_id", "text", "patient"])
        rows.writerows((note_id, text, "p1") for note_id, text in NOTES.items())
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_notes_are_ranked_given_out_and_read_back(notes: Path, tmp_path: Path) -> None:
    out, folder = tmp_path / "list.jsonl", tmp_path / "annotate"
    result = run(
        "adapt",
        "select",
        notes,
        "--id-column",
        "note_id",
        "-o",
        out,
        "--count",
        3,
        "--out-notes",
        folder,
        "--profile",
        "fast",
    )

    assert result.exit_code == 0, result.output
    rows = read_rows(out)
    assert [set(row) for row in rows] == [
        {"id", "score", "versions", "rules", "uncertainty", "words", "near_duplicates"}
    ] * len(rows)
    assert {row["id"] for row in rows} in ({"n1", "n2", "n4"}, {"n1", "n3", "n4"}), "n2 and n3 are near-duplicates"
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert all(row["score"] == pytest.approx(row["versions"] + row["rules"] + row["uncertainty"]) for row in rows)
    assert not any(word in out.read_text() + result.output for word in ("Quist", "Elko", "2019"))

    copy = "n2" if (folder / "n2.ann").exists() else "n3"
    (folder / f"{copy}.ann").write_text("T1\tPATIENT 4 9\tQuist\n", encoding="utf-8")
    corrected = run("adapt", "corrections", folder, "-o", tmp_path / "corrected.jsonl")

    assert corrected.exit_code == 0, corrected.output
    found = {note.id: note for note in read_annotated([tmp_path / "corrected.jsonl"])}
    assert set(found) == {row["id"] for row in rows}
    assert [(span.start, span.label) for span in found[copy].spans] == [(4, "PATIENT")]
    assert found[copy].patient == "p1"
    assert found[copy].text == NOTES[copy]

    again = run("adapt", "select", notes, "--id-column", "note_id", "-o", tmp_path / "next.jsonl", "--skip", out)
    assert again.exit_code == 0, again.output
    assert [json.loads(line)["id"] for line in (tmp_path / "next.jsonl").read_text().splitlines()] == [
        ({"n2", "n3"} - {copy}).pop()
    ]


def test_a_shifted_note_is_refused_by_its_id_and_a_missing_one_named(notes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "annotate"
    run("adapt", "select", notes, "--id-column", "note_id", "-o", tmp_path / "l.jsonl", "--out-notes", folder,
        "--annotate-as", "i2b2", "--profile", "fast")  # fmt: skip
    (folder / "n1.xml").write_text((folder / "n1.xml").read_text().replace("Pt slept", "Patient slept"))
    (folder / "n4.xml").unlink()
    result = run("adapt", "corrections", folder, "-o", tmp_path / "c.jsonl")

    assert result.exit_code == 1
    assert "n1: its text was changed" in result.output
    assert "1 notes are missing: n4" in result.output
    assert "slept" not in result.output
    assert len(read_annotated([tmp_path / "c.jsonl"])) == 1


def test_unreadable_notes_are_named_and_the_rest_is_ranked(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"id": "good", "text": "No fever."}\n{"id": "bad"}\n', encoding="utf-8")
    result = run("adapt", "select", path, "-o", tmp_path / "l.jsonl", "--profile", "fast")

    assert result.exit_code == 1
    assert "bad: text is missing" in result.output
    assert json.loads((tmp_path / "l.jsonl").read_text())["id"] == "good"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["adapt", "select", "{notes}", "-o", "{tmp}/l", "--out-notes", "{tmp}"], "exists; choose another name"),
        (["adapt", "select", "{notes}", "-o", "{tmp}/l"], "no column 'id'"),
        (
            ["adapt", "select", "{notes}", "-o", "{tmp}/l", "--skip", "{notes}"],
            "expected a list from `deid-export adapt select`",
        ),
        (["adapt", "select", "{notes}", "-o", "{tmp}/l", "--registry", "{tmp}"], "has no registry.json"),
        (["adapt", "corrections", "{notes}", "-o", "{tmp}/l"], "not a valid originals.json"),
    ],
)
def test_wrong_use_is_told_in_one_line(notes: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    result = run(*(argument.format(notes=notes, tmp=tmp_path) for argument in arguments))

    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
