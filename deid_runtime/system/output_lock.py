"""A lock on an output, so that two runs never write to the same path at the same time.

The lock file ``.NAME.lock`` is in the same folder as the output and is locked with flock. The system releases the lock
when the process dies. The file names the process that holds the lock, and is removed at the end. A lock file left by a
dead process does not block the next run.
"""

import fcntl
import os
import platform
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deid_runtime.errors import OutputError
from deid_runtime.system.digests import open_regular

_HOLDER_BYTES = 512


@contextmanager
def output_lock(folder: Path, out: Path) -> Iterator[None]:
    """Hold the lock on the output ``out``. ``folder`` is the path through which the folder of ``out`` is opened.

    Raises OutputError when another run holds the lock, and when the lock file cannot be created or locked.
    """
    path, shown = folder / f".{out.name}.lock", out.with_name(f".{out.name}.lock")
    descriptor = _acquire(path, out, shown)
    try:
        yield
    finally:
        # Remove the file before the lock is released: a run that then locks the removed file notices it and creates a
        # new one.
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def lock_holder(out: Path) -> str:
    """Return the process that holds the lock on ``out``, such as ``process 12 on host``; "" when none does.

    The lock is not tried, because a run that starts at that moment would be refused. A process of another host is
    trusted.
    """
    try:
        with open_regular(out.with_name(f".{out.name}.lock")) as file:
            holder = file.read(_HOLDER_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    found = re.fullmatch(r"process (\d+) on (.*)", holder)
    if not found or not holder.isprintable():
        return ""
    return holder if found[2] != platform.node() or _is_alive(int(found[1])) else ""


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        return True
    return True


def _acquire(path: Path, out: Path, shown: Path) -> int:
    """Create and lock the lock file. Return its descriptor. Raises OutputError."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise OutputError(f"{shown}: the lock on the output cannot be created: {error.strerror}") from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OutputError(f"{shown}: exists and is not a lock of this program; remove it")
            _lock(descriptor, out, shown)
            if _is_at(descriptor, path):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"process {os.getpid()} on {platform.node()}\n".encode())
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the run that held the lock has removed the file in the meantime


def _lock(descriptor: int, out: Path, shown: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, _HOLDER_BYTES, 0).decode("utf-8", "replace").strip()
        raise OutputError(
            f"{out}: another run{f' ({holder})' if holder.isprintable() and holder else ''} is writing there; wait "
            "until it ends, stop it, or choose another name"
        ) from None
    except OSError as error:
        raise OutputError(
            f"{shown}: this file system does not support locks ({error.strerror}); write to another one and copy the "
            "output"
        ) from error


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether the open file is still the file at ``path``."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
