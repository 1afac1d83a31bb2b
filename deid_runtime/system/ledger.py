"""An append-only file of JSON rows. Its rows survive a crash, and damaged rows are detected.

Each line is the SHA-256 of the row, the first 32 hexadecimal digits, then a space and the row as JSON. A line counts
only when it is whole and its digest is right. A row is on the disk when :meth:`Ledger.append` returns.
"""

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

_DIGEST_DIGITS: Final = 32
#: A longer line is not a row of a ledger.
_LINE_LIMIT_BYTES: Final = 2**24


class Ledger:
    """Appends rows to the file at ``path``, which is created when it is missing. Only its owner may read it.

    A context manager. Raises OSError.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        # After a crash in the middle of a line, the next row must begin on a new line.
        self._is_torn = os.fstat(self._descriptor).st_size > 0 and not _ends_line(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def append(self, row: Mapping[str, object]) -> None:
        """Write one row and wait until it is on the disk. When that fails, the row does not count."""
        text = json.dumps(row, ensure_ascii=True, allow_nan=False)
        line = f"{_digest(text)} {text}\n".encode("ascii")
        data = b"\n" + line if self._is_torn else line
        self._is_torn = True
        while data:  # on a full disk a part is written, and the next call raises the reason
            data = data[os.write(self._descriptor, data) :]
        os.fsync(self._descriptor)
        self._is_torn = False


def read_ledger(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the valid rows of a ledger, in order, and the number of lines that are damaged. Raises OSError."""
    rows: list[dict[str, Any]] = []
    damaged = 0
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        while line := file.readline(_LINE_LIMIT_BYTES):
            row = _parse(line)
            if row is not None:
                rows.append(row)
            elif line.strip():
                damaged += 1
    return rows, damaged


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the row of a line, or None for a line that is damaged or not whole. Its line end may be missing."""
    digest, _, text = line.rstrip(b"\n").decode("utf-8", "replace").partition(" ")
    if digest != _digest(text):
        return None
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()[:_DIGEST_DIGITS]


def _ends_line(path: Path) -> bool:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
