"""The pipeline of a Python worker process: loaded once, kept between batches and tasks, replaced when it fails.

The pipeline runs in a child process of the worker process, as in ``deid run``
(:class:`~deid_runtime.run.workers.WorkerPool`). So a note that crashes an engine or hangs is quarantined, and the task
of the cluster continues. Otherwise, a cluster repeats the task, kills four workers with the same note and gives up.
"""

import atexit
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deid_runtime.pipeline.outcomes import Outcome
from deid_runtime.records.patients import read_patients
from deid_runtime.run.batches import Batch
from deid_runtime.run.outcomes import Work
from deid_runtime.run.workers import WorkerPool
from deid_runtime.settings import Settings
from deid_runtime.spark.secrets import KeyPlace, file_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTask:
    """What a worker process of a cluster needs to load its pipeline. It is sent to the workers and contains no secret.

    ``patients`` is the place of a table of patient records: a path, or ``sparkfile:NAME``.
    """

    settings: Settings
    key: KeyPlace
    patients: str = field(default="", repr=False)

    def work(self) -> Work:
        """Return the work with its key and records, read in this process."""
        records: Mapping[str, object] = {}
        if self.patients:
            kind, _, name = self.patients.partition(":")
            path = file_of(kind, name) if kind == "sparkfile" else Path(self.patients)
            records = read_patients(path)
        return Work(task="deidentify", settings=self.settings, key=self.key.load(), records=records)  # type: ignore[arg-type]


class _Open:
    """The open pool of this process, and what it was opened for."""

    def __init__(self) -> None:
        self.task: bytes | None = None
        self.pool: WorkerPool | None = None

    def close(self) -> None:
        """End the child process."""
        if self.pool is not None:
            self.pool.__exit__(None, None, None)
        self.task = self.pool = None


_OPEN = _Open()
atexit.register(_OPEN.close)


def outcomes_of(task: WorkerTask, batches: Iterator[Batch]) -> Iterator[tuple[Batch, list[Outcome]]]:
    """Yield every batch with the outcomes of its notes, in order, from the pipeline of this process.

    Raises SettingsError or ModelError when the pipeline cannot be loaded.
    """
    described = repr(task).encode() + task.patients.encode()
    if _OPEN.task != described:
        _OPEN.close()
        _OPEN.pool = WorkerPool(task.work(), 1)
        _OPEN.task = described
    assert _OPEN.pool is not None
    is_done = False
    try:
        yield from _OPEN.pool.map(batches)
        is_done = True
    finally:
        if not is_done:  # jobs may be in progress whose answers nobody reads
            _OPEN.close()
