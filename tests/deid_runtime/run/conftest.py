"""A real PostgreSQL server for all tests of this folder, and a database without tables for one test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deid_runtime.formats.databases import DatabaseOfTest, Postgresql, Sqlite, find_program, run_postgresql


@pytest.fixture(scope="session")
def server() -> Iterator[Postgresql]:
    if find_program("initdb") is None:
        pytest.skip("PostgreSQL is not installed")
    with run_postgresql() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> DatabaseOfTest:
    """Return a database without tables."""
    if request.param == "sqlite":
        return Sqlite(tmp_path / "warehouse.db")
    found: Postgresql = request.getfixturevalue("server")
    found.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public", "DROP SCHEMA IF EXISTS cdm CASCADE")
    return found
