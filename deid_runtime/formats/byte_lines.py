"""Lines of a binary file, plain or gzip, in bounded memory."""

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
#: A record of JSON or CSV that has more commas and brackets than this is not parsed. A parsed part takes some hundred
#: bytes of memory, so that a record of two-byte parts would grow thirty-fold.
MOST_PARTS = 2**21


def has_too_many_parts(record: bytes) -> bool:
    """Say whether a record has more commas and opening brackets than :data:`MOST_PARTS`."""
    return len(record) > MOST_PARTS and sum(map(record.count, (b",", b"[", b"{"))) > MOST_PARTS


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what the system says of a file that cannot be read on into a SourceError naming it."""
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
    """Yield ``(line number from 1, line with its end)``, a byte order mark removed; None for a line over the limit.

    Lines end at ``\\n`` only. Raises SourceError when the file cannot be read to its end.
    """
    with reading(source.name), source.path.open("rb") as stored:
        is_gzip = source.path.suffix.lower() == ".gz" or stored.peek(2)[:2] == _GZIP_MAGIC
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=stored, mode="rb")) if is_gzip else stored
        # A pipe has no position; nobody knows either how much is still to come.
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
