"""Measure how well a model alone, without rules, finds the words of annotated notes; training logs this score."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from deid_export.data.corpus import as_read
from deid_export.model.precision import autocast
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
    model: BranchedTagger,
    notes: Sequence[AnnotatedNote],
    encoder: WordEncoder,
    *,
    rows: int = 32,
    stream: StreamSettings | None = None,
) -> WordScores:
    """Run ``model`` over the serving windows of ``notes``, or over windows with the settings ``stream``."""
    heads = model.shape.heads
    scores: dict[str, list[NDArray[np.float32]]] = {head: [] for head in heads}
    gold: dict[str, list[NDArray[np.bool_]]] = {head: [] for head in heads}
    windows: list[tuple[Window, AnnotatedNote]] = [
        (window, note)
        for note in as_read(notes)
        for window in cut_windows(note.text, split_sentences(note.text), encoder, stream or StreamSettings())
    ]
    model.eval()
    for chunk in _chunks(sorted(windows, key=lambda pair: len(pair[0].ids)), rows):
        width = max(len(window.ids) for window, _ in chunk)
        ids = torch.tensor([w.ids + [encoder.pad] * (width - len(w.ids)) for w, _ in chunk])
        types = torch.tensor([w.types + [0] * (width - len(w.ids)) for w, _ in chunk])
        mask = torch.tensor([[1] * len(w.ids) + [0] * (width - len(w.ids)) for w, _ in chunk])
        with torch.inference_mode(), autocast():
            logits = model(ids, types, mask)
        for head in heads:
            found: NDArray[np.float32] = (1.0 - torch.softmax(logits[head].float(), dim=-1)[..., 0]).numpy()
            for row, (window, note) in enumerate(chunk):
                scores[head].append(found[row, window.positions])
                gold[head].append(np.array(window_targets(window, note.spans, [head])[head]) > 0)
    model.train()
    return WordScores(
        {head: np.concatenate(rows_) for head, rows_ in scores.items()},
        {head: np.concatenate(rows_) for head, rows_ in gold.items()},
    )


def precision_recall(words: WordScores, head: str, threshold: float) -> tuple[float, float]:
    """Return precision and recall over words for one head at ``threshold``."""
    found, gold = words.scores[head] >= threshold, words.gold[head]
    hits = int((found & gold).sum())
    return hits / max(1, int(found.sum())), hits / max(1, int(gold.sum()))


def _chunks(
    items: Sequence[tuple[Window, AnnotatedNote]], size: int
) -> Iterator[Sequence[tuple[Window, AnnotatedNote]]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]
