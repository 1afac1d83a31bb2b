"""What the system says of processes, and what a server's processes may not do."""

import ctypes
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

#: Largest file that a server's process may make. These are its shared memory, which grows with requests; the largest
#: requests allowed, rows of hidden states, need a quarter of it. Where more is needed, the request fails with an error.
MAX_FILE_BYTES: Final = 128 * 2**20

_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of prctl(2)
_IGNORE: Final = 1  # SIG_IGN of signal(2)
_SECCOMP: Final = 22  # PR_SET_SECCOMP
_SECCOMP_FILTER: Final = 2  # SECCOMP_MODE_FILTER
_NO_NEW_PRIVILEGES: Final = 38  # PR_SET_NO_NEW_PRIVS, which the system wants before filters

#: A filter of system calls in the language of seccomp(2): operation, steps to skip if true, if false, operand. It
#: refuses fchmod with EPERM where the mode holds rights of the group or others.
_NO_RIGHTS_FOR_OTHERS: Final = (
    (0x20, 0, 0, 4),  # load the architecture,
    (0x15, 0, 5, 0xC000003E),  # which is x86-64, as the server is; else allow
    (0x20, 0, 0, 0),  # load the number of the call
    (0x15, 0, 3, 91),  # fchmod; else allow
    (0x20, 0, 0, 24),  # load the mode, its second argument
    (0x45, 0, 1, 0o077),  # rights of others; else allow
    (0x06, 0, 0, 0x00050001),  # EPERM
    (0x06, 0, 0, 0x7FFF0000),  # allow
)


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("true", ctypes.c_uint8), ("false", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def _seccomp_program() -> _Program:
    instructions = (_Instruction * len(_NO_RIGHTS_FOR_OTHERS))(*(_Instruction(*each) for each in _NO_RIGHTS_FOR_OTHERS))
    return _Program(len(instructions), instructions)


def confinement() -> Callable[[], None]:
    """Return what a new process of a server calls before it becomes the server; the models' processes inherit it.

    It opens no file of its own to other users, leaves no core dumps, which would hold notes and keys, makes no file
    over :data:`MAX_FILE_BYTES`, and ends with the thread that started it: when this process is killed, it can't stop
    the server itself. The call raises OSError where the system refuses one of these.
    """
    # Made here and not in the new process, which a lock of another thread could hold up for ever.
    libc = ctypes.CDLL(None)
    program = _seccomp_program()

    def confine() -> None:
        os.umask(0o077)
        # Shared memory is made by Boost, which then gives it mode 0644 by fchmod(2), whatever the umask says. It does
        # not mind a failure. A mode set later would leave time to open the file.
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _SECCOMP_FILTER, ctypes.byref(program)):
            raise OSError("seccomp filters are refused")
        # 1, not 0: a program that the system pipes dumps to would get them with 0, see core(5). No dump fits 1 byte.
        _lower_limit(resource.RLIMIT_CORE, 1)
        # The signal would kill the process; where it is ignored, the call that makes the file larger fails.
        libc.signal(signal.SIGXFSZ, ctypes.c_void_p(_IGNORE))
        _lower_limit(resource.RLIMIT_FSIZE, MAX_FILE_BYTES)
        libc.prctl(_DEATH_SIGNAL, signal.SIGTERM)

    return confine


def limit_data(pid: int, more_bytes: int) -> None:
    """Let the process take ``more_bytes`` beside what it has now; what it asks for beyond is refused, and ends it.

    Raises OSError when the process has ended.
    """
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    used_kib = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData:")), 0)
    _lower_limit(resource.RLIMIT_DATA, used_kib * 1024 + more_bytes, pid)


def _lower_limit(which: int, limit: int, pid: int = 0) -> None:
    """Set a limit of a process, 0 for this one; one that is lower already stays, which only root could raise."""
    _, hard = resource.prlimit(pid, which)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.prlimit(pid, which, (limit, limit))


def children(pid: int) -> tuple[int, ...]:
    """Return the processes that a process has started and that run."""
    return tuple(each for path in Path("/proc").glob("[0-9]*") if parent(each := int(path.name)) == pid)


def parent(pid: int) -> int | None:
    """Return the parent of a process, None where it has ended."""
    state, *numbers = _stat(pid)
    return None if state in ("", "Z") else int(numbers[0])


def is_stopped(pid: int) -> bool:
    """Say whether a process has been stopped by a signal or a debugger, and not been continued."""
    return _stat(pid)[0] in ("T", "t")


def computed_s(pid: int) -> float:
    """Return the processor time that a process has used, 0 where it has ended."""
    stat = _stat(pid)
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK") if len(stat) > 12 else 0.0


def command(pid: int) -> str:
    """Return the command line of a process, empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    """Return what proc(5) says in ``stat``: the state, the parent, more numbers; one empty text if there is none."""
    try:
        # The name, in brackets, may hold anything.
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split() or [""]
    except OSError:
        return [""]
