"""Scores of models alone, without rules, over the words of annotated notes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deid_export.train.batches import window_targets
from deid_export.train.scoring import WordScores
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.labels import HEADS
from deid_runtime.models.tagger import ModelTagger, width_of
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, WordEncoder, make_windows

FLOOR = 0.95  # precision at which recalls are compared
BATCH = 16

Rows = list[tuple[Window, AnnotatedNote]]


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


def serving_batches(notes: Sequence[AnnotatedNote], encoder: WordEncoder) -> list[Rows]:
    """Return the serving windows of all notes, those of one width together."""
    by_width: dict[int, Rows] = {}
    for note in notes:
        for window in make_windows(note.text, split_sentences(note.text), encoder):
            by_width.setdefault(width_of(len(window.ids)), []).append((window, note))
    return [rows[first : first + BATCH] for rows in by_width.values() for first in range(0, len(rows), BATCH)]


def score_words(tagger: ModelTagger, batches: Sequence[Rows]) -> WordScores:
    """Return the predicted and the annotated label of every word, by head of ``tagger``."""
    scores: dict[str, list[NDArray[np.float32]]] = {head: [] for head in HEADS}
    gold: dict[str, list[NDArray[np.bool_]]] = {head: [] for head in HEADS}
    for rows in batches:
        answers = tagger.answers([window for window, _ in rows])
        for number, (window, note) in enumerate(rows):
            targets = window_targets(window, note.spans, list(HEADS))
            for head in HEADS:
                scores[head].append(answers[head].scores[number, window.positions])
                gold[head].append(np.array(targets[head]) > 0)
    return WordScores(
        {head: np.concatenate(each) for head, each in scores.items()},
        {head: np.concatenate(each) for head, each in gold.items()},
    )
