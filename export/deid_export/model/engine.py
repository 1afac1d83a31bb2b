"""Run a model that is not exported as an engine, and score the words of windows with any engine."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from deid_export.model.precision import autocast
from deid_export.model.tagger import BranchedTagger
from deid_runtime.models.batching import pad
from deid_runtime.models.engines import Engine, Ids, TokenScores
from deid_runtime.settings import Precision
from deid_runtime.text.windows import Window

_BATCH_WINDOWS = 16


class TorchEngine:
    """A :class:`~deid_runtime.models.engines.Engine` of a model that is not exported; gives one answer per head."""

    name = "torch"
    precision: Precision = "float32"

    def __init__(self, model: BranchedTagger) -> None:
        self._model = model.eval()

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        inputs = [torch.from_numpy(array).long() for array in (ids, types, mask)]
        with torch.inference_mode(), autocast():
            logits = self._model(*inputs)
        answers = []
        for branch in self._model.shape.heads:
            scores = logits[branch].float()
            answers.append(
                TokenScores(
                    scores[..., 1:].argmax(dim=-1).numpy().astype(np.uint8),
                    # Same rounding as in the exported graph, so that thresholds have the same meaning.
                    (1.0 - torch.softmax(scores, dim=-1)[..., 0]).half().float().numpy(),
                )
            )
        return answers

    def close(self) -> None:
        """Do nothing: the garbage collector frees the model."""


def window_scores(engine: Engine, windows: Sequence[Window], pad_id: int) -> list[NDArray[np.float32]]:
    """Return 1 - P(O) of every word of the windows, one array (words,) per branch of ``engine``, in its order.

    Windows that are sorted by length are fastest: a batch is as wide as its longest window.
    """
    by_window: list[list[NDArray[np.float32]]] = []
    for first in range(0, len(windows), _BATCH_WINDOWS):
        batch = windows[first : first + _BATCH_WINDOWS]
        answers = engine(*pad(batch, pad_id))
        by_window += [[answer.scores[row, window.positions] for answer in answers] for row, window in enumerate(batch)]
    return [np.concatenate(rows) for rows in zip(*by_window, strict=True)]
