"""Test what ``deid verify`` finds when an output is changed after its run."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from tests.commands import deid

TEXT = "Seen on 03/04/2051, call 212-664-9182."


def verify(*arguments: object) -> tuple[int, list[str]]:
    result = deid("verify", *arguments)
    assert "2051" not in result.output
    assert "n1" not in result.output
    return result.exit_code, result.stdout.splitlines()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an output in every format, with one note in quarantine, and its crosswalk."""
    folder = tmp_path_factory.mktemp("verified")
    notes = folder / "notes"
    (notes / "sub").mkdir(parents=True)
    rows = [{"id": f"j{number}", "text": f"{TEXT}\nAnd more."} for number in range(3)]
    lines = "".join(json.dumps(row) + "\n" for row in rows) + '{"id": "bad"}\n'
    (notes / "a.jsonl").write_text(lines)
    (notes / "b.jsonl.gz").write_bytes(gzip.compress(lines.replace("j", "g").replace("bad", "worse").encode()))
    (notes / "c.csv").write_bytes(f'id,text\nc1,"{TEXT}\nx"\nc2,"{TEXT}"\n'.encode())
    parquet.write_table(pyarrow.table({"id": ["q1", "q2"], "text": [TEXT] * 2}), notes / "d.parquet")
    for name in ("n1", "n2", "sub/n3"):
        (notes / f"{name}.txt").write_text(f"{TEXT} {name}")
    assert deid("key", "pair", folder / "key").exit_code == 0
    to_crosswalk = ["--crosswalk", folder / "way.age", "--crosswalk-key", folder / "key.pub"]
    common = ["--no-models", "--workers", 1, "--quiet"]
    assert deid("run", notes, "-o", folder / "out", "--keep-ids", *common, *to_crosswalk).exit_code == 1
    assert deid("run", notes / "b.jsonl.gz", "-o", folder / "packed", *common).exit_code == 1
    assert deid("detect", notes, "-o", folder / "spans.jsonl", *common).exit_code == 1
    (folder / "none.txt").write_bytes(b"\xff")
    assert deid("run", folder / "none.txt", "-o", folder / "none.out.txt", *common).exit_code == 1
    return folder


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Path:
    shutil.copytree(written, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("name", ["out", "packed", "spans.jsonl", "none.out.txt"])
def test_what_a_run_wrote_is_as_its_manifest_says(written: Path, name: str) -> None:
    code, lines = verify(written / name)

    assert code == 0, lines
    assert lines[0].endswith("as the run report says")


def test_the_crosswalk_is_compared_where_it_is_named(copy: Path) -> None:
    assert verify(copy / "out", "--crosswalk", copy / "way.age")[0] == 0
    assert "compare it with --crosswalk" in deid("verify", copy / "out").stderr
    assert verify(copy / "out", "--crosswalk", copy / "none.age") == (1, ["crosswalk: missing"])

    with (copy / "way.age").open("r+b") as file:
        file.seek(300)
        file.write(b"\0\0\0\0")

    assert verify(copy / "out", "--crosswalk", copy / "way.age") == (
        1,
        ["crosswalk: the content differs from what the run wrote"],
    )
    result = deid("verify", copy / "spans.jsonl", "--crosswalk", copy / "way.age")
    assert result.exit_code == 2
    assert "wrote no crosswalk" in result.stderr


def edit(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


CHANGES: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "table": (
        lambda out: edit(out / "a.jsonl", b"more", b"less"),
        ["table a.jsonl: the content differs from what the run wrote"],
    ),
    "table-cut": (
        lambda out: (out / "c.csv").write_bytes(b"id,text\r\n"),
        ["table c.csv: 9 bytes; the run wrote", "output: 11 notes; the run report says 13"],
    ),
    "table-gone": (
        lambda out: (out / "d.parquet").unlink(),
        ["table d.parquet: missing", "output: 11 notes; the run report says 13"],
    ),
    "table-damaged": (
        lambda out: (out / "b.jsonl.gz").write_bytes((out / "b.jsonl.gz").read_bytes()[:-9]),
        ["table b.jsonl.gz: ", "table b.jsonl.gz: cannot be read as jsonl", "output: 10 notes; the run report says 13"],
    ),
    "table-more": (
        lambda out: (out / "e\x1b[2J.csv").write_text("id,text\n"),
        ["table 'e\\x1b[2J.csv': not written by the run"],
    ),
    "note": (
        lambda out: edit(out / "n1.txt", b"call", b"fall"),
        ["files of single notes: the same number, but with different content or names"],
    ),
    "note-names": (
        lambda out: [os.rename(out / old, out / new) for old, new in (("n1.txt", "x"), ("n2.txt", "n1.txt"))],
        ["files of single notes: the same number, but with different content or names"],
    ),
    "note-gone": (
        lambda out: (out / "sub" / "n3.txt").unlink(),
        ["files of single notes: 2; the run wrote 3", "output: 12 notes; the run report says 13"],
    ),
    "note-more": (
        lambda out: (out / ".hidden").write_text("x"),
        ["files of single notes: 4; the run wrote 3", "output: 14 notes; the run report says 13"],
    ),
    "link": (
        lambda out: [(out / "n1.txt").rename(out.parent / "x"), (out / "n1.txt").symlink_to(out.parent / "x")],
        [
            "output: 1 links or special files; the run writes none",
            "files of single notes: 2; the run wrote 3",
            "output: 12 notes; the run report says 13",
        ],
    ),
    "output-gone": (lambda out: shutil.rmtree(out), ["output: missing", "output: 0 notes; the run report says 13"]),
    "output-file": (
        lambda out: [shutil.rmtree(out), out.write_text("x")],
        ["output: not a folder, as the run wrote it", "output: 0 notes; the run report says 13"],
    ),
    "quarantine": (
        lambda out: (out.parent / "out.quarantine.jsonl").write_text(""),
        ["quarantine: 0 bytes; the run wrote", "quarantine: 0 notes; the run report says 2"],
    ),
    "quarantine-gone": (lambda out: (out.parent / "out.quarantine.jsonl").unlink(), ["quarantine: missing"]),
    "counts": (
        lambda out: edit(out.parent / "out.manifest.json", b'"written": 13', b'"written": 12'),
        [
            "run report: 15 notes read, but 12 written and 2 quarantined",
            "output: 13 notes; the run report says 12",
        ],
    ),
    "stages": (
        lambda out: edit(out.parent / "out.manifest.json", b'"read": 2', b'"reed": 2'),
        ["quarantine: the stages at which notes were held back differ from the run report"],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_differs_is_told_without_note_ids(copy: Path, change: str) -> None:
    make, expected = CHANGES[change]
    make(copy / "out")

    code, lines = verify(copy / "out")

    assert code == 1
    assert len(lines) == len(expected), lines
    for line, beginning in zip(lines, expected, strict=True):
        assert line.startswith(beginning)


def test_an_output_that_should_not_be_is_told(copy: Path) -> None:
    (copy / "none.out.txt").write_text("x")

    code, lines = verify(copy / "none.out.txt")

    assert (code, lines[0]) == (1, "output: exists although the run wrote none, because its only note is in quarantine")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (None, "there is no run report"),
        ("no json", "not a run report; expected"),
        ("[]", "not a run report; expected"),
        ("{}", "has no digests"),
        ('{"outputs": {}}', "not a run report of this version"),
        ('{"outputs": {"body": {"kind": "file"}, "crosswalk": null}}', "not a run report of this version"),
    ],
)
def test_without_a_manifest_to_compare_with_the_exit_code_is_2(
    tmp_path: Path, manifest: str | None, message: str
) -> None:
    (tmp_path / "out").write_text("x")
    if manifest is not None:
        (tmp_path / "out.manifest.json").write_text(manifest)

    result = deid("verify", tmp_path / "out")

    assert result.exit_code == 2
    assert message in result.stderr


def test_a_corpus_can_be_verified(tmp_path: Path) -> None:
    spans = [{"start": 8, "end": 18, "label": "DATE"}]
    (tmp_path / "gold.jsonl").write_text(json.dumps({"id": "n1", "text": TEXT, "spans": spans}) + "\n")
    made = deid("corpus", "resynthesize", tmp_path / "gold.jsonl", "-o", tmp_path / "corpus")
    assert made.exit_code == 0, made.output

    assert verify(tmp_path / "corpus")[0] == 0
    edit(tmp_path / "corpus" / "notes.jsonl", b"call", b"fall")
    assert verify(tmp_path / "corpus") == (1, ["table notes.jsonl: the content differs from what the run wrote"])
