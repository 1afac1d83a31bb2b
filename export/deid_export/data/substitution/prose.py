"""Real prose to set people into: what identifies in it is marked already, and half of it is for testing alone."""

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from deid_export.data.substitution.mentions import Mention, find_mentions
from deid_runtime.errors import SourceError
from deid_runtime.spans import Span

#: A model's span of this score or more is taken for right; others are neither learnt as found nor as clean.
_SURE: Final = 0.98
_WEAK: Final = "pattern:weak"


@dataclass(frozen=True, slots=True)
class Document:
    """A public document. ``spans``: what surely identifies in it, sorted, disjoint; ``unsure``: what perhaps does."""

    text: str = field(repr=False)
    spans: tuple[Span, ...]
    unsure: tuple[tuple[int, int], ...]
    mentions: tuple[Mention, ...]


def is_test_document(text: str) -> bool:
    """Say whether a document is of the test half, by the digest of its text: nothing is trained or chosen on it."""
    return hashlib.sha256(text.encode()).digest()[0] >= 128


def read_texts(paths: Sequence[Path]) -> list[str]:
    """Return the texts of ``.jsonl.gz`` files with a ``text`` or ``note`` a line, each once, in order.

    Raises SourceError for a line that holds neither.
    """
    texts: dict[str, None] = {}
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                text = row.get("text") or row.get("note")
                if not isinstance(text, str):
                    raise SourceError(f"{path}: expected JSON lines with a text or note")
                texts.setdefault(text)
    return list(texts)


def make_document(text: str, found: Sequence[Span]) -> Document:
    """Return a document; what a detector ``found`` in it, sorted and disjoint, is sorted into sure and unsure."""
    trimmed = [_trimmed(text, span) for span in found]
    sure = tuple(span for span in trimmed if _is_sure(span))
    unsure = tuple((span.start, span.end) for span in trimmed if not _is_sure(span))
    return Document(text, sure, unsure, tuple(find_mentions(text)))


def _trimmed(text: str, span: Span) -> Span:
    value = text[span.start : span.end]
    lead = len(value) - len(value.lstrip())
    return replace(span, start=span.start + lead, end=span.start + lead + len(value.strip()))


def _is_sure(span: Span) -> bool:
    by_rule = any(source != _WEAK and not source.startswith(("model", "propagation")) for source in span.sources)
    return by_rule or span.score >= _SURE


def read_marked(path: Path) -> list[Document]:
    """Return the documents of a file that ``deid-export corpus mark-prose`` wrote.

    Raises SourceError for a line that is none of it.
    """
    documents: list[Document] = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                found = [
                    Span(each["start"], each["end"], each["label"], each["score"], tuple(each["sources"]))
                    for each in row["spans"]
                ]
                documents.append(make_document(row["text"], found))
            except (ValueError, KeyError, TypeError):
                raise SourceError(f"{path}:{number}: expected a text with spans; write it with mark-prose") from None
    return documents
