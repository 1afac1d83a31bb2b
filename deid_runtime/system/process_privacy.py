"""Protect the memory of this process from core dumps and from other processes.

A core dump of a process with notes or keys contains them in plain text. :func:`keep_private` turns dumps off.

- ``PR_SET_DUMPABLE`` 0 (Linux): the kernel writes no core dump of this process, neither to a file nor to a program such
  as systemd-coredump. No other process of the same user can attach to it or read its memory. So py-spy, gdb and the
  sizes in ``/proc/PID/smaps`` need root. A new program starts with 1 again, so every process sets it itself.
- ``RLIMIT_CORE``: new programs inherit it, so it applies from their first instruction. A limit of 0 stops dump files,
  but not a program that ``core_pattern`` may name; on Linux a limit of 1 byte stops both.

On a system with neither, this has no effect.
"""

import ctypes
import sys
from contextlib import suppress
from typing import Final

_SET_DUMPABLE: Final = 4  # PR_SET_DUMPABLE of prctl(2)


def keep_private() -> None:
    """Turn off core dumps of this process and of all processes that it starts later."""
    try:
        import resource
    except ImportError:  # Windows
        return
    is_linux = sys.platform == "linux"
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    limit = 1 if is_linux and hard != 0 else 0
    # Keep the hard limit: a program that embeds this library can then restore the soft limit.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (limit, hard))
    if is_linux:
        with suppress(OSError, AttributeError):  # a C library without prctl
            ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
