"""Read the lines of a binary file, plain or gzip, with limited memory."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from deid_runtime.errors import SourceError
from deid_runtime.formats.records import Meter, Source

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

    Lines end at ``\\n`` only. A byte order mark is removed. Raises SourceError when the file cannot be read to its end.
    """
    with reading(source.name), source.path.open("rb") as stored:
        is_gzip = source.path.suffix.lower() == ".gz" or stored.peek(2)[:2] == _GZIP_MAGIC
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=stored, mode="rb")) if is_gzip else stored
        # A pipe has no position, and its size is unknown, so the meter stays unchanged.
        has_position = stored.seekable()
        number, before = 0, 0
        while line := file.readline(limit_bytes + 1):
            number += 1
            if has_position:
                meter.read_bytes += stored.tell() - before
                before = stored.tell()
            if number == 1:
                line = line.removeprefix(BOM)
            if len(line) <= limit_bytes or line.endswith(b"\n"):
                yield number, line
            else:
                _skip_line(file)
                yield number, None


def _skip_line(file: IO[bytes]) -> None:
    while (part := file.readline(_SKIP_BYTES)) and not part.endswith(b"\n"):
        pass
