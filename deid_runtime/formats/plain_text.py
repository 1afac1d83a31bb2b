"""Plain text in UTF-8, one note per file. It is also used for the texts of a brat folder; ``.ann`` files are ignored.

The id of a note is the path of its file below the input folder, without the suffix of the format. Line ends and a byte
order mark are part of the text and are written unchanged.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from deid_runtime.errors import InputError
from deid_runtime.formats.records import Item, Meter, ReadOptions, Source, Unreadable, check_text
from deid_runtime.spans import Note
from deid_runtime.system.digests import Create, new_file

SUFFIX: Final = ".txt"


def read_text(source: Source, options: ReadOptions, meter: Meter) -> Iterator[Item]:
    """Yield the only note of a file, or an Unreadable."""
    note_id = file_note_id(source, SUFFIX)
    try:
        text = decode(read_bounded(source, options.record_limit_bytes, meter))
        check_text(text, "text")
        yield Note(note_id, text, position=note_id)
    except InputError as error:
        yield Unreadable(note_id, str(error), position=note_id)


def file_note_id(source: Source, suffix: str) -> str:
    """Return the id of a note that is a file: the file name without ``suffix``, which may be in any letter case."""
    name = source.name
    return name[: -len(suffix)] if _has_suffix(name, suffix) else name


def suffix_like(name: str, suffix: str) -> str:
    """Return ``suffix`` in the letter case of ``name``, or unchanged when ``name`` ends differently.

    Another ending is never copied, because it could be the name of a person.
    """
    return name[-len(suffix) :] if _has_suffix(name, suffix) else suffix


def _has_suffix(name: str, suffix: str) -> bool:
    return PurePosixPath(name).suffix.lower() == suffix


def read_bounded(source: Source, limit_bytes: int, meter: Meter) -> bytes:
    """Return the bytes of a file. Raises InputError when it cannot be read or is over the limit."""
    try:
        with source.path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror or type(error).__name__}") from None
    meter.read_bytes += source.size_bytes
    if len(data) > limit_bytes:
        raise InputError(f"the file is larger than {limit_bytes} bytes; split the note")
    return data


def decode(data: bytes) -> str:
    """Return ``data`` as text. Raises InputError when it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start + 1} is not UTF-8; convert the file to UTF-8") from None


class FileWriter:
    """Writes each note to ``<folder>/<note id><suffix>``, or the only note to the named file."""

    def __init__(self, target: Path, suffix: str, create: Create, *, is_folder: bool) -> None:
        self._target = target
        self._create = create
        self._suffix = suffix
        self._is_folder = is_folder

    def write(self, note: Note) -> None:
        """Write one file."""
        path, data = self._target, self.render(note.text)
        if self._is_folder:
            path = self._target / f"{note.id}{self._suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._create(path) as file:
            file.write(data)

    def render(self, text: str) -> bytes:
        """Return the content of the file of a note."""
        return text.encode("utf-8")

    def close(self) -> None:
        """Do nothing: each file is finished when it is written."""


def write_text(source: Source, options: ReadOptions, path: Path, create: Create = new_file) -> FileWriter:
    """Open a writer to the folder or file ``path``."""
    return FileWriter(path, suffix_like(source.name, SUFFIX), create, is_folder=path.is_dir())
