"""Comma-separated values in UTF-8 with a header line, quoted as in RFC 4180.

Quoted fields can contain line ends. After broken quoting, the start of the next record is unknown, and parts of a note
could be read as ids or types. So broken quoting stops the run instead of quarantining one record.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from deid_runtime.errors import SourceError
from deid_runtime.formats.byte_lines import MOST_PARTS, read_lines
from deid_runtime.formats.jsonl import missing_columns
from deid_runtime.formats.records import Item, Meter, Place, ReadOptions, Source, Unreadable, note_from_fields
from deid_runtime.spans import Note
from deid_runtime.system.digests import Create, new_file


def read_delimited(source: Source, options: ReadOptions, meter: Meter) -> Iterator[Item]:
    """Yield the notes of a file. A row with a wrong number of fields, or with bytes that are not UTF-8, is unreadable.

    Raises SourceError for a missing column, for broken quoting and for a record over the limit.
    """
    rows = read_rows(source, options.record_limit_bytes, meter)
    header = _first_row(source, options) if source.start.number else _header(source, rows)
    check_columns(source.name, header, options)
    for line, fields in rows:
        position = f"{source.name}:{line}"
        if len(fields) != len(header):
            reason = f"the row has {len(fields)} fields; the header has {len(header)}"
            yield Unreadable(position, reason, position=position)
        else:
            yield note_from_fields(dict(zip(header, fields, strict=True)), options, position)


def check_columns(name: str, header: Sequence[str], options: ReadOptions) -> None:
    """Raise SourceError when a needed column is missing, or when a used column occurs twice."""
    needed = (*options.needed_columns, *options.kept_columns)
    missing = [column for column in needed if column not in header]
    if missing:
        raise missing_columns(name, missing, list(header))
    used = (*needed, options.patient_column, options.type_column)
    twice = sorted({column for column in used if header.count(column) > 1})
    if twice:
        raise SourceError(f"{name}: column {twice[0]!r} occurs more than once; rename one")


def read_rows(source: Source, limit_bytes: int, meter: Meter) -> Iterator[tuple[int, list[str]]]:
    """Yield ``(number of its first line, fields)`` for every row that is not blank, starting with the header.

    Bytes that are not UTF-8 become lone surrogate code points, so that only their own row is unreadable. Raises
    SourceError for broken quoting and for a record over ``limit_bytes``.
    """
    csv.field_size_limit(limit_bytes)
    lines = _RecordLines(source, limit_bytes, meter)
    parser = csv.reader(lines, strict=True)
    while True:
        lines.begin_record()
        first = lines.number + 1
        try:
            row = next(parser, None)
        except csv.Error as error:
            raise SourceError(
                f"{source.name}: broken CSV in the record that begins on line {first} ({error}); nothing was written, "
                "because the next fields are ambiguous. Quote every field that has a comma, quote or line end"
            ) from None
        if row is None:
            return
        if row:
            yield first, row


class _RecordLines:
    """Decoded lines for the CSV parser, with limits for one record. Raises SourceError when a record exceeds them."""

    def __init__(self, source: Source, limit_bytes: int, meter: Meter) -> None:
        self.number = source.start.number
        self._name = source.name
        self._limit_bytes = limit_bytes
        self._lines = read_lines(source, limit_bytes, meter)
        self._record_bytes = 0
        self._record_commas = 0

    def begin_record(self) -> None:
        self._record_bytes = 0
        self._record_commas = 0

    def __iter__(self) -> "_RecordLines":
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        self._record_bytes += len(line) if line is not None else self._limit_bytes + 1
        if line is None or self._record_bytes > self._limit_bytes:
            raise SourceError(
                f"{self._name}: the record that ends on line {self.number} or later is longer than "
                f"{self._limit_bytes} bytes; check for a quote that is not closed"
            )
        self._record_commas += line.count(b",")
        if self._record_commas > MOST_PARTS:
            raise SourceError(
                f"{self._name}: the record that ends on line {self.number} or later has more than {MOST_PARTS:,} "
                "commas; check for a quote that is not closed"
            )
        return line.decode("utf-8", "surrogateescape")


def _header(source: Source, rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    first = next(rows, None)
    if first is None:
        raise SourceError(f"{source.name}: empty; expected a header line with the column names")
    return first[1]


def _first_row(source: Source, options: ReadOptions) -> list[str]:
    """Return the header of a file, even when ``source`` begins further on."""
    whole = replace(source, start=Place())
    return _header(whole, read_rows(whole, options.record_limit_bytes, Meter()))


class DelimitedWriter:
    """Writes a header and one row per note: id, patient, text and kept columns, if the input has them.

    A file that continues another one has no header.
    """

    def __init__(
        self, columns: Sequence[str], options: ReadOptions, path: Path, create: Create, *, has_header: bool = True
    ) -> None:
        self._columns = columns
        self._options = options
        self._file = io.TextIOWrapper(create(path), encoding="utf-8", newline="")
        # With CR and LF in the line terminator, the writer quotes every field that contains one of them.
        self._rows = csv.writer(self._file, lineterminator="\r\n")
        if has_header:
            self._rows.writerow(columns)

    def write(self, note: Note) -> None:
        """Write one row."""
        options = self._options
        row = dict(note.extra)
        row |= {
            options.id_column: note.id,
            options.patient_column: note.patient,
            options.text_column: note.text,
        }
        self._rows.writerow([row.get(column, "") for column in self._columns])

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


def write_delimited(source: Source, options: ReadOptions, path: Path, create: Create = new_file) -> DelimitedWriter:
    """Open a writer with the columns of ``source`` that the output keeps, in the order of ``source``.

    When ``source`` is read from its middle, the file has no header.
    """
    columns = [column for column in _first_row(source, options) if column in passed_on(options)]
    return DelimitedWriter(columns, options, path, create, has_header=not source.start.number)


def passed_on(options: ReadOptions) -> frozenset[str]:
    """Return the columns that an output table can have."""
    return frozenset({options.id_column, options.patient_column, options.text_column, *options.kept_columns})
