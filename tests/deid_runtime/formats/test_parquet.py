import datetime
import re
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from deid_runtime.errors import SourceError
from deid_runtime.formats import FORMATS, read_notes
from deid_runtime.formats.records import Meter, ReadOptions, Source
from deid_runtime.spans import Note
from tests.deid_runtime.formats.read import faults_of, notes_of, read_all


def write(path: Path, columns: dict[str, object]) -> Path:
    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_reads_rows_in_order_with_integer_ids_and_nulls(tmp_path: Path) -> None:
    count = 300
    path = write(
        tmp_path / "notes.parquet",
        {
            "id": pyarrow.array(range(count)),
            "secret": ["s"] * count,
            "text": [f"note\r\n{number}" for number in range(count)],
            "patient": pyarrow.array([None] * count, pyarrow.string()),
            "type": pyarrow.array(["Consult"] * count).dictionary_encode(),
        },
    )

    items = read_all(path)

    assert len(items) == count
    assert items[299] == Note("299", "note\r\n299", "", "Consult", {})


def test_bad_values_cost_their_row_only(tmp_path: Path) -> None:
    offsets = pyarrow.py_buffer(bytes([0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0]))
    texts = pyarrow.StringArray.from_buffers(4, offsets, pyarrow.py_buffer(b"ok\xe9\xe8\0go"))
    path = write(tmp_path / "notes.parquet", {"id": ["a", "b", "c", None], "text": texts})

    items = read_all(path)

    assert notes_of(items) == [("a", "ok")]
    assert faults_of(items) == [
        ("notes.parquet:2", "a value is not UTF-8, or a time with nanoseconds; convert the source"),
        ("c", "text has a null character at offset 0; remove it at the source"),
        ("notes.parquet:4", "id is empty; expected a string or an integer"),
    ]


def test_a_time_that_python_cannot_hold_costs_its_row_only(tmp_path: Path) -> None:
    times = pyarrow.array([1_000, 1_001], pyarrow.timestamp("ns"))
    path = write(tmp_path / "notes.parquet", {"id": ["a", "b"], "text": ["one", "two"], "at": times})

    items = read_all(path, ReadOptions(keep_columns=("at",)))

    assert notes_of(items) == [("a", "one")]
    assert faults_of(items) == [
        ("notes.parquet:2", "a value is not UTF-8, or a time with nanoseconds; convert the source")
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        pytest.param(
            {"id": ["a"], "body": ["b"]}, "no column 'text'; found 2 columns, among them id, body", id="missing"
        ),
        pytest.param({"id": ["a"], "text": [b"b"]}, "'text' is binary; expected strings", id="binary"),
        pytest.param({"id": ["a"], "text": [1]}, "'text' is int64; expected strings", id="numbers"),
        pytest.param({"id": [1.5], "text": ["b"]}, "'id' is double; expected strings or integers", id="float-id"),
    ],
)
def test_wrong_columns_are_an_error(tmp_path: Path, columns: dict[str, object], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read_all(write(tmp_path / "notes.parquet", columns))


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.parquet", {"id": ["a"], "text": ["b"]}).read_bytes()
    for name, data in (("cut", whole[:-20]), ("other", b"id,text\na,b\n"), ("empty", b"")):
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(data)
        with pytest.raises(SourceError, match="not a Parquet file, or damaged"):
            read_all(path)


def test_writes_columns_types_and_nothing_else(tmp_path: Path) -> None:
    when = datetime.date(2031, 5, 6)
    source = write(
        tmp_path / "notes.parquet", {"seen": [when], "id": [1], "secret": ["s"], "text": ["t"], "patient": ["p"]}
    )
    out = tmp_path / "out.parquet"
    options = ReadOptions(keep_columns=("seen",))

    writer = FORMATS["parquet"].write(Source(source, "notes.parquet", "parquet", 0), options, out)
    writer.write(Note("x1", "one\r\ntwo", "p1", "", {"seen": when}))
    writer.write(Note("x2", "", "", "", {"seen": None}))
    writer.close()

    assert parquet.read_table(out).to_pylist() == [
        {"seen": when, "id": "x1", "text": "one\r\ntwo", "patient": "p1"},
        {"seen": None, "id": "x2", "text": "", "patient": None},
    ]
    assert parquet.read_schema(out).field("seen").type == pyarrow.date32()


def test_a_large_row_group_is_not_loaded_whole(tmp_path: Path) -> None:
    # One row group of 64 MB of text; the peak of the pool shows how much the reader held.
    pool = pyarrow.default_memory_pool()
    path = tmp_path / "notes.parquet"
    texts = [f"{number} " * 400 for number in range(30_000)]
    table = pyarrow.table({"id": [str(number) for number in range(30_000)], "text": texts})
    parquet.write_table(table, path, row_group_size=30_000, compression="snappy", use_dictionary=False)
    size = table.nbytes
    del table, texts
    before = pool.bytes_allocated()

    most = 0
    for count, _ in enumerate(read_notes(Source(path, path.name, "parquet", path.stat().st_size), ReadOptions())):
        if count % 1_000 == 0:
            most = max(most, pool.bytes_allocated() - before)

    assert size > 50_000_000
    assert most < 20_000_000


def test_a_long_value_stored_once_is_not_held_for_every_row(tmp_path: Path) -> None:
    # 64 rows refer to one text of 8 MB; without the writer's schema, a reader takes them for plain strings.
    pool = pyarrow.default_memory_pool()
    path = tmp_path / "notes.parquet"
    text = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 64, pyarrow.int32()), pyarrow.array(["no " * 2**21]))
    ids = [str(number) for number in range(64)]
    parquet.write_table(pyarrow.table({"id": ids, "text": text}), path, store_schema=False)
    del text
    before = pool.bytes_allocated()
    meter = Meter()

    source = Source(path, path.name, "parquet", path.stat().st_size)
    held = [pool.bytes_allocated() - before for _ in read_notes(source, ReadOptions(), meter)]

    assert len(held) == 64
    assert max(held) < 64_000_000
    assert meter.read_bytes == source.size_bytes


_READ_UNDER_A_LIMIT = """
import resource, sys
from pathlib import Path
from deid_runtime.errors import SourceError
from deid_runtime.formats import read_notes
from deid_runtime.formats.records import ReadOptions, Source, Unreadable

resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
path = Path(sys.argv[1])
try:
    for item in read_notes(Source(path, path.name, "parquet", path.stat().st_size), ReadOptions()):
        print(item.reason if isinstance(item, Unreadable) else "note")
except SourceError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("megabytes", "kind", "said"),
    [
        (300, "plain", ["notes.parquet: a page of the file has more than 268,435,456 bytes"]),
        (300, "dictionary", ["notes.parquet: a page of the file has more than 268,435,456 bytes"]),
        (100, "plain", ["the row has 1048576.. bytes; the limit is 67108864", "note"]),
        (100, "dictionary", ["the row has 1048576.. bytes; the limit is 67108864", "note"]),
        (100, "category", ["the row has 1048576.. bytes; the limit is 67108864", "note"]),
    ],
)
def test_a_value_that_a_small_file_expands_to_takes_bounded_memory(
    tmp_path: Path, megabytes: int, kind: str, said: list[str]
) -> None:
    path = tmp_path / "notes.parquet"
    text = pyarrow.array(["a" * (megabytes * 2**20), "b"])
    columns = {"id": ["x", "y"], "text": text.dictionary_encode() if kind == "category" else text}
    parquet.write_table(pyarrow.table(columns), path, compression="zstd", use_dictionary=kind != "plain")
    assert path.stat().st_size < 40_000

    done = subprocess.run(
        [sys.executable, "-c", _READ_UNDER_A_LIMIT, path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        # On machines with many cores, threads and their heaps use much address space.
        env={"ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"},
    )

    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == len(said)
    assert all(re.match(begin, line) for line, begin in zip(lines, said, strict=True))


def test_page_headers_of_all_kinds_are_read(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    table = pyarrow.table({"id": [str(n) for n in range(600)], "text": [f"note {n % 7} " * 9 for n in range(600)]})
    for version, dictionary, encoding in (
        ("1.0", True, None),
        ("2.0", True, None),
        ("2.0", False, {"text": "DELTA_LENGTH_BYTE_ARRAY", "id": "DELTA_BYTE_ARRAY"}),
    ):
        for compression in ("none", "snappy", "gzip"):
            parquet.write_table(
                table, path, data_page_version=version, use_dictionary=dictionary, column_encoding=encoding,
                compression=compression, row_group_size=222, data_page_size=1_000, write_page_checksum=True,
            )  # fmt: skip
            assert len(notes_of(read_all(path))) == 600


@pytest.mark.parametrize("kept", ["n", "m"])
def test_a_kept_column_of_lists_is_an_error(tmp_path: Path, kept: str) -> None:
    columns = {"id": ["a"], "text": ["t"], "n": [[1]], "m": [{"k": 1}], "unused": [[1]]}
    path = write(tmp_path / "notes.parquet", columns)

    assert notes_of(read_all(path)) == [("a", "t")]
    with pytest.raises(SourceError, match=r"column [34] has lists, maps or structs; expected plain values"):
        read_all(path, ReadOptions(keep_columns=(kept,)))


def test_strange_column_names_cost_nothing_or_are_an_error_without_them(tmp_path: Path) -> None:
    table = pyarrow.table([["a"], ["t"], ["Ayodele"], ["Quist"]], ["id", "text", "Ayodele", "Ayodele"])
    path = tmp_path / "notes.parquet"
    parquet.write_table(table, path, store_schema=False)
    data = path.read_bytes()

    assert notes_of(read_all(path)) == [("a", "t")]
    path.write_bytes(data.replace(b"Ayodele", b"Ayo\0ele"))
    assert notes_of(read_all(path)) == [("a", "t")]
    path.write_bytes(data.replace(b"Ayodele", b"Ayo\xffele"))
    with pytest.raises(SourceError, match="the name of a column is not UTF-8") as raised:
        read_all(path)
    assert "Ayo" not in str(raised.value)
    parquet.write_table(pyarrow.table([["a"], ["t"], ["u"]], ["id", "text", "text"]), path)
    with pytest.raises(SourceError, match="'text' occurs more than once"):
        read_all(path)


def test_a_footer_that_lies_about_its_rows_is_an_error(tmp_path: Path) -> None:
    # Zero rows in the file, one in its row group: num_rows is the field after the schema, a zigzag number.
    path = write(tmp_path / "notes.parquet", {"id": ["a"], "text": ["t"]})
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = bytearray(data[-8 - length : -8])
    at = footer.index(b"\x16\x02\x19")
    footer[at + 1] = 0
    path.write_bytes(data[: -8 - length] + bytes(footer) + data[-8:])

    with pytest.raises(SourceError, match="its footer says 0 rows, but it has another number"):
        read_all(path)


_READ_DAMAGED = """
import sys
from pathlib import Path
from deid_runtime.errors import SourceError
from deid_runtime.formats import read_notes
from deid_runtime.formats.records import ReadOptions, Source

path = Path(sys.argv[1])
data = path.read_bytes()
length = int.from_bytes(data[-8:-4], "little")
refused = 0
for at in range(len(data) - 8 - length, len(data)):
    for mask in (1, 16, 255):
        path.write_bytes(data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :])
        try:
            list(read_notes(Source(path, path.name, "parquet", len(data)), ReadOptions()))
        except SourceError:
            refused += 1
print(refused)
"""


def test_no_damaged_byte_of_the_footer_ends_the_process(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    parquet.write_table(pyarrow.table({"id": ["a", "b"], "text": ["t", None]}), path, store_schema=False)

    done = subprocess.run(
        [sys.executable, "-c", _READ_DAMAGED, path], capture_output=True, text=True, timeout=300, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 100
