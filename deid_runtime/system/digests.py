"""Write new files, and compute the digest of each file while it is written.

So no file must be read a second time. The digest is that of the bytes that the program wrote; later changes to the
file do not affect it.
"""

import errno
import hashlib
import io
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

#: Opens a new file to write to.
Create = Callable[[Path], BinaryIO]

#: Size of the write buffer. It is smaller than what the allocator requests from the system at a time, because a folder
#: of notes has one file per note.
_BUFFER_BYTES: Final = 2**15
_READ_BYTES: Final = 2**20
#: A sum of digests resists forged sets of files only when it is long. With this many bytes, the best known attack (the
#: generalised birthday, Wagner 2002) takes 2**256 steps.
_SUM_BYTES: Final = 2**11

_SUM_MASK: Final = (1 << 8 * _SUM_BYTES) - 1


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The size of a file and the SHA-256 of its content."""

    size_bytes: int
    sha256: str

    def to_json(self) -> dict[str, object]:
        """Return the digest as JSON values."""
        return {"bytes": self.size_bytes, "sha256": self.sha256}


class DigestSum:
    """The digest of a set of files. It does not depend on their order, and its memory does not grow with their number.

    It is the sum of one long digest per file, over the file's name and content, modulo a power of two.
    """

    def __init__(self) -> None:
        self.files = 0
        self.size_bytes = 0
        self._sum = 0

    def add(self, name: str, digest: FileDigest) -> None:
        """Add a file. ``name`` is its path relative to the output folder, with ``/`` between folders."""
        content = bytes.fromhex(digest.sha256) + digest.size_bytes.to_bytes(8, "little")
        entry = hashlib.shake_256(content + name.encode("utf-8", "surrogateescape")).digest(_SUM_BYTES)
        self._sum = (self._sum + int.from_bytes(entry, "little")) & _SUM_MASK
        self.files += 1
        self.size_bytes += digest.size_bytes

    def merge(self, other: "DigestSum") -> None:
        """Add all files of another set."""
        self._sum = (self._sum + other._sum) & _SUM_MASK
        self.files += other.files
        self.size_bytes += other.size_bytes

    def to_bytes(self) -> bytes:
        """Return the sum of the digests, for :meth:`from_bytes`."""
        return self._sum.to_bytes(_SUM_BYTES, "little")

    @classmethod
    def from_bytes(cls, data: bytes, *, files: int, size_bytes: int) -> "DigestSum":
        """Return the digest of ``files`` files of ``size_bytes`` bytes in all, from what :meth:`to_bytes` returned."""
        found = cls()
        found.files, found.size_bytes, found._sum = files, size_bytes, int.from_bytes(data, "little")
        return found

    def to_json(self) -> dict[str, object]:
        """Return the number of files, their total size in bytes and the digest of all as JSON values."""
        digest = hashlib.sha256(self.to_bytes()).hexdigest()
        return {"files": self.files, "bytes": self.size_bytes, "sha256_of_all": digest}


class BodyDigests:
    """The digests of an output: one per table, and one for all files of single notes.

    Memory grows with the number of tables, not with the number of notes.
    """

    def __init__(self, body: Path) -> None:
        self._body = os.fspath(body)
        self._file: dict[str, object] | None = None
        self._tables: list[dict[str, object]] = []
        self._notes = DigestSum()

    def create(self, path: Path, format_name: str, *, is_table: bool, mode: int = 0o666) -> BinaryIO:
        """Open a new file below the body, or the body itself when it is a file. Closing the file adds its digest."""
        return create_file(path, lambda digest: self.add(path, digest, format_name, is_table=is_table), mode)

    def add(self, path: Path, digest: FileDigest, format_name: str, *, is_table: bool) -> None:
        """Record the digest of the file at ``path``, which is the body or is below it."""
        row = {"format": format_name, **digest.to_json()}
        # Not with pathlib, which would take most of the time of this method.
        name = os.fspath(path).removeprefix(self._body).lstrip("/")
        if not name:
            self._file = {"kind": "file", **row}
        elif is_table:
            self._tables.append({"name": name, **row})
        else:
            self._notes.add(name, digest)

    def add_notes(self, notes: DigestSum) -> None:
        """Record the digest of files of single notes, by their names below the body."""
        self._notes.merge(notes)

    def to_json(self, *, is_folder: bool) -> dict[str, object]:
        """Return the digests as JSON values. ``kind`` is ``none`` when the only note of a file is quarantined."""
        if is_folder:
            return {"kind": "folder", "tables": self._tables, "notes": self._notes.to_json()}
        return self._file or {"kind": "none"}


def create_file(
    path: Path, done: Callable[[FileDigest], object] | None = None, mode: int = stat.S_IRUSR | stat.S_IWUSR
) -> BinaryIO:
    """Create a file and open it for writing.

    ``done`` is called with the digest when the file is closed. ``mode`` has the permissions before the umask.

    Raises FileExistsError when a file, folder or link already exists at ``path``, and OSError for other failures.
    """
    return cast("BinaryIO", io.BufferedWriter(_DigestedFile(path, done, mode), _BUFFER_BYTES))


def new_file(path: Path) -> BinaryIO:
    """Create a file with the default permissions (0o666 less the umask) and open it for writing."""
    return create_file(path, mode=0o666)


class _DigestedFile(io.FileIO):
    """A file that digests only the bytes that the system accepted, so a short write does not falsify the digest."""

    def __init__(self, path: Path, done: Callable[[FileDigest], object] | None, mode: int) -> None:
        self._done = done
        self._sum = hashlib.sha256()
        self._size_bytes = 0
        super().__init__(path, "xb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, mode))

    def write(self, data: "ReadableBuffer", /) -> int:
        taken = super().write(data) or 0
        self._sum.update(memoryview(data).cast("B")[:taken])
        self._size_bytes += taken
        return taken

    def close(self) -> None:
        was_open = not self.closed
        super().close()
        if was_open and self._done is not None:
            self._done(FileDigest(self._size_bytes, self._sum.hexdigest()))


def digest_file(path: Path) -> FileDigest:
    """Read the file at ``path`` and return its digest. Raises OSError, also for a link, a folder or a pipe."""
    return digested(path, lambda part: None)


def digested(path: Path, take: Callable[[bytes], object]) -> FileDigest:
    """Call ``take`` with the content of the file at ``path``, part by part, and return its digest.

    Raises OSError, also for a link, a folder or a pipe.
    """
    size_bytes, digest = 0, hashlib.sha256()
    with open_regular(path) as file:
        while part := file.read(_READ_BYTES):
            size_bytes += len(part)
            digest.update(part)
            take(part)
    return FileDigest(size_bytes, digest.hexdigest())


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading. Raises OSError, also for a link, a folder or a pipe. It never blocks on a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a file")
    return open(descriptor, "rb")


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every path below ``folder`` that is not a folder, links included.

    The order is not defined, and no list of the paths is kept in memory.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(folder / entry.name)
            else:
                yield folder / entry.name
