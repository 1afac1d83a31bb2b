import json
from pathlib import Path

import pytest

from deid_runtime.batches import BATCH_CHARS, make_batches
from deid_runtime.formats.records import Meter, ReadOptions, Unreadable
from deid_runtime.formats.sources import find_inputs
from deid_runtime.spans import Note


def write(path: Path, rows: list[tuple[str, str]]) -> None:
    path.write_text("".join(json.dumps({"id": note_id, "text": text}) + "\n" for note_id, text in rows))


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_every_record_comes_once_in_order_with_tables_announced(tmp_path: Path, batch_size: int) -> None:
    write(tmp_path / "a.jsonl", [(f"a{number}", "x") for number in range(7)])
    write(tmp_path / "b.jsonl", [])
    (tmp_path / "c.txt").write_text("text")
    meter = Meter()

    batches = list(make_batches(find_inputs([tmp_path])[0], ReadOptions(), meter, batch_size))

    entries = [(source.name, item.id if item else None) for batch in batches for source, item in batch.entries]
    assert entries == [
        ("a.jsonl", None), *(("a.jsonl", f"a{number}") for number in range(7)), ("b.jsonl", None), ("c.txt", "c"),
    ]  # fmt: skip
    assert all(len(batch.entries) <= batch_size for batch in batches)
    assert meter.read_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_an_id_that_comes_again_is_unreadable_across_files(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [("n", "one"), ("n", "two")])
    (tmp_path / "n.txt").write_text("three")

    [batch] = make_batches(find_inputs([tmp_path])[0], ReadOptions(), Meter(), 100)

    items = [item for _, item in batch.entries if item]
    assert items[0] == Note("n", "one")
    assert [(type(item), item.id) for item in items[1:]] == [(Unreadable, "n"), (Unreadable, "n")]
    assert batch.notes == [Note("n", "one")]


def test_batches_are_bounded_in_characters(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [(str(number), "x" * (BATCH_CHARS // 2)) for number in range(4)])

    batches = list(make_batches(find_inputs([tmp_path])[0], ReadOptions(), Meter(), 100))

    assert [len(batch.notes) for batch in batches] == [2, 2]
