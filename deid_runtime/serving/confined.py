"""Run a program that other users and core dumps learn nothing from: ``python -I -B confined.py PROGRAM ARGUMENT...``

The restrictions are set in this small process, which then becomes the program. Set between fork and exec instead
(``preexec_fn``), code of Python would run in a copy of a process with threads of gRPC, which can end by SIGSEGV. Only
the standard library is imported, since the program has an environment of its own.
"""

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Final

#: Largest file that a process of the server may create. It limits the shared memory, which grows with the requests. The
#: largest allowed requests, rows of hidden states, need a quarter of it. A request that needs more fails with an error.
MAX_FILE_BYTES: Final = 128 * 2**20

_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of prctl(2)
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


def confined_command(*command: str) -> list[str]:
    """Return the command that runs ``command`` with the restrictions of :func:`confine`."""
    return [sys.executable, "-I", "-B", str(Path(__file__).resolve()), str(os.getpid()), *command]


def confine() -> None:
    """Restrict this process. What it becomes, and its children, inherit this.

    A restricted process

    - gives other users no access to its files,
    - writes no core dumps, which would contain notes and keys,
    - creates no file larger than :data:`MAX_FILE_BYTES`,
    - ends with the thread that started it, because a killed parent cannot stop the server.

    Raises OSError when the system refuses one of these restrictions.
    """
    libc = ctypes.CDLL(None)
    program = _seccomp_program()
    os.umask(0o077)
    # Boost creates the shared memory and then sets mode 0644 with fchmod(2), whatever the umask. It ignores a
    # failure of fchmod. Correcting the mode later would leave other users time to open the file.
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _SECCOMP_FILTER, ctypes.byref(program)):
        raise OSError("seccomp filters are refused")
    # 1, not 0: with 0 the kernel still pipes dumps to a program, see core(5). No dump fits into 1 byte.
    lower_limit(resource.RLIMIT_CORE, 1)
    # The signal would kill the process. With the signal ignored, the system call that extends the file fails.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    lower_limit(resource.RLIMIT_FSIZE, MAX_FILE_BYTES)
    libc.prctl(_DEATH_SIGNAL, signal.SIGTERM)


def lower_limit(which: int, limit: int, pid: int = 0) -> None:
    """Set a resource limit of process ``pid``, 0 for this process. Only root could raise a limit again."""
    _, hard = resource.prlimit(pid, which)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.prlimit(pid, which, (limit, limit))


def _main(parent: int, *command: str) -> None:
    try:
        confine()
    except (OSError, ValueError):
        sys.exit(
            "cannot be confined, and other users could read its memory: this system refuses umask, rlimits or seccomp "
            "filters to a process; allow them, or serve on another system"
        )
    if os.getppid() != parent:
        sys.exit("its parent has ended")  # before the signal for that was asked for
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.exit(f"cannot be started ({error.strerror})")


if __name__ == "__main__":
    _main(int(sys.argv[1]), *sys.argv[2:])
