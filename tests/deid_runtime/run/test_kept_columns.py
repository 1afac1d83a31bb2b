"""Test columns that are passed on next to the text, in whole runs: with rules only, and with the models."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from deid_runtime.cli.main import main
from deid_runtime.errors import SettingsError
from deid_runtime.formats.records import ReadOptions
from deid_runtime.formats.sources import find_inputs
from deid_runtime.run.kept_columns import check_kept_columns
from tests.commands import read_rows, write_rows

TYPES = ["Consult", "Discharge summary", "progress_note", "Nursing", "", None, "M"]


def run(notes: Path, out: Path, *arguments: object, models: bool = False) -> Result:
    rules = () if models else ("--no-models",)
    words = ["run", notes, "-o", out, *rules, "--workers", 1, "--keep-ids", "--quiet", *arguments]
    return CliRunner().invoke(main, [str(word) for word in words])


def notes_with(path: Path, values: list[Any], column: str = "type") -> Path:
    rows = [{"id": f"n{number}", "text": "No pain.", column: value} for number, value in enumerate(values)]
    return write_rows(path, rows)


def written(out: Path, column: str = "type") -> list[Any]:
    return [row.get(column) for row in read_rows(out)]


def held_back(out: Path) -> list[dict[str, str]]:
    return read_rows(out.with_name(f"{out.name}.quarantine.jsonl"))


@pytest.mark.parametrize("more", [(), ("--keep-column", "ward")])
def test_the_type_is_dropped_unless_asked_for(tmp_path: Path, more: tuple[str, ...]) -> None:
    row = {"id": "n1", "text": "No pain.", "type": "Ayodele Brandt, 212-664-9182", "ward": "East"}
    table = pyarrow.table({name: [value] for name, value in row.items()})
    parquet.write_table(table, tmp_path / "n.parquet")
    write_rows(tmp_path / "n.jsonl", [row])
    (tmp_path / "n.csv").write_text('id,text,type,ward\nn1,No pain.,"Ayodele Brandt, 212-664-9182",East\n')

    for name in ("n.jsonl", "n.csv", "n.parquet"):
        assert run(tmp_path / name, tmp_path / f"out.{name}", *more).exit_code == 0

    columns = {"id", "text", *(("ward",) if more else ())}
    assert read_rows(tmp_path / "out.n.jsonl")[0].keys() == columns
    assert set((tmp_path / "out.n.csv").read_text().splitlines()[0].split(",")) == columns
    assert set(parquet.read_schema(tmp_path / "out.n.parquet").names) == columns


@pytest.mark.parametrize("arguments", [("--type-column", "type"), ("--keep-column", "type")])
@pytest.mark.parametrize("more", [(), ("--safe-harbor",)])
def test_values_of_categories_are_passed_on(tmp_path: Path, arguments: tuple[str, ...], more: tuple[str, ...]) -> None:
    notes = notes_with(tmp_path / "notes.jsonl", TYPES)

    words = ["run", notes, "-o", tmp_path / "out.jsonl", "--no-models", "--workers", 1, *arguments, *more]
    result = CliRunner().invoke(main, [str(word) for word in words])

    assert result.exit_code == 0, result.stderr
    assert written(tmp_path / "out.jsonl") == TYPES


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("Bed 7", "a value with digits"),
        ("seen by the team " * 4, "a value of more than 60 characters"),
        ("one\ntwo", "characters that cannot be printed"),
        (7, "a value of type int"),
        (1.5, "a value of type float"),
        (["Consult"], "a value of type list"),
        ("r.quist@mailhost.net", "a value that looks like EMAIL"),
    ],
)
def test_a_note_with_a_value_that_is_no_category_is_held_back(tmp_path: Path, value: object, reason: str) -> None:
    notes = notes_with(tmp_path / "notes.jsonl", ["East", value, "East"], "ward")

    result = run(notes, tmp_path / "out.jsonl", "--keep-column", "ward")

    assert result.exit_code == 1
    assert written(tmp_path / "out.jsonl", "ward") == ["East", "East"]
    [row] = held_back(tmp_path / "out.jsonl")
    assert (row["id"], row["stage"]) == ("n1", "columns")
    assert row["reason"].startswith("column 'ward' has ")
    assert reason in row["reason"]
    assert row["reason"].endswith("; do not keep it, or keep it unchecked with --keep-column-unchecked ward")
    assert str(value) not in str(row)


def test_names_and_places_are_found_by_the_models(tmp_path: Path) -> None:
    names = ["Brown", "White", "Kowalczyk", "Boston", "John Smith", "jsmith", "SMITH, JOHN"]
    notes = notes_with(tmp_path / "notes.jsonl", names + ["Consult", "Discharge summary", "progress_note"] * 5)

    result = run(notes, tmp_path / "out.jsonl", "--type-column", "type", models=True)

    assert result.exit_code == 1
    assert len(held_back(tmp_path / "out.jsonl")) == len(names)
    assert written(tmp_path / "out.jsonl") == ["Consult", "Discharge summary", "progress_note"] * 5


def test_a_word_that_is_also_a_name_passes_among_words(tmp_path: Path) -> None:
    notes = notes_with(tmp_path / "notes.jsonl", ["White", "Blue", "Red"] * 5)

    result = run(
        notes, tmp_path / "out.jsonl", "--type-column", "type"
    )  # scores of models at a bound differ by processor

    assert result.exit_code == 0
    assert written(tmp_path / "out.jsonl") == ["White", "Blue", "Red"] * 5


def test_a_column_that_would_hold_back_most_notes_is_an_error_at_once(tmp_path: Path) -> None:
    notes = notes_with(tmp_path / "notes.jsonl", [3, 4.5, 7, "none"], "weight")

    result = run(notes, tmp_path / "out.jsonl", "--keep-column", "weight")

    assert result.exit_code == 2
    assert "column 'weight' would hold back 3 of 4 notes, most of them because it has a value of type" in result.stderr
    assert "--keep-column-unchecked weight" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("values", "notes", "allowed"), [(11, 54, 10), (11, 55, None), (201, 2_000, 200), (10, 10, None)]
)
def test_a_column_of_many_values_is_an_error(tmp_path: Path, values: int, notes: int, allowed: int | None) -> None:
    letters = [chr(ord("a") + number // 26) + chr(ord("a") + number % 26) + "x" for number in range(values)]
    path = notes_with(tmp_path / "notes.jsonl", [letters[number % values] for number in range(notes)])
    inputs, _ = find_inputs([path])

    def check() -> None:
        check_kept_columns(inputs, ReadOptions(keep_columns=("type",)), lambda texts: [""] * len(texts))

    if allowed is None:
        check()
    else:
        with pytest.raises(SettingsError, match=f"more than {allowed} values in {notes:,} notes, too many"):
            check()


def test_an_unchecked_column_is_passed_on_as_it_is(tmp_path: Path) -> None:
    values = [70.5, "John Smith", None, {"deep": [1]}]
    notes = notes_with(tmp_path / "notes.jsonl", values, "weight")

    result = run(notes, tmp_path / "out.jsonl", "--keep-column-unchecked", "weight", "--keep-column", "weight")

    assert result.exit_code == 0, result.stderr
    assert written(tmp_path / "out.jsonl", "weight") == values
    options = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())["options"]
    assert (options["keep_columns"], options["unchecked_columns"]) == ([], ["weight"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--safe-harbor", "--keep-column-unchecked", "weight"), "which Safe Harbor does not allow"),
        (("--keep-column", "text"), "column 'text' has the id, the text or the patient"),
        (("--keep-column-unchecked", "text"), "column 'text' has the id, the text or the patient"),
        (("--type-column", "kind"), "no column 'kind'"),
    ],
)
def test_columns_that_cannot_be_kept_are_an_error(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    notes = notes_with(tmp_path / "notes.jsonl", ["Consult"])
    words = ["run", notes, "-o", tmp_path / "out.jsonl", "--no-models", *arguments]

    result = CliRunner().invoke(main, [str(word) for word in words])

    assert result.exit_code == 2
    assert message in result.stderr


def test_columns_of_a_pipe_can_only_be_kept_unchecked(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")

    result = run(tmp_path / "pipe.jsonl", tmp_path / "out.jsonl", "--keep-column", "ward")

    assert result.exit_code == 2
    assert "a pipe can be read only once" in result.stderr


def test_the_answer_is_the_same_for_any_order_and_number_of_workers(tmp_path: Path) -> None:
    values = [*TYPES, "Bed 7", "r.quist@mailhost.net"] * 4
    first = notes_with(tmp_path / "a.jsonl", values)
    second = tmp_path / "b.jsonl"
    second.write_text("".join(reversed(first.read_text().splitlines(keepends=True))))
    key = tmp_path / "key"
    assert CliRunner().invoke(main, ["key", "new", str(key)]).exit_code == 0

    run(first, tmp_path / "oa.jsonl", "--type-column", "type", "--key", key)
    run(second, tmp_path / "ob.jsonl", "--type-column", "type", "--key", key, "--workers", 2, "--batch-size", 3)

    for name in ("o{}.jsonl", "o{}.jsonl.quarantine.jsonl"):
        lines = [(tmp_path / name.format(which)).read_text().splitlines() for which in "ab"]
        assert lines[0] == lines[1][::-1] != []


def test_a_category_of_parquet_keeps_its_type(tmp_path: Path) -> None:
    kinds = pyarrow.array(["Consult", None, "Nursing"]).dictionary_encode()
    parquet.write_table(
        pyarrow.table({"id": ["a", "b", "c"], "text": ["t"] * 3, "type": kinds}), tmp_path / "n.parquet"
    )

    assert run(tmp_path / "n.parquet", tmp_path / "out.parquet", "--type-column", "type").exit_code == 0

    assert parquet.read_table(tmp_path / "out.parquet")["type"].to_pylist() == ["Consult", None, "Nursing"]
