"""Batches in progress, and the jobs of worker processes, each a batch or a part of one."""

from dataclasses import dataclass

from deid_runtime.pipeline.outcomes import Outcome
from deid_runtime.run.batches import Batch
from deid_runtime.spans import Note


@dataclass(slots=True, eq=False)
class OpenBatch:
    """A batch in progress. ``outcomes`` has one entry per note, None while there is no outcome."""

    batch: Batch
    notes: list[Note]
    outcomes: list[Outcome | None]

    @classmethod
    def of(cls, batch: Batch) -> "OpenBatch":
        """Return ``batch`` without any outcome."""
        notes = batch.notes
        return cls(batch, notes, [None] * len(notes))


@dataclass(frozen=True, slots=True)
class WorkerJob:
    """The notes of a batch at ``indexes``. ``failures`` is the number of workers that failed on exactly these notes."""

    batch: OpenBatch
    indexes: range
    failures: int = 0

    @property
    def notes(self) -> list[Note]:
        """The notes of the job, in order."""
        return [self.batch.notes[index] for index in self.indexes]

    @property
    def chars(self) -> int:
        """The number of characters of all notes of the job."""
        return sum(len(note.text) for note in self.notes)

    def message(self) -> list[Note]:
        """Return the notes as a worker gets them: without their extra columns, which only the writer needs."""
        return [Note(note.id, note.text, note.patient, note.type) if note.extra else note for note in self.notes]
