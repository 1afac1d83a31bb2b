"""Split a marked note into sentences, as ``deid run`` does, each with its spans."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from deid_export.adapt.harvest.masks import TOKEN
from deid_runtime.labels import HEAD_OF
from deid_runtime.spans import Span
from deid_runtime.text.sentences import split_sentences

#: Classes that models find by context; the other classes have a form and are found without context.
CONTEXTUAL: Final = frozenset({"name", "location", "organization"})
#: An identifier also begins a sentence after a title (``Dr.``), and also ends it before a credential.
_WORDS_BETWEEN: Final = 1


@dataclass(frozen=True, slots=True)
class MarkedNote:
    """A note with its identifiers. ``spans`` are sorted and disjoint.

    ``patient`` is a digest; without a known patient it is a digest of the note id.
    """

    text: str = field(repr=False)
    patient: int
    spans: tuple[Span, ...]
    has_patient: bool = True


@dataclass(frozen=True, slots=True)
class Passage:
    """One sentence without surrounding white space; ``spans`` are in its offsets.

    ``is_cut`` is true when a span continues in another sentence. ``is_beside_identifier`` is true when the sentence
    before ends with a name, place or facility, or the next sentence begins with one. Then models may need this sentence
    to find that identifier.
    """

    text: str = field(repr=False)
    spans: tuple[Span, ...]
    is_cut: bool
    is_beside_identifier: bool


def passages(note: MarkedNote) -> Iterator[Passage]:
    """Yield the non-blank sentences of ``note``, in order."""
    rows = []
    at = 0
    for sentence in split_sentences(note.text):
        raw = note.text[sentence.start : sentence.end]
        text = raw.strip()
        if not text:
            continue
        start = sentence.start + raw.index(text)
        end = start + len(text)
        while at < len(note.spans) and note.spans[at].end <= start:
            at += 1
        inside, is_cut, i = [], False, at
        while i < len(note.spans) and note.spans[i].start < end:
            span = note.spans[i]
            is_cut |= span.start < start or span.end > end
            inside.append(replace(span, start=max(span.start, start), end=min(span.end, end)).shift(-start))
            i += 1
        rows.append((text, tuple(inside), is_cut))
    begins = [_begins(text, spans) for text, spans, _ in rows]
    ends = [_ends(text, spans) for text, spans, _ in rows]
    for i, (text, spans, is_cut) in enumerate(rows):
        is_beside = (i > 0 and ends[i - 1]) or (i + 1 < len(rows) and begins[i + 1])
        yield Passage(text, spans, is_cut, is_beside)


def _begins(text: str, spans: Sequence[Span]) -> bool:
    return bool(spans) and _is_near(spans[0], text[: spans[0].start])


def _ends(text: str, spans: Sequence[Span]) -> bool:
    return bool(spans) and _is_near(spans[-1], text[spans[-1].end :])


def _is_near(span: Span, between: str) -> bool:
    words = sum(token[0].isalnum() for token in TOKEN.findall(between))
    return HEAD_OF[span.label] in CONTEXTUAL and words <= _WORDS_BETWEEN
