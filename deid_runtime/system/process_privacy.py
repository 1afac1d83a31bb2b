"""Keep what is in the memory of this process out of files and from other processes.

A core dump of a process that holds notes or keys is a file with these in clear. :func:`keep_private` turns dumps off.

- ``PR_SET_DUMPABLE`` 0 (Linux): the kernel writes no core of this process, neither to a file nor to a program such as
  systemd-coredump, and no other process of the same user can attach to it or read its memory. So py-spy, gdb and the
  sizes in ``/proc/PID/smaps`` need root. A new program begins with 1 again, so every process sets it itself.
- ``RLIMIT_CORE``: new programs inherit it, so it holds from their first instruction. A limit of 0 stops files but not
  the programs that ``core_pattern`` may name; on Linux a limit of 1 byte stops both.

It has no effect where the system has neither.
"""

import ctypes
import sys
from contextlib import suppress
from typing import Final

_SET_DUMPABLE: Final = 4  # PR_SET_DUMPABLE of prctl(2)


def keep_private() -> None:
    """Turn off core dumps of this process, and of those that it starts from now on."""
    try:
        import resource
    except ImportError:  # Windows
        return
    is_linux = sys.platform == "linux"
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    limit = 1 if is_linux and hard != 0 else 0
    # The hard limit stays: who embeds this in a program of their own can set the other one back.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (limit, hard))
    if is_linux:
        with suppress(OSError, AttributeError):  # a C library without prctl
            ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
