"""95 % intervals of a share of tokens, when the tokens of one patient resemble each other.

The tokens of a patient repeat the same names, so n tokens give less information than n independent ones. The interval
is Wilson's (1927) with the effective number of tokens in place of the real one, as Korn and Graubard (1998) propose for
surveys: the number of tokens divided by the design effect, which is the variance between patients of the share (a ratio
estimate) divided by that of independent tokens. When the variance cannot be estimated (all found, none found, one
patient), all tokens of a patient count as one: the effective number is ``(sum n)^2 / sum n^2`` over patients (Kish
1965). It differs from the bootstrap of :mod:`deid_runtime.evaluation.significance` where a share is 0 or 1: the
bootstrap then claims certainty.
"""

from typing import Final

import numpy as np

from deid_runtime.evaluation.significance import Interval
from deid_runtime.evaluation.tokens import IntArray

_Z: Final = 1.959963984540054  # the 97.5 % quantile of the normal distribution


def share_interval(hits: IntArray, totals: IntArray) -> Interval | None:
    """Return the interval of ``sum(hits) / sum(totals)``; None when there is nothing to count.

    Both are int64 (patients,): the tokens that were found (or right), and all tokens, of each patient.
    """
    whole = int(totals.sum())
    if not whole:
        return None
    share = float(hits.sum()) / whole
    size = effective_size(hits, totals)
    middle = (share + _Z**2 / (2 * size)) / (1 + _Z**2 / size)
    half = _Z / (1 + _Z**2 / size) * float(np.sqrt(share * (1 - share) / size + _Z**2 / (4 * size**2)))
    # Rounded, because a bound such as 1 - 1e-16 is meaningless.
    return Interval(max(0.0, round(middle - half, 12)), min(1.0, round(middle + half, 12)))


def effective_size(hits: IntArray, totals: IntArray) -> float:
    """Return the number of independent tokens that give the same information; at least 1, at most their number."""
    totals_f = totals[totals > 0].astype(np.float64)
    hits_f = hits[totals > 0].astype(np.float64)
    whole = totals_f.sum()
    one_each = whole**2 / (totals_f**2).sum()
    share = hits_f.sum() / whole
    patients = len(totals_f)
    if patients < 2 or share in (0.0, 1.0):
        return float(one_each)
    rests = hits_f - share * totals_f
    variance = patients / (patients - 1) * (rests**2).sum() / whole**2
    if variance <= 0:
        return float(one_each)
    return float(min(whole, max(1.0, share * (1 - share) / variance)))
