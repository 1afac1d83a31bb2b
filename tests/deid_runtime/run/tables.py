"""Tables of notes for tests, and runs over them."""

import json
from pathlib import Path
from typing import Any

import pytest

from deid_runtime.formats.records import ReadOptions
from deid_runtime.run.job import RunOptions, Summary, deidentify_files
from deid_runtime.run.job_folder import JobFolder
from deid_runtime.settings import Settings
from tests.deid_runtime.formats.databases import DatabaseOfTest

SETTINGS = Settings(use_models=False)
KEY = bytes(range(32))
ROWS = 30
SHARD = 1_000  # characters, with 256 for each record: three notes
CREATE = "CREATE TABLE note (note_id {} PRIMARY KEY, person_id integer, note_text text, ward text, score {})"
INSERT = "INSERT INTO note VALUES (%s, %s, %s, %s, %s)"
OMOP_COLUMNS: dict[str, Any] = {"id_column": "note_id", "patient_column": "person_id", "text_column": "note_text"}
OMOP = ReadOptions(**OMOP_COLUMNS)


class StopError(Exception):
    """Stands for a crash at a certain point."""


def rows(ids: list[Any]) -> list[tuple[Any, ...]]:
    text = "Seen on 03/04/2051, call 212-664-9182, note {}."
    return [(id_, number // 3, text.format(number), "ICU", number / 2) for number, id_ in enumerate(ids)]


def fill(database: DatabaseOfTest, ids: list[Any] | None = None, kind: str = "integer") -> list[tuple[Any, ...]]:
    found = rows(ids or [number * 3 - 20 for number in range(ROWS)])
    database.execute(CREATE.format(kind, "double precision"))
    database.execute(INSERT, rows=found[::-1])
    return found


def write_lines(path: Path, found: list[tuple[Any, ...]]) -> Path:
    names = ("note_id", "person_id", "note_text")
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=False))) + "\n" for row in found))
    return path


def run(source: Path, out: Path, **changes: Any) -> Summary:
    options = RunOptions(**{"quiet": True, "batch_size": 1, "read": OMOP, **changes})
    return deidentify_files([source], out, SETTINGS, options, key=KEY)


def stopped(monkeypatch: pytest.MonkeyPatch, count: int, source: Path, out: Path, **changes: Any) -> None:
    """Run until so many shards are committed."""
    commit = JobFolder.commit

    def counted(job: JobFolder, *args: Any, **kwargs: Any) -> None:
        if len(job.state.shards) == count:
            raise StopError
        commit(job, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(JobFolder, "commit", counted)
        with pytest.raises(StopError):
            run(source, out, shard_chars=SHARD, resume=True, **changes)
