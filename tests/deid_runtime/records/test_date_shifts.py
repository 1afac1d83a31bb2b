import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from deid_runtime.errors import SettingsError
from deid_runtime.records.date_shifts import read_date_shifts
from tests.commands import deid, read_rows, write_rows


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_days_by_patient_from_every_format(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"shifts.{form}"
    if form == "jsonl":
        path.write_text('{"patient": "p1", "days": -12}\n{"patient": 2, "days": "400", "_note": "x"}\n')
    elif form == "csv":
        path.write_text("patient_id,Offset Days,_note\np1,-12,x\n2,+400,y\n")
    else:
        parquet.write_table(pyarrow.table({"id": ["p1", "2"], "shift": [-12.0, 400.0]}), path)

    assert read_date_shifts(path) == {"p1": -12, "2": 400}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("patient,days\n", "no date shifts"),
        ("", "no date shifts|header|empty"),
        ("patient\np1\n", "expected columns patient and days"),
        ("patient,days,colour\np1,3,red\n", "column 3 is unknown"),
        ("patient,id,days\np1,p1,3\n", "one too many"),
        ("patient,days\np1,3\np1,4\n", "csv:3: this patient occurs twice"),
        ("patient,days\np1,0\n", "0 days"),
        ("patient,days\np1,\n", "whole number"),
        ("patient,days\np1,3.5\n", "whole number"),
        ("patient,days\np1,99999\n", "whole number"),
        ("patient,days\n,4\n", "patient id"),
        ("patient,days\np1\n", "fields"),
    ],
)
def test_a_wrong_table_is_told_apart_by_line(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "shifts.csv"
    path.write_text(content)

    with pytest.raises(SettingsError, match=message):
        read_date_shifts(path)


def test_with_whole_weeks_a_row_of_broken_weeks_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "shifts.csv"
    path.write_text("patient,days\np1,-14\np2,10\n")

    with pytest.raises(SettingsError, match=r"shifts\.csv:3: 10 days are not a multiple of 7") as error:
        read_date_shifts(path, whole_weeks=True)

    assert "p2" not in str(error.value)
    assert read_date_shifts(path) == {"p1": -14, "p2": 10}


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shifts.xlsx").write_text("")

    with pytest.raises(SettingsError, match=r"\.csv"):
        read_date_shifts(tmp_path / "shifts.xlsx")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    rows = [
        {"id": f"n{number}", "patient": f"p{number}", "text": "Seen 03/04/2051.", "extra": "x"} for number in (1, 2)
    ]
    path = tmp_path / "notes.jsonl"
    write_rows(path, rows)
    return path


def test_a_run_moves_dates_by_the_table_and_holds_back_who_is_not_in_it(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "shifts.csv").write_text("patient,days\np1,10\n")

    table = ("--given-date-shifts", tmp_path / "shifts.csv")
    result = deid("run", notes, "-o", tmp_path / "out.jsonl", "--no-models", "--workers", 1, *table)

    assert result.exit_code == 1
    assert "Seen 03/14/2051." in (tmp_path / "out.jsonl").read_text()
    [held_back] = read_rows(tmp_path / "out.jsonl.quarantine.jsonl")
    assert (held_back["id"], held_back["stage"]) == ("n2", "surrogates")
    assert "no row in the table of date shifts" in held_back["reason"]
    assert json.loads((tmp_path / "out.jsonl.manifest.json").read_text())["pipeline"]["given_date_shifts"] is True


def test_a_run_by_whole_weeks_keeps_weekdays_and_says_so_in_its_manifest(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"id": "n1", "patient": "p1", "text": "Seen Tuesday, March 4, 2014."}\n')

    result = deid("run", notes, "-o", tmp_path / "out.jsonl", "--no-models", "--workers", 1, "--date-shift-weeks")

    assert result.exit_code == 0, result.stderr
    text = json.loads((tmp_path / "out.jsonl").read_text())["text"]
    assert text.startswith("Seen Tuesday, ")
    assert "March 4, 2014" not in text
    pipeline = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())["pipeline"]
    assert (pipeline["date_shift_days"], pipeline["date_shift_whole_weeks"]) == (365, True)


def test_a_table_of_broken_weeks_stops_a_run_by_whole_weeks(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "shifts.csv").write_text("patient,days\np1,14\np2,10\n")
    table = ("--given-date-shifts", tmp_path / "shifts.csv")

    result = deid(
        "run", notes, "-o", tmp_path / "out.jsonl", "--no-models", "--workers", 1, "--date-shift-weeks", *table
    )

    assert result.exit_code == 2
    assert "shifts.csv:3" in result.stderr
    assert "p2" not in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_a_run_under_safe_harbor(notes: Path, tmp_path: Path) -> None:
    result = deid("run", notes, "-o", tmp_path / "out.jsonl", "--no-models", "--workers", 1, "--safe-harbor")

    assert result.exit_code == 0
    assert [json.loads(line)["text"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [
        "Seen 2051."
    ] * 2
    assert json.loads((tmp_path / "out.jsonl.manifest.json").read_text())["pipeline"]["safe_harbor"] is True


@pytest.mark.parametrize(
    "options",
    [
        ("--safe-harbor", "--keep-ids"),
        ("--safe-harbor", "--keep-column-unchecked", "extra"),
        ("--safe-harbor", "--given-date-shifts"),
        ("--dates", "year", "--given-date-shifts"),
        ("--operator", "tag", "--given-date-shifts"),
        ("--safe-harbor", "--date-shift-weeks"),
        ("--dates", "year", "--date-shift-weeks"),
        ("--operator", "redact", "--date-shift-weeks"),
    ],
)
def test_options_that_contradict_each_other_stop_the_run(options: tuple[str, ...], notes: Path, tmp_path: Path) -> None:
    (tmp_path / "shifts.csv").write_text("patient,days\np1,10\n")
    table = (tmp_path / "shifts.csv",) if options[-1] == "--given-date-shifts" else ()

    result = deid("run", notes, "-o", tmp_path / "out.jsonl", "--no-models", "--workers", 1, *options, *table)

    assert result.exit_code == 2
    assert "omit" in result.stderr or "leave" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()
