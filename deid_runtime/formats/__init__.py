"""Input and output formats: one module per format, and the table of formats by name and suffix."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from deid_runtime.formats.database import read_database, write_database
from deid_runtime.formats.delimited import read_delimited, write_delimited
from deid_runtime.formats.i2b2 import read_i2b2, write_i2b2
from deid_runtime.formats.jsonl import read_jsonl, write_jsonl
from deid_runtime.formats.parquet import read_parquet, write_parquet
from deid_runtime.formats.plain_text import read_text, write_text
from deid_runtime.formats.records import DATABASE_SUFFIX, Item, Meter, Reader, ReadOptions, Source, WriterFactory


@dataclass(frozen=True, slots=True)
class Format:
    """How one format is read and written. ``is_table`` formats have many notes per file, the others one."""

    suffixes: tuple[str, ...]
    is_table: bool
    read: Reader
    write: WriterFactory
    ignored_suffixes: tuple[str, ...] = ()


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "jsonl": Format((".jsonl", ".jsonl.gz"), True, read_jsonl, write_jsonl),
        "csv": Format((".csv",), True, read_delimited, write_delimited),
        "parquet": Format((".parquet",), True, read_parquet, write_parquet),
        "database": Format((DATABASE_SUFFIX,), True, read_database, write_database),
        "txt": Format((".txt",), False, read_text, write_text),
        "i2b2": Format((".xml",), False, read_i2b2, write_i2b2),
        # Only the texts: the annotations in the folder describe the original text, so they are not written.
        "brat": Format((), False, read_text, write_text, ignored_suffixes=(".ann", ".conf")),
    }
)


def format_of(name: str) -> str | None:
    """Return the name of the format with the suffix of a file name, or None."""
    lowered = name.lower()
    for format_name, format_ in FORMATS.items():
        if lowered.endswith(format_.suffixes):
            return format_name
    return None


def is_table(name: str) -> bool:
    """Return whether the suffix of a file name belongs to a format with many notes per file."""
    format_name = format_of(name)
    return format_name is not None and FORMATS[format_name].is_table


def read_notes(source: Source, options: ReadOptions, meter: Meter | None = None) -> Iterator[Item]:
    """Yield every record of one file in order, as a Note or as Unreadable.

    Raises SourceError when the file as a whole cannot be read.
    """
    return FORMATS[source.format].read(source, options, meter or Meter())


__all__ = ["FORMATS", "Format", "format_of", "is_table", "read_notes"]
