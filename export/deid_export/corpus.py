"""Annotated notes as training needs them: plain text and gold spans, from tagged text files or JSON lines."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deid_runtime.errors import SourceError
from deid_runtime.labels import LABELS
from deid_runtime.spans import Span

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


def read_corpus(paths: Sequence[Path]) -> list[GoldNote]:
    """Read tagged ``.txt`` files (a ``%%`` line opens each patient and note), ``.jsonl`` files, or folders of both.

    Raises SourceError when a path holds no annotated note or a line cannot be read.
    """
    notes: list[GoldNote] = []
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.suffix in {".txt", ".jsonl"}) if path.is_dir() else [path]
        before = len(notes)
        for file in files:
            notes += _read_jsonl(file) if file.suffix == ".jsonl" else _read_tagged(file)
        if len(notes) == before:
            raise SourceError(f"{path} holds no annotated note; expected tagged .txt or .jsonl files")
    return notes


def corpus_digest(notes: Sequence[GoldNote]) -> str:
    """Return a SHA-256 of texts and spans, which a model card can name its data by."""
    digest = hashlib.sha256()
    for note in notes:
        spans = [(span.start, span.end, span.label) for span in note.spans]
        digest.update(json.dumps([note.id, note.text, spans]).encode())
    return digest.hexdigest()


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
        kind, _, rest = line[2:].strip().partition(" ")
        try:
            attributes = dict(part.split("=", 1) for part in shlex.split(rest) if "=" in part)
        except ValueError as error:
            raise SourceError(f"{path}:{number}: unbalanced quotes in a %% line") from error
        if kind == "patient":
            patient, note = attributes, None
        else:
            note = attributes
        lines = []
    yield from close()


def _read_jsonl(path: Path) -> Iterator[GoldNote]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                spans = tuple(sorted(Span(s["start"], s["end"], s["label"]) for s in row["spans"]))
                yield GoldNote(row["id"], row.get("patient", ""), row.get("type", ""), row["text"], spans)
            except (ValueError, KeyError, TypeError) as error:
                raise SourceError(f"{path}:{number}: not an annotated note ({type(error).__name__})") from error
