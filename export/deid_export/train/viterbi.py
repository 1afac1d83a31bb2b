"""The best tag sequence under BIO, constrained or learned, for comparison with the threshold that serves."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

_FORBIDDEN = -1e9


def constrained(tags: Sequence[str]) -> Scores:
    """Return log transition scores ``(1 + tags, tags)``: 0, or forbidden where I follows anything but its own label.

    The first row is the start of a sequence.
    """
    matrix = np.zeros((1 + len(tags), len(tags)))
    for column, tag in enumerate(tags):
        if tag.startswith("I-"):
            for row, before in enumerate(("", *tags)):
                if before not in (f"B-{tag[2:]}", tag):
                    matrix[row, column] = _FORBIDDEN
    return matrix


def learned(tags: Sequence[str], sequences: Iterable[Sequence[int]], *, weight: float = 1.0) -> Scores:
    """Return :func:`constrained` plus ``weight`` times log P(tag | tag before) / P(tag), with add-one counts.

    The division keeps the emissions, which already hold the share of each tag, from counting it twice.
    """
    counts = np.ones((1 + len(tags), len(tags)))
    for sequence in sequences:
        before = 0
        for tag in sequence:
            counts[before, tag] += 1
            before = tag + 1
    conditional = counts / counts.sum(axis=1, keepdims=True)
    marginal = counts.sum(axis=0) / counts.sum()
    matrix: Scores = constrained(tags) + weight * np.log(conditional / marginal)
    return matrix


def viterbi(emissions: Scores, transitions: Scores) -> list[int]:
    """Return the tags with the highest sum of ``emissions`` ``(words, tags)``, log scores, and ``transitions``."""
    if not len(emissions):
        return []
    best = transitions[0] + emissions[0]
    back = np.zeros(emissions.shape, dtype=np.int64)
    for word in range(1, len(emissions)):
        paths = best[:, None] + transitions[1:]
        back[word] = paths.argmax(axis=0)
        best = paths.max(axis=0) + emissions[word]
    tags = [int(best.argmax())]
    for word in range(len(emissions) - 1, 0, -1):
        tags.append(int(back[word, tags[-1]]))
    return tags[::-1]
