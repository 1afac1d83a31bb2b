"""List all files below a folder by size and SHA-256, and all folders. Links and special files are problems."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deid_runtime.errors import ModelError

_MOST_ENTRIES: Final = 100_000


@dataclass(frozen=True, slots=True)
class FileEntry:
    """Size and SHA-256 of a file. The digest is empty for a file that was not read."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Files and folders below a folder, by their path relative to it, with ``/`` between the parts."""

    files: Mapping[str, FileEntry]
    folders: frozenset[str]


def list_folder(
    folder: Path, *, leave_out: frozenset[str], expected: Listing | None = None
) -> tuple[Listing, list[str]]:
    """Return the files and folders below ``folder``, and a line for each link or special file, which cannot be signed.

    Files in ``leave_out`` are ignored. With ``expected``, only files of the expected size are read.

    Raises ModelError when a folder or file cannot be read, or when there are more than 100,000.
    """
    files: dict[str, FileEntry] = {}
    folders: set[str] = set()
    problems: list[str] = []
    try:
        for name, entry in _walk(folder):
            if entry.is_symlink():
                problems.append(f"{name}: a link; only plain files can be signed")
            elif entry.is_dir(follow_symlinks=False):
                folders.add(name)
            elif not entry.is_file(follow_symlinks=False):
                problems.append(f"{name}: neither a file nor a folder")
            elif name not in leave_out:
                wanted = None if expected is None else expected.files.get(name)
                files[name] = _describe(entry, is_read=expected is None or wanted is not None, wanted=wanted)
            if len(files) + len(folders) + len(problems) > _MOST_ENTRIES:
                raise ModelError(f"{folder} has more than {_MOST_ENTRIES:,} files; expected a folder of models")
    except OSError as error:
        raise ModelError(f"{error.filename or folder} cannot be read ({error.strerror})") from error
    return Listing(files, frozenset(folders)), sorted(problems)


def _walk(folder: Path) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """Yield relative path and entry of everything below ``folder``, without following links."""
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        with os.scandir(folder / inside) as entries:
            for entry in entries:
                name = f"{inside}/{entry.name}" if inside else entry.name
                yield name, entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)


def _describe(entry: "os.DirEntry[str]", *, is_read: bool, wanted: FileEntry | None) -> FileEntry:
    with open(os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not is_read or (wanted is not None and wanted.size_bytes != size):
            return FileEntry(size, "")
        return FileEntry(size, hashlib.file_digest(file, "sha256").hexdigest())
