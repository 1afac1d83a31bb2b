"""Estimate the result of other thresholds of the model heads from the scores of found spans.

A found span whose only source is one model head disappears when the threshold of this head exceeds its score; it stays
when any other source also found it. So the tables show the result of *higher* thresholds than those of the run. Lower
ones find spans that are not in the file: detect with low thresholds first (``deid detect --threshold name=0.02 ...``).

The result is close but not exact: a threshold also moves the bounds of spans, and a name that is no longer found is no
longer searched for elsewhere in its note. Detect again with the chosen thresholds before they are used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Final

import numpy as np
import numpy.typing as npt

from deid_runtime.evaluation.token_table import TokenTable
from deid_runtime.evaluation.tokens import IntArray, ratio
from deid_runtime.labels import HEADS
from deid_runtime.spans import Span

#: The thresholds of the tables.
GRID: Final = (
    0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
    0.9, 0.95, 0.98,
)  # fmt: skip
_HEAD_PREFIX: Final = "model:"


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """One threshold of one head, with the others as in the run: all missed and wrong tokens, recall and precision.

    ``missed`` and ``wrong`` count the tokens of all labels; ``recall`` and ``precision`` are those of group C.
    """

    threshold: float
    missed: int
    wrong: int
    recall: float | None
    precision: float | None


def head_of(span: Span) -> str:
    """Return the head whose threshold decides about a span, or an empty string when others also found it."""
    if len(span.sources) != 1 or not span.sources[0].startswith(_HEAD_PREFIX):
        return ""
    head = span.sources[0].removeprefix(_HEAD_PREFIX).partition(":")[0]
    return head if head in HEADS else ""


def decided_by(spans: Sequence[Span]) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """Return int64 (spans,): the index into HEADS of :func:`head_of`, -1 for none; and float64 (spans,): the scores."""
    heads = {head: number for number, head in enumerate(HEADS)} | {"": -1}
    return (
        np.array([heads[head_of(span)] for span in spans], np.int64),
        np.array([span.score for span in spans], np.float64),
    )


def threshold_tables(table: TokenTable) -> dict[str, list[ThresholdRow]]:
    """Return the rows of each head that alone found anything, from the lowest threshold that the file covers."""
    heads, scores = decided_by(table.found_spans)
    of_token = np.append(heads, -1)[table.found]
    score = np.append(scores, 1.0)[table.found]
    gold = int(table.is_gold.sum())
    hits, wrong = int((table.is_gold & table.is_found).sum()), int(table.is_wrong.sum())
    tables: dict[str, list[ThresholdRow]] = {}
    for number, head in enumerate(HEADS):
        mine = of_token == number
        if not mine.any():
            continue
        right_scores, wrong_scores = np.sort(score[mine & table.is_gold]), np.sort(score[mine & table.is_wrong])
        lowest = floor(float(score[mine].min()) * 10_000) / 10_000
        rows = []
        for threshold in sorted({lowest, *(each for each in GRID if each > lowest)}):
            lost = int(np.searchsorted(right_scores, threshold - 1e-9))
            spared = int(np.searchsorted(wrong_scores, threshold - 1e-9))
            right, left = hits - lost, wrong - spared
            rows.append(ThresholdRow(threshold, gold - right, left, ratio(right, gold), ratio(right, right + left)))
        tables[head] = rows
    return tables
