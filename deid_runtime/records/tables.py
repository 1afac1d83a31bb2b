"""Read the small tables of a run, one patient per row: JSON Lines (plain or gzip), CSV or Parquet."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from deid_runtime.errors import SettingsError, SourceError
from deid_runtime.formats import delimited, format_of, jsonl, parquet
from deid_runtime.formats.records import RECORD_LIMIT_BYTES, Meter, Source


def read_table(
    path: Path, what: str, check_header: Callable[[str, Sequence[str]], object]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield ``(position, column to value)`` for every row of ``path``.

    ``what`` names the table in errors. For CSV and Parquet, ``check_header`` is called with the position and the
    columns, even when the file has no rows.

    Raises SettingsError, which names the line, for a file that cannot be read.
    """
    source = Source(path, path.name, format_of(path.name) or "", 0)
    try:
        if source.format == "jsonl":
            for number, row in jsonl.read_objects(source, RECORD_LIMIT_BYTES, Meter()):
                if isinstance(row, str):
                    raise SettingsError(f"{path.name}:{number}: {row}")
                yield f"{path.name}:{number}", row
        elif source.format == "csv":
            yield from _csv_rows(source, check_header)
        elif source.format == "parquet":
            for number, values in parquet.read_rows(source, Meter(), check_header=check_header):
                if isinstance(values, str):
                    raise SettingsError(f"{path.name}:{number}: {values}")
                yield f"{path.name}:{number}", values
        else:
            raise SettingsError(f"{path}: {what} are read only from .jsonl, .jsonl.gz, .csv and .parquet")
    except SourceError as error:
        raise SettingsError(f"{what}: {error}") from error


def _csv_rows(
    source: Source, check_header: Callable[[str, Sequence[str]], object]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    header: list[str] = []
    for number, fields in delimited.read_rows(source, RECORD_LIMIT_BYTES, Meter()):
        position = f"{source.name}:{number}"
        if not header:
            header = fields
            check_header(position, header)
        elif len(fields) != len(header):
            raise SettingsError(f"{position}: {len(fields)} fields; the header has {len(header)}")
        else:
            yield position, dict(zip(header, fields, strict=True))
