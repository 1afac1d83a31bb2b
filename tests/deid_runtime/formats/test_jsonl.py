import gzip
import json
from pathlib import Path

import pytest

from deid_runtime.errors import InputError, SourceError
from deid_runtime.formats import FORMATS
from deid_runtime.formats.jsonl import dump_line
from deid_runtime.formats.records import ReadOptions, Source
from deid_runtime.spans import Note
from tests.deid_runtime.formats.read import faults_of, notes_of, read_all

GOOD = b'{"id": "n1", "text": "Seen by Dr. Okonjo."}\n'


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def test_reads_ids_text_patient_and_type(tmp_path: Path) -> None:
    line = b'{"type": "Consult", "patient": 17, "id": 4, "text": "Caf\xc3\xa9", "ward": "3 East"}\n'

    [note] = read_all(write(tmp_path / "notes.jsonl", line))

    assert note == Note("4", "Café", "17", "Consult", {})


def test_reads_renamed_and_kept_columns(tmp_path: Path) -> None:
    path = write(
        tmp_path / "notes.jsonl", b'{"NOTE_ID": "a", "body": "t", "pid": "p", "kind": "k", "ward": 3, "x": 1}\n'
    )
    options = ReadOptions(
        id_column="NOTE_ID", text_column="body", patient_column="pid", type_column="kind", keep_columns=("ward",)
    )

    assert read_all(path, options) == [Note("a", "t", "p", "k", {"ward": 3})]


def test_a_byte_order_mark_blank_lines_and_a_missing_last_line_end_cost_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "notes.jsonl", b"\xef\xbb\xbf" + GOOD, b"\n", b"  \r\n", b'{"id": "n2", "text": "b"}')

    assert notes_of(read_all(path)) == [("n1", "Seen by Dr. Okonjo."), ("n2", "b")]


@pytest.mark.parametrize(
    ("line", "identity", "reason"),
    [
        pytest.param(
            b'{"id": "x", "text": "caf\xe9"}', "notes.jsonl:2", "byte 25 of the line is not UTF-8", id="bytes"
        ),
        pytest.param(b'{"id": "x", "text": "a', "notes.jsonl:2", "not valid JSON at character 23", id="cut-short"),
        pytest.param(b'["x", "a"]', "notes.jsonl:2", "not an object", id="array"),
        pytest.param(b"[" * 100_000, "notes.jsonl:2", "cannot be read (RecursionError)", id="nested"),
        pytest.param(b'{"id": ' + b"9" * 5_000 + b"}", "notes.jsonl:2", "cannot be read (ValueError)", id="digits"),
        pytest.param(b'{"text": "a"}', "notes.jsonl:2", "id is missing", id="no-id"),
        pytest.param(b'{"id": "x", "text": "a", "text": "b"}', "notes.jsonl:2", "has a key twice", id="doubled-key"),
        pytest.param(
            b'{"id": "x", "text": "a", "more": [{"k": 1, "k": 2}]}',
            "notes.jsonl:2",
            "has a key twice",
            id="doubled-key-within",
        ),
        pytest.param(b'{"id": "x", "a": [' + b"{}," * 2_100_000 + b"{}]}", "notes.jsonl:2", "commas", id="parts"),
        pytest.param(b'{"id": "", "text": "a"}', "notes.jsonl:2", "id is empty", id="empty-id"),
        pytest.param(b'{"id": 1.5, "text": "a"}', "notes.jsonl:2", "id is float", id="float-id"),
        pytest.param(b'{"id": "\\udc00", "text": "a"}', "notes.jsonl:2", "id is not valid Unicode", id="surrogate-id"),
        pytest.param(b'{"id": "x"}', "x", "text is missing", id="no-text"),
        pytest.param(b'{"id": "x", "text": null}', "x", "text is null", id="null-text"),
        pytest.param(b'{"id": "x", "text": ["a"]}', "x", "text is list", id="list-text"),
        pytest.param(b'{"id": "x", "text": "ab\\ud800"}', "x", "not valid Unicode at offset 2", id="lone-surrogate"),
        pytest.param(b'{"id": "x", "text": "ab\\u0000"}', "x", "null character at offset 2", id="null-character"),
        pytest.param(b'{"id": "x", "text": "a", "patient": {}}', "x", "patient is dict", id="patient"),
    ],
)
def test_a_bad_line_costs_that_line_only(tmp_path: Path, line: bytes, identity: str, reason: str) -> None:
    items = read_all(write(tmp_path / "notes.jsonl", GOOD, line + b"\n", GOOD))

    assert len(notes_of(items)) == 2
    [(found, why)] = faults_of(items)
    assert found == identity
    assert reason in why


def test_a_line_over_the_limit_is_not_loaded(tmp_path: Path) -> None:
    long = b'{"id": "n2", "text": "' + b"a" * 5_000_000 + b'"}\n'
    path = write(tmp_path / "notes.jsonl", GOOD, long, GOOD)

    items = read_all(path, ReadOptions(record_limit_bytes=1_000))

    assert len(notes_of(items)) == 2
    assert faults_of(items) == [("notes.jsonl:2", "the line is longer than 1000 bytes; split the note")]


def test_a_line_of_ten_megabytes_is_a_note(tmp_path: Path) -> None:
    path = write(tmp_path / "notes.jsonl", b'{"id": "n", "text": "' + b"word " * 2_000_000 + b'"}')

    [(_, text)] = notes_of(read_all(path))

    assert len(text) == 10_000_000


def test_kept_columns_are_checked_too(tmp_path: Path) -> None:
    path = write(tmp_path / "notes.jsonl", b'{"id": "n", "text": "a", "more": {"deep": ["\\ud800"]}}\n')

    assert faults_of(read_all(path, ReadOptions(keep_columns=("more",))))[0][0] == "n"


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", '{"deep": [NaN]}'])
def test_a_number_that_json_cannot_hold_is_not_written(tmp_path: Path, value: str) -> None:
    path = write(tmp_path / "notes.jsonl", f'{{"id": "n", "text": "a", "n": {value}}}\n'.encode())
    options = ReadOptions(keep_columns=("n",))
    [note] = read_all(path, options)
    assert isinstance(note, Note)

    writer = FORMATS["jsonl"].write(Source(path, "notes.jsonl", "jsonl", 0), options, tmp_path / "out.jsonl")
    with pytest.raises(InputError, match="NaN or an infinite number"):
        writer.write(note)
    writer.close()

    assert (tmp_path / "out.jsonl").read_bytes() == b""


@pytest.mark.parametrize("count", [1, 250])
def test_a_column_that_no_object_has_is_an_error_that_names_the_columns_found(tmp_path: Path, count: int) -> None:
    path = write(tmp_path / "notes.jsonl", *[b'{"note_id": "a", "text": "t"}\n'] * count)

    with pytest.raises(SourceError, match=r"no column 'id'; found 2 columns, among them note_id, text\. .*--id-column"):
        read_all(path)


def test_gzip_is_read_and_one_cut_short_is_an_error(tmp_path: Path) -> None:
    lines = b"".join(b'{"id": "n%d", "text": "%d"}\n' % (number, number**9) for number in range(2_000))
    whole = write(tmp_path / "whole.jsonl.gz", gzip.compress(lines))
    cut = write(tmp_path / "cut.jsonl.gz", gzip.compress(lines)[:-2_000])
    plain = write(tmp_path / "plain.jsonl.gz", lines)

    assert len(read_all(whole)) == 2_000
    for damaged in (cut, plain):
        with pytest.raises(SourceError, match="damaged or cut short"):
            read_all(damaged)


def test_no_reason_and_no_repr_quotes_text(tmp_path: Path) -> None:
    path = write(
        tmp_path / "notes.jsonl",
        b'{"id": "a", "text": "Marguerite\\ud800"}\n{"id": "b", "text": {"Marguerite": 1}}\n{"id": "c", Marguerite\n'
        b'{"id": "d", "text": "Marguerite"}\n',
    )

    items = read_all(path)

    assert len(items) == 4
    assert "Marguerite" not in repr(items)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_writes_what_it_reads(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    options = ReadOptions(text_column="body", keep_columns=("ward", "type"))
    notes = [
        Note("a", 'line\r\nline\u2028\rend\t"q" 😀', "p", "t", {"ward": [1, None], "type": "t"}),
        Note("b", ""),
    ]

    writer = FORMATS["jsonl"].write(Source(path, name, "jsonl", 0), options, path)
    for note in notes:
        writer.write(note)
    writer.close()

    data = path.read_bytes()
    lines = (gzip.decompress(data) if name.endswith("gz") else data).decode().split("\n")
    assert [json.loads(line) for line in lines if line] == [
        {"id": "a", "patient": "p", "type": "t", "body": notes[0].text, "ward": [1, None]},
        {"id": "b", "body": ""},
    ]
    assert notes_of(read_all(path, options)) == [(note.id, note.text) for note in notes]


def test_half_a_surrogate_pair_is_not_written() -> None:
    with pytest.raises(InputError, match="surrogate"):
        dump_line({"id": "a\ud800"})
