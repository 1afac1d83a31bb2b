"""Read the notes to harvest from, with their identifiers, several times.

All passes must see the same notes in the same order, and only one note is in memory at a time. The identifiers come
from the annotation of the notes, from an earlier ``deid detect``, or from the ensemble.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, Self

from deid_export.adapt.harvest.counting import digest
from deid_export.adapt.harvest.passages import MarkedNote
from deid_runtime.annotations.jsonl import spans_of_rows
from deid_runtime.annotations.read import read_annotated
from deid_runtime.errors import InputError, SourceError
from deid_runtime.formats import format_of, read_notes
from deid_runtime.formats.jsonl import read_objects
from deid_runtime.formats.records import Item, Meter, ReadOptions, Source, Unreadable
from deid_runtime.formats.sources import find_inputs
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.spans import Note, Span
from deid_runtime.system.shown_ids import shown_id

#: Starts one pass over all notes.
Pass = Callable[[], Iterator[MarkedNote]]

#: Maps an id to the reason why a note or record was skipped. Every pass adds the same entries. Contains no text.
LeftOut = dict[str, str]

_BATCH_NOTES: Final = 32
_SPANS_COLUMN: Final = "spans"
_ANNOTATED: Final = (".xml", ".ann", ".txt")  # own formats; tables have a column ``spans``


def plain_notes(
    paths: Sequence[Path], options: ReadOptions, format_name: str | None = None, *, left_out: LeftOut | None = None
) -> Callable[[], Iterator[Note]]:
    """Return a pass over the notes of ``paths``, in every format that ``deid run`` reads.

    Records that cannot be read are added to ``left_out``. Raises SourceError for a missing path or an unknown format.
    """
    inputs, _ = find_inputs(paths, format_name)

    def read() -> Iterator[Note]:
        for source in inputs:
            yield from _readable(read_notes(source, options), left_out)

    return read


def annotated(paths: Sequence[Path], options: ReadOptions, *, left_out: LeftOut | None = None) -> Pass:
    """Return a pass over annotated notes; records that cannot be read are added to ``left_out``.

    Tables (``.jsonl``, ``.jsonl.gz``, ``.parquet``) have the annotation in a column ``spans``. i2b2 2014 ``.xml`` and
    brat ``.ann`` have it in their own format. Other ``.txt`` files are tagged text, as training reads it. The pass
    raises SourceError for a note without annotation.
    """

    def read() -> Iterator[MarkedNote]:
        for file in _files(paths):
            if file.suffix in _ANNOTATED:
                yield from (_marked(note.id, note.patient, note.text, note.spans) for note in read_annotated([file]))
            else:
                yield from _annotated_rows(file, options, left_out)

    return read


def found_before(notes: Callable[[], Iterator[Note]], found: Path, *, left_out: LeftOut | None = None) -> Pass:
    """Return a pass over notes with the spans that ``deid detect`` wrote for them, in the same order.

    Notes that were quarantined have no row and are added to ``left_out``. The pass raises SourceError when the rows
    belong to other notes.
    """
    source = Source(found, found.name, "jsonl", 0)

    def read() -> Iterator[MarkedNote]:
        rows = read_objects(source, ReadOptions().record_limit_bytes, Meter())
        row = next(rows, None)
        for note in notes():
            if row is None:
                _leave_out(left_out, note.id, f"no row in {found.name}")
                continue
            number, value = row
            if not isinstance(value, dict) or not isinstance(value.get("id"), str | int):
                raise SourceError(f"{found}:{number}: expected an object with id and spans, as `deid detect` writes it")
            if str(value["id"]) == note.id:
                yield _marked(
                    note.id, note.patient, note.text, spans_of_rows(f"{found}:{number}", value.get(_SPANS_COLUMN))
                )
                row = next(rows, None)
            else:
                _leave_out(left_out, note.id, f"no row in {found.name}")
        if row is not None:
            raise SourceError(
                f"{found}:{row[0]}: no note with this id follows in the inputs; expected the output of `deid detect` "
                "for exactly these inputs"
            )

    return read


class DetectedNotes:
    """A pass over notes with the spans of the ensemble. The first pass detects and stores the offsets in a file.

    Notes in quarantine are added to ``left_out``. Use it as a context manager: leaving it deletes the file, which
    contains no text.
    """

    def __init__(
        self, notes: Callable[[], Iterator[Note]], pipeline: Pipeline, *, left_out: LeftOut | None = None
    ) -> None:
        self._notes = notes
        self._pipeline = pipeline
        self._offsets: IO[str] = TemporaryFile("w+", encoding="ascii")  # noqa: SIM115 - closed by __exit__
        self._is_complete = False
        self._left_out = left_out

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._offsets.close()

    def __call__(self) -> Iterator[MarkedNote]:
        return self._again() if self._is_complete else self._detect()

    def _detect(self) -> Iterator[MarkedNote]:
        self._offsets.seek(0)
        self._offsets.truncate()
        notes = self._notes()
        while batch := list(islice(notes, _BATCH_NOTES)):
            for note, outcome in zip(batch, self._pipeline.detect(batch), strict=True):
                if isinstance(outcome, Quarantined):
                    _leave_out(self._left_out, outcome.note_id, outcome.reason)
                    self._offsets.write("null\n")
                    continue
                self._offsets.write(json.dumps([(s.start, s.end, s.label) for s in outcome.spans]) + "\n")
                yield _marked(note.id, note.patient, note.text, outcome.spans)
        self._is_complete = True

    def _again(self) -> Iterator[MarkedNote]:
        self._offsets.seek(0)
        for note, line in zip(self._notes(), self._offsets, strict=True):
            rows = json.loads(line)
            if rows is not None:
                yield _marked(note.id, note.patient, note.text, tuple(Span(*row) for row in rows))


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.is_file() and p.name[0] != ".") if path.is_dir() else [path]
        for file in files:
            if file.suffix == ".txt" and file.with_suffix(".ann").exists():
                continue  # read together with its .ann file
            if file.suffix not in _ANNOTATED and format_of(file.name) not in ("jsonl", "parquet"):
                raise SourceError(f"{file}: annotated notes are .jsonl, .jsonl.gz, .parquet, .xml, .ann or tagged .txt")
            yield file


def _annotated_rows(file: Path, options: ReadOptions, left_out: LeftOut | None) -> Iterator[MarkedNote]:
    source = Source(file, file.name, format_of(file.name) or "", 0)
    for note in _readable(read_notes(source, replace(options, keep_columns=(_SPANS_COLUMN,))), left_out):
        spans = spans_of_rows(f"{file}: note {shown_id(note.id)}", note.extra.get(_SPANS_COLUMN))
        yield _marked(note.id, note.patient, note.text, spans)


def _readable(items: Iterable[Item], left_out: LeftOut | None) -> Iterator[Note]:
    for item in items:
        if isinstance(item, Unreadable):
            _leave_out(left_out, item.id, item.reason)
        else:
            yield item


def _leave_out(left_out: LeftOut | None, note_id: str, reason: str) -> None:
    if left_out is not None:
        left_out[note_id] = reason


def _marked(note_id: str, patient: str, text: str, spans: Sequence[Span]) -> MarkedNote:
    ordered = sorted(spans)
    if any(left.end > right.start for left, right in pairwise(ordered)):
        raise InputError(f"note {shown_id(note_id)}: spans overlap; expected disjoint spans; keep the wider one")
    if ordered and ordered[-1].end > len(text):
        raise InputError(f"note {shown_id(note_id)}: a span ends after the text; offsets must count code points")
    # A note without a patient counts as a separate patient, as in `deid run`.
    person = digest(f"patient {patient}" if patient else f"note {note_id}")
    return MarkedNote(text, person, tuple(ordered), has_patient=bool(patient))
