"""The words of the dev notes, on which all versions of a head are graded."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deid_export.adapt.grading import NONE, OTHER, OWN
from deid_export.data.corpus import corpus_digest
from deid_export.model.engine import window_scores
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.tokens import label_tokens
from deid_runtime.labels import HEAD_OF, HEADS
from deid_runtime.models.engines import Engine
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, WordEncoder, make_windows

_HEADS = tuple(HEADS)


class DevWords:
    """The words of the dev notes, in the same windows as when serving; no rule removes a sentence."""

    def __init__(self, notes: Sequence[AnnotatedNote], encoder: WordEncoder) -> None:
        rows: list[tuple[Window, NDArray[np.int64]]] = []
        for note in notes:
            heads = [_HEADS.index(HEAD_OF[span.label]) for span in note.spans]
            for window in make_windows(note.text, split_sentences(note.text), encoder):
                offsets = np.array([window.starts, window.ends], dtype=np.int64).T
                rows.append((window, label_tokens(offsets, note.spans, heads)))
        rows.sort(key=lambda row: len(row[0].ids))
        self._windows = [window for window, _ in rows]
        self._gold = np.concatenate([gold for _, gold in rows])
        self._pad = encoder.pad
        # Covers the notes and their windows: scores from other windows cannot be compared word by word.
        digest = hashlib.sha256(corpus_digest(notes).encode())
        for window in self._windows:
            digest.update(repr((window.ids, window.types, window.positions)).encode())
        self.sha256 = digest.hexdigest()

    def gold(self, head: str) -> NDArray[np.uint8]:
        """Return the gold class of each word for ``head``: uint8 (words,), NONE, OWN or OTHER."""
        own = self._gold == _HEADS.index(head)
        return np.where(self._gold < 0, NONE, np.where(own, OWN, OTHER)).astype(np.uint8)

    def scores(self, engine: Engine) -> list[NDArray[np.float16]]:
        """Return the score of every word, one array (words,) per branch of ``engine``, in its order."""
        return [scores.astype(np.float16) for scores in window_scores(engine, self._windows, self._pad)]
