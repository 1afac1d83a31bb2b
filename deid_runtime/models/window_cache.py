"""Keep the answers of the models for windows that occur again: copied sections, templates and fixed paragraphs.

The answer for a window depends only on its token ids and token types, not on its note or on the other windows of its
batch (:mod:`deid_runtime.models.engines`). So results with and without a cache are the same.

An answer is kept without the tokens for which every head scores below the lowest value that decoding uses.
That makes it small: most words of a note are far from being an identifier.

The cache contains clinical text in the form of token ids. It exists only in the memory of its process, is never written
anywhere, and is freed with the tagger. Pickling it is refused.
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deid_runtime.models.engines import TokenScores
from deid_runtime.system.bounded_cache import BoundedCache
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


class WindowCache(BoundedCache[bytes, KeptAnswer]):
    """The answers for the most recently used windows. Use one per tagger.

    ``least_score`` is the lowest value with which decoding compares scores: lower scores count as 0.
    """

    kind = "windows"

    def __init__(self, limit_bytes: int, least_score: float) -> None:
        super().__init__(limit_bytes)
        self._least_score = least_score
        self._heads: tuple[str, ...] = ()

    @staticmethod
    def size_of(key: bytes, value: KeptAnswer) -> int:
        """Return the bytes of memory of an entry."""
        return len(key) + value.size_bytes + _ENTRY_BYTES

    def keep(self, keys: Sequence[bytes], answers: Mapping[str, TokenScores]) -> None:
        """Keep the answers for windows of one batch. ``keys`` belong to its first rows, in order."""
        self._heads = tuple(answers)
        scores = np.stack([answer.scores[: len(keys)] for answer in answers.values()])
        tags = np.stack([answer.tags[: len(keys)] for answer in answers.values()])
        is_kept = (scores >= self._least_score).any(axis=0)
        for row, key in enumerate(keys):
            tokens = np.flatnonzero(is_kept[row])
            # Copies: a view would keep the arrays of the whole batch in memory.
            self.add(key, KeptAnswer(tokens.astype(np.uint8), tags[:, row, tokens], scores[:, row, tokens]))

    def restored(self, kept: Sequence[KeptAnswer], width: int) -> dict[str, TokenScores]:
        """Return kept answers as the answer for a batch of ``width`` tokens, a row each. Dropped scores are 0."""
        tags = np.zeros((len(self._heads), len(kept), width), np.uint8)
        scores = np.zeros((len(self._heads), len(kept), width), np.float32)
        for row, answer in enumerate(kept):
            tags[:, row, answer.tokens] = answer.tags
            scores[:, row, answer.tokens] = answer.scores
        return {head: TokenScores(tags[index], scores[index]) for index, head in enumerate(self._heads)}


def key_of(window: Window) -> bytes:
    """Return everything of ``window`` on which its answer depends: its token ids, then its token types."""
    return array("I", window.ids).tobytes() + array("H", window.types).tobytes()
