"""Write the outcomes of a shard: notes in the format of their source, or found spans as JSON Lines.

A shard has one file for each table it has records of, and a folder with the files of single notes. The file of a table
is a piece of the output table: only the first piece has a header, and none is compressed. :mod:`.joining` joins them.
"""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from deid_runtime.formats import FORMATS
from deid_runtime.formats.records import Place, ReadOptions, Source, Writer
from deid_runtime.pipeline.outcomes import Deidentified, Detected, Outcome
from deid_runtime.run.outcomes import span_rows
from deid_runtime.spans import Note
from deid_runtime.system.digests import DigestSum, FileDigest, create_file

#: Names in the folder of a shard.
TABLES: Final = "tables"
NOTES: Final = "notes"
#: The name of the piece of found spans in place of the number of a table.
_SPANS: Final = "spans"


@dataclass(frozen=True, slots=True)
class Piece:
    """A file in the folder of a shard: a piece of the output table ``name``, which is "" for an output file."""

    name: str
    format: str
    digest: FileDigest

    @property
    def is_note(self) -> bool:
        """Whether the output is the file of a single note."""
        return not FORMATS[self.format].is_table


class Sink(Protocol):
    """Takes the outcomes of one shard in order. ``pieces`` and ``notes`` are complete once it is closed."""

    pieces: dict[str, Piece]
    notes: DigestSum

    def begin(self, source: Source) -> None:
        """Begin a table, which may stay without rows."""

    def write(self, source: Source, note: Note, outcome: Outcome) -> None:
        """Write one outcome. Raises InputError for a value that cannot be written."""

    def close(self) -> None:
        """Finish all files."""


class Rewriter:
    """Writes notes in the format of their source, with one writer for each table. A :class:`Sink`."""

    def __init__(self, folder: Path, options: ReadOptions, *, keep_ids: bool, is_folder: bool) -> None:
        """``is_folder``: the output is a folder; otherwise it is one file."""
        self._tables = folder / TABLES
        self._notes = folder / NOTES
        self._options = options
        self._keep_ids = keep_ids
        self._is_folder = is_folder
        self._number = -1  # of the source that is being written
        self._writer: Writer | None = None
        self.pieces: dict[str, Piece] = {}
        self.notes = DigestSum()
        self._tables.mkdir()
        if is_folder:
            self._notes.mkdir()

    def begin(self, source: Source) -> None:
        """Begin a table, which may stay without rows."""
        self._open(source, is_begun=False)

    def write(self, source: Source, note: Note, outcome: Outcome) -> None:
        """Write one de-identified note. Raises InputError for a value that cannot be written."""
        assert isinstance(outcome, Deidentified)  # the task determines the class of the outcomes
        if source.number != self._number:
            self._open(source, is_begun=True)
        assert self._writer
        rewritten = replace(note, text=outcome.text)
        if not self._keep_ids:
            rewritten = replace(rewritten, id=outcome.note_pseudonym, patient=outcome.patient_pseudonym)
        self._writer.write(rewritten)

    def close(self) -> None:
        """Finish the file of the current table."""
        if self._writer:
            self._writer.close()
            self._writer = None

    def _open(self, source: Source, *, is_begun: bool) -> None:
        self.close()
        self._number = source.number
        kind = FORMATS[source.format]
        path = self._tables / str(source.number) if kind.is_table or not self._is_folder else self._notes

        def create(path: Path) -> BinaryIO:
            return create_file(path, lambda digest: self._add(path, digest, source), 0o666)

        # The reader may have started in the middle of the table although this piece is its first, or vice versa.
        start = Place(number=1) if kind.is_table and is_begun else Place()
        name = source.name.lower().removesuffix(".gz") if kind.is_table else source.name
        self._writer = kind.write(replace(source, start=start, name=name), self._options, path, create)

    def _add(self, path: Path, digest: FileDigest, source: Source) -> None:
        if path.parent == self._tables:
            name = source.output_name if self._is_folder else ""
            self.pieces[f"{TABLES}/{path.name}"] = Piece(name, source.output_format, digest)
        else:
            self.notes.add(os.fspath(path).removeprefix(f"{self._notes}/"), digest)


class SpanWriter:
    """Writes found spans as JSON Lines, one line per note, for every input format. A :class:`Sink`.

    Only the owner may read the file: it has note ids and the offsets of identifiers.
    """

    def __init__(self, folder: Path) -> None:
        (folder / TABLES).mkdir()
        self.pieces: dict[str, Piece] = {}
        self.notes = DigestSum()
        self._file = create_file(folder / TABLES / _SPANS, self._add)

    def begin(self, source: Source) -> None:
        """Do nothing: all sources share one file."""

    def write(self, source: Source, note: Note, outcome: Outcome) -> None:
        """Write the id and the spans of one note."""
        assert isinstance(outcome, Detected)
        row = {"id": outcome.note_id, "spans": span_rows(outcome.spans)}
        self._file.write((json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8"))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _add(self, digest: FileDigest) -> None:
        self.pieces[f"{TABLES}/{_SPANS}"] = Piece("", "jsonl", digest)
