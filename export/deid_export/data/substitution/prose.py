"""Read real prose in which people are inserted: its identifiers are marked, and half of it is for tests."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from deid_export.data.negatives import each_text
from deid_export.data.substitution.mentions import Mention, find_mentions
from deid_runtime.errors import SourceError
from deid_runtime.spans import Span

#: Model spans with this score or more count as correct; weaker ones are learnt neither as found nor as clean.
_SURE: Final = 0.98
_WEAK: Final = "pattern:weak"


@dataclass(frozen=True, slots=True)
class Document:
    """A public document. ``spans`` are the certain identifiers, sorted, disjoint; ``unsure`` the possible ones."""

    text: str = field(repr=False)
    spans: tuple[Span, ...]
    unsure: tuple[tuple[int, int], ...]
    mentions: tuple[Mention, ...]


def is_test_document(text: str) -> bool:
    """Return whether the digest of a text puts it in the test half; nothing is trained or chosen on that half."""
    return hashlib.sha256(text.encode()).digest()[0] >= 128


def read_texts(paths: Sequence[Path]) -> list[str]:
    """Return the texts of ``.jsonl.gz`` files whose rows have ``text`` or ``note``, without repeats, in order.

    Raises SourceError for a row with neither.
    """
    return list(dict.fromkeys(each_text(paths)))


def make_document(text: str, found: Sequence[Span]) -> Document:
    """Return a document with the spans that a detector ``found`` (sorted, disjoint) divided by certainty."""
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

    Raises SourceError for a line in another format.
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
