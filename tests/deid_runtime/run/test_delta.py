"""Test runs over real Delta tables, written by deltalake: the current version alone, and an output that is a table."""

import datetime
import json
import struct
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from deid_runtime.errors import SettingsError, SourceError
from deid_runtime.formats.records import ReadOptions
from deid_runtime.run.job import RunOptions, deidentify_files
from deid_runtime.run.job_folder import JobFolder
from deid_runtime.run.verify import verify_output
from deid_runtime.settings import Settings

deltalake = pytest.importorskip("deltalake", reason="the extra [delta] is not installed")

KEY = bytes(range(32))
WHEN = datetime.datetime(2026, 3, 4, 5)


class StopError(Exception):
    """Stands for a crash at a certain point."""


def rows(*ids: str) -> pyarrow.Table:
    texts = [f"Call 212-664-9182, case {id_}." for id_ in ids]
    return pyarrow.table(
        {"id": ids, "patient": ["p"] * len(ids), "text": texts, "ward": ["ICU"] * len(ids), "at": [WHEN] * len(ids)}
    )


def run(source: Path, out: Path, **changes: Any) -> None:
    options = RunOptions(quiet=True, keep_ids=True, **changes)
    deidentify_files([source], out, Settings(use_models=False), options, key=KEY)
    assert verify_output(out).differences == []


def ids_of(folder: Path) -> list[str]:
    return sorted(deltalake.DeltaTable(folder).to_pyarrow_table()["id"].to_pylist())


def test_deleted_and_changed_rows_do_not_come_back(tmp_path: Path) -> None:
    source = tmp_path / "note"
    deltalake.write_deltalake(source, rows("a", "b"))
    deltalake.write_deltalake(source, rows("c", "d", "e"), mode="append")
    deltalake.DeltaTable(source).delete("id = 'b'")
    deltalake.DeltaTable(source).update({"text": "'Call 212-664-9183.'"}, predicate="id = 'c'")

    run(source, tmp_path / "out", read=ReadOptions(keep_columns=("ward",), unchecked_columns=("at",)))

    written = deltalake.DeltaTable(tmp_path / "out").to_pyarrow_table()
    assert sorted(written["id"].to_pylist()) == ["a", "c", "d", "e"]
    assert set(written["at"].to_pylist()) == {WHEN}
    assert "212-664-9183" not in str(written["text"].to_pylist())
    assert sum(1 for text in written["text"].to_pylist() if "case" not in text) == 1
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    run(source, tmp_path / "again", read=ReadOptions(keep_columns=("ward",), unchecked_columns=("at",)))
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").rglob("*") if path.is_file()} == first


def test_a_partitioned_table_in_a_folder(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "in" / "note", rows("a", "b"), partition_by=["ward"])
    (tmp_path / "in" / "more.jsonl").write_text('{"id": "x", "text": "Call 212-664-9182."}\n')

    run(tmp_path / "in", tmp_path / "out")

    assert ids_of(tmp_path / "out" / "note") == ["a", "b"]
    assert not any("ICU" in str(path) for path in (tmp_path / "out").rglob("*"))
    assert (tmp_path / "out" / "more.jsonl").exists()
    assert ids_of(tmp_path / "in" / "note") == ["a", "b"]


def test_a_table_with_a_new_version_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deltalake.write_deltalake(tmp_path / "note", rows("a", "b"))
    commit = JobFolder.commit

    def stop(job: JobFolder, *args: Any, **kwargs: Any) -> None:
        if job.state.shards:
            raise StopError
        commit(job, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(JobFolder, "commit", stop)
        with pytest.raises(StopError):
            run(tmp_path / "note", tmp_path / "out", shard_chars=1, batch_size=1, resume=True)
    deltalake.write_deltalake(tmp_path / "note", rows("c"), mode="append")

    with pytest.raises(SettingsError, match="cannot continue, because this changed: the input part-0000"):
        run(tmp_path / "note", tmp_path / "out", resume=True)


def write_log(folder: Path, *actions: dict[str, Any]) -> None:
    """Add a commit to the log of a table."""
    number = len(list((folder / "_delta_log").glob("*.json")))
    lines = "".join(json.dumps(action) + "\n" for action in actions)
    (folder / "_delta_log" / f"{number:020}.json").write_text(lines)


def z85(data: bytes) -> str:
    """Return ``data``, filled up with zeros, in the text form of ZeroMQ that Delta uses."""
    letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    data += bytes(-len(data) % 4)
    numbers = struct.unpack(f">{len(data) // 4}I", data)
    return "".join(letters[number // 85**power % 85] for number in numbers for power in (4, 3, 2, 1, 0))


def feature(name: str) -> dict[str, Any]:
    names = {"readerFeatures": [name], "writerFeatures": [name]}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **names}}


def test_rows_marked_as_deleted_are_refused(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "note", rows("a", "b").drop_columns("at"))
    [first] = (tmp_path / "note" / "_delta_log").glob("*.json")
    [added] = [json.loads(line)["add"] for line in first.read_text().splitlines() if "add" in json.loads(line)]
    # A deletion vector with row 1, in the form of the protocol: a Roaring bitmap of one container with one number.
    bitmap = struct.pack("<IQIIIHHIH", 1681511377, 1, 0, 12346, 1, 0, 0, 16, 1)
    vector = {"storageType": "i", "pathOrInlineDv": z85(bitmap), "sizeInBytes": len(bitmap), "cardinality": 1}
    removed = {"path": added["path"], "deletionTimestamp": 1, "dataChange": True}
    write_log(
        tmp_path / "note", feature("deletionVectors"), {"remove": removed}, {"add": {**added, "deletionVector": vector}}
    )

    with pytest.raises(SourceError, match="only marked as deleted"):
        run(tmp_path / "note", tmp_path / "out")


def test_tables_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty" / "_delta_log").mkdir(parents=True)
    with pytest.raises(SourceError, match="this Delta table cannot be read"):
        run(tmp_path / "empty", tmp_path / "out")

    deltalake.write_deltalake(tmp_path / "note", rows("a"))
    [data] = (tmp_path / "note").glob("*.parquet")
    data.unlink()
    with pytest.raises(SourceError, match="a file of this Delta table is missing"):
        run(tmp_path / "note", tmp_path / "out")
