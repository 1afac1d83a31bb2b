"""The standard streams of a command: none of them can kill it.

A terminal that closes, a full disk behind ``2>log`` or ``| head`` takes nobody's notes.
"""

import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STANDARD: Final = (0, 1, 2)


class _Dropping(io.FileIO):
    """A file that drops what it cannot write."""

    def write(self, data: "ReadableBuffer", /) -> int:
        with suppress(OSError):
            return super().write(data) or 0
        return memoryview(data).nbytes


@contextmanager
def lasting_streams() -> Iterator[None]:
    """Let writing to stderr never fail, and no file that is opened become a standard stream that is closed."""
    _fill_descriptors()
    before = sys.stderr
    # A stream that somebody else has put there, as a test does, is left alone.
    if before is not None and before is not sys.__stderr__:
        yield
        return
    raw = _Dropping(2, "wb", closefd=False)
    encoding, errors = (before.encoding, before.errors) if before else ("utf-8", "backslashreplace")
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=True)
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stderr = before


def is_stdout_closed() -> bool:
    """Say whether nobody reads stdout any more."""
    try:
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except OSError:
        return False


def drop_stdout() -> None:
    """Drop what stdout still holds, so that the end of the interpreter does not fail on it."""
    stream = sys.__stdout__
    if stream is None or sys.stdout is not stream:
        return
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _fill_descriptors() -> None:
    """Open the standard descriptors that are closed: else the next file would be stdout or stderr of all workers."""
    for descriptor in _STANDARD:
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
