"""The sentences of a marked note, cut as ``deid run`` cuts them, each with the spans in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from deid_export.adapt.harvest.masks import TOKEN
from deid_runtime.labels import HEAD_OF
from deid_runtime.spans import Span
from deid_runtime.text.sentences import split_sentences

#: The classes that models find by context; what has a form of its own is found without.
CONTEXTUAL: Final = frozenset({"name", "location", "organization"})
#: An identifier begins a sentence also behind a title (``Dr.``), and ends it also before a credential.
_WORDS_BETWEEN: Final = 1


@dataclass(frozen=True, slots=True)
class MarkedNote:
    """A note with its identifiers. ``spans`` are sorted and disjoint.

    ``patient`` is a digest; where no patient is known the note itself stands for one.
    """

    text: str = field(repr=False)
    patient: int
    spans: tuple[Span, ...]
    has_patient: bool = True


@dataclass(frozen=True, slots=True)
class Passage:
    """One sentence without the white space around it; ``spans`` are in its offsets.

    ``is_cut`` says that a span goes on in another sentence. ``is_beside_identifier`` says that the sentence before ends
    with a name, place or facility, or that the next one begins with it: this sentence may be what tells it.
    """

    text: str = field(repr=False)
    spans: tuple[Span, ...]
    is_cut: bool
    is_beside_identifier: bool


def passages(note: MarkedNote) -> Iterator[Passage]:
    """Yield the sentences of ``note`` that are not blank, in order."""
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
