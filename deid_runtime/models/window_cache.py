"""Keep the answers of the models for windows that occur again: copied sections, templates and fixed paragraphs.

The answer for a window depends only on its token ids and token types, not on its note or on the other windows of its
batch (:mod:`deid_runtime.models.engines`). So results with and without a cache are the same.

An answer is kept without the tokens for which every head scores below the lowest value that decoding uses.
That makes it small: most words of a note are far from being an identifier.

The cache contains clinical text in the form of token ids. It exists only in the memory of its process, is never written
anywhere, and is freed with the tagger. Pickling it is refused.
"""

from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from deid_runtime.models.engines import TokenScores
from deid_runtime.text.windows import Window

#: Measured memory of an entry in addition to its arrays and its key: objects of Python and numpy, a place in the
#: dictionary.
_ENTRY_BYTES: Final = 700


class KeptAnswer:
    """The answer of all heads for one window, without the tokens that decoding does not use.

    ``tokens`` are the indexes of the kept tokens, uint8 (kept,); ``tags`` uint8 and ``scores`` float32, (heads, kept).
    """

    __slots__ = ("scores", "tags", "tokens")

    def __init__(self, tokens: NDArray[np.uint8], tags: NDArray[np.uint8], scores: NDArray[np.float32]) -> None:
        self.tokens = tokens
        self.tags = tags
        self.scores = scores

    @property
    def size_bytes(self) -> int:
        """Return the bytes of the arrays."""
        return self.tokens.nbytes + self.tags.nbytes + self.scores.nbytes


class WindowCache:
    """The answers for the most recently used windows, at most ``limit_bytes`` of them. Not thread-safe: one per tagger.

    ``least_score`` is the lowest value with which decoding compares scores: lower scores count as 0. With a limit of 0
    nothing is kept.
    """

    def __init__(self, limit_bytes: int, least_score: float) -> None:
        self._limit_bytes = limit_bytes
        self._least_score = least_score
        self._kept: OrderedDict[bytes, KeptAnswer] = OrderedDict()
        self._heads: tuple[str, ...] = ()
        self.size_bytes = 0
        self._counts = {"read": 0, "from_cache": 0}

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"WindowCache({len(self._kept)} windows, {self.size_bytes} of {self._limit_bytes} bytes)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a cache of windows contains text of notes and must stay in its process")

    @property
    def is_on(self) -> bool:
        """Return whether the cache keeps anything."""
        return self._limit_bytes > 0

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many windows were counted (``read``), and how many of them were repeated (``from_cache``)."""
        return dict(self._counts)

    def count(self, *, is_repeated: bool) -> None:
        """Count one window that was read; ``is_repeated`` when it had an answer or shares that of an equal window."""
        self._counts["read"] += 1
        self._counts["from_cache"] += is_repeated

    def find(self, key: bytes) -> KeptAnswer | None:
        """Return the kept answer for the window with this ``key``, or None."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def keep(self, keys: Sequence[bytes], answers: Mapping[str, TokenScores]) -> None:
        """Keep the answers for windows of one batch. ``keys`` belong to its first rows, in order."""
        self._heads = tuple(answers)
        scores = np.stack([answer.scores[: len(keys)] for answer in answers.values()])
        tags = np.stack([answer.tags[: len(keys)] for answer in answers.values()])
        is_kept = (scores >= self._least_score).any(axis=0)
        for row, key in enumerate(keys):
            tokens = np.flatnonzero(is_kept[row])
            # Copies: a view would keep the arrays of the whole batch in memory.
            self._add(key, KeptAnswer(tokens.astype(np.uint8), tags[:, row, tokens], scores[:, row, tokens]))

    def restored(self, kept: Sequence[KeptAnswer], width: int) -> dict[str, TokenScores]:
        """Return kept answers as the answer for a batch of ``width`` tokens, a row each. Dropped scores are 0."""
        tags = np.zeros((len(self._heads), len(kept), width), np.uint8)
        scores = np.zeros((len(self._heads), len(kept), width), np.float32)
        for row, answer in enumerate(kept):
            tags[:, row, answer.tokens] = answer.tags
            scores[:, row, answer.tokens] = answer.scores
        return {head: TokenScores(tags[index], scores[index]) for index, head in enumerate(self._heads)}

    def clear(self) -> None:
        """Forget all answers."""
        self._kept.clear()
        self.size_bytes = 0

    def _add(self, key: bytes, answer: KeptAnswer) -> None:
        if key in self._kept:
            return
        self._kept[key] = answer
        self.size_bytes += _size(key, answer)
        while self.size_bytes > self._limit_bytes:
            self.size_bytes -= _size(*self._kept.popitem(last=False))


def key_of(window: Window) -> bytes:
    """Return everything of ``window`` on which its answer depends: its token ids, then its token types."""
    return array("I", window.ids).tobytes() + bytes(window.types)


def _size(key: bytes, answer: KeptAnswer) -> int:
    return len(key) + answer.size_bytes + _ENTRY_BYTES
