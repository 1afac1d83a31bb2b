"""One tag for each word over all labels, and back: the BIO and BIESO schemes, and which tag may follow which.

Our own heads tag one class of entity each (``deid_export.model.tagger.tags_of``); the published systems have one label
space.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from deid_runtime.labels import LABELS
from deid_runtime.spans import Span
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.words import split_words

Scheme = Literal["BIO", "BIESO"]
BoolArray = npt.NDArray[np.bool_]

#: Longer sentences are tagged in pieces: the memory of a sequence tagger grows with its longest sequence.
MAX_WORDS: Final = 200

_PREFIXES: Final[dict[Scheme, str]] = {"BIO": "BI", "BIESO": "BIES"}


@dataclass(frozen=True, slots=True)
class Words:
    """Consecutive words of one text; ``starts`` and ``ends`` are their half-open code points there."""

    starts: list[int] = field(repr=False)
    ends: list[int] = field(repr=False)


@dataclass(frozen=True)
class Allowed:
    """What a scheme allows: ``follows[a, b]`` whether tag b may stand behind tag a, and which may begin and end."""

    follows: BoolArray
    begins: BoolArray
    ends: BoolArray


def sentence_words(text: str) -> list[Words]:
    """Return the words of each sentence of ``text`` that has any, at most :data:`MAX_WORDS` together."""
    pieces = []
    for sentence in split_sentences(text):
        offsets = split_words(text[sentence.start : sentence.end])
        for first in range(0, len(offsets), MAX_WORDS):
            piece = offsets[first : first + MAX_WORDS]
            pieces.append(Words([sentence.start + a for a, _ in piece], [sentence.start + b for _, b in piece]))
    return pieces


def tag_names(scheme: Scheme) -> list[str]:
    """Return all tags, ``O`` first, then those of each label."""
    return ["O"] + [f"{prefix}-{label}" for label in LABELS for prefix in _PREFIXES[scheme]]


def tag_words(words: Words, spans: Sequence[Span], scheme: Scheme) -> list[str]:
    """Return the tag of each word; ``spans`` are sorted and disjoint. A word that two spans touch belongs to the first.

    What of a span lies outside ``words`` does not count: its first word inside is its beginning.
    """
    tags = ["O"] * len(words.starts)
    free = 0
    for span in spans:
        first = max(free, bisect_right(words.ends, span.start))
        free = max(free, bisect_left(words.starts, span.end))
        if first < free:
            tags[first:free] = [f"{prefix}-{span.label}" for prefix in _shape(free - first, scheme)]
    return tags


def spans_of_tags(words: Words, tags: Sequence[str], source: str) -> list[Span]:
    """Return the sorted, disjoint spans that ``tags`` of either scheme name; a broken sequence begins a new span."""
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


def allowed(scheme: Scheme) -> Allowed:
    """Return what may follow what, in the order of :func:`tag_names`."""
    names = [tag.partition("-")[::2] for tag in tag_names(scheme)]
    closes = {"O", "E", "S"} if scheme == "BIESO" else {"O", "B", "I"}  # after these a span need not go on
    goes_on = {"I", "E"}
    follows = np.array(
        [
            [
                (before[1] == after[1] and before[0] in {"B", "I"}) if after[0] in goes_on else before[0] in closes
                for after in names
            ]
            for before in names
        ]
    )
    begins = np.array([prefix not in goes_on for prefix, _ in names])
    ends = np.array([prefix in closes for prefix, _ in names])
    return Allowed(follows, begins, ends)


def _shape(length: int, scheme: Scheme) -> str:
    if scheme == "BIO":
        return "B" + "I" * (length - 1)
    return "S" if length == 1 else "B" + "I" * (length - 2) + "E"
