"""The records of all inputs in order, cut into batches that are bounded in number and size.

Batches of whole patients are not cut within a patient, whose notes must stand together in the input. A patient who has
more than can be held, or comes again after others, could only be served in part: those notes come out as unreadable.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from deid_runtime.formats import FORMATS, read_notes
from deid_runtime.formats.records import Item, Meter, ReadOptions, Source, Unreadable
from deid_runtime.run.seen_ids import SeenIds
from deid_runtime.spans import Note
from deid_runtime.stages import PATIENTS_STAGE

#: A batch is closed when it holds this many characters, whatever the number of its notes.
BATCH_CHARS = 2**20
#: Of one patient, so many records and characters are held at a time, records that cannot be read among them.
PATIENT_RECORDS = 10_000
PATIENT_CHARS = 2**24

_TOO_MANY: Final = (
    f"its patient has more than {PATIENT_RECORDS:,} records or {PATIENT_CHARS:,} characters, too much to be held at a "
    "time; run all notes of the patient apart, under the same key, without --whole-patients"
)
_AGAIN: Final = (
    "its patient has come before, with notes of others between; sort the input by patient and run all of it again"
)

_Entry = tuple[Source, Item | None]


@dataclass(slots=True)
class Batch:
    """Consecutive records with the files they came from. An entry without record announces a table that begins."""

    entries: list[_Entry] = field(default_factory=list)
    chars: int = 0

    @property
    def notes(self) -> list[Note]:
        """The records that can be processed, in order."""
        return [item for _, item in self.entries if isinstance(item, Note)]


def make_batches(
    inputs: Iterable[Source], options: ReadOptions, meter: Meter, batch_size: int, *, whole_patients: bool = False
) -> Iterator[Batch]:
    """Yield every record exactly once, in order, at most ``batch_size`` a batch.

    With ``whole_patients`` a batch holds all notes of each of its patients and may be larger, by less than one patient:
    at most :data:`PATIENT_RECORDS` records and :data:`PATIENT_CHARS` characters. Notes without patient id are each a
    patient of their own. A note whose id has occurred before comes out as unreadable, as do those of a patient who is
    over these limits or comes again after others.

    Raises SourceError for an input that cannot be read.
    """
    entries = _unique(_entries(inputs, options, meter))
    batch = Batch()
    for group in _patients(entries) if whole_patients else ([entry] for entry in entries):
        batch.entries += group
        batch.chars += sum(len(item.text) for _, item in group if isinstance(item, Note))
        if len(batch.entries) >= batch_size or batch.chars >= BATCH_CHARS:
            yield batch
            batch = Batch()
    if batch.entries:
        yield batch


def by_patient(notes: Iterable[Note]) -> Iterator[list[Note]]:
    """Yield the notes in rows of one patient each, as they stand; one without patient id is a row of its own."""
    for patient, row in groupby(notes, lambda note: note.patient):
        if patient:
            yield list(row)
        else:
            yield from ([note] for note in row)


def _entries(inputs: Iterable[Source], options: ReadOptions, meter: Meter) -> Iterator[_Entry]:
    for source in inputs:
        if FORMATS[source.format].is_table:
            yield source, None
        for item in read_notes(source, options, meter):
            yield source, item


def _unique(entries: Iterable[_Entry]) -> Iterator[_Entry]:
    seen = SeenIds()
    for source, item in entries:
        if isinstance(item, Note) and not seen.add(item.id):
            item = Unreadable.of(item, "the id has occurred before in this run; make note ids unique")
        yield source, item


def _patients(entries: Iterable[_Entry]) -> Iterator[list[_Entry]]:
    """Yield the entries in groups that must not be parted; what stands within a patient's row is held with it."""
    seen = SeenIds()
    patient = fault = ""  # of the row that goes on
    held: list[_Entry] = []
    chars = 0
    for source, item in entries:
        if isinstance(item, Note):
            if not item.patient or item.patient != patient:
                if held:
                    yield held
                held, chars = [], 0
                patient = item.patient
                fault = _AGAIN if patient and not seen.add(patient) else ""
            chars += len(item.text)
        if not patient or fault:
            yield [_held_back(source, item, fault)]
            continue
        held.append((source, item))
        if len(held) > PATIENT_RECORDS or chars > PATIENT_CHARS:
            fault = _TOO_MANY
            yield from ([_held_back(*entry, fault)] for entry in held)
            held = []
    if held:
        yield held


def _held_back(source: Source, item: Item | None, fault: str) -> _Entry:
    return source, Unreadable.of(item, fault, PATIENTS_STAGE) if fault and isinstance(item, Note) else item
