"""Test worker processes that are really killed."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from deid_runtime.errors import EngineError, ModelError, SettingsError
from deid_runtime.formats.records import Source
from deid_runtime.pipeline.outcomes import Detected, Quarantined
from deid_runtime.run.batches import Batch
from deid_runtime.run.outcomes import Work
from deid_runtime.run.watchdog import Patience, resident_bytes
from deid_runtime.run.worker import Worker
from deid_runtime.run.workers import InProcess, WorkerPool, open_workers
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, Span

SOURCE = Source(Path("notes.jsonl"), "notes.jsonl", "jsonl", 0)
WORK = Work(task="detect", settings=Settings(use_models=False))
HASTY = Patience(load_s=30, idle_s=3, restart_pause_s=0.01)
# Long enough for a signal to reach the worker during the note.
SLOW_TEXT = "Seen on 03/04/2051 by the team, call 212-664-9182.\n" * 1_000


def batches(*groups: list[Note]) -> Iterator[Batch]:
    for notes in groups:
        yield Batch([(SOURCE, note) for note in notes], sum(len(note.text) for note in notes))


def note(note_id: str, text: str = "Seen on 03/04/2051.", patient: str = "") -> Note:
    return Note(note_id, text, patient)


@contextmanager
def signaller(
    pool: WorkerPool,
    condemned: Callable[[Worker[Any]], bool],
    number: signal.Signals = signal.SIGKILL,
    limit: int = 1_000,
) -> Iterator[list[int]]:
    """Send a signal once to every worker that is ``condemned``; yield the ids of the signalled processes."""
    hit: list[int] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            for worker in list(pool._workers):
                pid = worker.process.pid or 0
                if len(hit) < limit and pid not in hit and condemned(worker):
                    hit.append(pid)
                    os.kill(pid, number)
            time.sleep(0.001)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield hit
    finally:
        stop.set()
        thread.join()


def holds(note_id: str) -> Callable[[Worker[Any]], bool]:
    """Return a function that checks whether the note is in the job of a worker."""
    return lambda worker: (job := worker.job) is not None and note_id in [note.id for note in job.notes]


def results(pool: WorkerPool | InProcess, *groups: list[Note]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for batch, outcomes in pool.map(batches(*groups)):
        found += [(note.id, outcome) for note, outcome in zip(batch.notes, outcomes, strict=True)]
    return found


def test_processes_answer_as_one_process_does_in_the_same_order() -> None:
    groups = [[note(f"{group}-{number}") for number in range(5)] for group in range(9)]
    groups[0].append(note("slow", SLOW_TEXT))  # the batches after it are ready first
    groups.insert(4, [])

    with open_workers(WORK, 1, in_process=True) as alone:
        expected = results(alone, *groups)
        description = alone.describe()
    with open_workers(WORK, 2, in_process=True) as pool:
        assert results(pool, *groups) == expected
        assert pool.describe() == description
        assert pool.stage_seconds()["patterns"] > 0

    assert [note_id for note_id, _ in expected] == [note.id for group in groups for note in group]


def test_a_worker_killed_once_costs_nothing() -> None:
    groups = [[note("a"), note("b", SLOW_TEXT), note("c")], [note("d")], [note("e")]]
    with WorkerPool(WORK, 2) as pool, signaller(pool, holds("b"), limit=1) as killed:
        found = results(pool, *groups)

    assert len(killed) == 1
    assert [note_id for note_id, _ in found] == ["a", "b", "c", "d", "e"]
    assert all(isinstance(outcome, Detected) for _, outcome in found)


def test_a_note_that_kills_every_worker_is_given_up_alone() -> None:
    groups = [[note("a"), note("bad", SLOW_TEXT), note("c")], [note("d")]]
    with WorkerPool(WORK, 2) as pool, signaller(pool, holds("bad")) as killed:
        found = results(pool, *groups)

    assert len(killed) == 4  # the batch twice, the note alone twice
    assert [note_id for note_id, _ in found] == ["a", "bad", "c", "d"]
    given_up = [(note_id, outcome) for note_id, outcome in found if not isinstance(outcome, Detected)]
    assert given_up == [("bad", Quarantined("bad", "worker", "the worker process was ended by signal 9 on this note"))]


def test_a_patient_that_kills_every_worker_is_given_up_alone_where_patients_are_whole() -> None:
    work = Work(task="deidentify", settings=WORK.settings, key=bytes(32), whole_patients=True)
    groups = [[note("a", patient="p1"), note("b", patient="p2"), note("bad", SLOW_TEXT, "p2"), note("c"), note("d")]]
    with WorkerPool(work, 2) as pool, signaller(pool, holds("bad")) as killed:
        found = results(pool, *groups)

    assert len(killed) == 4  # the batch twice, the patient alone twice
    reason = "the worker process was ended by signal 9 on the notes of this patient"
    assert [(note_id, outcome) for note_id, outcome in found if isinstance(outcome, Quarantined)] == [
        ("b", Quarantined("b", "worker", reason)),
        ("bad", Quarantined("bad", "worker", reason)),
    ]
    assert [note_id for note_id, _ in found] == ["a", "b", "bad", "c", "d"]


def test_an_idle_worker_that_dies_is_replaced() -> None:
    def groups() -> Iterator[Batch]:
        yield from batches([note("a")])
        while pool._workers[0].job or not pool._workers[0].is_ready:
            pool._receive(0.01)
        pool._workers[0].process.kill()
        pool._workers[0].process.join()
        yield from batches([note("b")])

    with WorkerPool(WORK, 1) as pool:
        found = [outcome for _, outcomes in pool.map(groups()) for outcome in outcomes]

    assert [type(outcome) for outcome in found] == [Detected, Detected]


def test_what_loading_raises_in_a_worker_is_raised_here(tmp_path: Path) -> None:
    settings = Settings(use_models=False, templates=tmp_path / "gone.txt")

    with WorkerPool(Work(task="detect", settings=settings), 2) as pool, pytest.raises(SettingsError, match="gone"):
        results(pool, [note("a")])


def test_workers_killed_while_loading_again_and_again_are_an_error_not_a_loop() -> None:
    with (
        WorkerPool(WORK, 1, HASTY) as pool,
        signaller(pool, lambda worker: not worker.is_ready) as hit,
        pytest.raises(ModelError, match="ended by signal 9 while loading, as 2 did in a row; with too little memory"),
    ):
        results(pool, [note("a")])

    assert len(hit) == 2


def test_a_worker_killed_while_loading_is_started_again() -> None:
    with WorkerPool(WORK, 1, HASTY) as pool, signaller(pool, lambda worker: not worker.is_ready, limit=1) as hit:
        found = results(pool, [note("a")])

    assert len(hit) == 1
    assert [type(outcome) for _, outcome in found] == [Detected]


def test_more_starts_may_fail_once_a_worker_was_ready() -> None:
    def strikes(worker: Worker[Any]) -> bool:
        return worker.job is not None if not hit else not worker.is_ready

    hit: list[int]
    with WorkerPool(WORK, 1, HASTY) as pool, signaller(pool, strikes, limit=4) as hit:
        found = results(pool, [note("a", SLOW_TEXT)])

    assert len(hit) == 4  # once while working, three times while loading
    assert [type(outcome) for _, outcome in found] == [Detected]


def test_a_worker_that_is_stopped_is_replaced() -> None:
    groups = [[note("a"), note("b", SLOW_TEXT)], [note("c")]]
    with WorkerPool(WORK, 1, HASTY) as pool, signaller(pool, holds("b"), signal.SIGSTOP, limit=1) as stopped:
        found = results(pool, *groups)
        processes = [worker.process.pid for worker in pool._workers]

    assert len(stopped) == 1
    assert not psutil.pid_exists(stopped[0])
    assert stopped[0] not in processes
    assert [(note_id, type(outcome)) for note_id, outcome in found] == [
        ("a", Detected),
        ("b", Detected),
        ("c", Detected),
    ]


def test_a_note_that_stops_every_worker_is_given_up_alone() -> None:
    groups = [[note("a"), note("bad", SLOW_TEXT)], [note("c")]]
    with WorkerPool(WORK, 1, HASTY) as pool, signaller(pool, holds("bad"), signal.SIGSTOP) as stopped:
        found = results(pool, *groups)

    assert len(stopped) == 4  # the batch twice, the note alone twice
    assert [type(outcome) for _, outcome in found] == [Detected, Quarantined, Detected]
    [rejected] = [outcome for _, outcome in found if isinstance(outcome, Quarantined)]
    assert rejected.stage == "worker"
    assert re.fullmatch(r"the worker process did nothing for \d+ s on this note", rejected.reason)


def test_a_note_that_takes_too_much_processor_time_is_given_up() -> None:
    patience = Patience(busy_s=0.5, chars_per_s=1e9)
    with WorkerPool(WORK, 1, patience) as pool:
        found = results(pool, [note("a"), note("endless", SLOW_TEXT * 20)])

    assert [type(outcome) for _, outcome in found] == [Detected, Quarantined]
    assert "of processor time on this note" in found[1][1].reason  # type: ignore[attr-defined]


def test_a_worker_that_is_stopped_while_it_loads_is_replaced() -> None:
    patience = Patience(load_s=8, restart_pause_s=0.01)
    with (
        WorkerPool(WORK, 1, patience) as pool,
        signaller(pool, lambda worker: not worker.is_ready, signal.SIGSTOP, limit=1) as stopped,
    ):
        found = results(pool, [note("a")])

    assert len(stopped) == 1
    assert [type(outcome) for _, outcome in found] == [Detected]


def test_a_large_job_for_a_stopped_worker_does_not_stop_the_parent() -> None:
    large = "No fever.\n" * 100_000  # more than the system buffers for a process that does not read

    def groups() -> Iterator[Batch]:
        yield from batches([note("a")])
        while pool._workers[0].job or not pool._workers[0].is_ready:
            pool._receive(0.01)
        os.kill(pool._workers[0].process.pid or 0, signal.SIGSTOP)
        yield from batches([note("large", large)])

    with WorkerPool(WORK, 1, HASTY) as pool:
        found = [type(outcome) for _, outcomes in pool.map(groups()) for outcome in outcomes]

    assert found == [Detected, Detected]


def test_time_in_which_the_parent_does_not_look_is_not_held_against_a_worker() -> None:
    def groups() -> Iterator[Batch]:
        yield from batches([note("a")])
        while pool._workers[0].job or not pool._workers[0].is_ready:
            pool._receive(0.01)
        pids.append(pool._workers[0].process.pid or 0)
        yield from batches([note("b", SLOW_TEXT)])
        os.kill(pids[0], signal.SIGSTOP)
        time.sleep(2 * HASTY.idle_s)  # as when Ctrl-Z stops parent and worker
        os.kill(pids[0], signal.SIGCONT)

    pids: list[int] = []
    with WorkerPool(WORK, 1, HASTY) as pool:
        found = [type(outcome) for _, outcomes in pool.map(groups()) for outcome in outcomes]
        assert [worker.process.pid for worker in pool._workers] == pids

    assert found == [Detected, Detected]


@dataclass(frozen=True)
class Flawed:
    """Run the models in this process; fail ``times`` times, while loading or on notes with a certain word.

    ``marks`` is a folder with one file per failure, which counts the failures of all processes.
    """

    error: Exception
    marks: Path
    times: int
    fails_on_loading: bool = False
    connect_seconds: float = 0.0

    def longest_s(self, notes: int, chars: int) -> float:
        return 0.0

    @contextmanager
    def connect(self, settings: Settings) -> Iterator[Any]:
        if self.fails_on_loading:
            self._fail()
        yield self

    def window_counts(self) -> dict[str, int]:
        return {}

    def _fail(self) -> None:
        if len(list(self.marks.iterdir())) < self.times:
            (self.marks / str(uuid4())).touch()
            raise self.error

    @property
    def manifest(self) -> dict[str, object]:
        return {"engine": "flawed"}

    def __call__(self, texts: Sequence[str], sentences: object) -> list[list[Span]]:
        if any("Quist" in text for text in texts):
            self._fail()
        return [[Span(0, 4, "DOCTOR", 0.9, ("model:name",))] for _ in texts]


@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(EngineError("an impossible answer"), "an impossible answer", id="engine"),
        pytest.param(MemoryError(), "memory ran out", id="memory"),
    ],
)
def test_a_job_of_an_engine_that_failed_is_done_again_by_another(
    error: Exception, reason: str, in_process: bool, tmp_path: Path
) -> None:
    groups = [[note("a"), note("quist", "Seen by Quist."), note("c")], [note("d")]]

    def found(folder: str, times: int) -> list[tuple[str, object]]:
        (tmp_path / folder).mkdir()
        settings = Settings(server=Flawed(error, tmp_path / folder, times))
        with open_workers(Work(task="detect", settings=settings), 1, in_process=in_process) as workers:
            outcomes = results(workers, *groups)
        assert len(list((tmp_path / folder).iterdir())) == times
        return outcomes

    expected = found("sound", 0)
    assert found("thrice", 3) == expected

    given_up = ("quist", Quarantined("quist", "models", reason))
    assert found("always", 4) == [given_up if each[0] == "quist" else each for each in expected]


def test_an_engine_that_cannot_be_loaded_is_tried_again_and_then_told(tmp_path: Path) -> None:
    def found(times: int) -> list[tuple[str, object]]:
        folder = tmp_path / str(times)
        folder.mkdir()
        error = EngineError("the engine does not give the known answer")
        work = Work(task="detect", settings=Settings(server=Flawed(error, folder, times, fails_on_loading=True)))
        with WorkerPool(work, 1, HASTY) as pool:
            return results(pool, [note("a")])

    assert [type(outcome) for _, outcome in found(1)] == [Detected]
    with pytest.raises(EngineError, match="known answer"):
        found(2)


def test_no_process_is_left_behind() -> None:
    with WorkerPool(WORK, 2) as pool:
        stream = pool.map(batches([note("a")], [note("b", SLOW_TEXT)], [note("c", SLOW_TEXT)]))
        next(stream)
        processes = [psutil.Process(worker.process.pid) for worker in pool._workers]

    assert processes
    assert not any(process.is_running() for process in processes)


def test_reprs_show_neither_text_nor_key() -> None:
    work = Work(task="deidentify", settings=Settings(), key=b"secret")

    assert "secret" not in repr(work)


def test_a_worker_that_outgrows_its_share_of_the_memory_is_replaced() -> None:
    notes = [note(str(number)) for number in range(6)]
    with WorkerPool(WORK, 1) as pool:
        expected = [outcomes for _, outcomes in pool.map(batches(*([each] for each in notes)))]
        [worker] = pool._workers
        used_bytes = resident_bytes(worker.process.pid or 0)
    assert used_bytes > 2**20
    seen = set()
    with WorkerPool(WORK, 1, memory_bytes=4 * used_bytes) as pool:
        found = []
        for _, outcomes in pool.map(batches(*([each] for each in notes))):
            found.append(outcomes)
            seen |= {worker.process.pid for worker in pool._workers}
            if len(found) == 3:
                pool._share_bytes = used_bytes // 2  # as if the worker had grown
            elif len(seen) > 1:
                pool._share_bytes = 2 * used_bytes

    assert found == expected
    assert len(seen) > 1


def test_workers_that_cannot_do_with_the_memory_end_the_run() -> None:
    with WorkerPool(WORK, 2, HASTY, memory_bytes=2**20) as pool, pytest.raises(SettingsError, match="fewer --workers"):
        list(pool.map(batches([note("a")], [note("b")], [note("c")])))
