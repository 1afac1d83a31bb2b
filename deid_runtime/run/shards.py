"""One shard: the records between two borders of the inputs, and everything that a run writes about them.

The folder of a shard has the pieces of the output (:mod:`deid_runtime.run.sinks`), the quarantine, the crosswalk, and
digests of the ids that occur in it for the first time. It is written as ``open``, flushed to the disk and renamed. Only
the row of the ledger that follows makes it a committed shard, so a shard is done completely or not at all.
"""

import os
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from deid_runtime.errors import InputError
from deid_runtime.formats.records import Unreadable
from deid_runtime.pipeline.outcomes import Deidentified, Outcome, Quarantined
from deid_runtime.run.batches import Batch, Border
from deid_runtime.run.crosswalk import CrosswalkWriter, crosswalk_line
from deid_runtime.run.quarantine import Quarantine
from deid_runtime.run.report import Counts
from deid_runtime.run.sinks import NOTES, Piece, Sink
from deid_runtime.spans import Note, PatientRecord
from deid_runtime.system.digests import DigestSum, FileDigest, create_file, digest_file, files_below

QUARANTINE: Final = "quarantine"
CROSSWALK: Final = "crosswalk"
IDS: Final = "ids"
PATIENTS: Final = "patients"
_SUM: Final = "notes.sum"
#: The size of a record without text in the size of a shard, in characters.
_RECORD_CHARS: Final = 256


@dataclass(slots=True)
class Shard:
    """A shard as its row of the ledger describes it.

    ``start`` and ``end`` are the borders of its records, ``files`` has the digests of the files of the shard that are
    not ``pieces`` of the output, ``notes`` the digest of its files of single notes, ``seconds`` those by stage.
    ``elapsed_s`` is the time since the previous shard, ``read_bytes`` the input bytes that were read in this time.
    """

    number: int
    start: Border
    end: Border
    counts: Counts
    pieces: dict[str, Piece]
    files: dict[str, FileDigest]
    notes: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)
    elapsed_s: float = 0.0
    read_bytes: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the row of the ledger, without its kind."""
        return {
            "number": self.number,
            "start": list(self.start),
            "end": list(self.end),
            "counts": self.counts.to_row(),
            "pieces": {
                name: {"name": piece.name, "format": piece.format, **piece.digest.to_json()}
                for name, piece in self.pieces.items()
            },
            "files": {name: digest.to_json() for name, digest in self.files.items()},
            "notes": self.notes,
            "seconds": {stage: round(spent, 3) for stage, spent in self.seconds.items()},
            "elapsed_s": round(self.elapsed_s, 3),
            "read_bytes": self.read_bytes,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Return the shard of a row. Raises KeyError, TypeError or ValueError for a row that is not a shard."""
        return cls(
            int(row["number"]),
            Border(*map(int, row["start"])),
            Border(*map(int, row["end"])),
            Counts.from_row(row["counts"]),
            {name: Piece(each["name"], each["format"], _digest(each)) for name, each in row["pieces"].items()},
            {name: _digest(each) for name, each in row["files"].items()},
            dict(row["notes"]),
            dict(row["seconds"]),
            float(row["elapsed_s"]),
            int(row["read_bytes"]),
        )


def _digest(row: Mapping[str, Any]) -> FileDigest:
    return FileDigest(int(row["bytes"]), str(row["sha256"]))


class ShardWriter:
    """Writes one shard to the new private folder ``folder``. A context manager; leaving it closes all files."""

    def __init__(
        self,
        folder: Path,
        start: Border,
        open_sink: Callable[[Path], Sink],
        records: Mapping[str, PatientRecord],
        crosswalk_key: str | None,
    ) -> None:
        """``crosswalk_key`` is the public key that the crosswalk of the shard is encrypted to; None for none."""
        self.folder = folder
        self.start = start
        self.counts = Counts()
        self.chars = 0
        self._records = records
        self._ids, self._patients = array("Q"), array("Q")
        self._files: dict[str, FileDigest] = {}
        folder.mkdir(0o700)
        with ExitStack() as stack:
            self._quarantine = stack.enter_context(Quarantine(folder / QUARANTINE))
            self._crosswalk = (
                stack.enter_context(CrosswalkWriter(folder / CROSSWALK, [crosswalk_key])) if crosswalk_key else None
            )
            self._sink = stack.enter_context(closing(open_sink(folder)))
            self._stack = stack.pop_all()
        self.counts.quarantined = self._quarantine.by_stage

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def add(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """Write the records of a batch. ``outcomes`` has one outcome for each of its notes, in order."""
        self._ids.extend(batch.new_ids)
        self._patients.extend(batch.new_patients)
        self.chars += batch.chars + _RECORD_CHARS * len(batch.entries)
        remaining = iter(outcomes)
        for source, item in batch.entries:
            if item is None:
                self._sink.begin(source)
                continue
            self.counts.add_read(item, self._records)
            if isinstance(item, Unreadable):
                self._quarantine.add(item.id, item.stage, item.reason, item.position)
                continue
            outcome = next(remaining)
            if isinstance(outcome, Quarantined):
                self._quarantine.add(item.id, outcome.stage, outcome.reason, item.position)
                continue
            try:
                self._sink.write(source, item, outcome)
            except InputError as error:
                self._quarantine.add(item.id, error.stage, str(error), item.position)
                continue
            self._count(item, outcome)

    def _count(self, note: Note, outcome: Outcome) -> None:
        assert not isinstance(outcome, Quarantined)
        if self._crosswalk and isinstance(outcome, Deidentified):
            self._crosswalk.add(crosswalk_line(note, outcome))
        self.counts.written += 1
        self.counts.labels.update(span.label for span in outcome.spans)

    def finish(self, number: int, end: Border) -> Shard:
        """Close all files, flush them to the disk and return the shard.

        Raises OSError, and DefectError for wrong counts.
        """
        with self._stack.pop_all():
            pass
        self.counts.check()
        for name, content in (
            (IDS, self._ids.tobytes()),
            (PATIENTS, self._patients.tobytes()),
            (_SUM, self._sink.notes.to_bytes()),
        ):
            self._write(name, content)
        for name, written in ((QUARANTINE, self._quarantine), (CROSSWALK, self._crosswalk)):
            if written is not None:
                assert written.digest is not None  # known, since the file is closed
                self._files[name] = written.digest
        self._flush()
        notes = self._sink.notes
        return Shard(number, self.start, end, self.counts, self._sink.pieces, self._files, notes.to_json())

    def _write(self, name: str, content: bytes) -> None:
        with create_file(self.folder / name, lambda digest: self._files.update({name: digest})) as file:
            file.write(content)

    def _flush(self) -> None:
        if self._sink.notes.files:
            os.sync()  # one call, because there may be many small files
            return
        for path in files_below(self.folder):
            flush(path)
        for path in (self.folder, *(each for each in self.folder.iterdir() if each.is_dir())):
            flush(path)


def flush(path: Path) -> None:
    """Wait until a file or the entries of a folder are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_intact(shard: Shard, folder: Path) -> bool:
    """Return whether all files of a shard in ``folder`` exist and are unchanged."""
    digests = {**shard.files, **{name: piece.digest for name, piece in shard.pieces.items()}}
    try:
        if any(digest_file(folder / name) != digest for name, digest in digests.items()):
            return False
        notes = DigestSum()
        if (folder / NOTES).is_dir():
            for path in files_below(folder / NOTES):
                notes.add(path.relative_to(folder / NOTES).as_posix(), digest_file(path))
    except OSError:
        return False
    return notes.to_json() == shard.notes


def read_digests(folder: Path, name: str) -> "array[int]":
    """Return the digests of ids in a file of a shard. Raises OSError."""
    found = array("Q")
    found.frombytes((folder / name).read_bytes())
    return found


def read_sum(shard: Shard, folder: Path) -> DigestSum:
    """Return the digest of the files of single notes of a shard. Raises OSError."""
    data = (folder / _SUM).read_bytes()
    return DigestSum.from_bytes(data, files=int(shard.notes["files"]), size_bytes=int(shard.notes["bytes"]))
