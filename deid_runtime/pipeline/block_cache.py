"""Keep what the detectors found in blocks of text that come again: copied sections, templates, fixed paragraphs.

Everything that is kept depends on the text of the block alone (:mod:`deid_runtime.pipeline.searching`), and the whole
text is the key. So the kept findings are the findings, and results are the same without a cache.

The cache holds clinical text. It lives in the memory of its process only, is never written anywhere, and is freed with
the pipeline. Pickling it is refused.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from deid_runtime.spans import Sentence, Span
from deid_runtime.system.bounded_cache import BoundedCache

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


class BlockCache(BoundedCache[str, Findings]):
    """The findings of the most recently used blocks, with the text of the block as key. Use one per pipeline."""

    kind = "blocks"

    @staticmethod
    def size_of(key: str, value: Findings) -> int:
        """Return the bytes of memory of an entry."""
        return sys.getsizeof(key) + value.size_bytes + _ENTRY_BYTES
