"""Apache Parquet, read row by row and written by groups of rows. pyarrow is imported when a file is opened."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid_runtime.errors import DeidError, SourceError
from deid_runtime.formats.byte_lines import reading
from deid_runtime.formats.delimited import check_columns, passed_on
from deid_runtime.formats.parquet_pages import check_pages
from deid_runtime.formats.records import (
    RECORD_LIMIT_BYTES,
    Item,
    Meter,
    ReadOptions,
    Source,
    Unreadable,
    note_from_fields,
)
from deid_runtime.spans import Note
from deid_runtime.system.digests import Create, new_file

if TYPE_CHECKING:
    import pyarrow

#: A value that a file stores once may stand in many rows, and a batch holds a copy for each: forty microseconds a row
#: more buy memory that one value bounds.
_READ_ROWS = 1
_READ_BUFFER_BYTES = 2**20
#: A row group is written when it has this many rows or characters: the writer's memory and the reader's.
_GROUP_ROWS = 8_192
_GROUP_CHARS = 16 * 2**20


def read_parquet(source: Source, options: ReadOptions, meter: Meter) -> Iterator[Item]:
    """Yield the notes of a file, positions counted from row 1.

    Raises SourceError for a file that is not Parquet or is damaged, for pages too large to be decompressed, and for
    missing columns or columns of other types.
    """
    for number, row in read_rows(source, meter, options):
        position = f"{source.name}:{number}"
        if isinstance(row, str):
            yield Unreadable(position, row, position=position)
        else:
            yield note_from_fields(row, options, position)


def read_rows(
    source: Source,
    meter: Meter,
    options: ReadOptions | None = None,
    check_header: Callable[[str, Sequence[str]], object] | None = None,
) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield ``(row number from 1, row)``, or the reason in place of a row that cannot be read.

    Without options, rows have all columns but those whose names start with an underscore; then ``check_header`` is
    called with the name of the file and all columns.
    """
    from pyarrow import parquet

    limit_bytes = options.record_limit_bytes if options else RECORD_LIMIT_BYTES
    with (
        _errors(source.name),
        # Buffered streams, not pre-fetched row groups: those may be as large as the file.
        parquet.ParquetFile(
            source.path, buffer_size=_READ_BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
        ) as file,
    ):
        schema = file.schema_arrow
        if options:
            _check_types(source.name, schema, options)
            columns = [column for column in schema.names if column in (*passed_on(options), options.type_column)]
        else:
            if check_header:
                check_header(source.name, schema.names)
            columns = [column for column in schema.names if not column.startswith("_")]
            _check_flat(source.name, schema, columns)
        check_pages(source.name, source.path, columns)
        rows = file.metadata.num_rows
        number = 0
        for number, batch in enumerate(file.iter_batches(batch_size=_READ_ROWS, columns=columns), start=1):
            if number > rows:
                break
            yield number, _row(batch, limit_bytes)
            meter.read_bytes += source.size_bytes * number // rows - source.size_bytes * (number - 1) // rows
        if number != rows:
            raise SourceError(f"{source.name}: damaged: its footer says {rows} rows, and it has another number")


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Turn what pyarrow raises for a file that is no Parquet file, or a damaged one, into a SourceError."""
    import pyarrow

    try:
        with reading(name):
            yield
    except DeidError:
        raise
    except UnicodeDecodeError as error:
        raise SourceError(f"{name}: the name of a column is not UTF-8; rename it") from error
    except (pyarrow.ArrowException, ValueError, OverflowError, MemoryError) as error:
        raise SourceError(
            f"{name}: not a Parquet file, or damaged ({type(error).__name__}); nothing was written"
        ) from error


def _row(batch: "pyarrow.RecordBatch", limit_bytes: int) -> dict[str, Any] | str:
    """Return the one row of ``batch``, or why it cannot be read. A value over the limit becomes no Python object."""
    size = sum(map(_bytes_of, batch.columns))
    if size > limit_bytes:
        return f"the row has {size} bytes; the limit is {limit_bytes}; split the note"
    try:
        [row] = batch.to_pylist()
    except (ValueError, OverflowError, KeyError):  # also times and time zones that Python's datetime does not have
        return "a value is not UTF-8, or a time in odd nanoseconds; convert the source"
    found: dict[str, Any] = row
    return found


def _bytes_of(column: "pyarrow.Array") -> int:
    """Return the size of the one value of ``column``."""
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return int(column.nbytes)
    # A dictionary holds the values of other rows as well.
    value = column[0].value
    return value.as_buffer().size if hasattr(value, "as_buffer") and value.is_valid else 0


def _check_types(name: str, schema: "pyarrow.Schema", options: ReadOptions) -> None:
    check_columns(name, schema.names, options)
    _check_flat(name, schema, passed_on(options))
    for column in (options.id_column, options.text_column, options.patient_column, options.type_column):
        if column in schema.names and not _is_text(schema.field(column).type, column != options.text_column):
            raise SourceError(
                f"{name}: column {column!r} is {schema.field(column).type}; expected strings"
                + ("" if column == options.text_column else " or integers")
            )


def _check_flat(name: str, schema: "pyarrow.Schema", columns: Collection[str]) -> None:
    """Raise SourceError when one of ``columns`` is nested: a few bytes may stand for a list of millions."""
    from pyarrow import types

    for number, field in enumerate(schema, 1):
        if field.name in columns and types.is_nested(field.type):
            # Not by its name: not all of these were asked for by name.
            raise SourceError(f"{name}: column {number} holds lists, maps or structs; expected plain values")


def _is_text(kind: "pyarrow.DataType", or_integer: bool) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_null(kind)
        or (or_integer and types.is_integer(kind))
    )


class ParquetWriter:
    """The input's columns among id, patient, text (as strings) and the kept ones (as they were)."""

    def __init__(self, schema: "pyarrow.Schema", options: ReadOptions, path: Path, create: Create) -> None:
        from pyarrow import parquet

        self._options = options
        self._schema = schema
        self._file = create(path)
        self._writer = parquet.ParquetWriter(self._file, schema)
        self._rows: list[dict[str, object]] = []
        self._chars = 0

    def write(self, note: Note) -> None:
        options = self._options
        row = dict(note.extra)
        row |= {
            options.id_column: note.id,
            options.patient_column: note.patient or None,
            options.text_column: note.text,
        }
        self._rows.append(row)
        self._chars += len(note.text)
        if len(self._rows) == _GROUP_ROWS or self._chars >= _GROUP_CHARS:
            self._flush()

    def close(self) -> None:
        with self._file, self._writer:  # both are closed also where the disk has no room for what is left
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self._rows:
            self._writer.write_table(pyarrow.Table.from_pylist(self._rows, schema=self._schema))
            self._rows, self._chars = [], 0


def write_parquet(source: Source, options: ReadOptions, path: Path, create: Create = new_file) -> ParquetWriter:
    """Open a writer with the columns of ``source`` that are passed on, in its order, without its metadata."""
    import pyarrow
    from pyarrow import parquet

    with _errors(source.name):
        schema = parquet.read_schema(source.path)
    fields = [
        pyarrow.field(field.name, field.type if field.name in options.kept_columns else pyarrow.large_string())
        for field in schema
        if field.name in passed_on(options)
    ]
    return ParquetWriter(pyarrow.schema(fields), options, path, create)
