"""JSON Lines, plain or gzip: one object per line, in UTF-8."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Final, cast

from deid_runtime.errors import InputError, SourceError
from deid_runtime.formats.byte_lines import MOST_PARTS, has_too_many_parts, read_lines
from deid_runtime.formats.records import Item, Meter, Place, ReadOptions, Source, Unreadable, note_from_fields
from deid_runtime.spans import Note
from deid_runtime.system.digests import Create, new_file

#: When none of this many first objects has a column, the column name is considered wrong.
_PROBE_OBJECTS = 100
#: Of the output.
GZIP_LEVEL: Final = 6


def read_jsonl(source: Source, options: ReadOptions, meter: Meter) -> Iterator[Item]:
    """Yield the notes of a file. A bad line affects only itself; blank lines are skipped.

    Raises SourceError when the file cannot be read, or when none of its first objects has a needed column.
    """
    keys = _KeyProbe(source.name, options.needed_columns)
    if source.start.number:
        keys.look_back(source, options)
    for number, row in read_objects(source, options.record_limit_bytes, meter):
        position = f"{source.name}:{number}"
        if isinstance(row, str):
            yield Unreadable(position, row, position=position)
        else:
            keys.look_at(row)
            yield note_from_fields(row, options, position)
    keys.finish()


def read_objects(source: Source, limit_bytes: int, meter: Meter) -> Iterator[tuple[int, dict[str, object] | str]]:
    """Yield ``(line number, object)`` for every line that is not blank, with a reason in place of a bad object."""
    for number, line in read_lines(source, limit_bytes, meter):
        if line is None:
            yield number, f"the line is longer than {limit_bytes} bytes; split the note"
        elif line.strip():
            yield number, _parse(line)


def _parse(line: bytes) -> dict[str, object] | str:
    if has_too_many_parts(line):
        return f"the line has more than {MOST_PARTS:,} commas and brackets; split the note"
    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=_object)
    except _DoubledKeyError:
        return "an object of the line has a key twice, so one value would be lost; expected each key once"
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} of the line is not UTF-8; convert the file to UTF-8"
    except json.JSONDecodeError as error:
        return f"the line is not valid JSON at character {error.pos + 1}; expected one object per line"
    except (ValueError, RecursionError) as error:  # a number with thousands of digits, or thousands of nested brackets
        return f"the line has JSON that cannot be read ({type(error).__name__})"
    return value if isinstance(value, dict) else "the line is JSON but not an object; expected one object per line"


class _DoubledKeyError(Exception):
    pass


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DoubledKeyError
    return found


class _KeyProbe:
    """Detects a wrong column name, which would quarantine every record. Single bad records are not a wrong name."""

    def __init__(self, name: str, wanted: tuple[str, ...]) -> None:
        self._name = name
        self._missing = set(wanted)
        self._found: dict[str, None] = {}
        self._seen = 0

    def look_at(self, row: Mapping[str, object]) -> None:
        if self._missing and self._seen < _PROBE_OBJECTS:
            self._seen += 1
            self._missing -= row.keys()
            if len(self._found) < _PROBE_OBJECTS:
                self._found.update(dict.fromkeys(row))
            if self._seen == _PROBE_OBJECTS:
                self.finish()

    def look_back(self, source: Source, options: ReadOptions) -> None:
        """Check the first objects of a file that is read from its middle, as a read of the whole file would."""
        whole = replace(source, start=Place())
        for number, row in read_objects(whole, options.record_limit_bytes, Meter()):
            if number > source.start.number or self._seen == _PROBE_OBJECTS:
                break
            if not isinstance(row, str):
                self.look_at(row)

    def finish(self) -> None:
        if self._missing and self._seen:
            raise missing_columns(self._name, sorted(self._missing), list(self._found))


def missing_columns(name: str, missing: list[str], found: list[str]) -> SourceError:
    """Return the error for a file without the columns that it must have.

    Of the found columns, the message names only usual column names: without a header, the "names" are the first note.
    """
    usual = [column for column in found if column.strip().lower().replace(" ", "_") in _USUAL_COLUMNS][:30]
    columns_text = f"{len(found)} columns" + (f", among them {', '.join(usual)}" if usual else "")
    return SourceError(
        f"{name}: no column {' or '.join(map(repr, missing))}; found {columns_text}. Check the header. "
        "Name the columns with --id-column, --text-column, --patient-column, --type-column, --keep-column"
    )


_USUAL_COLUMNS: Final = frozenset(
    """id note_id noteid row_id rowid record_id document_id doc_id report_id uid key text note note_text notetext
    report report_text body content document narrative patient patient_id patientid person_id personid subject_id
    subject hadm_id encounter_id visit_id mrn pid type note_type notetype category kind title class date time author
    chartdate charttime spans label labels""".split()
)


class JsonlWriter:
    """Writes one object per line: id, patient if known, text and kept columns. ``compress`` writes gzip."""

    def __init__(self, options: ReadOptions, path: Path, create: Create, *, compress: bool) -> None:
        self._options = options
        self._stored = create(path)
        # The gzip header gets no name and no time, so that the same notes give the same bytes.
        self._gzip = gzip.GzipFile("", "wb", GZIP_LEVEL, self._stored, mtime=0) if compress else None
        self._file = cast("IO[bytes]", self._gzip or self._stored)

    def write(self, note: Note) -> None:
        """Write one line."""
        options = self._options
        row: dict[str, object] = {options.id_column: note.id}
        if note.patient:
            row[options.patient_column] = note.patient
        row[options.text_column] = note.text
        row.update((column, value) for column, value in note.extra.items() if column not in row)
        self._file.write(dump_line(row))

    def close(self) -> None:
        """Finish the file, and the gzip stream in it."""
        with self._stored:  # close it even when closing the gzip stream fails on a full disk
            if self._gzip:
                self._gzip.close()


def dump_line(row: Mapping[str, object]) -> bytes:
    """Return ``row`` as one line of JSON in UTF-8, with its line end.

    Raises InputError for a value that JSON cannot represent.
    """
    try:
        return (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        raise InputError("a value has half a surrogate pair and cannot be written", stage="write") from None
    except ValueError:
        raise InputError(
            "a column has NaN or an infinite number, which JSON cannot represent; write null at the source",
            stage="write",
        ) from None
    except RecursionError:
        raise InputError("a column is nested too deeply to be written", stage="write") from None


def write_jsonl(source: Source, options: ReadOptions, path: Path, create: Create = new_file) -> JsonlWriter:
    """Open a writer for the notes of ``source``. The output is gzip when the name of ``source`` ends in ``.gz``."""
    return JsonlWriter(options, path, create, compress=source.name.lower().endswith(".gz"))
