"""Test ``deid evaluate`` and its commands through the command line."""

import json
import stat
import tomllib
from pathlib import Path

import pytest
from click.testing import Result

from deid_runtime.models.manifest import find_models
from tests.commands import deid, read_rows, write_rows
from tests.deid_runtime.evaluation.invented import FOUND, GOLD, WORDS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        {"id": note.id, "patient": note.patient, "type": note.type, "text": note.text, "spans": spans_of(note.spans)}
        for note in GOLD
    ]
    write(tmp_path / "gold.jsonl", rows)
    write(tmp_path / "found.jsonl", [{"id": note_id, "spans": spans_of(spans)} for note_id, spans in FOUND.items()])
    write(tmp_path / "second.jsonl", [{"id": note_id, "spans": []} for note_id in FOUND])
    return tmp_path


def write(path: Path, rows: list[dict]) -> None:
    write_rows(path, rows)


def spans_of(spans) -> list[dict]:
    return [
        {"start": span.start, "end": span.end, "label": span.label, "score": span.score, "sources": list(span.sources)}
        for span in spans
    ]


def evaluate(folder: Path, *arguments: object) -> Result:
    return deid("evaluate", "--gold", folder / "gold.jsonl", "--found", folder / "found.jsonl", *arguments)


def test_the_tables_are_printed_as_before(folder):
    done = evaluate(folder)

    assert done.exit_code == 0
    assert done.stdout.startswith("3 notes of 2 patients\n")


def test_a_report_prints_three_sentences_and_writes_three_files(folder):
    done = evaluate(folder, "--report", folder / "out.html", "--against", folder / "second.jsonl")

    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "Of 3 notes, 2 had nothing missed.",
        "In 0 notes a name was missed.",
        "1 clinical word was removed that identifies nobody.",
    ]
    page = (folder / "out.html").read_text()
    assert "Compared with a second system" in page
    assert "gold, gold.jsonl: SHA-256" in page
    assert not [word for word in WORDS if word in page]
    assert json.loads((folder / "out.json").read_text())["against"]["shuffles"] == 9_999
    again = evaluate(folder, "--report", folder / "out.html")
    assert again.exit_code == 2
    assert "--overwrite" in again.stderr


def test_show_text_warns_and_makes_a_page_for_the_owner_alone(folder):
    done = evaluate(folder, "--report", folder / "out.html", "--show-text")

    assert "WORDS OF THE NOTES" in done.stderr
    assert stat.S_IMODE((folder / "out.html").stat().st_mode) == 0o600
    assert "fever" in (folder / "out.html").read_text()
    assert evaluate(folder, "--show-text").exit_code == 2


def test_a_second_system_without_a_page(folder):
    printed = evaluate(folder, "--against", folder / "second.jsonl")
    as_json = json.loads(evaluate(folder, "--against", folder / "second.jsonl", "--json").stdout)

    assert "paired approximate randomisation, 9,999 shuffles" in printed.stdout
    assert as_json["against"]["C"]["recall"]["second"] == 0.0
    write(folder / "second.jsonl", [{"id": "a", "spans": []}])
    lost = evaluate(folder, "--against", folder / "second.jsonl")
    assert (lost.exit_code, "2 of 3 gold notes have no row" in lost.stderr) == (2, True)


def test_gold_and_found_are_required(folder):
    done = deid("evaluate", "--gold", folder / "gold.jsonl")

    assert done.exit_code == 2
    assert "Missing option '--found'" in done.stderr


def test_altered_notes_go_into_the_report(folder):
    made = deid("evaluate", "forms", "--gold", folder / "gold.jsonl", "-o", folder / "altered")
    assert made.exit_code == 0, made.output
    assert stat.S_IMODE((folder / "altered").stat().st_mode) == 0o700
    assert evaluate(folder, "--report", folder / "out.html", "--altered", folder / "altered").exit_code == 2

    for form in ("lower", "wrapped"):
        write(folder / "altered" / f"{form}.found.jsonl", [{"id": note.id, "spans": []} for note in GOLD])
    done = evaluate(folder, "--report", folder / "out.html", "--altered", folder / "altered")
    assert done.exit_code == 0, done.output
    rows = json.loads((folder / "out.json").read_text())["altered"]
    assert [(row["form"], row["altered"]["recall"]) for row in rows] == [("lower", 0.0), ("wrapped", 0.0)]


def test_two_annotators(folder):
    done = deid("evaluate", "agreement", folder / "gold.jsonl", folder / "gold.jsonl")

    assert done.exit_code == 0
    assert "identifier or not     1.0000 [1.0000, 1.0000]" in done.stdout
    values = json.loads(deid("evaluate", "agreement", folder / "gold.jsonl", folder / "gold.jsonl", "--json").stdout)
    assert values["label"]["kappa"] == 1.0


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            {"id": "b", "spans": [{"start": 0, "end": 99, "label": "CITY"}]},
            "found span [0, 99) CITY ends after",
        ),
        ({"id": "b", "spans": [{"start": 0, "end": 4, "label": "PLACE"}]}, "unknown label 'PLACE'"),
        ({"id": "b", "spans": [{"start": 4, "end": 4, "label": "CITY"}]}, "empty or reversed"),
        ({"id": "b", "spans": [{"start": 0, "end": 4, "label": "CITY", "score": 7}]}, "'score' must be a number"),
        ({"id": "x", "spans": []}, "1 of 3 gold notes have no row among the found spans: b;"),
    ],
)
def test_bad_input_is_named_without_text(folder, row, told):
    write(folder / "found.jsonl", [{"id": "a", "spans": []}, row, {"id": "c", "spans": []}])

    done = evaluate(folder)
    assert done.exit_code == 2
    assert told in done.stderr
    assert not [word for word in WORDS if word in done.output]


def test_overlapping_gold_is_a_counted_warning(folder):
    rows = read_rows(folder / "gold.jsonl")
    rows[0]["spans"].append({"start": 5, "end": 15, "label": "DOCTOR"})
    write(folder / "gold.jsonl", rows)

    done = evaluate(folder)
    assert done.exit_code == 0
    assert "1 gold spans begin inside another" in done.stderr


@pytest.mark.skipif(not (Path(find_models(None)) / "manifest.json").exists(), reason="this checkout has no models")
def test_tuned_thresholds_are_accepted_by_run(folder):
    config = folder / "site.toml"

    done = deid("evaluate", "tune", "--gold", folder / "gold.jsonl", "-o", config, "--recall", "0.5")
    assert done.exit_code == 0, done.output
    assert "on these notes: recall" in done.stdout
    assert tomllib.loads(config.read_text())["profile"] == "fast"
    checked = deid("config", "check", config)
    assert checked.exit_code == 0, checked.output
    assert "deid run: profile, threshold" in checked.stdout
    out_of_reach = deid("evaluate", "tune", "--gold", folder / "gold.jsonl", "--label-recall", "PLACE=1")
    assert out_of_reach.exit_code == 2
