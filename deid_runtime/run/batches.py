"""Cut the records of all inputs, in order, into batches of limited number and size.

With whole patients, all notes of one patient are in the same batch. The notes of a patient must be consecutive in the
input. Notes come out as unreadable when their patient exceeds the limits, or occurs again after other patients.
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

#: A batch ends when it holds this many characters, whatever the number of its notes.
BATCH_CHARS = 2**20
#: The most records and characters of one patient that are held in memory. Unreadable records count as records.
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
    """Consecutive records with their source files. An entry without a record marks the start of a table."""

    entries: list[_Entry] = field(default_factory=list)
    chars: int = 0

    @property
    def notes(self) -> list[Note]:
        """The records that can be processed, in order."""
        return [item for _, item in self.entries if isinstance(item, Note)]


def make_batches(
    inputs: Iterable[Source], options: ReadOptions, meter: Meter, batch_size: int, *, whole_patients: bool = False
) -> Iterator[Batch]:
    """Yield every record exactly once, in order, at most ``batch_size`` records per batch.

    With ``whole_patients`` a batch holds all notes of each of its patients. It may then exceed ``batch_size`` by less
    than one patient: at most :data:`PATIENT_RECORDS` records and :data:`PATIENT_CHARS` characters. A note without
    patient id counts as a patient of its own.

    A note comes out as unreadable when its id has occurred before. With ``whole_patients``, so do the notes of a
    patient who exceeds these limits or occurs again after other patients.

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
    """Yield the notes in lists of one patient each, in order. A note without patient id is a list of its own."""
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
    """Yield the entries in groups that must stay together.

    A group holds the consecutive notes of one patient, and every other entry that stands between them.
    """
    seen = SeenIds()
    patient = fault = ""  # of the current group
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
