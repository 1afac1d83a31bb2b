"""New files that are digested while they are written, and the digests of what was written.

A digest that is taken while writing costs no second reading. It tells what the program wrote, not what anybody made of
it since.
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

#: Less than what the allocator fetches from the system each time: a folder of notes has a file for each.
_BUFFER_BYTES: Final = 2**15
_READ_BYTES: Final = 2**20
#: Additive sums of digests are safe against forged sets of files only when they are long: with this many bytes the best
#: known attack, the generalised birthday, takes 2**256 steps (Wagner 2002).
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
    """The digest of a set of files, the same for any order, in memory that does not grow with the files.

    It is the sum of one long digest for each file, over its name and content, modulo a power of two.
    """

    def __init__(self) -> None:
        self.files = 0
        self.size_bytes = 0
        self._sum = 0

    def add(self, name: str, digest: FileDigest) -> None:
        """Add the file that is called ``name`` below its folder, with ``/`` between folders."""
        content = bytes.fromhex(digest.sha256) + digest.size_bytes.to_bytes(8, "little")
        entry = hashlib.shake_256(content + name.encode("utf-8", "surrogateescape")).digest(_SUM_BYTES)
        self._sum = (self._sum + int.from_bytes(entry, "little")) & _SUM_MASK
        self.files += 1
        self.size_bytes += digest.size_bytes

    def to_json(self) -> dict[str, object]:
        """Return the number of files, their size and the digest of all as JSON values."""
        digest = hashlib.sha256(self._sum.to_bytes(_SUM_BYTES, "little")).hexdigest()
        return {"files": self.files, "bytes": self.size_bytes, "sha256_of_all": digest}


class BodyDigests:
    """The digests of an output: one for each table, one for all files that are single notes together.

    Memory grows with the number of tables, not with the number of notes.
    """

    def __init__(self, body: Path) -> None:
        self._body = os.fspath(body)
        self._file: dict[str, object] | None = None
        self._tables: list[dict[str, object]] = []
        self._notes = DigestSum()

    def create(self, path: Path, format_name: str, *, is_table: bool, mode: int = 0o666) -> BinaryIO:
        """Open a new file below the body, or the body itself where it is a file; it is digested when it is closed."""
        return create_file(path, lambda digest: self.add(path, digest, format_name, is_table=is_table), mode)

    def add(self, path: Path, digest: FileDigest, format_name: str, *, is_table: bool) -> None:
        """Take the digest of the file at ``path``, which is the body or lies below it."""
        row = {"format": format_name, **digest.to_json()}
        name = os.fspath(path).removeprefix(self._body).lstrip("/")  # pathlib would take most of the time of a digest
        if not name:
            self._file = {"kind": "file", **row}
        elif is_table:
            self._tables.append({"name": name, **row})
        else:
            self._notes.add(name, digest)

    def to_json(self, *, is_folder: bool) -> dict[str, object]:
        """Return the digests as JSON values; ``kind`` is ``none`` where the one note of a file is in quarantine."""
        if is_folder:
            return {"kind": "folder", "tables": self._tables, "notes": self._notes.to_json()}
        return self._file or {"kind": "none"}


def create_file(
    path: Path, done: Callable[[FileDigest], object] | None = None, mode: int = stat.S_IRUSR | stat.S_IWUSR
) -> BinaryIO:
    """Open a file that does not exist yet, nor a link of that name, to write to.

    ``done`` is called with the digest once the file is closed. ``mode`` are the permissions before the umask.

    Raises OSError, as FileExistsError when there is something at ``path``.
    """
    return cast("BinaryIO", io.BufferedWriter(_DigestedFile(path, done, mode), _BUFFER_BYTES))


def new_file(path: Path) -> BinaryIO:
    """Open a file that does not exist yet, with the permissions that the umask leaves."""
    return create_file(path, mode=0o666)


class _DigestedFile(io.FileIO):
    """Digests the bytes that the system has taken, so that the digest holds also where a write was cut short."""

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
    size_bytes, digest = 0, hashlib.sha256()
    with open_regular(path) as file:
        while part := file.read(_READ_BYTES):
            size_bytes += len(part)
            digest.update(part)
    return FileDigest(size_bytes, digest.hexdigest())


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read it. Raises OSError, also for a link, a folder or a pipe, which it never waits for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a file")
    return open(descriptor, "rb")


def files_below(folder: Path) -> Iterator[Path]:
    """Yield everything below ``folder`` that is no folder, links among it, in no order and without a list of it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(folder / entry.name)
            else:
                yield folder / entry.name
