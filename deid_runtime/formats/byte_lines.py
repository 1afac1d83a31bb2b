"""Read the lines of a binary file, plain or gzip, with limited memory."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from deid_runtime.errors import SourceError
from deid_runtime.formats.records import Meter, Place, Source

BOM = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"
_SKIP_BYTES = 2**20
#: A JSON or CSV record with more commas and brackets than this is not parsed. Each parsed part takes about a hundred
#: bytes of memory, so a record of two-byte parts would grow about thirty times.
MOST_PARTS = 2**21


def has_too_many_parts(record: bytes) -> bool:
    """Return whether a record has more commas and opening brackets than :data:`MOST_PARTS`."""
    return len(record) > MOST_PARTS and sum(map(record.count, (b",", b"[", b"{"))) > MOST_PARTS


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn a read error inside the ``with`` block into a SourceError. ``name`` is the file name in the message."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SourceError(
            f"{name}: the gzip data is damaged or cut short ({type(error).__name__}); nothing was written, "
            "because the notes after this point are unknown. Copy the file again"
        ) from error
    except OSError as error:
        raise SourceError(f"{name}: cannot be read: {error.strerror or type(error).__name__}") from error


def read_lines(source: Source, limit_bytes: int, meter: Meter) -> Iterator[tuple[int, bytes | None]]:
    """Yield ``(line number from 1, line with its line end)``. The line is None when it is over the limit.

    Lines end at ``\\n`` only. A byte order mark is removed. Reading begins at ``source.start``; in a gzip file or
    a pipe the lines before are read and skipped. Raises SourceError when the file cannot be read to its end.
    """
    with reading(source.name), source.path.open("rb") as stored:
        is_gzip = source.path.suffix.lower() == ".gz" or stored.peek(2)[:2] == _GZIP_MAGIC
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=stored, mode="rb")) if is_gzip else stored
        # A pipe has no position, and its size is unknown, so the meter stays unchanged.
        has_position = stored.seekable()
        number = source.start.number
        if number and has_position and not is_gzip:
            stored.seek(source.start.offset)
        elif number:
            _skip_lines(file, number, source.name)
        before = stored.tell() if has_position else 0
        while line := file.readline(limit_bytes + 1):
            number += 1
            is_whole = len(line) <= limit_bytes or line.endswith(b"\n")
            if not is_whole:
                _skip_line(file)
            if has_position:
                meter.read_bytes += stored.tell() - before
                before = stored.tell()
            meter.place = Place(0 if is_gzip or not has_position else before, number)
            if number == 1:
                line = line.removeprefix(BOM)
            yield number, line if is_whole else None


def _skip_lines(file: IO[bytes], count: int, name: str) -> None:
    """Skip ``count`` lines of any length. Raises SourceError when the file has fewer."""
    is_open = False  # the last line of a file may have no line end
    while count:
        part = file.readline(_SKIP_BYTES)
        if not part and not (is_open and count == 1):
            raise SourceError(f"{name}: has fewer lines than before; the input was changed, so start again")
        is_open = not part.endswith(b"\n")
        count -= not is_open or not part


def _skip_line(file: IO[bytes]) -> None:
    while (part := file.readline(_SKIP_BYTES)) and not part.endswith(b"\n"):
        pass
