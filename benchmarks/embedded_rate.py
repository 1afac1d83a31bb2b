"""The rate of the embedded engine in one process with one thread, for the rows that a server is asked about."""

import itertools
import random
import time
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from questions import Question

from deid_runtime.models.engines import Engine, Ids

_CALL_ROWS: Final = 16  # rows it is given at a time, as `deid run` does

Inputs = tuple[Ids, Ids, Ids]


def padded(question: Question) -> Inputs:
    """Return the inputs with the next power of two of rows, as the embedded engine gets them."""
    count = 1 << (question.rows - 1).bit_length()
    ids, types, mask = (np.pad(array, ((0, count - question.rows), (0, 0))) for array in question.inputs)
    return ids, types, mask


def embedded_rate(engine: Engine, questions: Sequence[Question], seconds: float) -> float:
    """Return the sentences a second of the engine alone, for the rows of ``questions`` in batches of its own.

    Sentences are counted as new by :class:`Question`; going round the questions again counts them again.
    """
    batches = list(_batches(questions))
    random.Random(0).shuffle(batches)
    for inputs, _ in {inputs[0].shape: (inputs, 0) for inputs, _ in batches}.values():
        engine(*inputs)  # a first call for every shape
    done = 0.0
    begun = time.perf_counter()
    for inputs, sentences in itertools.cycle(batches):
        engine(*inputs)
        done += sentences
        if (spent := time.perf_counter() - begun) >= seconds:
            return done / spent
    raise ValueError(f"{len(questions)} questions make no batch; measure with more notes")


def _batches(questions: Sequence[Question]) -> Iterator[tuple[Inputs, float]]:
    """Yield the rows again in full batches of one width, with their share of the sentences."""
    by_width: dict[int, list[Question]] = {}
    for question in questions:
        by_width.setdefault(question.inputs[0].shape[1], []).append(question)
    for same in by_width.values():
        ids, types, mask = (np.concatenate([each.inputs[index] for each in same]) for index in range(3))
        shares = np.concatenate([np.full(each.rows, each.new_sentences / each.rows) for each in same])
        for first in range(0, len(ids) - _CALL_ROWS + 1, _CALL_ROWS):
            part = slice(first, first + _CALL_ROWS)
            yield (ids[part], types[part], mask[part]), float(shares[part].sum())
