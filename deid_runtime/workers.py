"""Batches through a pipeline, in this process or in several, with answers in the order of the batches.

Each worker process loads its own pipeline and has a pipe of its own, so that one that is killed leaves no lock and no
half-read queue behind. A worker holds one job at a time: the parent writes to a pipe only when the worker at the other
end waits for it, hence neither can block on a full pipe while the other does.

A worker that dies (out of memory, killed, a crash in an engine) costs nothing but time: its batch goes to a fresh
worker, then note by note, and only a note that is alone with its worker when that dies is given up. Where patients are
served as a whole, so are they given up.
"""

import json
import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from deid_runtime.batches import Batch, by_patient
from deid_runtime.crosswalk import crosswalk_line
from deid_runtime.errors import DeidError, ModelError
from deid_runtime.process_privacy import keep_private
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, PatientRecord, Span

if TYPE_CHECKING:
    from deid_runtime.pipeline import Pipeline, Quarantined

Task = Literal["deidentify", "detect"]

#: Batches read but not yet written, for each worker: enough to keep all busy while one has a long note.
_BATCHES_PER_WORKER = 4
#: No further batch is read while those in flight hold this many characters.
_CHARS_IN_FLIGHT = 16 * 2**20
_STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What every worker needs to load its pipeline, and what it is to do."""

    task: Task
    settings: Settings
    key: bytes | None = field(default=None, repr=False)
    records: Mapping[str, PatientRecord] = field(default_factory=dict, repr=False)
    with_crosswalk: bool = False
    whole_patients: bool = False  # batches are of whole patients, and each is served as one


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A note as it may be handed on."""

    text: str = field(repr=False)
    note_pseudonym: str
    patient_pseudonym: str
    labels: Mapping[str, int]
    crosswalk: bytes = field(default=b"", repr=False)  # originals in clear: never to be written as it is


@dataclass(frozen=True, slots=True)
class Found:
    """The spans of a note as one line of JSON, which is made here to share the work among the workers."""

    line: bytes
    labels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A note that goes to quarantine."""

    stage: str
    reason: str


Outcome = Rewritten | Found | Rejected


def process(pipeline: "Pipeline", work: Work, notes: Sequence[Note]) -> list[Outcome]:
    """Return one outcome a note, in order."""
    from deid_runtime.pipeline import Deidentified, Detected

    def outcome_of(note: Note, result: "Deidentified | Detected | Quarantined") -> Outcome:
        if isinstance(result, Deidentified):
            line = crosswalk_line(note, result) if work.with_crosswalk else b""
            return Rewritten(result.text, result.note_pseudonym, result.patient_pseudonym, _count(result.spans), line)
        if isinstance(result, Detected):
            return Found(_span_line(result.note_id, result.spans), _count(result.spans))
        return Rejected(result.stage, result.reason)

    results = (
        pipeline.deidentify(notes, whole_patients=work.whole_patients)
        if work.task == "deidentify"
        else pipeline.detect(notes)
    )
    return [outcome_of(note, result) for note, result in zip(notes, results, strict=True)]


def _count(spans: Sequence[Span]) -> dict[str, int]:
    return dict(Counter(span.label for span in spans))


def _span_line(note_id: str, spans: Sequence[Span]) -> bytes:
    rows = [
        {
            "start": span.start,
            "end": span.end,
            "label": span.label,
            "score": round(span.score, 4),
            "sources": list(span.sources),
        }
        for span in spans
    ]
    return (json.dumps({"id": note_id, "spans": rows}, ensure_ascii=False) + "\n").encode("utf-8")


class InProcess:
    """One pipeline in this process. A context manager."""

    def __init__(self, work: Work) -> None:
        # Loaded here rather than at the top: the parent of worker processes needs no engine.
        from deid_runtime.pipeline import load_pipeline

        self._work = work
        self._pipeline = load_pipeline(work.settings, key=work.key, records=work.records)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipeline.close()

    def map(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, list[Outcome]]]:
        """Yield every batch with the outcomes of its notes, in order."""
        for batch in batches:
            yield batch, process(self._pipeline, self._work, batch.notes)

    def describe(self) -> dict[str, object]:
        """Return what the pipeline says of itself."""
        return self._pipeline.describe()

    def stage_seconds(self) -> dict[str, float]:
        """Return the time spent in each stage."""
        return dict(self._pipeline.stage_seconds)


@dataclass(frozen=True, slots=True)
class _Ready:
    description: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Failed:
    error: DeidError


@dataclass(frozen=True, slots=True)
class _Answer:
    outcomes: list[Outcome]
    stage_seconds: Mapping[str, float]


@dataclass(slots=True, eq=False)
class _Task:
    """A batch on its way: the outcomes so far, None where there is none yet."""

    batch: Batch
    notes: list[Note]
    outcomes: list[Outcome | None]


@dataclass(frozen=True, slots=True)
class _Job:
    """Some notes of a task: those at ``indexes``. ``deaths`` workers died on them together."""

    task: _Task
    indexes: range
    deaths: int = 0


@dataclass(slots=True, eq=False)
class _Worker:
    process: SpawnProcess
    pipe: "Connection[object, object]"
    is_ready: bool = False
    job: _Job | None = None
    stage_seconds: Mapping[str, float] = field(default_factory=dict)


class WorkerPool:
    """Up to ``count`` worker processes, started as there is work for them. A context manager: leaving it ends them."""

    def __init__(self, work: Work, count: int) -> None:
        self._work = work
        self._count = count
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._jobs: deque[_Job] = deque()
        self._description: dict[str, object] | None = None
        self._past_seconds: list[Mapping[str, float]] = []  # of workers that are no more

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(_STOP_SECONDS)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.pipe.close()
            worker.process.close()
        self._workers.clear()

    def map(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, list[Outcome]]]:
        """Yield every batch with the outcomes of its notes, in order.

        Raises what loading the pipeline raised in a worker, and ModelError for a worker that dies while loading.
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
                self._receive(timeout_seconds=0)
            if exhausted and not in_flight:
                return
            self._assign()
            if None in in_flight[0].outcomes:
                self._receive(timeout_seconds=None)

    def describe(self) -> dict[str, object]:
        """Return what the pipeline of a worker says of itself; starts one when there was no work for any."""
        if not self._workers:
            self._start()
        while self._description is None:
            self._receive(timeout_seconds=None)
        return self._description

    def stage_seconds(self) -> dict[str, float]:
        """Return the time spent in each stage, over all workers; what a dead worker did not report is not in it."""
        total: dict[str, float] = {}
        for spent in (*self._past_seconds, *(worker.stage_seconds for worker in self._workers)):
            for stage, stage_seconds in spent.items():
                total[stage] = total.get(stage, 0.0) + stage_seconds
        return total

    def _assign(self) -> None:
        """Give a job to every worker that waits for one, and start workers while jobs are left over."""
        for worker in list(self._workers):
            if self._jobs and worker.is_ready and worker.job is None:
                self._send(worker, self._jobs.popleft())
        loading = sum(not worker.is_ready for worker in self._workers)
        while len(self._jobs) > loading and len(self._workers) < self._count:
            self._start()
            loading += 1

    def _send(self, worker: _Worker, job: _Job) -> None:
        worker.job = job
        try:
            worker.pipe.send([_bare(job.task.notes[index]) for index in job.indexes])
        except OSError:  # it died before it could take the job
            self._bury(worker)

    def _receive(self, timeout_seconds: float | None) -> None:
        """Take in what the workers have sent. Without a timeout, waits until one has."""
        by_pipe = {worker.pipe: worker for worker in self._workers}
        for pipe in wait(list(by_pipe), timeout_seconds):
            worker = by_pipe[pipe]  # type: ignore[index]
            if worker not in self._workers:  # found dead when an earlier message of this round freed a job
                continue
            try:
                message = worker.pipe.recv()
            except (EOFError, OSError):
                self._bury(worker)
            else:
                self._take(worker, message)

    def _take(self, worker: _Worker, message: object) -> None:
        if isinstance(message, _Failed):
            raise message.error
        if isinstance(message, _Ready):
            worker.is_ready = True
            if self._description not in (None, message.description):
                raise ModelError("models or lists were changed while the run went on; run it again")
            self._description = dict(message.description)
        elif isinstance(message, _Answer) and worker.job:
            job, worker.job = worker.job, None
            worker.stage_seconds = message.stage_seconds
            for index, outcome in zip(job.indexes, message.outcomes, strict=True):
                job.task.outcomes[index] = outcome
            self._assign()

    def _bury(self, worker: _Worker) -> None:
        """Put the job of a dead worker back, in smaller pieces the second time."""
        self._workers.remove(worker)
        self._past_seconds.append(worker.stage_seconds)
        worker.pipe.close()
        worker.process.join(_STOP_SECONDS)
        if worker.process.is_alive():  # it closed its pipe, yet lives on
            worker.process.kill()
            worker.process.join()
        ended = _ending(worker.process.exitcode)
        worker.process.close()
        if not worker.is_ready:
            raise ModelError(f"a worker process {ended} while loading; with too little memory use fewer --workers")
        if worker.job is None:
            return
        job = worker.job
        units = self._units(job)
        if len(units) == 1 and job.deaths:
            on = "the notes of this patient" if self._work.whole_patients else "this note"
            for index in job.indexes:
                job.task.outcomes[index] = Rejected("worker", f"the worker process {ended} on {on}")
        elif job.deaths:
            self._jobs.extendleft(_Job(job.task, unit, job.deaths) for unit in units[::-1])
        else:
            self._jobs.appendleft(_Job(job.task, job.indexes, deaths=1))

    def _units(self, job: _Job) -> list[range]:
        """Return the indexes of what can only be served or given up as a whole: notes, or all notes of a patient."""
        if not self._work.whole_patients:
            return [range(index, index + 1) for index in job.indexes]
        ends = accumulate(map(len, by_patient(job.task.notes[index] for index in job.indexes)), initial=0)
        return [range(job.indexes.start + start, job.indexes.start + end) for start, end in pairwise(ends)]

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._work), daemon=True, name="deid-worker")
        # Ctrl-C goes to every process of the terminal; the parent alone decides. The mask is inherited, so there is
        # no moment at which it could hit the child.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        except OSError as error:
            raise ModelError(f"a worker process cannot be started: {error.strerror}; use fewer --workers") from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
        theirs.close()
        self._workers.append(_Worker(process, ours))


def _new_task(batch: Batch) -> _Task:
    notes = batch.notes
    return _Task(batch, notes, [None] * len(notes))


def _bare(note: Note) -> Note:
    """Return the note without the columns that only the writer needs."""
    return Note(note.id, note.text, note.patient, note.type) if note.extra else note


def _ending(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"was ended by signal {-exit_code}"
    return f"ended with code {exit_code}"


def _serve(pipe: "Connection[object, object]", work: Work) -> None:
    """Answer jobs until the parent closes the pipe or dies. Runs in a process of its own."""
    keep_private()
    from deid_runtime.pipeline import load_pipeline

    try:
        pipeline = load_pipeline(work.settings, key=work.key, records=work.records)
    except DeidError as error:
        pipe.send(_Failed(error))
        return
    _silence()
    with pipeline, suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(_Ready(pipeline.describe()))
        while True:
            notes: list[Note] = pipe.recv()  # type: ignore[assignment]
            outcomes = process(pipeline, work, notes)
            pipe.send(_Answer(outcomes, dict(pipeline.stage_seconds)))


def _silence() -> None:
    """Close the mouth of this process before it sees notes: a traceback or an engine's own message may quote one."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def open_workers(work: Work, count: int) -> InProcess | WorkerPool:
    """Return a pipeline in this process for a ``count`` of 1, else that many processes; to be used in ``with``."""
    return InProcess(work) if count == 1 else WorkerPool(work, count)
