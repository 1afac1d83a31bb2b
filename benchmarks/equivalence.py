"""Do two recalls on the same notes differ by less than a margin? Two one-sided tests by a bootstrap over patients.

Schuirmann's two one-sided tests (J Pharmacokinet Biopharm 1987): the recalls are equivalent at the level of 5 % when
both ``difference <= -margin`` and ``difference >= margin`` are rejected, which is when the 90 % interval of the
difference lies within the margin. Whole patients are drawn with replacement, with their notes of both sides: so the
test is paired, and notes of a patient may resemble each other.

A difference that no patient of the sample has cannot be drawn. So equivalence also asks for so many patients that a
difference in a share ``margin`` of them would be missed with a probability under 5 %: 299 for a margin of one point.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

LEVEL: Final = 0.05
_RESAMPLES: Final = 4_000
_CELLS: Final = 8_000_000  # of one batch of resamples (resamples x patients): limits memory


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two recalls, the second minus the first with its 90 % interval, and the p values of the two one-sided tests.

    ``p_below`` is of "the second is lower by the margin or more", ``p_above`` of "it is higher by the margin or more".
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_below: float
    p_above: float
    tokens: int
    patients: int
    is_equivalent: bool

    def to_json(self) -> dict[str, Any]:
        """Return the figures, rounded."""
        return {name: round(value, 5) if isinstance(value, float) else value for name, value in asdict(self).items()}


def compare_recalls(
    first: IntArray, second: IntArray, patients: Sequence[str], *, margin: float, seed: int = 0
) -> Equivalence | None:
    """Test the recalls of two sides; None when a side has nothing to find.

    ``first`` and ``second`` are int64 (notes, 2): what was found and what was to be found in each note. ``patients``
    has the patient of each note. The same seed gives the same result.
    """
    members = np.unique(list(patients), return_inverse=True)[1]
    totals = np.zeros((int(members.max(initial=-1)) + 1, 4), np.int64)
    np.add.at(totals, members, np.concatenate([first, second], axis=1))
    totals = totals[totals.any(1)]  # patients with nothing to find tell nothing
    found_first, all_first, found_second, all_second = totals.sum(0).tolist()
    if not all_first or not all_second:
        return None
    drawn = _differences(totals, np.random.default_rng(seed))
    low, high = np.quantile(drawn, [LEVEL, 1 - LEVEL]).tolist()
    p_below, p_above = ((1 + int(hits.sum())) / (1 + len(drawn)) for hits in (drawn <= -margin, drawn >= margin))
    return Equivalence(
        first=found_first / all_first,
        second=found_second / all_second,
        difference=found_second / all_second - found_first / all_first,
        low=low,
        high=high,
        p_below=p_below,
        p_above=p_above,
        tokens=all_second,
        patients=len(totals),
        is_equivalent=(1 - margin) ** len(totals) < LEVEL and p_below < LEVEL and p_above < LEVEL,
    )


def _differences(totals: IntArray, generator: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return float64 (resamples,): the difference in each resample of the patients, where both sides are defined."""
    size = len(totals)
    step = max(1, _CELLS // size)
    rows = []
    for begun in range(0, _RESAMPLES, step):
        counts = generator.multinomial(size, np.full(size, 1 / size), size=min(step, _RESAMPLES - begun))
        rows.append(counts.astype(np.float64) @ totals.astype(np.float64))  # exact, and faster than integers
    every = np.concatenate(rows)
    found_first, all_first, found_second, all_second = every[(every[:, 1] > 0) & (every[:, 3] > 0)].T
    differences: npt.NDArray[np.float64] = found_second / all_second - found_first / all_first
    return differences
