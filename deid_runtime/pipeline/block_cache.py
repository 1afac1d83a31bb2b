"""Keep what the detectors found in blocks of text that come again: copied sections, templates, fixed paragraphs.

Everything that is kept depends on the text of the block alone (:mod:`deid_runtime.pipeline.searching`), and the whole
text is the key. So the kept findings are the findings, and results are the same without a cache.

The cache holds clinical text. It lives in the memory of its process only, is never written anywhere, and is freed with
the pipeline. Pickling it is refused.
"""

import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

from deid_runtime.spans import Sentence, Span

#: A span as a plain tuple: start, end, label, score, sources. The garbage collector looks at no tuple of such values.
_Row = tuple[int, int, str, float, tuple[str, ...]]

#: Measured memory of an entry beside its text and its rows, and of a row.
_ENTRY_BYTES: Final = 560
_ROW_BYTES: Final = 160
_SENTENCE_BYTES: Final = 120


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What the detectors found in one block. Offsets are those of the block.

    ``found`` are the spans of templates, patterns and rules, ``answers`` the spans and traces of the models, ``read``
    the stretches that the models were asked about. ``spans`` are those that remain when doubts are settled and
    clinical facts are dropped. Without patient records, only these are needed and the others are empty.
    """

    found: tuple[_Row, ...]
    answers: tuple[_Row, ...]
    read: tuple[tuple[int, int], ...]
    spans: tuple[_Row, ...]

    @classmethod
    def of(
        cls, found: Iterable[Span], answers: Iterable[Span], read: Iterable[Sentence], spans: Iterable[Span]
    ) -> "Findings":
        """Return the findings of a block."""
        return cls(
            tuple(map(_row, found)),
            tuple(map(_row, answers)),
            tuple((sentence.start, sentence.end) for sentence in read),
            tuple(map(_row, spans)),
        )

    @property
    def size_bytes(self) -> int:
        """Return the memory of the findings, about."""
        rows = len(self.found) + len(self.answers) + len(self.spans)
        return rows * _ROW_BYTES + len(self.read) * _SENTENCE_BYTES


def _row(span: Span) -> _Row:
    return span.start, span.end, span.label, span.score, _shared(span.sources)


@lru_cache(maxsize=1_000)
def _shared(sources: tuple[str, ...]) -> tuple[str, ...]:
    """Return the same object for equal sources: there are few, and each takes memory."""
    return sources


def moved(rows: Iterable[_Row], by: int) -> Iterator[Span]:
    """Yield the spans of ``rows``, ``by`` code points to the right."""
    for start, end, label, score, sources in rows:
        yield Span(start + by, end + by, label, score, sources)


class BlockCache:
    """The findings of the blocks used last, at most ``limit_bytes`` of them. Not thread-safe: one per pipeline.

    With a limit of 0 nothing is kept.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[str, Findings] = OrderedDict()
        self.size_bytes = 0
        self._counts = {"read": 0, "from_cache": 0}

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"BlockCache({len(self._kept)} blocks, {self.size_bytes} of {self._limit_bytes} bytes)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a cache of blocks holds text of notes and must stay in its process")

    @property
    def is_on(self) -> bool:
        """Return whether the cache keeps anything."""
        return self._limit_bytes > 0

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many blocks were counted (``read``), and how many of them had findings (``from_cache``)."""
        return dict(self._counts)

    def count(self, *, read: int, from_cache: int) -> None:
        """Count blocks that were read, and how many of them had findings or are equal to another one of the call."""
        self._counts["read"] += read
        self._counts["from_cache"] += from_cache

    def find(self, text: str) -> Findings | None:
        """Return the kept findings of a block with this text, or None."""
        kept = self._kept.get(text)
        if kept is not None:
            self._kept.move_to_end(text)
        return kept

    def keep(self, text: str, findings: Findings) -> None:
        """Keep the findings of a block, in place of those of the blocks that were used least recently."""
        if text in self._kept:
            return
        self._kept[text] = findings
        self.size_bytes += _size(text, findings)
        while self.size_bytes > self._limit_bytes:
            self.size_bytes -= _size(*self._kept.popitem(last=False))

    def clear(self) -> None:
        """Forget all findings."""
        self._kept.clear()
        self.size_bytes = 0


def _size(text: str, findings: Findings) -> int:
    return sys.getsizeof(text) + findings.size_bytes + _ENTRY_BYTES
