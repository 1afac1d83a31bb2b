"""Make the standard streams safe: an error of a stream must not abort a run.

Examples are a closed terminal, a full disk behind ``2>log``, and ``| head``.
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
    """A file that drops data when it cannot write it."""

    def write(self, data: "ReadableBuffer", /) -> int:
        with suppress(OSError):
            return super().write(data) or 0
        return memoryview(data).nbytes


@contextmanager
def lasting_streams() -> Iterator[None]:
    """Make writes to stderr never fail, and keep the descriptors of closed standard streams from reuse by files."""
    _fill_descriptors()
    before = sys.stderr
    # Do not replace a stream that other code has set, for instance a test.
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
    """Return whether the reader of stdout has closed it."""
    try:
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except OSError:
        return False


def drop_stdout() -> None:
    """Drop the data that stdout still buffers, so that the interpreter does not fail when it ends."""
    stream = sys.__stdout__
    if stream is None or sys.stdout is not stream:
        return
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _fill_descriptors() -> None:
    """Open closed standard descriptors. Otherwise the next opened file would become stdout or stderr of all workers."""
    for descriptor in _STANDARD:
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
