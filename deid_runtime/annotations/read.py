"""Annotated notes read whole, from tagged text, JSON Lines, i2b2 2014 XML or brat."""

import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from deid_runtime.annotations.notes import GoldNote, read_gold
from deid_runtime.annotations.tagged import read_tagged, read_tagged_records
from deid_runtime.errors import InputError, SourceError
from deid_runtime.spans import PatientRecord, Span
from deid_runtime.system.shown_ids import shown_id

_JSON_LINES: Final = (".jsonl", ".jsonl.gz")
_STANDOFF: Final = (".xml", ".ann")


def read_annotated(paths: Sequence[Path]) -> list[GoldNote]:
    """Read annotated files, or folders of them, in the order of their names.

    Tagged ``.txt`` (a ``%%`` line opens each patient and note), ``.jsonl`` and ``.jsonl.gz``, i2b2 2014 ``.xml``, and
    brat ``.ann`` with its ``.txt`` beside it. The id of a note that is a file is its path below the folder. The spans
    of a note are sorted and disjoint.

    Raises SourceError when a path holds no annotated note or a line cannot be read, InputError for a note whose spans
    overlap or end behind its text.
    """
    notes: list[GoldNote] = []
    for path in paths:
        before = len(notes)
        for file in annotated_files(path):
            if file.name.endswith(_JSON_LINES):
                notes += _read_jsonl(file)
            elif file.name.endswith(_STANDOFF):
                notes.append(_read_standoff(file, path))
            else:
                notes += read_tagged(file)
        if len(notes) == before:
            raise SourceError(
                f"{path} holds no annotated note; expected tagged .txt, .jsonl, i2b2 .xml or brat .ann files"
            )
    return notes


def read_records(paths: Sequence[Path]) -> dict[str, PatientRecord]:
    """Return, by patient id, the structured records in the tagged files among ``paths``; other files hold none.

    Records of one patient are joined. Raises SourceError for a line that cannot be read and for records of one patient
    that contradict each other.
    """
    records: dict[str, PatientRecord] = {}
    files = [file for path in paths for file in annotated_files(path) if file.suffix == ".txt"]
    for file in files:
        for record in read_tagged_records(file):
            before = records[record.id].fields if record.id in records else {}
            for name, value in record.fields.items():
                if before.get(name, value) != value:
                    raise SourceError(
                        f"{file}: patient {record.id or 'without id'} has another {name} than in a line before; "
                        "expected one record a patient"
                    )
            records[record.id] = PatientRecord(record.id, {**before, **record.fields})
    return records


def annotated_files(path: Path) -> list[Path]:
    """Return the files below ``path`` that :func:`read_annotated` reads, by name; ``path`` itself when it is a file."""
    if not path.is_dir():
        return [path]
    known = sorted(file for file in path.rglob("*") if file.name.endswith((".txt", *_JSON_LINES, *_STANDOFF)))
    return [file for file in known if file.suffix != ".txt" or not file.with_suffix(".ann").exists()]


def check_disjoint(note_id: str, text: str, spans: Sequence[Span]) -> None:
    """Raise InputError that names the note unless sorted ``spans`` are disjoint and within ``text``."""
    for left, right in pairwise(spans):
        if right.start < left.end:
            raise InputError(
                f"note {shown_id(note_id)}: spans [{left.start}, {left.end}) {left.label} and [{right.start}, "
                f"{right.end}) {right.label} overlap; a character can have one label, keep the wider span"
            )
    if spans and spans[-1].end > len(text):
        raise InputError(
            f"note {shown_id(note_id)}: a span ends at {spans[-1].end}, behind a text of {len(text)} code points; "
            "offsets count code points of the very text that was annotated"
        )


def _read_standoff(file: Path, given: Path) -> GoldNote:
    [note] = read_gold(file)
    below = file.relative_to(given) if given.is_dir() else Path(file.name)
    spans = tuple(sorted(set(note.spans)))  # the same thing marked twice is one thing
    check_disjoint(note.id, note.text, spans)
    return GoldNote(below.with_suffix("").as_posix(), note.text, spans, note.patient, note.type)


def _read_jsonl(path: Path) -> Iterator[GoldNote]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                spans = tuple(sorted(Span(s["start"], s["end"], s["label"]) for s in row["spans"]))
                note_id, patient, kind, text = row["id"], row.get("patient", ""), row.get("type", ""), row["text"]
                if not all(isinstance(value, str) for value in (note_id, patient, kind, text)):
                    raise TypeError
            except (ValueError, KeyError, TypeError) as error:
                raise SourceError(f"{path}:{number}: not an annotated note ({type(error).__name__})") from None
            check_disjoint(note_id, text, spans)
            yield GoldNote(note_id, text, spans, patient, kind)
