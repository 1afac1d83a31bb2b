"""Test workers with the shipped models, signalled at random times: outcomes equal those of an undisturbed process."""

import json
import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deid_runtime.formats.records import Source
from deid_runtime.pipeline.outcomes import Outcome
from deid_runtime.run.batches import Batch
from deid_runtime.run.outcomes import Work
from deid_runtime.run.watchdog import Patience
from deid_runtime.run.workers import InProcess, WorkerPool
from deid_runtime.settings import Settings
from deid_runtime.spans import Note

ROOT = Path(__file__).resolve().parents[3]
SOURCE = Source(Path("notes.jsonl"), "notes.jsonl", "jsonl", 0)
WORK = Work(task="deidentify", settings=Settings(), key=bytes(range(32)))
SIGNALS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV)


def batches() -> Iterator[Batch]:
    with (ROOT / "examples" / "notes.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    notes = [
        Note(f"{row['id']}-{turn}", row["text"] if turn else row["text"].upper(), row["patient"])
        for turn in range(3)
        for row in rows
    ]
    for start in range(0, len(notes), 4):
        entries = [(SOURCE, note) for note in notes[start : start + 4]]
        yield Batch([*entries], sum(len(note.text) for _, note in entries))


def results(workers: InProcess | WorkerPool) -> list[tuple[str, Outcome]]:
    return [
        (note.id, outcome)
        for batch, outcomes in workers.map(batches())
        for note, outcome in zip(batch.notes, outcomes, strict=True)
    ]


@pytest.fixture(scope="module")
def expected() -> list[tuple[str, Outcome]]:
    with InProcess(WORK) as alone:
        return results(alone)


@contextmanager
def attack(pool: WorkerPool, seed: int) -> Iterator[list[int]]:
    """Send each signal to a ready worker at random times. Three signals cannot put a note of a batch in quarantine."""
    hit: list[int] = []
    stop = threading.Event()

    def strike() -> None:
        choose = random.Random(seed)
        for number in choose.sample(SIGNALS, len(SIGNALS)):
            while not stop.wait(choose.random() / 4):
                workers = [worker for worker in pool._workers if worker.is_ready and worker.process.pid not in hit]
                if workers:
                    hit.append(choose.choice(workers).process.pid or 0)
                    os.kill(hit[-1], number)
                    break

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield hit
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("count", [1, 2])
def test_workers_hit_at_random_times_change_no_outcome(count: int, expected: list[tuple[str, Outcome]]) -> None:
    with WorkerPool(WORK, count, Patience(idle_s=4)) as pool, attack(pool, seed=count) as hit:
        found = results(pool)

    assert hit
    assert found == expected
