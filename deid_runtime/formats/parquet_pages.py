"""Check the page sizes of a Parquet file in the page headers, before any page is decompressed.

A page of a gigabyte can take only thirty kilobytes in the file, and the sizes in the footer may be wrong. The header of
each page has the size that a reader will allocate. Footer and page headers are Thrift structs in the compact protocol
(parquet-format, ``FileMetaData`` and ``PageHeader``). This module parses them itself for two reasons: pyarrow does not
expose page headers, and pyarrow ends the process when it reads a damaged column chunk of the footer.
"""

from collections.abc import Collection, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Final

from deid_runtime.errors import SourceError

#: Largest page that is decompressed, in bytes. A writer can put a thousand notes into a page; the largest note has
#: 64 MiB.
PAGE_LIMIT_BYTES = 256 * 2**20
#: Longest footer that is read, in bytes. A footer of a hundred thousand column chunks takes about 20 MB.
_FOOTER_LIMIT_BYTES: Final = 128 * 2**20
_TAIL_BYTES: Final = 8  # length of the footer, "PAR1"
_MOST_NESTED: Final = 16
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
#: Field numbers of the structs in parquet.thrift.
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_PATH, _STORED, _DATA_OFFSET, _DICTIONARY_OFFSET = 3, 7, 9, 11
_SIZE, _STORED_SIZE = 2, 3  # of PageHeader


class _DamagedError(Exception):
    pass


def check_pages(name: str, path: Path, columns: Collection[str]) -> None:
    """Raise SourceError when a page of ``columns`` is over the limit, or when the file is damaged.

    ``columns`` are top-level names. ``name`` is the name of the file in errors.
    """
    wanted = {column.encode("utf-8", "surrogateescape") for column in columns}
    largest = 0
    try:
        with path.open("rb") as file:
            chunks = [(start, end) for column, start, end in _chunks(_footer(file)) if column in wanted]
            # Valid chunks do not overlap. Without this check, a damaged file could make us read bytes many times.
            if sum(end - start for start, end in chunks) > file.seek(0, 2):
                raise _DamagedError
            largest = max((_largest_page(file, start, end) for start, end in chunks), default=0)
    except (_DamagedError, OverflowError, ValueError):
        raise SourceError(f"{name}: not a Parquet file, or damaged (Thrift); nothing was written") from None
    if largest > PAGE_LIMIT_BYTES:
        raise SourceError(
            f"{name}: a page of the file has more than {PAGE_LIMIT_BYTES:,} bytes; write it with smaller data pages, "
            "or split its notes"
        )


def _footer(file: IO[bytes]) -> IO[bytes]:
    size = file.seek(0, 2)
    if size < _TAIL_BYTES:
        raise _DamagedError
    file.seek(size - _TAIL_BYTES)
    length = int.from_bytes(file.read(4), "little")
    if not 0 < length <= min(size - _TAIL_BYTES, _FOOTER_LIMIT_BYTES):
        raise _DamagedError
    file.seek(size - _TAIL_BYTES - length)
    return BytesIO(file.read(length))


def _chunks(footer: IO[bytes]) -> Iterator[tuple[bytes, int, int]]:
    """Yield the top-level column and the byte range ``[start, end)`` in the file for every column chunk."""
    for field, kind in _fields(footer):
        if field != _ROW_GROUPS:
            _skip(footer, kind)
            continue
        for _ in range(_elements(footer, kind, _STRUCT)):
            for within, kind_within in _fields(footer):
                if within != _COLUMNS:
                    _skip(footer, kind_within)
                    continue
                for _ in range(_elements(footer, kind_within, _STRUCT)):
                    yield from _chunk(footer)


def _chunk(footer: IO[bytes]) -> Iterator[tuple[bytes, int, int]]:
    for field, kind in _fields(footer):
        if field != _META_DATA or kind != _STRUCT:
            _skip(footer, kind)
            continue
        column, numbers = b"", {}
        for within, kind_within in _fields(footer):
            if within == _PATH:
                for number in range(_elements(footer, kind_within, _BINARY)):
                    part = _exactly(footer, _varint(footer))
                    column = part if number == 0 else column
            elif kind_within == _I64 and within in (_STORED, _DATA_OFFSET, _DICTIONARY_OFFSET):
                numbers[within] = _zigzag(footer)
            else:
                _skip(footer, kind_within)
        if not numbers.keys() >= {_STORED, _DATA_OFFSET} or min(numbers.values()) < 0:
            raise _DamagedError
        # A dictionary offset of zero also means that there is no dictionary.
        start = min(numbers[_DATA_OFFSET], numbers.get(_DICTIONARY_OFFSET) or numbers[_DATA_OFFSET])
        yield column, start, start + numbers[_STORED]


def _largest_page(file: IO[bytes], start: int, end: int) -> int:
    largest = 0
    while start < end:
        file.seek(start)
        size, stored = _sizes(file)
        largest = max(largest, size, stored)
        start = file.tell() + stored
    return largest


def _sizes(file: IO[bytes]) -> tuple[int, int]:
    """Return the decompressed size of a page and its size in the file, in bytes. Leave ``file`` after the header."""
    sizes: dict[int, int] = {}
    for field, kind in _fields(file):
        if kind == _I32 and field in (_SIZE, _STORED_SIZE):
            sizes[field] = _zigzag(file)
        elif kind in (
            _LIST,
            _SET,
        ):  # page headers have no lists; one read from data bytes could extend to the end of the file
            raise _DamagedError
        else:
            _skip(file, kind)
    if len(sizes) != 2 or min(sizes.values()) < 0:
        raise _DamagedError
    return sizes[_SIZE], sizes[_STORED_SIZE]


def _fields(file: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the number and type of each field of a struct. The caller must read or skip each value before the next."""
    field = 0
    while (head := _byte(file)) & 15 != _STOP:
        delta = head >> 4
        field = field + delta if delta else _zigzag(file)
        yield field, head & 15


def _elements(file: IO[bytes], kind: int, expected: int) -> int:
    """Return the number of elements of a list. Raises _DamagedError when they are not of the type ``expected``."""
    if kind != _LIST:
        raise _DamagedError
    of, count = _list_head(file)
    if of != expected and count:
        raise _DamagedError
    return count


def _list_head(file: IO[bytes]) -> tuple[int, int]:
    head = _byte(file)
    return head & 15, head >> 4 if head >> 4 < 15 else _varint(file)


def _skip(file: IO[bytes], kind: int, depth: int = 0) -> None:
    """Skip a value. Each list element takes at least one byte, so the loop ends with the file even if it is damaged."""
    if depth > _MOST_NESTED:
        raise _DamagedError
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
    elif kind == _STRUCT:
        for _, within in _fields(file):
            _skip(file, within, depth + 1)
    elif kind in (_LIST, _SET):
        of, count = _list_head(file)
        for _ in range(count):
            # In a list, true and false take one byte each; in a struct they take none.
            _skip(file, _BYTE if of in (_TRUE, _FALSE) else of, depth + 1)
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
    return _exactly(file, 1)[0]


def _exactly(file: IO[bytes], count: int) -> bytes:
    read = file.read(count) if count <= _FOOTER_LIMIT_BYTES else b""
    if len(read) != count:
        raise _DamagedError
    return read
