"""The time limits of a worker process, and how its time is measured.

A worker that hangs must be detected. A worker that is slow because of a long note or a busy processor must not. So two
times are measured. ``busy_s`` is the processor time of the worker: it measures the work done, however slow the machine
is. ``idle_s`` is the time without processor time: a stopped or blocked worker uses none.

Both grow in steps of at most :data:`_STEP_LIMIT_S`, one for each check by the parent. While the parent is stopped too,
for instance by Ctrl-Z, a debugger or a suspended machine, it makes no checks, and no time is counted.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from deid_runtime.settings import Server

#: Two checks of a worker are at least `STEP_S` apart, and one check adds at most `_STEP_LIMIT_S`.
STEP_S: Final = 0.5
_STEP_LIMIT_S: Final = 2.0
#: One second of processor time cancels this many idle seconds: a worker that gets 2 % of a processor is not idle.
_IDLE_FOR_BUSY: Final = 50.0
#: On less text or in less time, a measurement shows mostly the start-up time.
_LEAST_MEASURED_CHARS: Final = 10_000
_LEAST_MEASURED_S: Final = 2.0


@dataclass(frozen=True, kw_only=True)
class Patience:
    """The time limits of a worker, far above the times of a healthy worker.

    A job may use ``busy_s`` plus a time per character. The time per character is the longer of 1 / ``chars_per_s`` and
    ``times_slowest`` times the slowest rate of an earlier job. With the profile ``full``, one second of processor time
    was measured for 4,000 characters of notes, and for 1,300 characters of symbols only.
    """

    load_s: float = 600.0  # while loading, busy or idle
    idle_s: float = 120.0  # on a job, without processor time
    busy_s: float = 120.0  # on a job, processor time independent of its size
    chars_per_s: float = 100.0
    times_slowest: float = 10.0
    restart_pause_s: float = 1.0  # after a worker ended while loading, times the number of such ends in a row


class Stopwatch:
    """Measures the busy and idle seconds of a process since :meth:`start`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.start()

    def start(self) -> None:
        """Reset both times to 0."""
        self.busy_s = self.idle_s = 0.0
        self._looked_s = monotonic()
        self._processor_s = processor_seconds(self._pid)

    def look(self) -> bool:
        """Add the time since the last check; return False without a check when less than ``STEP_S`` has passed."""
        now_s = monotonic()
        if now_s - self._looked_s < STEP_S:
            return False
        elapsed_s = min(now_s - self._looked_s, _STEP_LIMIT_S)
        self._looked_s = now_s
        used_s = elapsed_s
        processor_s = processor_seconds(self._pid)
        if processor_s is not None and self._processor_s is not None:
            used_s = min(processor_s - self._processor_s, elapsed_s)
        self._processor_s = processor_s
        self.busy_s += used_s
        self.idle_s = max(0.0, self.idle_s + elapsed_s - _IDLE_FOR_BUSY * used_s)
        return True


class Watchdog:
    """Detects workers that take too long. Learns the slowest rate from jobs that finish."""

    def __init__(self, patience: Patience, server: Server | None) -> None:
        self._patience = patience
        self._server = server
        self._slowest_s_per_char = 0.0

    def learn(self, watch: Stopwatch, chars: int) -> None:
        """Update the slowest rate with the time of a finished job of ``chars`` characters."""
        if watch.busy_s >= _LEAST_MEASURED_S:
            slowness = watch.busy_s / max(chars, _LEAST_MEASURED_CHARS)
            self._slowest_s_per_char = max(self._slowest_s_per_char, slowness)

    def overdue_job(self, watch: Stopwatch, notes: int, chars: int) -> str:
        """Return why a worker with a job of ``notes`` notes and ``chars`` characters is overdue; "" when it is not."""
        patience = self._patience
        # A worker that waits for a server is idle.
        waits_s = self._server.longest_s(notes, chars) if self._server else 0.0
        if watch.idle_s > patience.idle_s + waits_s:
            return f"did nothing for {watch.idle_s:.0f} s"
        s_per_char = max(1 / patience.chars_per_s, patience.times_slowest * self._slowest_s_per_char)
        if watch.busy_s > patience.busy_s + chars * s_per_char:
            return f"used {watch.busy_s:.0f} s of processor time"
        return ""

    def overdue_load(self, watch: Stopwatch) -> str:
        """Return why a worker that loads its pipeline is overdue; "" when it is not."""
        waits_s = self._server.connect_seconds if self._server else 0.0
        if max(watch.idle_s - waits_s, watch.busy_s) > self._patience.load_s:
            return f"was not ready after {max(watch.idle_s, watch.busy_s):.0f} s"
        return ""


def processor_seconds(pid: int) -> float | None:
    """Return the processor seconds that all threads of a process have used; None when the system has no such data."""
    try:
        process_stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The second field is the program name in brackets, which may contain any character, also `)`.
    user, system = process_stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has in use, in bytes; 0 when the system has no such data."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
