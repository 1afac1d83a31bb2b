"""Apache Parquet, read row by row and written in row groups. pyarrow is imported only when a file is opened."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
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
    Place,
    ReadOptions,
    Source,
    Unreadable,
    note_from_fields,
)
from deid_runtime.spans import Note
from deid_runtime.system.digests import Create, new_file

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

#: Rows per batch. A file can store a value once for many rows, and a batch has a copy for each row. With one row per
#: batch, one value limits the memory; this costs forty microseconds more per row.
_READ_ROWS = 1
_READ_BUFFER_BYTES = 2**20
#: A row group is written when it has this many rows or characters. It limits the memory of the writer and the reader.
_GROUP_ROWS = 8_192
_GROUP_CHARS = 16 * 2**20


def read_parquet(source: Source, options: ReadOptions, meter: Meter) -> Iterator[Item]:
    """Yield the notes of a file. Positions count rows from 1.

    Raises SourceError for a file that is not Parquet or is damaged, and for pages that are too large to decompress.
    Raises it also for columns that are missing or of a wrong type.
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
    """Yield ``(row number from 1, row)``. A row that cannot be read is replaced by the reason.

    Without options, rows have all columns except those whose names start with an underscore. Then ``check_header`` is
    called with the file name and all columns. Raises SourceError like :func:`read_parquet`.
    """
    from pyarrow import parquet

    limit_bytes = options.record_limit_bytes if options else RECORD_LIMIT_BYTES
    with (
        _errors(source.name),
        # Use buffered streams instead of pre-fetched row groups, which can be as large as the file.
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
        groups, before = _groups_from(file, source.start.number)
        number = before
        batches = file.iter_batches(batch_size=_READ_ROWS, row_groups=groups, columns=columns)
        for number, batch in enumerate(batches, start=before + 1):
            if number > rows:
                break
            if number <= source.start.number:
                continue
            meter.place = Place(number=number)
            yield number, _row(batch, limit_bytes)
            meter.read_bytes += source.size_bytes * number // rows - source.size_bytes * (number - 1) // rows
        if number != rows:
            raise SourceError(
                f"{source.name}: damaged: its footer says {rows} rows, but it has another number; copy it again"
            )


def _groups_from(file: "parquet.ParquetFile", number: int) -> tuple[list[int], int]:
    """Return the row groups that have rows after the first ``number`` rows, and the number of rows before them."""
    before = 0
    for group in range(file.num_row_groups):
        rows = int(file.metadata.row_group(group).num_rows)
        if before + rows > number:
            return list(range(group, file.num_row_groups)), before
        before += rows
    return [], before


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Turn the errors of pyarrow for a file that is not Parquet or is damaged into a SourceError."""
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
    """Return the only row of ``batch``, or why it cannot be read.

    A row over the limit is never converted to Python objects.
    """
    size = sum(map(_bytes_of, batch.columns))
    if size > limit_bytes:
        return f"the row has {size} bytes; the limit is {limit_bytes}; split the note"
    try:
        [row] = batch.to_pylist()
        row = {name: _of_python(value) for name, value in row.items()}
    except (ValueError, OverflowError, KeyError):  # also for times and time zones that Python's datetime cannot hold
        return "a value is not UTF-8, or a time with nanoseconds; convert the source"
    found: dict[str, Any] = row
    return found


def _of_python(value: Any) -> Any:
    """Return ``value`` with the times of pandas, which pyarrow gives where pandas is installed, as those of Python.

    Raises ValueError for times with nanoseconds, as pyarrow does without pandas.
    """
    if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
        raise ValueError("odd nanoseconds")
    for convert in ("to_pydatetime", "to_pytimedelta"):
        if hasattr(value, convert):
            return getattr(value, convert)()
    return value


def _bytes_of(column: "pyarrow.Array") -> int:
    """Return the size in bytes of the only value of ``column``."""
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return int(column.nbytes)
    # nbytes of a dictionary array includes the values of other rows.
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
    """Raise SourceError when one of ``columns`` is nested: a few bytes in the file can become a list of millions."""
    from pyarrow import types

    for number, field in enumerate(schema, 1):
        if field.name in columns and types.is_nested(field.type):
            # Name the column by its number: the user did not name all of these columns, so the name may be sensitive.
            raise SourceError(f"{name}: column {number} has lists, maps or structs; expected plain values")


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
    """Writes id, patient and text as strings and kept columns with their type, if the input has them."""

    def __init__(self, schema: "pyarrow.Schema", options: ReadOptions, path: Path, create: Create) -> None:
        from pyarrow import parquet

        self._options = options
        self._schema = schema
        self._file = create(path)
        self._writer = parquet.ParquetWriter(self._file, schema)
        self._rows: list[dict[str, object]] = []
        self._chars = 0

    def write(self, note: Note) -> None:
        """Write one row; rows are collected into groups."""
        options = self._options
        row = dict(note.extra)
        row |= {
            options.id_column: note.id,
            options.patient_column: note.patient or None,
            options.text_column: note.text,
        }
        self.add(row)

    def add(self, row: dict[str, object]) -> None:
        """Write one row of columns by name."""
        self._rows.append(row)
        self._chars += len(str(row[self._options.text_column]))
        if len(self._rows) == _GROUP_ROWS or self._chars >= _GROUP_CHARS:
            self._flush()

    def close(self) -> None:
        """Write the last group of rows and finish the file."""
        with self._file, self._writer:  # close both also when the disk is full and the last rows cannot be written
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self._rows:
            self._writer.write_table(pyarrow.Table.from_pylist(self._rows, schema=self._schema))
            self._rows, self._chars = [], 0


def write_parquet(source: Source, options: ReadOptions, path: Path, create: Create = new_file) -> ParquetWriter:
    """Open a writer with the columns of ``source`` that the output keeps, in the order of ``source``.

    The metadata of ``source`` is not copied.
    """
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


def join_parquet(pieces: Sequence[Path], target: Path, options: ReadOptions, create: Create = new_file) -> None:
    """Write the rows of ``pieces``, which :class:`ParquetWriter` wrote with the same columns, to one new file.

    Its row groups are those that one writer for all rows makes. Raises SourceError for a piece that is damaged.
    """
    import pyarrow
    from pyarrow import parquet

    with _errors(target.name):
        fields = [pyarrow.field(field.name, field.type) for field in parquet.read_schema(pieces[0])]
    with closing(ParquetWriter(pyarrow.schema(fields), options, target, create)) as writer:
        for piece in pieces:
            with (
                _errors(target.name),
                parquet.ParquetFile(piece, buffer_size=_READ_BUFFER_BYTES, pre_buffer=False) as file,
            ):
                for batch in file.iter_batches(batch_size=_READ_ROWS):
                    [row] = batch.to_pylist()
                    writer.add(row)
