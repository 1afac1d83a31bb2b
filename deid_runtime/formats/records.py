"""The types that all readers and writers share, and the checks of every record.

A reader never drops a record. When it cannot turn a record into a :class:`~deid_runtime.spans.Note`, it yields an
:class:`Unreadable`, and the run quarantines it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from deid_runtime.errors import InputError, SettingsError
from deid_runtime.formats.key_ranges import TablePlan
from deid_runtime.spans import Note
from deid_runtime.system.digests import Create

#: Longest record that is read into memory, in bytes. A longer record is quarantined without being read.
RECORD_LIMIT_BYTES = 64 * 2**20
#: The end of the name of a file that describes a table of a database.
DATABASE_SUFFIX: Final = ".database.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The columns to read, and the columns to keep in the output.

    Values of ``keep_columns`` reach the output only when they pass the check of :mod:`deid_runtime.run.kept_columns`.
    Values of ``unchecked_columns`` reach it unchanged. All other columns are dropped. The type column is dropped too:
    it is read only for Python code that reads notes.
    """

    id_column: str = "id"
    text_column: str = "text"
    patient_column: str = "patient"
    type_column: str = "type"
    keep_columns: tuple[str, ...] = ()
    unchecked_columns: tuple[str, ...] = ()
    record_limit_bytes: int = RECORD_LIMIT_BYTES

    def __post_init__(self) -> None:
        for column in (self.id_column, self.text_column, self.patient_column):
            if column in self.kept_columns:
                raise SettingsError(
                    f"column {column!r} has the id, the text or the patient and is always rewritten; it cannot be kept"
                )

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """Return the columns that the output keeps, checked or not."""
        return (*self.keep_columns, *self.unchecked_columns)

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """Return the columns that a table must have: id and text, and patient and type when the user named them."""
        defaults = ReadOptions()
        named = [
            column
            for column, default in (
                (self.patient_column, defaults.patient_column),
                (self.type_column, defaults.type_column),
            )
            if column != default or column in self.kept_columns
        ]
        return (self.id_column, self.text_column, *named)


@dataclass(frozen=True, slots=True)
class Place:
    """A border between two records of a table: the records before it have been read.

    ``offset`` is in bytes of the file as stored, 0 where the file cannot be read from its middle (gzip, Parquet).
    ``number`` is the number of lines (JSON Lines, CSV) or rows (Parquet, database) before the border.
    """

    offset: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """One input file.

    ``name`` is its name in messages and in the output: a POSIX path with suffix. A reader begins at ``start``, which
    must be a :attr:`Meter.place` of an earlier read. ``number`` is the position of the file among all inputs, from 0.

    ``written_as`` is the format of the output where it is not that of the input, and ``plan`` is how a table of a
    database is read; without one, the reader makes its own.
    """

    path: Path
    name: str
    format: str
    size_bytes: int
    start: Place = Place()
    number: int = 0
    written_as: str = ""
    plan: TablePlan | None = field(default=None, repr=False, compare=False)

    @property
    def output_format(self) -> str:
        """Return the name of the format that the notes are written in."""
        return self.written_as or self.format

    @property
    def output_name(self) -> str:
        """Return the name of the output in a folder."""
        if not self.written_as:
            return self.name
        return f"{self.name[: -len(DATABASE_SUFFIX)]}.{self.written_as}"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that cannot become a note. ``id`` is its id, or its position (``notes.jsonl:17``) when it has none."""

    id: str
    reason: str
    stage: str = "read"
    position: str = field(default="", compare=False)

    @classmethod
    def of(cls, note: Note, reason: str, stage: str = "read") -> "Unreadable":
        """Return the record that is quarantined instead of ``note``."""
        return cls(note.id, reason, stage, note.position)


Item = Note | Unreadable


@dataclass(slots=True)
class Meter:
    """How far the inputs have been read. Readers of tables update it before they yield a record.

    ``read_bytes`` is the number of bytes read so far, compressed bytes for compressed files. ``place`` is the border
    after the record that was yielded last.
    """

    read_bytes: int = 0
    place: Place = Place()


class Writer(Protocol):
    """Writes the notes of one source, in order, to the file or folder that it was opened for. Raises OSError."""

    def write(self, note: Note) -> None:
        """Write one note."""

    def close(self) -> None:
        """Finish all files."""


Reader = Callable[[Source, ReadOptions, Meter], Iterator[Item]]


class WriterFactory(Protocol):
    """Opens a writer for a source.

    ``path`` is a file for table formats, and a folder or file for formats with one note per file. ``create`` opens each
    new file.
    """

    def __call__(self, source: Source, options: ReadOptions, path: Path, create: Create = ...) -> Writer: ...


def note_from_fields(fields: Mapping[str, object], options: ReadOptions, position: str) -> Item:
    """Turn one row into a Note, or into an Unreadable whose reason quotes no value."""
    identity = position
    try:
        identity = _id(fields, options.id_column)
        text = _text(fields, options)
        return Note(
            identity,
            text,
            _label(fields, options.patient_column),
            _label(fields, options.type_column),
            _kept(fields, options.kept_columns),
            position,
        )
    except InputError as error:
        return Unreadable(identity, str(error), position=position)


def check_text(text: str, column: str) -> None:
    """Raise InputError for text that cannot be written unchanged: null characters or lone surrogate code points."""
    null = text.find("\0")
    if null >= 0:
        raise InputError(f"{column} has a null character at offset {null}; remove it at the source")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"{column} is not valid Unicode at offset {error.start} (bad UTF-8 bytes or half a surrogate pair); "
                "convert the source to UTF-8"
            ) from None


def _id(fields: Mapping[str, object], column: str) -> str:
    value = _scalar(fields, column)
    if not value:
        state = "is empty" if column in fields else "is missing"
        raise InputError(f"{column} {state}; expected a string or an integer")
    return value


def _text(fields: Mapping[str, object], options: ReadOptions) -> str:
    column = options.text_column
    if column not in fields:
        raise InputError(f"{column} is missing; expected a string")
    value = fields[column]
    if not isinstance(value, str):
        raise InputError(f"{column} is {_type_name(value)}; expected a string")
    if len(value) > options.record_limit_bytes:
        raise InputError(f"{column} has {len(value)} characters; the limit is {options.record_limit_bytes}")
    check_text(value, column)
    return value


def _label(fields: Mapping[str, object], column: str) -> str:
    return _scalar(fields, column)


def _scalar(fields: Mapping[str, object], column: str) -> str:
    value = fields.get(column)
    if value is None:
        return ""
    if isinstance(value, str):
        check_text(value, column)
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{column} is {_type_name(value)}; expected a string or an integer")


def _kept(fields: Mapping[str, object], columns: tuple[str, ...]) -> dict[str, object]:
    kept = {column: fields[column] for column in columns if column in fields}
    for column, value in kept.items():
        if isinstance(value, str):
            check_text(value, column)
        elif isinstance(value, dict | list):
            try:
                check_text(json.dumps(value, ensure_ascii=False, default=str), column)
            except RecursionError:
                raise InputError(f"{column} is nested too deeply; expected plain values") from None
    return kept


def _type_name(value: object) -> str:
    return "null" if value is None else type(value).__name__
