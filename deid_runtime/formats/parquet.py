"""Apache Parquet, read row by row and written by groups of rows. pyarrow is imported when a file is opened."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid_runtime.digests import Create, new_file
from deid_runtime.errors import SourceError
from deid_runtime.formats.byte_lines import reading
from deid_runtime.formats.delimited import check_columns, passed_on
from deid_runtime.formats.records import Item, Meter, ReadOptions, Source, Unreadable, note_from_fields
from deid_runtime.spans import Note

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

    Raises SourceError for a file that is not Parquet or is damaged, and for missing columns or columns of other types.
    """
    for number, row in read_rows(source, meter, options):
        position = f"{source.name}:{number}"
        if row is None:
            yield Unreadable(position, "a value is not UTF-8, or a time in odd nanoseconds; convert the source")
        else:
            yield note_from_fields(row, options, position)


def read_rows(
    source: Source, meter: Meter, options: ReadOptions | None = None
) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield ``(row number from 1, row)``, None for a row with a value that cannot be read.

    Without options, rows have all columns.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        with (
            reading(source.name),
            # Buffered streams, not pre-fetched row groups: those may be as large as the file.
            parquet.ParquetFile(source.path, buffer_size=_READ_BUFFER_BYTES, pre_buffer=False) as file,
        ):
            columns = None
            if options:
                _check_types(source.name, file.schema_arrow, options)
                columns = [column for column in file.schema_arrow.names if column in passed_on(options)]
            rows = file.metadata.num_rows
            for number, batch in enumerate(file.iter_batches(batch_size=_READ_ROWS, columns=columns), start=1):
                yield number, _row(batch)
                meter.read_bytes += source.size_bytes * number // rows - source.size_bytes * (number - 1) // rows
    except pyarrow.ArrowException as error:
        raise SourceError(
            f"{source.name}: not a Parquet file, or damaged ({type(error).__name__}); nothing was written"
        ) from error


def _row(batch: "pyarrow.RecordBatch") -> dict[str, Any] | None:
    try:
        [row] = batch.to_pylist()
    except ValueError:  # not UTF-8; nanoseconds, which Python's datetime does not have
        return None
    found: dict[str, Any] = row
    return found


def _check_types(name: str, schema: "pyarrow.Schema", options: ReadOptions) -> None:
    check_columns(name, schema.names, options)
    for column in (options.id_column, options.text_column, options.patient_column, options.type_column):
        if column in schema.names and not _is_text(schema.field(column).type, column != options.text_column):
            raise SourceError(
                f"{name}: column {column!r} is {schema.field(column).type}; expected strings"
                + ("" if column == options.text_column else " or integers")
            )


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
    """The input's columns among id, patient, type, text (as strings) and the kept ones (as they were)."""

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
            options.type_column: note.type or None,
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

    with reading(source.name):
        schema = parquet.read_schema(source.path)
    fields = [
        pyarrow.field(field.name, field.type if field.name in options.keep_columns else pyarrow.large_string())
        for field in schema
        if field.name in passed_on(options)
    ]
    return ParquetWriter(pyarrow.schema(fields), options, path, create)
