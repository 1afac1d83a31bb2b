"""Ranges of keys that a table of a database is read in. The parts that need no database.

A plan is made once, from one snapshot of the table: it cuts the rows, in the order of the key, into ranges of limited
size, and has a digest of the rows of each. A range is read at a time, and the digest shows whether its rows are still
those of the plan.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from deid_runtime.errors import SourceError

#: A range ends when it has this many rows or bytes of values. It limits the memory of the reader.
RANGE_ROWS: Final = 10_000
RANGE_BYTES: Final = 4 * 2**20
_INT64: Final = 2**63

#: A value of a key column.
KeyValue = int | str | Decimal | UUID
#: The values of all key columns of a row. Rows are read in the order in which the database compares these values.
Key = tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Rows with consecutive keys: those behind ``after``, up to ``last``. ``after`` is None for the first range.

    ``before`` is the number of rows of the table before the range, ``rows`` the number of its rows, ``sha256`` the
    digest of their values. Keys are often note ids, so they are not part of the ``repr``.
    """

    after: Key | None = field(repr=False)
    last: Key = field(repr=False)
    before: int
    rows: int
    sha256: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class TablePlan:
    """How a table is read. ``kinds`` maps each column that is read to the kind of its values, in the table's order.

    A kind is ``integer``, ``real``, ``boolean`` or ``text``. ``size_bytes`` is the size of all values in bytes.
    """

    kinds: Mapping[str, str]
    ranges: tuple[KeyRange, ...]
    size_bytes: int

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return self.ranges[-1].before + self.ranges[-1].rows if self.ranges else 0

    @property
    def digest(self) -> str:
        """Return a digest of all rows: two plans with the same digest read the same values in the same order."""
        digest = sha256(json.dumps([list(self.kinds), self.rows]).encode())
        for each in self.ranges:
            digest.update(each.sha256)
        return digest.hexdigest()

    def ranges_from(self, number: int) -> Sequence[KeyRange]:
        """Return the ranges that have rows behind the first ``number`` rows of the table."""
        first = bisect_right(self.ranges, number, key=lambda each: each.before + each.rows)
        return self.ranges[first:]


def cut_ranges(rows: Iterable[tuple[Key, int]], name: str) -> Iterator[KeyRange]:
    """Yield the ranges of a table without their digests. ``rows`` has the key and size in bytes of each row, in order.

    Raises SourceError, which names the table ``name``, when a key occurs twice.
    """
    after: Key | None = None
    last: Key | None = None
    before = count = size_bytes = 0
    for key, row_bytes in rows:
        if key == last:
            raise SourceError(f"{name}: the key has a value twice; name columns of unique values as key")
        if last is not None and (count >= RANGE_ROWS or size_bytes + row_bytes > RANGE_BYTES):
            yield KeyRange(after, last, before, count)
            after, before = last, before + count
            count = size_bytes = 0
        last = key
        count += 1
        size_bytes += row_bytes
    if last is not None:
        yield KeyRange(after, last, before, count)


def plain_value(value: object) -> Any:
    """Return a value of a database as str, int, float, bool or None; bytes stay bytes.

    Times become ISO 8601, decimal numbers and everything else the text that Python has for it, so that no digit is
    lost. JSON becomes text.
    """
    if value is None or isinstance(value, str | bool | int | float | bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return int(value) if exponent == 0 else str(value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def digest_rows(rows: Iterable[Sequence[object]]) -> bytes:
    """Return a digest of rows of plain values. Rows with other values, or in another order, have another digest."""
    digest = sha256()
    for row in rows:
        # ASCII alone, so that half a surrogate pair can be digested too; a value of bytes is told from its text.
        digest.update(json.dumps(row, default=lambda value: [value.hex()]).encode() + b"\n")
    return digest.digest()


class KindsSeen:
    """Finds the kind of each column from the plain values of all rows."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._seen: dict[str, set[str]] = {column: set() for column in columns}

    def add(self, rows: Iterable[Sequence[object]]) -> None:
        """Look at the values of rows."""
        for row in rows:
            for seen, value in zip(self._seen.values(), row, strict=True):
                if value is not None:
                    seen.add(_kind(value))

    def kinds(self) -> dict[str, str]:
        """Return the kind of each column: text when its values are of several kinds, or when it has none."""
        return {column: _common(seen) for column, seen in self._seen.items()}


def of_kind(value: Any, kind: str) -> Any:
    """Return a plain value in the form of its column: as text when the column holds text."""
    return str(value) if kind == "text" and value is not None and not isinstance(value, bytes) else value


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if -_INT64 <= value < _INT64 else "text"
    return "real" if isinstance(value, float) else "text"


def _common(seen: set[str]) -> str:
    if seen == {"integer", "real"}:
        return "real"
    return next(iter(seen)) if len(seen) == 1 else "text"
