"""Test whether two lists of counts may have the same distribution: Pearson's chi-square with a simulated p value.

The p value is that of Hope, "A simplified Monte Carlo significance test procedure", 1968, over random tables with the
same margins. It is valid for many rare kinds, where the asymptotic p value is not, and for few frequent ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

DRAWS: Final = 9_999
_LEAST_COUNT: Final = 10  # of a kind, in both lists together; rarer kinds are merged into one


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """The statistic, its degrees of freedom, and the p value: None when there are not two kinds to compare."""

    statistic: float
    degrees: int
    p_value: float | None


def compare_counts(
    before: Mapping[str, int], after: Mapping[str, int], *, draws: int = DRAWS, seed: int = 0
) -> ChiSquare:
    """Compare two lists of counts by kind. Kinds with fewer than ten counts in both lists together are merged into one.

    The same seed gives the same p value.
    """
    kinds = [kind for kind in sorted(before.keys() | after.keys()) if _total(kind, before, after) >= _LEAST_COUNT]
    rest = [sum(counts.values()) - sum(counts.get(kind, 0) for kind in kinds) for counts in (before, after)]
    rows = [[counts.get(kind, 0) for kind in kinds] for counts in (before, after)]
    if any(rest):
        rows = [[*row, others] for row, others in zip(rows, rest, strict=True)]
    table = np.array(rows, np.int64)
    if table.shape[1] < 2 or not table.sum(1).all():
        return ChiSquare(0.0, 0, None)
    columns, first = table.sum(0), int(table[0].sum())
    seen = _statistic(table[:1], columns)[0]
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(columns, first, size=draws, method="marginals")
    # The small tolerance counts tables like the observed one as equal, despite rounding.
    as_far = int((_statistic(drawn, columns) >= seen - 1e-9).sum())
    return ChiSquare(float(seen), table.shape[1] - 1, (as_far + 1) / (draws + 1))


def _total(kind: str, before: Mapping[str, int], after: Mapping[str, int]) -> int:
    return before.get(kind, 0) + after.get(kind, 0)


def _statistic(first_rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return float64 (n,): the statistic of each 2 x k table, from ``first_rows`` (n, k) and the column sums."""
    total, first = columns.sum(), first_rows[0].sum()
    expected = columns * (first / total)
    # In each column, both rows differ from the expected counts by the same amount, so compute the squares once.
    off = (first_rows - expected) ** 2
    result: npt.NDArray[np.float64] = (off / expected + off / (columns - expected)).sum(1)
    return result
