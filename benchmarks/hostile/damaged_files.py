"""Files of records, damaged at random: what ``fuzzed_records.py`` attacks with.

Texts, ids, values and names of other columns hold markers: pairs of words that nobody else writes. A pair, because an
id of one word may be shown in the quarantine; one of several words looks like text and may not.
"""

import csv
import gzip
import io
import json
import random
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow
from pyarrow import parquet

Row = dict[str, Any]
_WORDS: Final = (
    *"Seen on 03/04/2051 by Dr. Okonjo pain 212-664-9182 MRN: 4471902 \" ' , <b> &amp; ]]> é 😀".split(),
    *("\r\n", "\n", "\t", "\\", "\u2028", "\x85"),
)
_SPLICES: Final = (
    b"\0", b"\xff", b'"', b"\\", b"\n", b"\r", b",", b"<", b"&", b"{", b"]", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"|",
)  # fmt: skip
_ODD_LINES: Final = (
    "[" * 5000, "{" * 3000, "9" * 6000, "NaN", '{"id": 1e999, "text": ""}', '"{marker}"', '["{marker}"]', " ",
    '{"id":"a","text":"{marker}","text":"b"}', '{"id":"{marker}"}', '{"{marker}":1}', '{"id":"b","text":"\\ud800"}',
)  # fmt: skip


@dataclass
class DamagedInput:
    """Input for one run. ``expected_read``: records that a reader must count, None where nobody can say."""

    path: Path
    records: int
    damaged: int
    expected_read: int | None
    markers: list[str] = field(repr=False)

    @property
    def is_folder(self) -> bool:
        """Whether every record is a file."""
        return self.path.is_dir()


class _Maker:
    """Makes rows with markers, and remembers them."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.markers: list[str] = []
        self.damaged = 0

    def marker(self) -> str:
        """Return a new pair of words."""
        first, second = ("".join(self.choose.choices(string.ascii_lowercase, k=7)) for _ in range(2))
        self.markers.append(f"zq{first} {second}qz")
        return self.markers[-1]

    def text(self) -> str:
        """Return a text with a marker."""
        return f"{self.marker()} {' '.join(self.choose.choices(_WORDS, k=self.choose.randrange(30)))}"

    def row(self, number: int) -> Row:
        """Return one record; values may be odd, keys may lack."""
        choose = self.choose
        row: Row = {"id": f"n{number}", "text": self.text(), "patient": f"p{number // 3}", "type": "Consult"}
        if choose.random() < 0.2:
            row[choose.choice(["id", "patient", "type", "x"])] = f"{self.marker()} 3"
        if choose.random() < 0.2:
            self.damaged += 1
            row[choose.choice(["id", "text", "patient", "type", "x", self.marker()])] = self.odd_value()
        if choose.random() < 0.1:
            self.damaged += 1
            del row[choose.choice(["id", "text", "patient", "type"])]
        return row

    def odd_value(self) -> Any:
        """Return a value that a column of text should not have."""
        marker = self.marker()
        return self.choose.choice([
            None, True, 1, -1, 2.5, float("nan"), float("inf"), 10**30, "", " ", "\0", "\ud800", f"{marker} " * 20,
            marker, [], [[]], [marker], {}, {"a": marker}, "n0", "a|b", "../../up", "/abs", f"a\n{marker}",
        ])  # fmt: skip

    def damage(self, data: bytes, most: int = 3) -> bytes:
        """Change ``data`` at one to ``most`` places."""
        self.damaged += 1
        changed = bytearray(data)
        for _ in range(self.choose.randint(1, most)):
            _change(changed, self.choose)
        return bytes(changed)

    def maybe_damaged(self, data: bytes) -> bytes:
        """Change ``data`` in half of the cases."""
        return self.damage(data) if self.choose.random() < 0.5 else data


def _change(data: bytearray, choose: random.Random) -> None:
    if not data:
        return
    at = choose.randrange(len(data))
    match choose.randrange(7):
        case 0:
            data[at] ^= 1 << choose.randrange(8)
        case 1:
            data[at] = choose.randrange(256)
        case 2:
            del data[at : at + choose.randrange(1, 40)]
        case 3:
            data[at:at] = data[at : at + choose.randrange(1, 60)]
        case 4:
            data[at:at] = choose.choice(_SPLICES) * choose.choice([1, 1, 3, 200])
        case 5:
            del data[at:]
        case _:
            end = min(len(data), at + 8)
            data[at:end] = choose.choice([b"\xff", b"\x00", b"\x7f"]) * (end - at)


def _json_lines(maker: _Maker, count: int) -> list[bytes]:
    lines = []
    for number in range(count):
        if maker.choose.random() < 0.05:
            maker.damaged += 1
            lines.append(maker.choose.choice(_ODD_LINES).replace("{marker}", maker.marker()).encode())
            continue
        line = json.dumps(maker.row(number), ensure_ascii=maker.choose.random() < 0.5)
        lines.append(maker.maybe_damaged(line.encode("utf-8", "surrogatepass")))
    return lines


def _count_lines(data: bytes) -> int:
    return sum(bool(line.strip()) for line in data.split(b"\n"))


def _make_jsonl(maker: _Maker, count: int, path: Path) -> int | None:
    data = maker.choose.choice([b"\n", b"\n", b"\r\n"]).join(_json_lines(maker, count))
    path.write_bytes(data)
    return _count_lines(data)


def _make_gzip(maker: _Maker, count: int, path: Path) -> int | None:
    data = b"\n".join(_json_lines(maker, count))
    packed = gzip.compress(data, mtime=0)
    is_sound = maker.choose.random() < 0.5
    path.write_bytes(packed if is_sound else maker.damage(packed))
    maker.damaged += 0 if is_sound else count
    return _count_lines(data) if is_sound else None


def _make_csv(maker: _Maker, count: int, path: Path) -> int | None:
    choose = maker.choose
    out = io.StringIO()
    table = csv.writer(
        out, quoting=choose.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), lineterminator=choose.choice(["\n", "\r\n"])
    )
    columns = ["id", "text", "patient", "type", *choose.choice([[], [], [], ["id"], [maker.marker()]])]
    parts = []
    for number in range(-1, count):
        row = {name: name for name in columns} if number < 0 else maker.row(number)
        table.writerow([row.get(column, "") for column in columns[: choose.choice([9] * 20 + [3])]])
        part = out.getvalue().encode("utf-8", "surrogatepass")
        out.seek(0)
        out.truncate()
        parts.append(part if number < 0 and choose.random() < 0.9 else maker.maybe_damaged(part))
    path.write_bytes(b"".join(parts))
    return None


def _make_parquet(maker: _Maker, count: int, path: Path) -> int | None:
    choose = maker.choose
    rows = [maker.row(number) for number in range(count)]
    columns: dict[str, list[Any]] = {
        name: [value if isinstance(value := row.get(name), str) and "\ud800" not in value else None for row in rows]
        for name in ("id", "text", "patient", "type")
    }
    if choose.random() < 0.3:
        columns["x"] = [choose.choice([1.5, float("nan"), None]) for _ in rows]
    if choose.random() < 0.2:
        columns["nested"] = [[{"a": maker.marker()}] for _ in rows]
    table = pyarrow.table(columns)
    if choose.random() < 0.2:
        table = table.set_column(1, "text", table["text"].dictionary_encode())
    if choose.random() < 0.1:
        table = table.append_column("text", table["text"])
    out = io.BytesIO()
    parquet.write_table(
        table, out, compression=choose.choice(["none", "snappy", "gzip", "zstd", "brotli", "lz4"]),
        use_dictionary=choose.random() < 0.5, data_page_version=choose.choice(["1.0", "2.0"]),
        store_schema=choose.random() < 0.5, row_group_size=choose.choice([1, 3, 1000]),
        write_page_checksum=choose.random() < 0.3,
    )  # fmt: skip
    data = out.getvalue()
    is_sound = choose.random() < 0.4
    if not is_sound:
        maker.damaged += count
        length = int.from_bytes(data[-8:-4], "little")
        if choose.random() < 0.5:  # the footer is small, but tells where everything is
            footer = maker.damage(data[-8 - length : -8], 5)
            data = data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
        else:
            data = maker.damage(data, 5)
    path.write_bytes(data)
    return count if is_sound else None


def _make_i2b2(maker: _Maker, count: int, path: Path) -> int | None:
    path.mkdir()
    for number in range(count):
        text = maker.text()
        inner = maker.choose.choice([
            f"<![CDATA[{text.replace(']]>', '')}]]>", text.replace("&", "&amp;").replace("<", "&lt;"), text,
            f"a<b>{maker.marker()}</b>", f"<!-- {maker.marker()} -->", f"&{maker.marker()};",
        ])  # fmt: skip
        tag = f'<NAME id="P0" start="1" end="7" text="{maker.marker()}" TYPE="PATIENT" />'
        xml = f'<?xml version="1.0" encoding="UTF-8" ?>\n<deIdi2b2>\n<TEXT>{inner}</TEXT>\n<TAGS>\n{tag}\n</TAGS>\n'
        (path / f"n{number}.xml").write_bytes(maker.maybe_damaged(f"{xml}</deIdi2b2>\n".encode()))
    return count


def _make_text(maker: _Maker, count: int, path: Path) -> int | None:
    path.mkdir()
    for number in range(count):
        (path / f"n{number}.txt").write_bytes(maker.maybe_damaged(maker.text().encode()))
    return count


#: Format -> name of the input and what writes it.
FORMATS: Final[dict[str, tuple[str, Callable[[_Maker, int, Path], int | None]]]] = {
    "jsonl": ("in.jsonl", _make_jsonl),
    "gzip": ("in.jsonl.gz", _make_gzip),
    "csv": ("in.csv", _make_csv),
    "parquet": ("in.parquet", _make_parquet),
    "i2b2": ("in", _make_i2b2),
    "text": ("in", _make_text),
}


def make_input(format_name: str, count: int, folder: Path, choose: random.Random) -> DamagedInput:
    """Write ``count`` records of a format into ``folder``, a quarter of that as Parquet; damage about half of them."""
    name, write = FORMATS[format_name]
    if format_name == "parquet":  # damaged as a whole, so there are more of them
        count = (count + 3) // 4
    maker = _Maker(choose)
    expected_read = write(maker, count, folder / name)
    return DamagedInput(folder / name, count, min(maker.damaged, count), expected_read, maker.markers)


def count_records(path: Path) -> int:
    """Count the records of an output, by other means than ``deid`` uses; 0 where there is none."""
    if not path.exists():
        return 0
    if path.is_dir():
        return sum(each.is_file() for each in path.rglob("*"))
    if path.suffix == ".csv":
        csv.field_size_limit(2**30)
        with path.open(encoding="utf-8", newline="") as file:
            return sum(bool(row) for row in csv.reader(file)) - 1
    if path.suffix == ".parquet":
        return int(parquet.read_metadata(path).num_rows)
    data = path.read_bytes()
    return _count_lines(gzip.decompress(data) if path.suffix == ".gz" else data)
