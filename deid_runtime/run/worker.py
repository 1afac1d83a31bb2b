"""One worker process: the code that runs in it, and the parent's handle on it.

Each worker has its own pipeline and its own connection. So a killed worker leaves no locked or half-read queue. A
worker has one job at a time.
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
from deid_runtime.pipeline import Outcome, load_pipeline
from deid_runtime.run.mailbox import Mailbox, receive, send
from deid_runtime.run.outcomes import Work, process
from deid_runtime.run.watchdog import Stopwatch
from deid_runtime.spans import Note
from deid_runtime.system.installed_files import missing_file
from deid_runtime.system.process_privacy import keep_private

#: How long to wait for a killed process to end.
_END_S: Final = 10.0

_Job = TypeVar("_Job")


@dataclass(frozen=True, slots=True)
class Ready:
    """A message: the worker has loaded its pipeline. ``description`` is the pipeline's description."""

    description: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """A message: the pipeline, or a part that it loads at first use, cannot be loaded."""

    error: DeidError


@dataclass(frozen=True, slots=True)
class Answer:
    """A message: the outcomes of a job, and the seconds spent in each stage since the worker started."""

    outcomes: list[Outcome]
    stage_seconds: Mapping[str, float]


class Worker(Generic[_Job]):
    """The parent's handle on a worker process. ``job`` is the current job of the worker, or None.

    The constructor starts the process. Raises ModelError when the process cannot be started.
    """

    def __init__(self, context: SpawnContext, work: Work) -> None:
        ours, theirs = socket.socketpair()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True, name="deid-worker")
        # A terminal sends signals to all processes; only the parent may react. The child inherits the signal mask, so a
        # signal can at no moment end the child or make it dump its memory.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
        try:
            self.process.start()
        except OSError as error:
            ours.close()
            raise ModelError(f"a worker process cannot be started: {error.strerror}; use fewer --workers") from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            theirs.close()
        self.mailbox = Mailbox(ours)
        self.watch = Stopwatch(self.process.pid or 0)
        self.is_ready = False
        self.job: _Job | None = None
        self.stage_seconds: Mapping[str, float] = {}
        # Sent as a message: with process arguments, the parent blocks when the child stops before reading them.
        with suppress(OSError):  # the worker is gone already; `collect` detects that
            self.mailbox.post(work)

    def end(self, grace_s: float = 0.0) -> str:
        """Kill the process unless it ends within ``grace_s``. Return how it ended, as a verb phrase.

        A stopped process is killed too.
        """
        self.process.join(grace_s)
        self.process.kill()
        self.process.join(_END_S)
        self.mailbox.close()
        exit_code = self.process.exitcode
        if exit_code is None:  # it is blocked in a system call, for instance by a lost disk, and ends after that
            return "cannot be ended"
        self.process.close()
        return f"was ended by signal {-exit_code}" if exit_code < 0 else f"ended with code {exit_code}"


def _serve(connection: socket.socket) -> None:
    """Process jobs until the parent closes the connection or dies. Runs in the worker process."""
    keep_private()
    with connection, connection.makefile("rwb") as stream, suppress(EOFError, BrokenPipeError, ConnectionResetError):
        parent = cast(BinaryIO, stream)
        work = cast(Work, receive(parent))
        try:
            pipeline = load_pipeline(work.settings, key=work.key, records=work.records)
        except DeidError as error:
            send(parent, NotLoaded(error))
            return
        except OSError as error:
            if (missing := missing_file(error)) is None:
                raise
            send(parent, NotLoaded(missing))
            return
        _silence()
        with pipeline:
            send(parent, Ready(pipeline.describe()))
            while True:
                try:
                    outcomes = process(pipeline, work, cast(list[Note], receive(parent)))
                except InstallationError as error:
                    send(parent, NotLoaded(error))
                    return
                if pipeline.fault is not None:
                    send(parent, pipeline.fault)  # the parent ignores later messages of this process
                    os._exit(1)  # a failed engine may crash or hang when it is freed
                send(parent, Answer(outcomes, dict(pipeline.stage_seconds)))


def _silence() -> None:
    """Redirect stdout and stderr to the null device: a traceback or a message of an engine may quote note text."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
