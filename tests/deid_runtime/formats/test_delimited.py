from pathlib import Path

import pytest

from deid_runtime.errors import SourceError
from deid_runtime.formats import FORMATS
from deid_runtime.formats.records import ReadOptions, Source
from deid_runtime.spans import Note
from tests.deid_runtime.formats.read import faults_of, notes_of, read_all


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_reads_quoted_fields_with_line_ends(tmp_path: Path) -> None:
    path = write(
        tmp_path / "notes.csv",
        b'\xef\xbb\xbfid,ward,text,patient\r\n1,3E,"one\r\ntwo\nthree\r, ""four""",p1\r\n\r\n2,3E,caf\xc3\xa9,\r\n',
    )

    assert read_all(path, ReadOptions(keep_columns=("ward",))) == [
        Note("1", 'one\r\ntwo\nthree\r, "four"', "p1", "", {"ward": "3E"}),
        Note("2", "café", "", "", {"ward": "3E"}),
    ]


@pytest.mark.parametrize(
    ("row", "identity", "reason"),
    [
        pytest.param(b"2,a,b", "notes.csv:3", "3 fields; the header has 2", id="too-many"),
        pytest.param(b"2", "notes.csv:3", "1 fields; the header has 2", id="too-few"),
        pytest.param(b",a", "notes.csv:3", "id is empty", id="no-id"),
        pytest.param(b"2,caf\xe9 au lait", "2", "text is not valid Unicode at offset 3", id="bytes"),
        pytest.param(b"2,a\0b", "2", "null character at offset 1", id="null-character"),
    ],
)
def test_a_bad_row_costs_that_row_only(tmp_path: Path, row: bytes, identity: str, reason: str) -> None:
    items = read_all(write(tmp_path / "notes.csv", b"id,text\n1,first\n" + row + b"\n3,last\n"))

    assert notes_of(items) == [("1", "first"), ("3", "last")]
    [(found, why)] = faults_of(items)
    assert found == identity
    assert reason in why


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "empty; expected a header", id="empty"),
        pytest.param(b"id,body\n1,a\n", "no column 'text'; found 2 columns, among them id, body", id="no-text-column"),
        pytest.param(b"id,text,text\n1,a,b\n", "'text' occurs more than once", id="twice"),
        pytest.param(b'id,text\n1,"never closed\n2,b\n', "record that begins on line 2", id="open-quote"),
        pytest.param(b'id,text\n1,"he said "no, thanks""\n2,b\n', "record that begins on line 2", id="stray-quote"),
        pytest.param(b'id,text\n1,"' + b"a\n" * 2_000, "longer than 1000 bytes", id="endless"),
        pytest.param(b"id,text\n1," + b"a" * 2_000 + b"\n", "longer than 1000 bytes", id="long-line"),
    ],
)
def test_what_makes_all_further_rows_doubtful_is_an_error(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read_all(write(tmp_path / "notes.csv", data), ReadOptions(record_limit_bytes=1_000))


def test_a_missing_kept_column_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no column 'ward'"):
        read_all(write(tmp_path / "notes.csv", b"id,text\n1,a\n"), ReadOptions(keep_columns=("ward",)))


def test_writes_the_columns_of_the_source_that_are_passed_on(tmp_path: Path) -> None:
    source = write(tmp_path / "notes.csv", b"ward,text,secret,id,patient\n3E,a,b,c,d\n")
    out = tmp_path / "out.csv"
    text = 'one\r\ntwo\nthree\rfour, "five"\u2028'

    options = ReadOptions(keep_columns=("ward",))
    writer = FORMATS["csv"].write(Source(source, "notes.csv", "csv", 0), options, out)
    writer.write(Note("x1", text, "p1", "", {"ward": "3E"}))
    writer.write(Note("x2", "", "", "", {"ward": "4W"}))
    writer.close()

    assert out.read_bytes().startswith(b"ward,text,id,patient\r\n")
    assert b"secret" not in out.read_bytes()
    assert read_all(out, options) == [
        Note("x1", text, "p1", "", {"ward": "3E"}),
        Note("x2", "", "", "", {"ward": "4W"}),
    ]


def test_a_table_without_a_header_is_an_error_without_its_values(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text('1,p7,"Ms. Quist, 87"\n', encoding="utf-8")

    with pytest.raises(SourceError, match="found 3 columns. Check the header") as raised:
        read_all(path)

    assert "Quist" not in str(raised.value)


def test_a_record_of_millions_of_fields_is_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_bytes(b"id,text\na,b\n" + b"," * 2_200_000 + b"\n")

    with pytest.raises(SourceError, match="more than 2,097,152 commas"):
        read_all(path)
