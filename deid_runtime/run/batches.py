"""Cut the records of all inputs, in order, into batches of limited number and size.

With whole patients, all notes of one patient are in the same batch. The notes of a patient must be consecutive in the
input. Notes come out as unreadable when their patient exceeds the limits, or occurs again after other patients.

A batch records where it ends in the inputs and which ids occurred in it for the first time. So a later run can continue
after any batch, and every record gets the same result as in a single run.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Final, NamedTuple

from deid_runtime.errors import SourceError
from deid_runtime.formats import FORMATS, read_notes
from deid_runtime.formats.records import Item, Meter, Place, ReadOptions, Source, Unreadable
from deid_runtime.run.seen_ids import SeenIds, digest_of
from deid_runtime.spans import Note
from deid_runtime.stages import PATIENTS_STAGE

#: A batch ends when it holds this many characters, whatever the number of its notes.
BATCH_CHARS = 2**20
#: A shard ends when it holds this many characters: minutes of work, and a few thousand shards for a large hospital.
DEFAULT_SHARD_CHARS: Final = 4 * 2**20
#: The most records and characters of one patient that are held in memory. Unreadable records count as records.
PATIENT_RECORDS = 10_000
PATIENT_CHARS = 2**24

_TOO_MANY: Final = (
    f"its patient has more than {PATIENT_RECORDS:,} records or {PATIENT_CHARS:,} characters, too many to be kept in "
    "memory at a time; run all notes of the patient separately, with the same key, without --whole-patients"
)
_AGAIN: Final = (
    "its patient occurred earlier, with notes of other patients between; sort the input by patient and run all of it "
    "again"
)


class Border(NamedTuple):
    """A border between two records of all inputs, in their order. Borders sort in the order of the records.

    ``source`` is the number of the file. ``is_begun`` is 1 when the start of this table has been passed. ``number`` and
    ``offset`` are those of :class:`~deid_runtime.formats.records.Place`.
    """

    source: int = 0
    is_begun: int = 0
    number: int = 0
    offset: int = 0


class _Entry(NamedTuple):
    """A record, or None for the start of a table; the border after it; digests of the ids that are new with it."""

    source: Source
    item: Item | None
    border: Border
    id_digest: int = 0
    patient_digest: int = 0
    can_end: bool = True  # False if reading cannot restart after the record with the same result


@dataclass(slots=True)
class Batch:
    """Consecutive records with their source files. An entry without a record marks the start of a table.

    ``border`` is the border after the last record, ``read_bytes`` the number of input bytes read up to it. ``new_ids``
    and ``new_patients`` have 64-bit digests of the ids of notes and patients that occur for the first time.
    ``can_end``: whether a shard can end after this batch.
    """

    entries: list[tuple[Source, Item | None]] = field(default_factory=list)
    chars: int = 0
    border: Border = field(default_factory=Border)
    read_bytes: int = 0
    new_ids: "array[int]" = field(default_factory=lambda: array("Q"))
    new_patients: "array[int]" = field(default_factory=lambda: array("Q"))
    can_end: bool = True

    @property
    def notes(self) -> list[Note]:
        """The records that can be processed, in order."""
        return [item for _, item in self.entries if isinstance(item, Note)]

    def add(self, entry: _Entry) -> None:
        """Add the next record."""
        self.entries.append((entry.source, entry.item))
        self.chars += len(entry.item.text) if isinstance(entry.item, Note) else 0
        self.border, self.can_end = entry.border, entry.can_end
        if entry.id_digest:
            self.new_ids.append(entry.id_digest)
        if entry.patient_digest:
            self.new_patients.append(entry.patient_digest)


@dataclass(slots=True)
class InputPart:
    """The part of the inputs between two borders, and the ids that occurred before it.

    ``end`` None means to the end of the inputs. Reading changes ``ids`` and ``patients``.
    """

    start: Border = field(default_factory=Border)
    end: Border | None = None
    ids: SeenIds = field(default_factory=SeenIds)
    patients: SeenIds = field(default_factory=SeenIds)


def make_batches(
    inputs: Iterable[Source],
    options: ReadOptions,
    meter: Meter,
    batch_size: int,
    *,
    whole_patients: bool = False,
    part: InputPart | None = None,
) -> Iterator[Batch]:
    """Yield every record of ``part`` exactly once, in order, at most ``batch_size`` records per batch.

    Without ``part``, these are all records. With ``whole_patients`` a batch holds all notes of each of its patients. It
    may then exceed ``batch_size`` by less than one patient: at most :data:`PATIENT_RECORDS` records and
    :data:`PATIENT_CHARS` characters. A note without a patient id counts as a separate patient.

    A note becomes unreadable when its id has occurred earlier. With ``whole_patients``, so do the notes of a
    patient who exceeds these limits or occurs again after other patients.

    Raises SourceError for an input that cannot be read.
    """
    part = part or InputPart()
    entries = _unique(_entries(inputs, options, meter, part), part.ids)
    batch = Batch()
    for group in _patients(entries, part.patients) if whole_patients else ([entry] for entry in entries):
        for entry in group:
            batch.add(entry)
        batch.read_bytes = meter.read_bytes
        if len(batch.entries) >= batch_size or batch.chars >= BATCH_CHARS:
            yield batch
            batch = Batch()
    if batch.entries:
        yield batch


def by_patient(notes: Iterable[Note]) -> Iterator[list[Note]]:
    """Yield the notes in lists of one patient each, in order. A note without a patient id is a list by itself."""
    for patient, row in groupby(notes, lambda note: note.patient):
        if patient:
            yield list(row)
        else:
            yield from ([note] for note in row)


def _entries(inputs: Iterable[Source], options: ReadOptions, meter: Meter, part: InputPart) -> Iterator[_Entry]:
    """Yield the records of ``part``. Raises SourceError when no record ends at its end."""
    start, end = part.start, part.end
    for number, source in enumerate(islice(inputs, start.source, None), start.source):
        is_table = FORMATS[source.format].is_table
        at = start if number == start.source else Border(number)
        if end is not None and at >= end:
            return
        source = replace(source, number=number, start=Place(at.offset, at.number))
        if is_table and not at.is_begun:
            at = Border(number, 1)
            yield _Entry(source, None, at)
            if at == end:
                return
        for item in read_notes(source, options, meter):
            border = Border(number, 1, meter.place.number, meter.place.offset) if is_table else Border(number + 1)
            yield _Entry(source, item, border)
            if border == end:
                return
            if end is not None and border > end:
                raise SourceError(
                    f"{source.name}: its records no longer end at the same place; the input was changed, so start "
                    "again with --restart"
                )


def _unique(entries: Iterable[_Entry], seen: SeenIds) -> Iterator[_Entry]:
    for entry in entries:
        item = entry.item
        if isinstance(item, Note):
            digest = digest_of(item.id)
            if seen.add_digest(digest):
                entry = entry._replace(id_digest=digest)
            else:
                item = Unreadable.of(item, "the id occurred earlier in this run; make note ids unique")
                entry = entry._replace(item=item)
        yield entry


def _patients(entries: Iterable[_Entry], seen: SeenIds) -> Iterator[list[_Entry]]:
    """Yield the entries in groups that must stay together.

    A group has the consecutive notes of one patient, and every other entry between them.
    """
    patient = fault = ""  # of the current group
    held: list[_Entry] = []
    chars = 0
    for entry in entries:
        item = entry.item
        if isinstance(item, Note):
            if not item.patient or item.patient != patient:
                if held:
                    yield held
                held, chars = [], 0
                patient = item.patient
                digest = digest_of(patient) if patient else 0
                is_new = not digest or seen.add_digest(digest)
                fault = "" if is_new else _AGAIN
                entry = entry._replace(patient_digest=digest if is_new else 0)
            chars += len(item.text)
        if not patient or fault:
            yield [_held_back(entry, fault)]
            continue
        held.append(entry)
        if len(held) > PATIENT_RECORDS or chars > PATIENT_CHARS:
            fault = _TOO_MANY
            yield from ([_held_back(each, fault)] for each in held)
            held = []
    if held:
        yield held


def _held_back(entry: _Entry, fault: str) -> _Entry:
    """Return the entry; a note becomes unreadable when there is a fault."""
    if not fault:
        return entry
    # If reading restarted here, the next note of this patient would get the other fault.
    entry = entry._replace(can_end=fault != _TOO_MANY)
    if isinstance(entry.item, Note):
        return entry._replace(item=Unreadable.of(entry.item, fault, PATIENTS_STAGE))
    return entry
