"""Follow the page about databases: SQLite, Delta tables of the library deltalake, and a real PostgreSQL server."""

import importlib.util
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deid_runtime.formats.databases import PASSWORD, find_program, run_postgresql
from tests.test_docs import ROOT, all_blocks, has_models

_PAGE = ROOT / "docs" / "how-to" / "databases.md"
_LIBRARIES = ("deltalake", "psycopg", "sqlalchemy")


@pytest.fixture
def environment(commands: dict[str, str]) -> Iterator[dict[str, str]]:
    """Return an environment whose ``psql`` asks a server; its database ``warehouse`` has an empty schema ``cdm``."""
    if find_program("initdb") is None or find_program("psql") is None:
        pytest.skip("PostgreSQL is not installed")
    with run_postgresql() as server:
        there = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "deid", "PGPASSWORD": PASSWORD}
        found = commands | there
        ask(found, "postgres", "CREATE DATABASE warehouse")
        ask(found, "warehouse", "CREATE SCHEMA cdm")
        yield found


def ask(environment: dict[str, str], database: str, statement: str) -> str:
    command = [find_program("psql") or "", "-v", "ON_ERROR_STOP=1", "-Atc", statement, database]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout


@has_models
@pytest.mark.skipif(not all(map(importlib.util.find_spec, _LIBRARIES)), reason=f"needs {', '.join(_LIBRARIES)}")
def test_tables_of_three_kinds_are_written(environment: dict[str, str], tmp_path: Path) -> None:
    import deltalake
    from pyarrow import json

    (tmp_path / "examples").symlink_to(ROOT / "examples")
    notes = json.read_json(ROOT / "examples" / "notes.jsonl")
    renamed = {"id": "note_id", "text": "note_text"}
    deltalake.write_deltalake(tmp_path / "note_delta", notes.select(list(renamed)).rename_columns(renamed))

    script = "\n".join(code for _, code in all_blocks(_PAGE))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True,
        timeout=400, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert ask(environment, "warehouse", "SELECT count(*) FROM cdm.note_deid").strip() == str(notes.num_rows)
    assert deltalake.DeltaTable(tmp_path / "note_deid_delta").to_pyarrow_table().num_rows == notes.num_rows
