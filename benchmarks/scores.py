"""Scores of models alone, without rules, over the words of annotated notes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deid_export.train.batches import window_targets
from deid_export.train.scoring import WordScores
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.labels import HEADS
from deid_runtime.models.tagger import ModelTagger
from deid_runtime.text.sentences import split_sentences

FLOOR = 0.95  # precision at which recalls are compared


def head_scores(words: WordScores, head: str) -> dict[str, float]:
    """Score one head against its own gold."""
    return curve(words.scores[head], words.gold[head])


def curve(scores: NDArray[np.float32], gold: NDArray[np.bool_]) -> dict[str, float]:
    """Return precision, recall and F1 at 0.5, recall at :data:`FLOOR`, and average precision."""
    found = scores >= 0.5
    hits = int((found & gold).sum())
    precision, recall = hits / max(1, int(found.sum())), hits / max(1, int(gold.sum()))
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.diff(scores[order], append=-1.0))  # words of one score are found together
    right = np.cumsum(gold[order])[last]
    precisions, recalls = right / (last + 1), right / max(1, int(gold.sum()))
    enough = np.flatnonzero(precisions >= FLOOR)
    steps = np.diff(recalls, prepend=0.0)
    return {
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(2 * precision * recall / max(1e-9, precision + recall), 4),
        "recall_at_floor": round(float(recalls[enough[-1]]), 4) if len(enough) else 0.0,
        "average_precision": round(float((precisions * steps).sum()), 4),
    }


def score_words(tagger: ModelTagger, notes: Sequence[AnnotatedNote]) -> WordScores:
    """Return the predicted and the annotated label of every word of the serving windows, by head of ``tagger``."""
    scores: dict[str, list[NDArray[np.float32]]] = {head: [] for head in HEADS}
    gold: dict[str, list[NDArray[np.bool_]]] = {head: [] for head in HEADS}
    texts = [note.text for note in notes]
    for scored in tagger.scored(texts, [split_sentences(text) for text in texts]):
        for row, (number, window) in enumerate(scored.batch):
            targets = window_targets(window, notes[number].spans, list(HEADS))
            for head in HEADS:
                scores[head].append(scored.answers[head].scores[row, window.positions])
                gold[head].append(np.array(targets[head]) > 0)
    return WordScores(
        {head: np.concatenate(each) for head, each in scores.items()},
        {head: np.concatenate(each) for head, each in gold.items()},
    )
