"""Test runs over tables of real databases: the bytes of a run over a file, stops, changes, and what cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from deid_runtime.cli.main import main
from deid_runtime.errors import DeidError, OutputError, SettingsError, SourceError
from deid_runtime.formats import key_ranges
from deid_runtime.formats.records import ReadOptions
from deid_runtime.run.job_folder import job_path
from deid_runtime.run.verify import verify_output
from tests.deid_runtime.formats.databases import PASSWORD, DatabaseOfTest, Postgresql, Sqlite, describe
from tests.deid_runtime.run.tables import OMOP_COLUMNS, ROWS, SHARD, fill, rows, run, stopped, write_lines

pytest.importorskip("sqlalchemy", reason="the extra [sql] is not installed")
psycopg = pytest.importorskip("psycopg", reason="the extra [sql] is not installed")


@pytest.fixture(autouse=True)
def _small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_ranges, "RANGE_ROWS", 7)


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".csv", ".parquet"])
def test_bytes_are_those_of_a_file_with_the_same_rows(database: DatabaseOfTest, tmp_path: Path, suffix: str) -> None:
    found = fill(database)
    lines = write_lines(tmp_path / "in.jsonl", found)
    if suffix == ".csv":
        lines = tmp_path / "in.csv"
        lines.write_text("note_id,person_id,note_text\n" + "".join(f'{a},{b},"{c}"\n' for a, b, c, *_ in found))
    elif suffix == ".parquet":
        import pyarrow

        lines = tmp_path / "in.parquet"
        names = ["note_id", "person_id", "note_text"]
        parquet.write_table(pyarrow.table([*map(list, zip(*found, strict=True))][:3], names), lines)
    run(lines, tmp_path / f"file{suffix}")

    run(describe(tmp_path / "n.database.toml", database, table="note"), tmp_path / f"table{suffix}")

    assert (tmp_path / f"table{suffix}").read_bytes() == (tmp_path / f"file{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        ("integer", [number * 3 - 20 for number in range(ROWS)]),
        ("bigint", [2**40 + number for number in range(ROWS)]),
        ("text", sorted(["ab", "aB", "Ab", "a-b", "ä", "z'; --", "%s", ":x"] + [f"n{number}" for number in range(22)])),
    ],
)
def test_a_stopped_run_goes_on_to_the_same_bytes(
    database: DatabaseOfTest, tmp_path: Path, kind: str, ids: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "text" and database.kind == "postgresql":
        kind = 'text COLLATE "en-x-icu"'  # an order of its own
    fill(database, ids, kind)
    source, out = describe(tmp_path / "n.database.toml", database, table="note"), tmp_path / "out.parquet"
    run(source, tmp_path / "whole.parquet")
    for count in (1, 3, 6):
        stopped(monkeypatch, count, source, out)

    summary = run(source, out, shard_chars=SHARD, resume=True, batch_size=7)

    assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert (summary.counts.read, summary.counts.written) == (ROWS, ROWS)
    assert verify_output(out).differences == []
    assert not job_path(out).exists()
    report = json.loads(summary.manifest.read_text())
    assert report["inputs"]["database_tables"][0]["rows"] == ROWS
    assert report["run"]["shards"] > 5


#: Changes of the table, and how to take them back.
CHANGES = (
    ("UPDATE note SET person_id = 99 WHERE note_id = 1", "UPDATE note SET person_id = 2 WHERE note_id = 1"),
    ("INSERT INTO note VALUES (500, 1, 'late', 'ICU', 0)", "DELETE FROM note WHERE note_id = 500"),
    ("UPDATE note SET note_id = 68 WHERE note_id = 67", "UPDATE note SET note_id = 67 WHERE note_id = 68"),
    (
        "UPDATE note SET note_text = note_text || '.'",
        "UPDATE note SET note_text = substr(note_text, 1, length(note_text) - 1)",
    ),
    ("DELETE FROM note WHERE note_id = -20", ""),
)


def test_a_changed_table_is_not_gone_on_with(
    database: DatabaseOfTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(database)
    source, out = describe(tmp_path / "n.database.toml", database, table="note"), tmp_path / "out.jsonl"
    stopped(monkeypatch, 4, source, out)
    database.execute("UPDATE note SET score = 0")  # of a column that is not read
    stopped(monkeypatch, 5, source, out)

    for change, undo in CHANGES:
        database.execute(change)
        with pytest.raises(SettingsError, match=r"cannot continue, because this changed: the input n\.database\.toml"):
            run(source, out, resume=True)
        if undo:
            database.execute(undo)


def test_a_table_that_changes_meanwhile_ends_the_run(database: DatabaseOfTest, tmp_path: Path) -> None:
    fill(database)
    source, out = describe(tmp_path / "n.database.toml", database, table="note"), tmp_path / "out.jsonl"
    changed: list[int] = []

    def change(counts: Any) -> None:
        if not changed and counts.read == 9:
            changed.append(counts.read)
            database.execute("UPDATE note SET note_text = 'Jane Roe' WHERE note_id = 67")

    with pytest.raises(SourceError, match=r"rows 29 to 30 of the table have changed since the run began") as caught:
        run(source, out, shard_chars=SHARD, on_counts=change)

    assert "Roe" not in str(caught.value)
    assert not out.exists()


def test_a_query_and_a_part_of_a_table(database: DatabaseOfTest, tmp_path: Path) -> None:
    fill(database)
    schema = {"schema": "public"} if database.kind == "postgresql" else {}
    part = describe(
        tmp_path / "a.database.toml", database, table="note", where="ward <> 'a:b' AND note_id < 20", **schema
    )
    query = describe(
        tmp_path / "b.database.toml",
        database,
        query="SELECT *, 'x:y%s' AS note, CAST(note_id AS bigint) AS k FROM note WHERE note_id < 20 -- \\ :id",
        key="k",
    )
    run(part, tmp_path / "a.jsonl")
    run(query, tmp_path / "b.jsonl")

    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 14


def test_a_folder_of_tables_and_kept_columns(database: DatabaseOfTest, tmp_path: Path) -> None:
    fill(database)
    folder = tmp_path / "in"
    folder.mkdir()
    describe(folder / "note.database.toml", database, table="note")
    write_lines(folder / "more.jsonl", rows(["x1", "x2"]))
    options = {"keep_columns": ("ward",), "unchecked_columns": ("score",)}

    run(folder, tmp_path / "out", read=ReadOptions(**{**OMOP_COLUMNS, **options}))

    table = parquet.read_table(tmp_path / "out" / "note.parquet")
    assert [str(field.type) for field in table.schema] == ["large_string"] * 4 + ["double"]
    assert table["score"].to_pylist() == [number / 2 for number in range(ROWS)]
    assert verify_output(tmp_path / "out").differences == []


def test_rows_that_cannot_be_read_are_quarantined(database: DatabaseOfTest, tmp_path: Path) -> None:
    fill(database)
    database.execute(
        "UPDATE note SET note_text = NULL WHERE note_id = -20",
        "UPDATE note SET note_text = 'Call 212-664-9182. ' || note_text || note_text WHERE note_id = 67",
    )
    if database.kind == "sqlite":
        database.execute("UPDATE note SET note_text = CAST(X'41FF42' AS text) WHERE note_id = -17")
    source, out = describe(tmp_path / "n.database.toml", database, table="note"), tmp_path / "out.jsonl"

    summary = run(source, out, read=ReadOptions(**OMOP_COLUMNS, record_limit_bytes=90))

    held = [json.loads(line) for line in summary.quarantine.read_text().splitlines()]
    assert [(row["id"], row["reason"]) for row in held if row["id"] != "-17"] == [
        ("-20", "note_text is null; expected a string"),
        ("n.database.toml:30", "the row has a value of 113 bytes; the limit is 90; split the note"),
    ]
    assert len(held) == (3 if database.kind == "sqlite" else 2)


@pytest.mark.parametrize(
    ("prepare", "fields", "message"),
    [
        ([], {"key": "ward"}, "the key is null in some rows"),
        ([], {"key": "person_id"}, "the key has a value twice; name columns of unique values"),
        ([], {"key": "score"}, "the key has values of type float; expected integers or text"),
        ([], {"key": "nothing"}, "there is no column 'nothing', which is part of the key"),
        ([], {"table": "nothing"}, "the database has no such table"),
        ([], {"where": "note_text = Hartman"}, "the database refused with"),
        ([], {"where": "no SQL ("}, "the database refused with"),
        (["CREATE TABLE other (id integer, text text)"], {"table": "other"}, "no column 'note_id' or"),
        (["CREATE VIEW v AS SELECT * FROM note"], {"table": "v"}, "the table has no primary key; name columns"),
    ],
)
def test_tables_that_cannot_be_read(
    database: DatabaseOfTest, tmp_path: Path, prepare: list[str], fields: dict[str, str], message: str
) -> None:
    fill(database)
    database.execute("UPDATE note SET ward = NULL WHERE note_id = 67", *prepare)
    source = describe(tmp_path / "n.database.toml", database, **{"table": "note", **fields})

    with pytest.raises(DeidError, match=r"^n\.database\.toml: ") as caught:
        run(source, tmp_path / "out.jsonl")

    assert message in str(caught.value)
    assert "Hartman" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []


def test_a_query_cannot_change_anything(server: Postgresql, tmp_path: Path) -> None:
    server.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    fill(server)
    server.execute("CREATE FUNCTION emptied() RETURNS bigint LANGUAGE sql AS 'DELETE FROM note; SELECT 1::bigint'")
    query = "SELECT note_id, person_id, note_text FROM note WHERE emptied() = 1"
    source = describe(tmp_path / "n.database.toml", server, query=query, key="note_id")

    with pytest.raises(SourceError, match=r"\(25006\); it may change nothing; a query must only read"):
        run(source, tmp_path / "out.jsonl")


def test_all_notes_of_a_patient_by_a_key_of_two_columns(database: DatabaseOfTest, tmp_path: Path) -> None:
    columns = "note_id integer, person_id text, note_text text, PRIMARY KEY (person_id, note_id)"
    database.execute(f"CREATE TABLE note ({columns})")
    found = [
        (number, f"p'{number % 4}", f"Seen by Dr. Ada Quist{number % 2 * ' on 03/04/2051'}.") for number in range(ROWS)
    ]
    database.execute("INSERT INTO note VALUES (%s, %s, %s)", rows=found)
    in_order = sorted(found, key=lambda row: (row[1], row[0]))
    run(write_lines(tmp_path / "in.jsonl", in_order), tmp_path / "file.jsonl", whole_patients=True)

    run(describe(tmp_path / "n.database.toml", database, table="note"), tmp_path / "a.jsonl", whole_patients=True)
    query = describe(tmp_path / "m.database.toml", database, query="SELECT * FROM note", key="person_id, note_id")
    run(query, tmp_path / "b.jsonl", whole_patients=True)

    for name in ("a.jsonl", "b.jsonl"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "file.jsonl").read_bytes()


def test_the_output_can_be_loaded_into_the_database(server: Postgresql, tmp_path: Path) -> None:
    server.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    fill(server)
    server.execute("UPDATE note SET note_text = 'two\nlines, \"quoted\"\r\n' WHERE note_id < 0")
    run(describe(tmp_path / "n.database.toml", server, table="note"), tmp_path / "out.csv", keep_ids=True)

    server.execute("CREATE TABLE note_deid (note_id integer PRIMARY KEY, person_id integer, note_text text)")
    with psycopg.connect(server.url, password=PASSWORD) as connection, connection.cursor() as cursor:
        with cursor.copy("COPY note_deid FROM STDIN CSV HEADER") as copy:
            copy.write((tmp_path / "out.csv").read_bytes())
        found = cursor.execute(
            "SELECT count(*), count(*) FILTER (WHERE a.note_text = b.note_text), count(*) FILTER (WHERE a.note_id < 0)"
            " FROM note a JOIN note_deid b USING (note_id, person_id)"
        ).fetchone()
    assert found == (ROWS, 7, 7)


def test_keys_of_uuids_and_numbers(server: Postgresql, tmp_path: Path) -> None:
    server.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    for kind in ("uuid", "numeric(20,0)", "char(40)"):
        ids = [f"00000000-0000-0000-0000-{number:012}" for number in range(ROWS)] if kind == "uuid" else [*range(ROWS)]
        server.execute("DROP TABLE IF EXISTS note")
        fill(server, ids, kind)

        run(describe(tmp_path / "n.database.toml", server, table="note"), tmp_path / "out.jsonl", overwrite=True)

        assert len((tmp_path / "out.jsonl").read_text().splitlines()) == ROWS


def test_outputs_that_a_table_does_not_have(tmp_path: Path) -> None:
    database = Sqlite(tmp_path / "x.db")
    fill(database)
    source = describe(tmp_path / "n.database.toml", database, table="note")

    with pytest.raises(SettingsError, match=r"a table is written as \.jsonl, \.jsonl\.gz, \.csv or \.parquet"):
        run(source, tmp_path / "out.txt")
    with pytest.raises(OutputError, match="does not exist"):
        run(source, tmp_path / "gone" / "out.jsonl")


def test_the_command(tmp_path: Path) -> None:
    database = Sqlite(tmp_path / "x.db")
    fill(database)
    source = describe(tmp_path / "n.database.toml", database, table="note")
    columns = ["--id-column", "note_id", "--text-column", "note_text", "--patient-column", "person_id"]

    arguments = [str(source), *columns, "--no-models", "-o", str(tmp_path / "out.csv"), "--workers", "1"]
    result = CliRunner().invoke(main, ["run", *arguments])

    assert (result.exit_code, len((tmp_path / "out.csv").read_text().splitlines())) == (0, ROWS + 1)
