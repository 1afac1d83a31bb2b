"""Test ``deid audit sample`` and ``deid audit bound`` through the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deid_runtime.cli.main import main
from tests.commands import read_rows, write_rows

pytest.importorskip("scipy")


def deid(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["audit", *(str(argument) for argument in arguments)])


def write(path: Path, rows: list[dict]) -> Path:
    write_rows(path, rows)
    return path


def test_from_a_release_to_a_bound(tmp_path):
    rows = [
        {"id": f"n{number}", "patient": f"p{number % 50}", "type": "Letter", "text": "Seen by Oyelaran"}
        for number in range(200)
    ]
    release = write(tmp_path / "release.jsonl", rows)

    drawn = deid("sample", release, "-o", tmp_path / "sample", "--draws", 60, "--seed", 3)
    assert drawn.exit_code == 0, drawn.output
    assert "with 95 % confidence at most 4.88 % of all notes hold a leak (9 notes)" in drawn.stdout

    notes = read_rows(tmp_path / "sample" / "notes.jsonl")
    reviews = [
        {
            "id": note["id"],
            "patient": note["patient"],
            "reviewer": "mk",
            "mode": "blind",
            "read_whole": True,
            "marks": [],
        }
        for note in notes
    ]
    clean = deid("bound", tmp_path / "sample", "--review", write(tmp_path / "clean.jsonl", reviews))
    assert "at most 4.88 % of the 200 notes of the release hold one (9 notes)" in clean.stdout

    reviews[0]["marks"] = [{"start": 8, "end": 16, "label": "DOCTOR"}]
    one = deid("bound", tmp_path / "sample", "--review", write(tmp_path / "one.jsonl", reviews), "--json")
    values = json.loads(one.stdout)
    by_group = {each["group"]: each for each in values["bounds"] if not each["stratum"]}
    assert (values["sample"]["seed"], by_group["A"]["leaks"]) == (3, 0)
    assert by_group["B"]["upper"] > by_group["A"]["upper"]
    assert "Oyelaran" not in clean.output + one.output + drawn.output


def test_a_random_seed_is_told_and_stored(tmp_path):
    release = write(tmp_path / "release.jsonl", [{"id": "n", "text": "x"}])

    drawn = deid("sample", release, "-o", tmp_path / "sample")
    seed = json.loads((tmp_path / "sample" / "sample.json").read_text())["seed"]
    assert f"seed {seed}." in drawn.stdout


def test_notes_that_cannot_be_read_stop_the_draw(tmp_path):
    release = write(tmp_path / "release.jsonl", [{"id": "n", "text": "x"}, {"id": "m"}])

    drawn = deid("sample", release, "-o", tmp_path / "sample")
    assert drawn.exit_code == 2
    assert "a sample needs all notes" in drawn.stderr
