"""Read the state of processes from ``/proc``, and limit the memory of a server's processes."""

import os
import resource
from pathlib import Path

from deid_runtime.serving.confined import lower_limit


def limit_data(pid: int, more_bytes: int) -> None:
    """Limit the data memory of a process to its present size plus ``more_bytes``.

    An allocation beyond this ends the process.
    Raises OSError when the process has ended.
    """
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    used_kib = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData:")), 0)
    lower_limit(resource.RLIMIT_DATA, used_kib * 1024 + more_bytes, pid)


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
