"""Read the state of processes from ``/proc``, and restrict the processes of a server."""

import ctypes
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

#: Largest file that a process of the server may create. It limits the shared memory, which grows with the requests. The
#: largest allowed requests, rows of hidden states, need a quarter of it. A request that needs more fails with an error.
MAX_FILE_BYTES: Final = 128 * 2**20

_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of prctl(2)
_IGNORE: Final = 1  # SIG_IGN of signal(2)
_SECCOMP: Final = 22  # PR_SET_SECCOMP
_SECCOMP_FILTER: Final = 2  # SECCOMP_MODE_FILTER
_NO_NEW_PRIVILEGES: Final = 38  # PR_SET_NO_NEW_PRIVS, which the kernel requires before filters

#: A seccomp(2) filter of system calls. Each entry: operation, instructions to skip if true, if false, operand. The
#: filter refuses fchmod with EPERM when the mode gives rights to the group or to others.
_NO_RIGHTS_FOR_OTHERS: Final = (
    (0x20, 0, 0, 4),  # load the architecture
    (0x15, 0, 5, 0xC000003E),  # continue if x86-64, the architecture of the server; otherwise allow
    (0x20, 0, 0, 0),  # load the number of the system call
    (0x15, 0, 3, 91),  # continue if fchmod; otherwise allow
    (0x20, 0, 0, 24),  # load the mode, the second argument
    (0x45, 0, 1, 0o077),  # continue if it gives rights to the group or others; otherwise allow
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
    """Return a function that restricts a new server process; pass it as ``preexec_fn``. Child processes inherit this.

    A restricted process

    - gives other users no access to its files,
    - writes no core dumps, which would contain notes and keys,
    - creates no file larger than :data:`MAX_FILE_BYTES`,
    - ends with the thread that started it, because a killed parent cannot stop the server.

    The function raises OSError when the system refuses one of these restrictions.
    """
    # Prepared in the parent: after a fork, a lock that another thread holds could block the new process forever.
    libc = ctypes.CDLL(None)
    program = _seccomp_program()

    def confine() -> None:
        os.umask(0o077)
        # Boost creates the shared memory and then sets mode 0644 with fchmod(2), whatever the umask. It ignores a
        # failure of fchmod. Correcting the mode later would leave other users time to open the file.
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _SECCOMP_FILTER, ctypes.byref(program)):
            raise OSError("seccomp filters are refused")
        # 1, not 0: with 0 the kernel still pipes dumps to a program, see core(5). No dump fits into 1 byte.
        _lower_limit(resource.RLIMIT_CORE, 1)
        # The signal would kill the process. With the signal ignored, the system call that extends the file fails.
        libc.signal(signal.SIGXFSZ, ctypes.c_void_p(_IGNORE))
        _lower_limit(resource.RLIMIT_FSIZE, MAX_FILE_BYTES)
        libc.prctl(_DEATH_SIGNAL, signal.SIGTERM)

    return confine


def limit_data(pid: int, more_bytes: int) -> None:
    """Limit the data memory of a process to its present size plus ``more_bytes``.

    An allocation beyond this ends the process.
    Raises OSError when the process has ended.
    """
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    used_kib = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData:")), 0)
    _lower_limit(resource.RLIMIT_DATA, used_kib * 1024 + more_bytes, pid)


def _lower_limit(which: int, limit: int, pid: int = 0) -> None:
    """Set a resource limit of process ``pid``, 0 for this process. Only root could raise a limit again."""
    _, hard = resource.prlimit(pid, which)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.prlimit(pid, which, (limit, limit))


def children(pid: int) -> tuple[int, ...]:
    """Return the ids of the running child processes of a process."""
    return tuple(each for path in Path("/proc").glob("[0-9]*") if parent(each := int(path.name)) == pid)


def parent(pid: int) -> int | None:
    """Return the parent id of a process; None when the process has ended."""
    state, *numbers = _stat(pid)
    return None if state in ("", "Z") else int(numbers[0])


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped by a signal or a debugger."""
    return _stat(pid)[0] in ("T", "t")


def computed_s(pid: int) -> float:
    """Return the processor seconds that a process has used; 0 when it has ended."""
    stat = _stat(pid)
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK") if len(stat) > 12 else 0.0


def command(pid: int) -> str:
    """Return the command line of a process; "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` from the state on, see proc(5); ``[""]`` when the process has ended."""
    try:
        # The program name, in brackets, may contain any character.
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split() or [""]
    except OSError:
        return [""]
