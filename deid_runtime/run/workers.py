"""Batches through a pipeline, in this process or in several, with answers in the order of the batches.

A worker that dies (out of memory, killed, a crash in an engine), hangs, or says that its engine failed costs nothing
but time. It is replaced, and its job is done again from the beginning: twice as it is, then note by note, each note
twice. Only a note that fails alone in two workers is given up. Where patients are served as a whole, so are they given
up.
"""

import multiprocessing
import select
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Final, Self

from deid_runtime.errors import EngineError, ModelError
from deid_runtime.pipeline import Fault, Outcome, Quarantined, load_pipeline
from deid_runtime.run.batches import Batch
from deid_runtime.run.outcomes import Work, process, units
from deid_runtime.run.watchdog import STEP_S, Patience, Watchdog
from deid_runtime.run.worker import Answer, NotLoaded, Ready, Worker
from deid_runtime.spans import Note
from deid_runtime.stages import WORKER_STAGE

#: Batches read but not yet written, for each worker: enough to keep all busy while one has a long note.
_BATCHES_PER_WORKER: Final = 4
#: No further batch is read while those in flight hold this many characters.
_CHARS_IN_FLIGHT: Final = 16 * 2**20
#: So many workers fail on a job before it is cut, or given up when it cannot be.
_ATTEMPTS: Final = 2
#: So many workers in a row may end while loading before the run does: before any was ready, and after.
_FAILED_STARTS_AT_FIRST: Final = 2
_FAILED_STARTS: Final = 4
#: A process that closed its connection has so long to end by itself, so that it can be told how it ended.
_GRACE_S: Final = 2.0


class InProcess:
    """One pipeline in this process. A context manager.

    A crash of the engine ends this process. An engine that fails without a crash is loaded again, at most twice for
    each batch and each note in it.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._past_seconds: list[Mapping[str, float]] = []  # of pipelines that are no more
        self._load()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipeline.close()

    def map(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, list[Outcome]]]:
        """Yield every batch with the outcomes of its notes, in order."""
        for batch in batches:
            yield batch, self._process(batch.notes)

    def describe(self) -> dict[str, object]:
        """Return what the pipeline says of itself."""
        return self._pipeline.describe()

    def stage_seconds(self) -> dict[str, float]:
        """Return the time spent in each stage."""
        return _total([*self._past_seconds, self._pipeline.stage_seconds])

    def _load(self) -> None:
        self._pipeline = load_pipeline(self._work.settings, key=self._work.key, records=self._work.records)

    def _process(self, notes: list[Note]) -> list[Outcome]:
        """Return the outcomes of ``notes`` from a pipeline without a fault, or why there are none."""
        for _ in range(_ATTEMPTS):
            outcomes = process(self._pipeline, self._work, notes)
            if self._pipeline.fault is None:
                return outcomes
            self._past_seconds.append(self._pipeline.stage_seconds)
            description = self._pipeline.describe()
            self._pipeline.close()
            self._load()
            _check_same(description, self._pipeline.describe())
        rows = units(self._work, notes)
        if len(rows) == 1:
            return outcomes  # a pipeline with a fault holds all notes back, and says why
        return [outcome for row in rows for outcome in self._process(notes[row.start : row.stop])]


@dataclass(slots=True, eq=False)
class _Task:
    """A batch on its way: the outcomes so far, None where there is none yet."""

    batch: Batch
    notes: list[Note]
    outcomes: list[Outcome | None]


@dataclass(frozen=True, slots=True)
class _Job:
    """Some notes of a task: those at ``indexes``. ``failures`` workers failed on just these."""

    task: _Task
    indexes: range
    failures: int = 0

    @property
    def notes(self) -> list[Note]:
        """The notes of the job, in order."""
        return [self.task.notes[index] for index in self.indexes]

    @property
    def chars(self) -> int:
        """The characters of all notes together."""
        return sum(len(note.text) for note in self.notes)


class WorkerPool:
    """Up to ``count`` worker processes, started as there is work for them. A context manager: leaving it kills them."""

    def __init__(self, work: Work, count: int, patience: Patience | None = None) -> None:
        self._work = work
        self._count = count
        self._patience = patience or Patience()
        self._watchdog = Watchdog(self._patience, work.settings.server)
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[Worker[_Job]] = []
        self._jobs: deque[_Job] = deque()
        self._description: dict[str, object] | None = None
        self._past_seconds: list[Mapping[str, float]] = []  # of workers that are no more
        self._failed_starts = 0  # in a row, without any worker that got ready
        self._next_start_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def map(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, list[Outcome]]]:
        """Yield every batch with the outcomes of its notes, in order.

        Raises what loading the pipeline raised in a worker, and ModelError when workers end while loading, again and
        again.
        """
        in_flight: deque[_Task] = deque()
        chars = 0
        exhausted = False
        while True:
            while in_flight and None not in in_flight[0].outcomes:
                done = in_flight.popleft()
                chars -= done.batch.chars
                yield done.batch, [outcome for outcome in done.outcomes if outcome is not None]
            while not exhausted and len(in_flight) < _BATCHES_PER_WORKER * self._count and chars < _CHARS_IN_FLIGHT:
                batch = next(batches, None)
                if batch is None:
                    exhausted = True
                    break
                task = _new_task(batch)
                in_flight.append(task)
                chars += batch.chars
                if task.notes:
                    self._jobs.append(_Job(task, range(len(task.notes))))
                # A worker that finished meanwhile must not wait for the reader.
                self._assign()
                self._receive(wait_s=0.0)
            if exhausted and not in_flight:
                return
            self._assign()
            if None in in_flight[0].outcomes:
                self._receive(wait_s=STEP_S)

    def describe(self) -> dict[str, object]:
        """Return what the pipeline of a worker says of itself; starts one when there was no work for any."""
        while self._description is None:
            if not self._workers:
                self._start()
            self._receive(wait_s=STEP_S)
        return self._description

    def stage_seconds(self) -> dict[str, float]:
        """Return the time spent in each stage, over all workers; what a dead worker did not report is not in it."""
        return _total([*self._past_seconds, *(worker.stage_seconds for worker in self._workers)])

    def _assign(self) -> None:
        """Give a job to every worker that waits for one, and start workers while jobs are left over."""
        for worker in list(self._workers):
            if self._jobs and worker.is_ready and worker.job is None:
                self._send(worker, self._jobs.popleft())
        loading = sum(not worker.is_ready for worker in self._workers)
        while len(self._jobs) > loading and len(self._workers) < self._count and self._start():
            loading += 1

    def _start(self) -> bool:
        """Start a worker; do nothing and return False in the pause after one that ended while loading."""
        if monotonic() < self._next_start_s:
            return False
        self._workers.append(Worker(self._context, self._work))
        return True

    def _send(self, worker: Worker[_Job], job: _Job) -> None:
        worker.job = job
        worker.watch.start()
        with suppress(OSError):  # it died before it could take the job, which is noticed as at any other time
            worker.mailbox.post([_bare(note) for note in job.notes])

    def _receive(self, wait_s: float) -> None:
        """Take in what the workers have sent, after waiting up to ``wait_s`` for anything; replace failed workers."""
        poll = select.poll()
        for worker in self._workers:
            poll.register(worker.mailbox, select.POLLIN | (select.POLLOUT if worker.mailbox.is_sending else 0))
        stirred = {descriptor for descriptor, _ in poll.poll(wait_s * 1000)}
        for worker in [worker for worker in self._workers if worker.mailbox.fileno() in stirred]:
            with suppress(OSError):  # a worker that is gone may have said why before
                worker.mailbox.flush()
            try:
                messages = worker.mailbox.collect()
            except EOFError:
                self._retire(worker, grace_s=_GRACE_S)
                continue
            for message in messages:
                self._take(worker, message)
        for worker in [worker for worker in self._workers if worker.watch.look()]:
            if worker.job is not None:
                fault = self._watchdog.overdue_job(worker.watch, len(worker.job.indexes), worker.job.chars)
            else:
                fault = "" if worker.is_ready else self._watchdog.overdue_load(worker.watch)
            if fault:
                self._retire(worker, fault)

    def _take(self, worker: Worker[_Job], message: object) -> None:
        if isinstance(message, NotLoaded):
            if not isinstance(message.error, EngineError):
                raise message.error  # it would be raised in any other worker too
            self._retire(worker, error=message.error)
        elif isinstance(message, Ready):
            worker.is_ready = True
            self._failed_starts = 0
            if self._description is not None:
                _check_same(self._description, message.description)
            self._description = dict(message.description)
        elif isinstance(message, Fault):
            self._retire(worker, told=message)
        elif isinstance(message, Answer) and worker.job:
            job, worker.job = worker.job, None
            worker.stage_seconds = message.stage_seconds
            self._watchdog.learn(worker.watch, job.chars)
            for index, outcome in zip(job.indexes, message.outcomes, strict=True):
                job.task.outcomes[index] = outcome
            self._assign()

    def _retire(
        self,
        worker: Worker[_Job],
        fault: str = "",
        *,
        error: EngineError | None = None,
        told: Fault | None = None,
        grace_s: float = 0.0,
    ) -> None:
        """End a worker, and put its job back.

        ``fault`` says what it did wrong, as a verb; nothing for one that died. Where a worker has said more of itself,
        ``error`` is why it could not load its engine, and ``told`` why notes are held back on which workers fail.
        """
        self._workers.remove(worker)
        self._past_seconds.append(worker.stage_seconds)
        ended = worker.end(grace_s)
        if not worker.is_ready:
            self._count_failed_start(fault or f"{ended} while loading", error)
        elif worker.job is not None:
            self._put_back(worker.job, told, fault or ended)

    def _count_failed_start(self, fault: str, error: EngineError | None) -> None:
        self._failed_starts += 1
        allowed = _FAILED_STARTS_AT_FIRST if self._description is None else _FAILED_STARTS
        if self._failed_starts >= allowed:
            raise error or ModelError(
                f"a worker process {fault}, as {self._failed_starts} did in a row; with too little memory use fewer "
                "--workers"
            )
        self._next_start_s = monotonic() + self._patience.restart_pause_s * self._failed_starts

    def _put_back(self, job: _Job, told: Fault | None, fault: str) -> None:
        """Have a job done again, in pieces when too many workers failed on it; or give its notes up."""
        if job.failures + 1 < _ATTEMPTS:
            self._jobs.appendleft(_Job(job.task, job.indexes, job.failures + 1))
            return
        start = job.indexes.start
        rows = [range(start + row.start, start + row.stop) for row in units(self._work, job.notes)]
        if len(rows) > 1:
            self._jobs.extendleft(_Job(job.task, row) for row in reversed(rows))
            return
        on = "the notes of this patient" if self._work.whole_patients else "this note"
        why = told or Fault(WORKER_STAGE, f"the worker process {fault} on {on}")
        for index in job.indexes:
            job.task.outcomes[index] = Quarantined(job.task.notes[index].id, why.stage, why.reason)


def _new_task(batch: Batch) -> _Task:
    notes = batch.notes
    return _Task(batch, notes, [None] * len(notes))


def _bare(note: Note) -> Note:
    """Return the note without the columns that only the writer needs."""
    return Note(note.id, note.text, note.patient, note.type) if note.extra else note


def _check_same(before: Mapping[str, object], after: Mapping[str, object]) -> None:
    """Raise ModelError when a pipeline describes itself otherwise than the one before."""
    if before != after:
        raise ModelError("models or lists were changed while the run went on; run it again")


def _total(spent: list[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for each in spent:
        for stage, stage_seconds in each.items():
            total[stage] = total.get(stage, 0.0) + stage_seconds
    return total


def open_workers(work: Work, count: int, *, in_process: bool) -> InProcess | WorkerPool:
    """Return a pipeline in this process when ``in_process`` and ``count`` is 1, else ``count`` worker processes.

    Both are context managers.
    """
    return InProcess(work) if in_process and count == 1 else WorkerPool(work, count)
