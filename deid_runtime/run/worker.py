"""One worker process: what runs in it, and the parent's handle on it.

Each worker loads its own pipeline and has its own connection. So a worker that is killed leaves no lock and no
half-read queue behind. A worker holds one job at a time.
"""

import os
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from typing import BinaryIO, Final, Generic, TypeVar, cast

from deid_runtime.errors import DeidError, InstallationError, ModelError
from deid_runtime.pipeline.outcomes import Outcome
from deid_runtime.run.mailbox import Mailbox, receive, send
from deid_runtime.run.outcomes import Work
from deid_runtime.run.watchdog import Stopwatch
from deid_runtime.spans import Note
from deid_runtime.system.installed_files import missing_file
from deid_runtime.system.json_logs import log_as_parent
from deid_runtime.system.process_privacy import keep_private
from deid_runtime.system.stop_signals import signals_deferred

#: How long to wait for a process that was killed to be gone.
_END_S: Final = 10.0

_Job = TypeVar("_Job")


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker has loaded its pipeline, with this description."""

    description: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """A pipeline, or something that it loads at first use, cannot be loaded in any worker."""

    error: DeidError


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcomes of a job, and the time spent in each stage and the blocks of text read since the worker started."""

    outcomes: list[Outcome]
    stage_seconds: Mapping[str, float]
    cache_counts: Mapping[str, int]


class Worker(Generic[_Job]):
    """The parent's handle on a worker process, which starts here. ``job`` is its current job.

    Raises ModelError when the process cannot be started.
    """

    def __init__(self, context: SpawnContext, work: Work) -> None:
        ours, theirs = socket.socketpair()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True, name="deid-worker")
        # A terminal sends signals to all its processes, but only the parent must react. The mask is
        # inherited, so there is no moment at which a signal could hit the child, or make it dump its memory.
        # A parent that stops right after it has started the child leaves a traceback of the child.
        with signals_deferred():
            held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
            try:
                self.process.start()
            except OSError as error:
                ours.close()
                raise ModelError(
                    f"a worker process cannot be started: {error.strerror}; use fewer --workers"
                ) from error
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, held)
                theirs.close()
        self.mailbox = Mailbox(ours)
        self.watch = Stopwatch(self.process.pid or 0)
        self.is_ready = False
        self.job: _Job | None = None
        self.job_started_ns = 0  # since 1970
        self.jobs_done = 0
        self.stage_seconds: Mapping[str, float] = {}
        self.cache_counts: Mapping[str, int] = {}
        # Not an argument of the process: a process that is stopped before it has read its arguments would
        # block its parent.
        with suppress(OSError):  # it has already ended, which is detected like for any other worker
            self.mailbox.post(work)

    def end(self, grace_s: float = 0.0) -> str:
        """Kill the process, a stopped one too, unless it ends within ``grace_s``. Return how it ended, as a verb."""
        self.process.join(grace_s)
        self.process.kill()
        self.process.join(_END_S)
        self.mailbox.close()
        exit_code = self.process.exitcode
        if exit_code is None:  # it waits inside the kernel, for instance for a missing disk, and ends later
            return "cannot be ended"
        self.process.close()
        return f"was ended by signal {-exit_code}" if exit_code < 0 else f"ended with code {exit_code}"


def _serve(connection: socket.socket) -> None:
    """Answer jobs until the parent closes the connection or dies. Runs in a separate process."""
    keep_private()
    log_as_parent(os.environ)
    with connection, connection.makefile("rwb") as stream, suppress(EOFError, BrokenPipeError, ConnectionResetError):
        parent = cast(BinaryIO, stream)
        work = cast(Work, receive(parent))
        try:
            from deid_runtime.run.processor import Processor  # slow to import; the parent does not need it

            processor = Processor(work)
        except DeidError as error:
            send(parent, NotLoaded(error))
            return
        except OSError as error:
            if (missing := missing_file(error)) is None:
                raise
            send(parent, NotLoaded(missing))
            return
        _silence()
        with processor:
            send(parent, Ready(processor.describe()))
            while True:
                try:
                    outcomes = processor.process(cast(list[Note], receive(parent)))
                except InstallationError as error:
                    send(parent, NotLoaded(error))
                    return
                if processor.fault is not None:
                    send(parent, processor.fault)  # the parent uses no further answer of this process
                    os._exit(1)  # an engine that failed may crash or hang when it is freed
                send(parent, Answer(outcomes, processor.stage_seconds, processor.cache_counts))


def _silence() -> None:
    """Redirect stdout and stderr to nowhere: a traceback or an engine's own message may quote a note."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
