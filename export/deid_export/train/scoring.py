"""Measure how well a model without rules finds the words of annotated notes; training logs this score."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deid_export.data.corpus import as_read
from deid_export.model.engine import TorchEngine, window_scores
from deid_export.model.tagger import BranchedTagger
from deid_export.train.batches import StreamSettings, cut_windows, window_targets
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, WordEncoder


@dataclass(frozen=True)
class WordScores:
    """One row per word of the notes: ``scores`` by head float32 1 - P(O), ``gold`` by head bool."""

    scores: dict[str, NDArray[np.float32]]
    gold: dict[str, NDArray[np.bool_]]


def score_words(
    model: BranchedTagger, notes: Sequence[AnnotatedNote], encoder: WordEncoder, *, stream: StreamSettings | None = None
) -> WordScores:
    """Run ``model`` over the serving windows of ``notes``, or over windows with the settings ``stream``."""
    heads = model.shape.heads
    windows: list[tuple[Window, AnnotatedNote]] = [
        (window, note)
        for note in as_read(notes)
        for window in cut_windows(note.text, split_sentences(note.text), encoder, stream or StreamSettings())
    ]
    windows.sort(key=lambda pair: len(pair[0].ids))
    scores = window_scores(TorchEngine(model), [window for window, _ in windows], encoder.pad)
    model.train()
    targets = [window_targets(window, note.spans, heads) for window, note in windows]
    return WordScores(
        dict(zip(heads, scores, strict=True)),
        {head: np.concatenate([np.array(row[head]) > 0 for row in targets]) for head in heads},
    )


def precision_recall(words: WordScores, head: str, threshold: float) -> tuple[float, float]:
    """Return precision and recall over words for one head at ``threshold``."""
    found, gold = words.scores[head] >= threshold, words.gold[head]
    hits = int((found & gold).sum())
    return hits / max(1, int(found.sum())), hits / max(1, int(gold.sum()))
