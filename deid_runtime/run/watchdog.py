"""How long a worker process may take, and how that time is counted.

A worker that hangs must be noticed; one that works on a long note, or shares its processor with many others, must not.
So two times are counted. ``busy_s`` is processor time of the worker: it says how much was done, however slow the
machine is. ``idle_s`` is time without any: a worker that is stopped or blocked uses none.

Both are counted in steps of at most :data:`_STEP_LIMIT_S`, each between two looks of the parent. While the parent is
stopped too, as by Ctrl-Z, a debugger or a suspended machine, it does not look, and nothing is counted.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from deid_runtime.settings import Server

#: Looks at a worker are this far apart, and count for at most the second.
STEP_S: Final = 0.5
_STEP_LIMIT_S: Final = 2.0
#: One second of processor time makes up for so many idle seconds: a worker that gets 2 % of a processor is not idle.
_IDLE_FOR_BUSY: Final = 50.0
#: What is measured on less text is mostly the time of a start.
_LEAST_MEASURED_CHARS: Final = 10_000
_LEAST_MEASURED_S: Final = 2.0


@dataclass(frozen=True, kw_only=True)
class Patience:
    """The longest times that a worker may take, far above what a healthy one takes.

    A job may use ``busy_s`` and one second for each ``chars_per_s`` of its characters, or ``times_slowest`` of what the
    slowest job before it took a character, whichever is longer. Processor time of the profile ``full`` was one second
    for 4,000 characters of notes, and for 1,300 of nothing but symbols.
    """

    load_s: float = 600.0  # to load, busy or idle
    idle_s: float = 120.0  # on a job, without processor time
    busy_s: float = 120.0  # on a job, of processor time, whatever its size
    chars_per_s: float = 100.0
    times_slowest: float = 10.0
    restart_pause_s: float = 1.0  # after a worker ended while loading; longer after several


class Stopwatch:
    """Counts how long a process has been at what it does, since :meth:`start`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.start()

    def start(self) -> None:
        """Count from here on."""
        self.busy_s = self.idle_s = 0.0
        self._looked_s = monotonic()
        self._processor_s = processor_seconds(self._pid)

    def look(self) -> bool:
        """Count the time since the last look; do nothing and return False when that was just now."""
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
    """Says which workers take too long. Learns from those that do not."""

    def __init__(self, patience: Patience, server: Server | None) -> None:
        self._patience = patience
        self._server = server
        self._slowest_s_per_char = 0.0

    def learn(self, watch: Stopwatch, chars: int) -> None:
        """Take in how long a job of ``chars`` characters took."""
        if watch.busy_s >= _LEAST_MEASURED_S:
            slowness = watch.busy_s / max(chars, _LEAST_MEASURED_CHARS)
            self._slowest_s_per_char = max(self._slowest_s_per_char, slowness)

    def overdue_job(self, watch: Stopwatch, notes: int, chars: int) -> str:
        """Say what is wrong with a worker that has ``notes`` with ``chars`` characters, or nothing."""
        patience = self._patience
        # Whoever waits for a server does nothing meanwhile.
        waits_s = self._server.longest_s(notes, chars) if self._server else 0.0
        if watch.idle_s > patience.idle_s + waits_s:
            return f"did nothing for {watch.idle_s:.0f} s"
        s_per_char = max(1 / patience.chars_per_s, patience.times_slowest * self._slowest_s_per_char)
        if watch.busy_s > patience.busy_s + chars * s_per_char:
            return f"used {watch.busy_s:.0f} s of processor time"
        return ""

    def overdue_load(self, watch: Stopwatch) -> str:
        """Say what is wrong with a worker that loads its pipeline, or nothing."""
        waits_s = self._server.connect_seconds if self._server else 0.0
        if max(watch.idle_s - waits_s, watch.busy_s) > self._patience.load_s:
            return f"was not ready after {max(watch.idle_s, watch.busy_s):.0f} s"
        return ""


def processor_seconds(pid: int) -> float | None:
    """Return the processor time that all threads of a process have used, None where the system does not tell."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The second field is the name of the program, in brackets, and may hold anything.
    user, system = told.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
