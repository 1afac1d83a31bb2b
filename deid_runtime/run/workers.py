"""Process batches in this process or in worker processes, with outcomes in the order of the batches.

A worker may die (out of memory, killed, a crash in an engine), hang, or report that its engine failed. It is replaced,
and its job is repeated: two attempts on the whole job, then two attempts on each note. Only a note that fails alone in
two workers is quarantined. With whole patients, the notes of a patient are repeated and quarantined together.

A worker that has grown beyond its share of the memory is replaced between two jobs.
"""

import multiprocessing
import select
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from time import monotonic, time_ns
from types import TracebackType
from typing import Final, Self

from deid_runtime.errors import EngineError, ModelError, SettingsError
from deid_runtime.pipeline.outcomes import Fault, Outcome, Quarantined
from deid_runtime.pipeline.tracing import more_seconds, record_batch
from deid_runtime.run.batches import Batch
from deid_runtime.run.outcomes import Work, units
from deid_runtime.run.watchdog import STEP_S, Patience, Watchdog, resident_bytes
from deid_runtime.run.worker import Answer, NotLoaded, Ready, Worker
from deid_runtime.run.worker_jobs import OpenBatch, WorkerJob
from deid_runtime.spans import Note
from deid_runtime.stages import WORKER_STAGE

#: Batches per worker that are read but not yet written: enough to keep all workers busy while one has a long note.
_BATCHES_PER_WORKER: Final = 4
#: No further batch is read while those in flight have this many characters.
_CHARS_IN_FLIGHT: Final = 16 * 2**20
#: Most bytes of a character in flight: four each in the note, its message and its outcome, and some more.
_BYTES_PER_CHAR: Final = 16
#: After this many failed workers, a job is split. A job that cannot be split is quarantined.
_ATTEMPTS: Final = 2
#: The run ends when this many workers in a row end while loading: before any worker was ready, and after.
_FAILED_STARTS_AT_FIRST: Final = 2
_FAILED_STARTS: Final = 4
#: How long a process that closed its connection may take to end by itself, so that its exit code is known.
_GRACE_S: Final = 2.0


class InProcess:
    """One pipeline in this process. A context manager.

    A crash of the engine ends this process. After a failure without a crash the pipeline is loaded again, at most twice
    for each batch and each note in it.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._past_seconds: list[Mapping[str, float]] = []  # of closed pipelines
        self._past_counts: Counter[str] = Counter()  # blocks of text of closed pipelines
        self._load()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processor.close()

    def map(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, list[Outcome]]]:
        """Yield every batch with the outcomes of its notes, in order."""
        for batch in batches:
            yield batch, self._process(batch.notes)

    def describe(self) -> dict[str, object]:
        """Return the description of the pipeline."""
        return self._processor.describe()

    def stage_seconds(self) -> dict[str, float]:
        """Return the seconds spent in each stage."""
        return total([*self._past_seconds, self._processor.stage_seconds])

    def cache_counts(self) -> dict[str, int]:
        """Return how many blocks and windows were read, and how many of them came from a cache."""
        return dict(self._past_counts + Counter(self._processor.cache_counts))

    def _load(self) -> None:
        # The lists and patterns take a second to import, and a parent of workers needs none of them.
        from deid_runtime.run.processor import Processor

        self._processor = Processor(self._work)

    def _process(self, notes: list[Note]) -> list[Outcome]:
        """Return one outcome per note. Repeat when the pipeline fails; after repeated failure return Quarantined."""
        for _ in range(_ATTEMPTS):
            started_ns, before = time_ns(), dict(self._processor.stage_seconds)
            outcomes = self._processor.process(notes)
            if self._processor.fault is None:
                record_batch(notes, outcomes, started_ns, more_seconds(before, self._processor.stage_seconds))
                return outcomes
            self._past_seconds.append(self._processor.stage_seconds)
            self._past_counts.update(self._processor.cache_counts)
            description = self._processor.describe()
            self._processor.close()
            self._load()
            _check_same(description, self._processor.describe())
        rows = units(self._work, notes)
        if len(rows) == 1:
            return outcomes  # a pipeline with a fault returns `Quarantined` with the reason for all notes
        return [outcome for row in rows for outcome in self._process(notes[row.start : row.stop])]


class WorkerPool:
    """Up to ``count`` worker processes, started when there is work. A context manager; leaving it kills them.

    ``memory_bytes`` is what all processes of the run may use together; None for no limit. Each worker may use an equal
    part, and this process another one.
    """

    def __init__(
        self, work: Work, count: int, patience: Patience | None = None, memory_bytes: int | None = None
    ) -> None:
        self._share_bytes = memory_bytes // (count + 1) if memory_bytes else None
        self._chars_in_flight = _CHARS_IN_FLIGHT
        if self._share_bytes is not None:
            self._chars_in_flight = min(_CHARS_IN_FLIGHT, self._share_bytes // _BYTES_PER_CHAR)
        self._outgrown = 0  # workers in a row that were too large after their first job
        self._work = work
        self._count = count
        self._patience = patience or Patience()
        self._watchdog = Watchdog(self._patience, work.settings.server)
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[Worker[WorkerJob]] = []
        self._jobs: deque[WorkerJob] = deque()
        self._description: dict[str, object] | None = None
        self._past_seconds: list[Mapping[str, float]] = []  # of workers that have ended
        self._past_counts: Counter[str] = Counter()  # blocks of text of workers that have ended
        self._failed_starts = 0  # in a row, since the last worker that became ready
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

        Raises the error of a worker that could not load its pipeline; ModelError when workers repeatedly end while
        loading.
        """
        in_flight: deque[OpenBatch] = deque()
        most = _BATCHES_PER_WORKER * self._count
        chars = 0
        exhausted = False
        while True:
            while in_flight and None not in in_flight[0].outcomes:
                done = in_flight.popleft()
                chars -= done.batch.chars
                yield done.batch, [outcome for outcome in done.outcomes if outcome is not None]
            while not exhausted and len(in_flight) < most and chars < self._chars_in_flight:
                batch = next(batches, None)
                if batch is None:
                    exhausted = True
                    break
                opened = OpenBatch.of(batch)
                in_flight.append(opened)
                chars += batch.chars
                if opened.notes:
                    self._jobs.append(WorkerJob(opened, range(len(opened.notes))))
                # Give the next job to finished workers between batches: they must not wait for the reader.
                self._assign()
                self._receive(wait_s=0.0)
            if exhausted and not in_flight:
                return
            self._assign()
            if None in in_flight[0].outcomes:
                self._receive(wait_s=STEP_S)

    def describe(self) -> dict[str, object]:
        """Return the description of a worker's pipeline. Start a worker when none has run."""
        while self._description is None:
            if not self._workers:
                self._start()
            self._receive(wait_s=STEP_S)
        return self._description

    def stage_seconds(self) -> dict[str, float]:
        """Return the seconds spent in each stage, summed over all workers, without unreported time of dead workers."""
        return total([*self._past_seconds, *(worker.stage_seconds for worker in self._workers)])

    def cache_counts(self) -> dict[str, int]:
        """Return how many blocks and windows were read, and how many of them came from a cache, over all workers."""
        return dict(sum((Counter(worker.cache_counts) for worker in self._workers), self._past_counts))

    def _assign(self) -> None:
        """Give a job to every free worker, and start workers while jobs are left."""
        for worker in list(self._workers):
            if self._jobs and worker.is_ready and worker.job is None:
                self._send(worker, self._jobs.popleft())
        loading = sum(not worker.is_ready for worker in self._workers)
        while len(self._jobs) > loading and len(self._workers) < self._count and self._start():
            loading += 1

    def _start(self) -> bool:
        """Start a worker and return True. Return False during the pause after a worker that ended while loading."""
        if monotonic() < self._next_start_s:
            return False
        self._workers.append(Worker(self._context, self._work))
        return True

    def _send(self, worker: Worker[WorkerJob], job: WorkerJob) -> None:
        worker.job = job
        worker.job_started_ns = time_ns()
        worker.watch.start()
        with suppress(OSError):  # the worker died before it received the job; `_receive` detects that
            worker.mailbox.post(job.message())

    def _receive(self, wait_s: float) -> None:
        """Wait up to ``wait_s`` for messages, handle them, and retire workers that are gone or overdue."""
        poll = select.poll()
        for worker in self._workers:
            poll.register(worker.mailbox, select.POLLIN | (select.POLLOUT if worker.mailbox.is_sending else 0))
        stirred = {descriptor for descriptor, _ in poll.poll(wait_s * 1000)}
        for worker in [worker for worker in self._workers if worker.mailbox.fileno() in stirred]:
            with suppress(OSError):  # a worker that is gone may have sent the reason before
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

    def _take(self, worker: Worker[WorkerJob], message: object) -> None:
        if isinstance(message, NotLoaded):
            if not isinstance(message.error, EngineError):
                raise message.error  # every other worker would raise it too
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
            spent = more_seconds(worker.stage_seconds, message.stage_seconds)
            record_batch(job.notes, message.outcomes, worker.job_started_ns, spent)
            worker.stage_seconds = message.stage_seconds
            worker.cache_counts = message.cache_counts
            self._watchdog.learn(worker.watch, job.chars)
            for index, outcome in zip(job.indexes, message.outcomes, strict=True):
                job.batch.outcomes[index] = outcome
            worker.jobs_done += 1
            self._check_memory(worker)
            self._assign()

    def _check_memory(self, worker: Worker[WorkerJob]) -> None:
        """Replace a worker without a job that uses more than its share of the memory.

        Raises SettingsError when workers do so from their first job on: then replacing them is useless.
        """
        if self._share_bytes is None or resident_bytes(worker.process.pid or 0) <= self._share_bytes:
            self._outgrown = 0
            return
        self._outgrown = self._outgrown + 1 if worker.jobs_done == 1 else 0
        if self._outgrown >= _ATTEMPTS:
            needed = resident_bytes(worker.process.pid or 0) * (self._count + 1) // 2**20
            raise SettingsError(
                f"{self._count} workers need more memory than the limit; use fewer --workers, or --memory {needed + 1} "
                "or more"
            )
        self._workers.remove(worker)
        self._past_seconds.append(worker.stage_seconds)
        worker.end()

    def _retire(
        self,
        worker: Worker[WorkerJob],
        fault: str = "",
        *,
        error: EngineError | None = None,
        told: Fault | None = None,
        grace_s: float = 0.0,
    ) -> None:
        """End a worker and put its job back.

        ``fault`` is a verb phrase for the fault of the worker; "" for a worker that died. ``error`` is the
        worker's message that it could not load its engine. ``told`` is its message that its pipeline failed, which
        becomes the reason of quarantined notes.
        """
        self._workers.remove(worker)
        self._past_seconds.append(worker.stage_seconds)
        self._past_counts.update(worker.cache_counts)
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

    def _put_back(self, job: WorkerJob, told: Fault | None, fault: str) -> None:
        """Repeat a job; split it when too many workers failed on it; quarantine its notes when it cannot be split."""
        if job.failures + 1 < _ATTEMPTS:
            self._jobs.appendleft(WorkerJob(job.batch, job.indexes, job.failures + 1))
            return
        start = job.indexes.start
        rows = [range(start + row.start, start + row.stop) for row in units(self._work, job.notes)]
        if len(rows) > 1:
            self._jobs.extendleft(WorkerJob(job.batch, row) for row in reversed(rows))
            return
        on = "the notes of this patient" if self._work.whole_patients else "this note"
        why = told or Fault(WORKER_STAGE, f"the worker process {fault} on {on}")
        for index in job.indexes:
            job.batch.outcomes[index] = Quarantined(job.batch.notes[index].id, why.stage, why.reason)


def _check_same(before: Mapping[str, object], after: Mapping[str, object]) -> None:
    """Raise ModelError when the description of a new pipeline differs from the one before."""
    if before != after:
        raise ModelError("models or lists were changed during the run; run it again")


def total(spent: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the seconds by stage, summed."""
    found: dict[str, float] = {}
    for each in spent:
        for stage, stage_seconds in each.items():
            found[stage] = found.get(stage, 0.0) + stage_seconds
    return found


def open_workers(
    work: Work, count: int, *, in_process: bool, memory_bytes: int | None = None
) -> InProcess | WorkerPool:
    """Return a pipeline in this process when ``in_process`` and ``count`` is 1, otherwise ``count`` worker processes.

    ``memory_bytes`` limits worker processes, see :class:`WorkerPool`. Both are context managers.
    """
    return InProcess(work) if in_process and count == 1 else WorkerPool(work, count, memory_bytes=memory_bytes)
