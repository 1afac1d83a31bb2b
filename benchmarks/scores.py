"""Scores of models alone, without rules, over the words of annotated notes."""

import numpy as np
from numpy.typing import NDArray

from deid_export.train.scoring import WordScores

FLOOR = 0.95  # precision at which recalls are compared


def union_scores(words: WordScores) -> dict[str, float]:
    """Score the best of all heads against any gold."""
    scores = np.max(np.stack(list(words.scores.values())), axis=0)
    gold = np.any(np.stack(list(words.gold.values())), axis=0)
    return curve(scores, gold)


def head_scores(words: WordScores, head: str) -> dict[str, float]:
    """Score one head against its own gold."""
    return curve(words.scores[head], words.gold[head])


def curve(scores: NDArray[np.float32], gold: NDArray[np.bool_]) -> dict[str, float]:
    """Return precision, recall and F1 at 0.5, recall at :data:`FLOOR`, and average precision."""
    found = scores >= 0.5
    hits = int((found & gold).sum())
    precision, recall = hits / max(1, int(found.sum())), hits / max(1, int(gold.sum()))
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(gold[order])
    precisions, recalls = right / np.arange(1, len(order) + 1), right / max(1, int(gold.sum()))
    enough = np.flatnonzero(precisions >= FLOOR)
    steps = np.diff(recalls, prepend=0.0)
    return {
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(2 * precision * recall / max(1e-9, precision + recall), 4),
        "recall_at_floor": round(float(recalls[enough[-1]]), 4) if len(enough) else 0.0,
        "average_precision": round(float((precisions * steps).sum()), 4),
    }
