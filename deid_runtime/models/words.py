"""Collect what models say about the words of texts: one score for each word, head and version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from deid_runtime.labels import HEADS
from deid_runtime.models.tagger import ModelTagger, ScoredBatch
from deid_runtime.spans import Sentence
from deid_runtime.text.reading.view import View
from deid_runtime.text.windows import Window

Floats = NDArray[np.float32]
Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of one text that the models read.

    ``starts`` and ``ends`` are half-open code points, sorted and disjoint. ``scores`` maps each head to 1 - P(O), all
    with its versions combined as in a run, shape (words,). ``versions`` maps each head to the scores of each version,
    shape (versions, words).
    """

    starts: Offsets = field(repr=False)
    ends: Offsets = field(repr=False)
    scores: Mapping[str, Floats] = field(repr=False)
    versions: Mapping[str, Floats] = field(repr=False)

    @property
    def offsets(self) -> Offsets:
        """Return starts and ends as int64 (words, 2)."""
        return np.stack([self.starts, self.ends], axis=1)

    def located(self, view: View) -> "Words":
        """Return the words with offsets of the original text instead of the text of ``view``."""
        if not view.layers:
            return self
        places = [view.original(int(start), int(end)) for start, end in self.offsets]
        starts, ends = np.array(places, dtype=np.int64).reshape(-1, 2).T
        return replace(self, starts=starts, ends=ends)


class WordCollector:
    """Takes the scored batches of texts in any order, and gives the words of each text."""

    def __init__(self, texts: int) -> None:
        """Prepare for this number of texts."""
        self._windows: list[list[tuple[Window, dict[str, Floats], dict[str, Floats]]]] = [[] for _ in range(texts)]

    def add(self, scored: ScoredBatch) -> None:
        """Keep the scores of the words of a batch."""
        for row, (number, window) in enumerate(scored.batch):
            at = window.positions
            versions: dict[str, list[Floats]] = {head: [] for head in scored.answers}
            for version, answer in scored.votes:
                versions[version.head].append(answer.scores[row, at])
            self._windows[number].append(
                (
                    window,
                    {head: answer.scores[row, at] for head, answer in scored.answers.items()},
                    {head: np.stack(rows) for head, rows in versions.items()},
                )
            )

    def collected(self) -> list[Words]:
        """Return the words of each text; a word in several windows gets its highest scores."""
        return [_joined(windows) for windows in self._windows]


def read_words(tagger: ModelTagger, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[Words]:
    """Return the words of the given sentences of each text, with their scores."""
    words = WordCollector(len(texts))
    for scored in tagger.scored(texts, sentences):
        words.add(scored)
    return words.collected()


def _joined(windows: Sequence[tuple[Window, Mapping[str, Floats], Mapping[str, Floats]]]) -> Words:
    starts = np.array([start for window, _, _ in windows for start in window.starts], dtype=np.int64)
    ends = np.array([end for window, _, _ in windows for end in window.ends], dtype=np.int64)
    order = np.argsort(starts, kind="stable")
    firsts = np.flatnonzero(np.diff(starts[order], prepend=-1))

    def best(rows: Sequence[Floats]) -> Floats:
        if not rows:
            return np.zeros((1, 0), dtype=np.float32)
        merged: Floats = np.maximum.reduceat(np.concatenate(rows, axis=-1)[..., order], firsts, axis=-1)
        return merged

    return Words(
        starts[order][firsts],
        ends[order][firsts],
        {head: best([scores[head][None] for _, scores, _ in windows])[0] for head in HEADS},
        {head: best([versions[head] for _, _, versions in windows]) for head in HEADS},
    )
