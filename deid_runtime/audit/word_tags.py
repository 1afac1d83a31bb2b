"""Convert spans to one tag per word over all labels, and back to spans, in the schemes BIO and BIESO."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from deid_runtime.spans import Span
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.words import split_words

Scheme = Literal["BIO", "BIESO"]

#: Most words in a sequence; longer sentences are split, because the longest one determines the tagger's memory.
MAX_WORDS: Final = 200


@dataclass(frozen=True, slots=True)
class SentenceWords:
    """Consecutive words of one text. ``starts`` and ``ends`` are their half-open code point offsets in the text."""

    starts: list[int] = field(repr=False)
    ends: list[int] = field(repr=False)


def sentence_words(text: str) -> list[SentenceWords]:
    """Return the words of each sentence of ``text`` that has any, in rows of at most :data:`MAX_WORDS` words."""
    pieces = []
    for sentence in split_sentences(text):
        offsets = split_words(text[sentence.start : sentence.end])
        for first in range(0, len(offsets), MAX_WORDS):
            piece = offsets[first : first + MAX_WORDS]
            pieces.append(SentenceWords([sentence.start + a for a, _ in piece], [sentence.start + b for _, b in piece]))
    return pieces


def tag_words(words: SentenceWords, spans: Sequence[Span], scheme: Scheme) -> list[str]:
    """Return the tag of each word. ``spans`` are sorted and disjoint; a word that two spans touch belongs to the first.

    Parts of a span outside ``words`` are ignored: the first word of the span in ``words`` gets its begin tag.
    """
    tags = ["O"] * len(words.starts)
    free = 0
    for span in spans:
        first = max(free, bisect_right(words.ends, span.start))
        free = max(free, bisect_left(words.starts, span.end))
        if first < free:
            tags[first:free] = [f"{prefix}-{span.label}" for prefix in _shape(free - first, scheme)]
    return tags


def spans_of_tags(words: SentenceWords, tags: Sequence[str], source: str) -> list[Span]:
    """Return the sorted, disjoint spans of ``tags`` in either scheme.

    A tag that cannot follow the one before it begins a new span.
    """
    spans: list[Span] = []
    open_label, start = "", -1
    for word, tag in enumerate([*tags, "O"]):
        prefix, _, label = tag.partition("-")
        if open_label and (prefix not in "IE" or label != open_label):
            spans.append(Span(words.starts[start], words.ends[word - 1], open_label, 1.0, (source,)))
            open_label = ""
        if label and not open_label:
            open_label, start = label, word
        if prefix in "ES":
            spans.append(Span(words.starts[start], words.ends[word], open_label, 1.0, (source,)))
            open_label = ""
    return spans


def _shape(length: int, scheme: Scheme) -> str:
    if scheme == "BIO":
        return "B" + "I" * (length - 1)
    return "S" if length == 1 else "B" + "I" * (length - 2) + "E"
