"""Annotated notes as training needs them: plain text and gold spans, from tagged text, JSON Lines, i2b2 XML or brat."""

import gzip
import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from deid_runtime.errors import InputError, SourceError
from deid_runtime.evaluation.gold import read_gold
from deid_runtime.labels import LABELS
from deid_runtime.spans import PatientRecord, Span

_JSON_LINES: Final = (".jsonl", ".jsonl.gz")
_STANDOFF: Final = (".xml", ".ann")
_TAG = re.compile(rf"<({'|'.join(map(re.escape, LABELS))})>([^\n]*?)</\1>")


@dataclass(frozen=True, slots=True)
class GoldNote:
    """One annotated note; ``spans`` are sorted and disjoint, half-open code points of ``text``."""

    id: str
    patient: str
    type: str
    text: str = field(repr=False)
    spans: tuple[Span, ...]


def parse_tagged(marked: str) -> tuple[str, tuple[Span, ...]]:
    """Return the text without its ``<LABEL>...</LABEL>`` tags, and the spans they stood around."""
    parts: list[str] = []
    spans: list[Span] = []
    at = length = 0
    for match in _TAG.finditer(marked):
        parts += marked[at : match.start()], match[2]
        start = length + match.start() - at
        length = start + len(match[2])
        if match[2]:
            spans.append(Span(start, length, match[1]))
        at = match.end()
    parts.append(marked[at:])
    return "".join(parts), tuple(spans)


def parse_header(line: str) -> tuple[str, dict[str, str]]:
    """Return the kind, ``patient`` or ``note``, and the attributes of a ``%%`` line of a tagged file.

    Raises ValueError for unbalanced quotes.
    """
    kind, _, rest = line.removeprefix("%%").strip().partition(" ")
    return kind, dict(part.split("=", 1) for part in shlex.split(rest) if "=" in part)


def read_corpus(paths: Sequence[Path]) -> list[GoldNote]:
    """Read annotated files, or folders of them, in the order of their names.

    Tagged ``.txt`` (a ``%%`` line opens each patient and note), ``.jsonl`` and ``.jsonl.gz``, i2b2 2014 ``.xml``, and
    brat ``.ann`` with its ``.txt`` beside it. The id of a note that is a file is its path below the folder.

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
                notes += _read_tagged(file)
        if len(notes) == before:
            raise SourceError(
                f"{path} holds no annotated note; expected tagged .txt, .jsonl, i2b2 .xml or brat .ann files"
            )
    return notes


def check_disjoint(note_id: str, text: str, spans: Sequence[Span]) -> None:
    """Raise InputError that names the note unless sorted ``spans`` are disjoint and within ``text``."""
    for left, right in pairwise(spans):
        if right.start < left.end:
            raise InputError(
                f"note {note_id}: spans [{left.start}, {left.end}) {left.label} and [{right.start}, {right.end}) "
                f"{right.label} overlap; a character can have one label, keep the wider span"
            )
    if spans and spans[-1].end > len(text):
        raise InputError(
            f"note {note_id}: a span ends at {spans[-1].end}, behind a text of {len(text)} code points; offsets count "
            "code points of the very text that was annotated"
        )


def text_sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, by which it is known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def corpus_digest(notes: Sequence[GoldNote]) -> str:
    """Return a SHA-256 of texts and spans, which a model card can name its data by."""
    digest = hashlib.sha256()
    for note in notes:
        spans = [(span.start, span.end, span.label) for span in note.spans]
        digest.update(json.dumps([note.id, note.text, spans]).encode())
    return digest.hexdigest()


def read_records(paths: Sequence[Path]) -> dict[str, PatientRecord]:
    """Return, by patient id, the structured records in the tagged files among ``paths``; other files hold none.

    Raises SourceError for a line that cannot be read.
    """
    records: dict[str, PatientRecord] = {}
    for path in paths:
        for file in annotated_files(path):
            for kind, attributes in _headers(file) if file.suffix == ".txt" else ():
                if kind == "patient":
                    patient = attributes.pop("id", "")
                    records[patient] = PatientRecord(patient, attributes)
    return records


def _headers(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("%%"):
            try:
                yield parse_header(line)
            except ValueError as error:
                raise SourceError(f"{path}:{number}: unbalanced quotes in a %% line") from error


def annotated_files(path: Path) -> list[Path]:
    """Return the files below ``path`` that :func:`read_corpus` reads, by name; ``path`` itself when it is a file."""
    if not path.is_dir():
        return [path]
    known = sorted(file for file in path.rglob("*") if file.name.endswith((".txt", *_JSON_LINES, *_STANDOFF)))
    return [file for file in known if file.suffix != ".txt" or not file.with_suffix(".ann").exists()]


def _read_standoff(file: Path, given: Path) -> GoldNote:
    [note] = read_gold(file)
    below = file.relative_to(given) if given.is_dir() else Path(file.name)
    spans = tuple(sorted(set(note.spans)))  # the same thing marked twice is one thing
    check_disjoint(note.id, note.text, spans)
    return GoldNote(below.with_suffix("").as_posix(), note.patient, note.type, note.text, spans)


def _read_tagged(path: Path) -> Iterator[GoldNote]:
    patient: dict[str, str] = {}
    note: dict[str, str] | None = None
    lines: list[str] = []

    def close() -> Iterator[GoldNote]:
        if note is not None:
            text, spans = parse_tagged("\n".join(lines).strip("\n"))
            yield GoldNote(note.get("id", ""), patient.get("id", ""), note.get("type", ""), text, spans)

    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.startswith("%%"):
            lines.append(line)
            continue
        yield from close()
        try:
            kind, attributes = parse_header(line)
        except ValueError as error:
            raise SourceError(f"{path}:{number}: unbalanced quotes in a %% line") from error
        if kind == "patient":
            patient, note = attributes, None
        else:
            note = attributes
        lines = []
    yield from close()


def _read_jsonl(path: Path) -> Iterator[GoldNote]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                spans = tuple(sorted(Span(s["start"], s["end"], s["label"]) for s in row["spans"]))
                note = GoldNote(row["id"], row.get("patient", ""), row.get("type", ""), row["text"], spans)
            except (ValueError, KeyError, TypeError) as error:
                raise SourceError(f"{path}:{number}: not an annotated note ({type(error).__name__})") from error
            check_disjoint(note.id, note.text, note.spans)
            yield note
