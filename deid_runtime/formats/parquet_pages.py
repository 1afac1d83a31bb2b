"""The sizes of the pages of a Parquet file, read from their headers before any page is decompressed.

A page of a gigabyte may take thirty kilobytes in the file, and the sizes in the footer are only what the writer of the
file says. The header of each page has the size that a reader will allocate. Page headers are Thrift structs in the
compact protocol (parquet-format, ``PageHeader``): field 2 is the size of the page in bytes, field 3 that in the file.
"""

from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from deid_runtime.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow.parquet

#: Largest page that is decompressed. A writer may put a thousand notes into a page, of which the largest has 64 MiB.
PAGE_LIMIT_BYTES = 256 * 2**20
#: Structs within structs; the deepest that the format knows are two.
_MOST_NESTED: Final = 8
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_SIZE, _STORED_SIZE = 2, 3  # fields of PageHeader


class _DamagedError(Exception):
    pass


def check_pages(
    name: str, path: Path, metadata: "pyarrow.parquet.FileMetaData", columns: "Collection[str] | None"
) -> None:
    """Raise SourceError when a page of ``columns`` (None: of all) is over the limit, or where no page can be.

    ``columns`` are top-level names; ``name`` is that of the file in errors.
    """
    with path.open("rb") as file:
        for group in range(metadata.num_row_groups):
            row_group = metadata.row_group(group)
            for at in range(row_group.num_columns):
                chunk = row_group.column(at)
                if columns is None or chunk.path_in_schema in columns:
                    _check_chunk(name, file, chunk)


def _check_chunk(name: str, file: IO[bytes], chunk: "pyarrow.parquet.ColumnChunkMetaData") -> None:
    starts = [chunk.data_page_offset]
    if chunk.dictionary_page_offset:
        starts.append(chunk.dictionary_page_offset)
    position, end = min(starts), min(starts) + chunk.total_compressed_size
    try:
        while position < end:
            file.seek(position)
            size, stored = _sizes(file)
            if max(size, stored) > PAGE_LIMIT_BYTES:
                raise SourceError(
                    f"{name}: a page of the file has more than {PAGE_LIMIT_BYTES:,} bytes; write it with smaller data "
                    "pages, or split its notes"
                )
            position = file.tell() + stored
    except (_DamagedError, ValueError, OSError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            f"{name}: not a Parquet file, or damaged (a page header cannot be read); nothing was written"
        ) from None


def _sizes(file: IO[bytes]) -> tuple[int, int]:
    """Return the size of a page and its size in the file; the file then stands at the end of the header."""
    sizes: dict[int, int] = {}
    field = 0
    while True:
        kind, field = _field(file, field)
        if kind == _STOP:
            break
        if kind == _I32 and field in (_SIZE, _STORED_SIZE):
            sizes[field] = _zigzag(file)
        else:
            _skip(file, kind, 0)
    if len(sizes) != 2 or min(sizes.values()) < 0:
        raise _DamagedError
    return sizes[_SIZE], sizes[_STORED_SIZE]


def _field(file: IO[bytes], before: int) -> tuple[int, int]:
    """Return the type and the number of the next field; ``before`` is the number of the one before it."""
    head = _byte(file)
    kind, delta = head & 15, head >> 4
    if kind == _STOP:
        return kind, before
    return kind, before + delta if delta else _zigzag(file)


def _skip(file: IO[bytes], kind: int, depth: int) -> None:
    """Move past a value. Containers are not walked: page headers hold none, and they could be without end."""
    if kind in (_TRUE, _FALSE):
        return
    if kind == _BYTE:
        _byte(file)
    elif kind in (_I16, _I32, _I64):
        _varint(file)
    elif kind == _DOUBLE:
        file.seek(8, 1)
    elif kind == _BINARY:
        file.seek(_varint(file), 1)
    elif kind == _STRUCT and depth < _MOST_NESTED:
        field = 0
        while True:
            kind_within, field = _field(file, field)
            if kind_within == _STOP:
                return
            _skip(file, kind_within, depth + 1)
    else:
        raise _DamagedError


def _zigzag(file: IO[bytes]) -> int:
    value = _varint(file)
    return (value >> 1) ^ -(value & 1)


def _varint(file: IO[bytes]) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = _byte(file)
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise _DamagedError


def _byte(file: IO[bytes]) -> int:
    read = file.read(1)
    if not read:
        raise _DamagedError
    return read[0]
