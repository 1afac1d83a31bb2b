"""Worker processes that are killed for real."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from deid_runtime.batches import Batch
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.formats.records import Source
from deid_runtime.settings import Settings
from deid_runtime.spans import Note
from deid_runtime.workers import Found, InProcess, Rejected, Work, WorkerPool, open_workers

SOURCE = Source(Path("notes.jsonl"), "notes.jsonl", "jsonl", 0)
WORK = Work(task="detect", settings=Settings(use_models=False))
# Long enough for the killer to see a worker at it.
SLOW_TEXT = "Seen on 03/04/2051 by the team, call 212-664-9182.\n" * 1_000


def batches(*groups: list[Note]) -> Iterator[Batch]:
    for notes in groups:
        yield Batch([(SOURCE, note) for note in notes], sum(len(note.text) for note in notes))


def note(note_id: str, text: str = "Seen on 03/04/2051.", patient: str = "") -> Note:
    return Note(note_id, text, patient)


@contextmanager
def killer(pool: WorkerPool, condemned: Callable[[list[str]], bool]) -> Iterator[list[int]]:
    """Kill every worker that holds notes whose ids are ``condemned``; yield the ids of the processes killed."""
    killed: list[int] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            for worker in list(pool._workers):
                job = worker.job
                if (
                    job
                    and worker.process.pid not in killed
                    and condemned([job.task.notes[at].id for at in job.indexes])
                ):
                    killed.append(worker.process.pid or 0)
                    os.kill(killed[-1], signal.SIGKILL)
            time.sleep(0.001)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()


def results(pool: WorkerPool | InProcess, *groups: list[Note]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for batch, outcomes in pool.map(batches(*groups)):
        found += [(note.id, outcome) for note, outcome in zip(batch.notes, outcomes, strict=True)]
    return found


def test_processes_answer_as_one_process_does_in_the_same_order() -> None:
    groups = [[note(f"{group}-{number}") for number in range(5)] for group in range(9)]
    groups[0].append(note("slow", SLOW_TEXT))  # the batches behind it are ready first
    groups.insert(4, [])

    with open_workers(WORK, 1) as alone:
        expected = results(alone, *groups)
        description = alone.describe()
    with open_workers(WORK, 2) as pool:
        assert results(pool, *groups) == expected
        assert pool.describe() == description
        assert pool.stage_seconds()["patterns"] > 0

    assert [note_id for note_id, _ in expected] == [note.id for group in groups for note in group]


def test_a_worker_killed_once_costs_nothing() -> None:
    groups = [[note("a"), note("b", SLOW_TEXT), note("c")], [note("d")], [note("e")]]
    killed: list[int]
    with WorkerPool(WORK, 2) as pool, killer(pool, lambda ids: "b" in ids and not killed) as killed:
        found = results(pool, *groups)

    assert len(killed) == 1
    assert [note_id for note_id, _ in found] == ["a", "b", "c", "d", "e"]
    assert all(isinstance(outcome, Found) for _, outcome in found)


def test_a_note_that_kills_every_worker_is_given_up_alone() -> None:
    groups = [[note("a"), note("bad", SLOW_TEXT), note("c")], [note("d")]]
    with WorkerPool(WORK, 2) as pool, killer(pool, lambda ids: "bad" in ids) as killed:
        found = results(pool, *groups)

    assert len(killed) == 3  # the batch twice, the note alone
    assert [note_id for note_id, _ in found] == ["a", "bad", "c", "d"]
    given_up = [(note_id, outcome) for note_id, outcome in found if not isinstance(outcome, Found)]
    assert given_up == [("bad", Rejected("worker", "the worker process was ended by signal 9 on this note"))]


def test_a_patient_that_kills_every_worker_is_given_up_alone_where_patients_are_whole() -> None:
    work = Work(task="deidentify", settings=WORK.settings, key=bytes(32), whole_patients=True)
    groups = [[note("a", patient="p1"), note("b", patient="p2"), note("bad", SLOW_TEXT, "p2"), note("c"), note("d")]]
    with WorkerPool(work, 2) as pool, killer(pool, lambda ids: "bad" in ids) as killed:
        found = results(pool, *groups)

    assert len(killed) == 3  # the batch twice, the patient alone
    reason = "the worker process was ended by signal 9 on the notes of this patient"
    assert [(note_id, outcome) for note_id, outcome in found if isinstance(outcome, Rejected)] == [
        ("b", Rejected("worker", reason)),
        ("bad", Rejected("worker", reason)),
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

    assert [type(outcome) for outcome in found] == [Found, Found]


def test_what_loading_raises_in_a_worker_is_raised_here(tmp_path: Path) -> None:
    settings = Settings(use_models=False, templates=tmp_path / "gone.txt")

    with WorkerPool(Work(task="detect", settings=settings), 2) as pool, pytest.raises(SettingsError, match="gone"):
        results(pool, [note("a")])


def test_a_worker_killed_while_loading_is_an_error_not_a_loop() -> None:
    with WorkerPool(WORK, 1) as pool:
        pool._start()
        pool._workers[0].process.kill()
        with pytest.raises(ModelError, match="ended by signal 9 while loading"):
            results(pool, [note("a")])


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
