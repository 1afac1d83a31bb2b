"""How certain a score is (bootstrap over patients), and whether two systems differ (approximate randomisation)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import SettingsError
from deid_runtime.evaluation.tokens import GROUPS, IntArray, count_tokens
from deid_runtime.spans import Span

MEASURES: Final = ("precision", "recall", "f1")
#: Shuffles of :func:`compare`, as at i2b2 2014.
SHUFFLES: Final = 9_999
_LEVEL: Final = 0.95
_CELLS: Final = 8_000_000  # swaps drawn at a time (shuffles x notes): limits memory to about 64 MB

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % confidence interval, including its ends."""

    low: float
    high: float


def bootstrap(counts: IntArray, patients: Sequence[str], *, resamples: int, seed: int) -> dict[str, Interval]:
    """Return the percentile intervals of precision, recall and F1 by name, without measures that are never defined.

    ``counts`` is int64 (notes, 3): true positives, false positives, false negatives. Whole patients are drawn with
    replacement: notes of one patient repeat the same names, so they are not independent. A note without a patient
    (empty id) counts as a patient of its own. The same seed gives the same intervals, for any order of the
    notes.
    """
    if not len(counts):
        return {}
    names = [patient or f"\0{row}" for row, patient in enumerate(patients)]
    members = np.unique(names, return_inverse=True)[1]
    totals = np.zeros((members.max() + 1, 3), np.int64)
    np.add.at(totals, members, counts)
    totals = totals[np.lexsort(totals.T)]  # so that the order of notes has no effect
    draws = np.random.default_rng(seed).multinomial(len(totals), np.full(len(totals), 1 / len(totals)), size=resamples)
    intervals = {}
    for name, values in zip(MEASURES, _measures(draws @ totals).T, strict=True):
        known = values[~np.isnan(values)]
        if known.size:
            low, high = np.quantile(known, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]).tolist()
            intervals[name] = Interval(low, high)
    return intervals


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of two systems, and the two-sided probability of a difference at least as large by chance."""

    first: float | None
    second: float | None
    p_value: float | None


def compare(
    gold: Sequence[AnnotatedNote],
    first: Mapping[str, Sequence[Span]],
    second: Mapping[str, Sequence[Span]],
    *,
    group: str = "C",
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> dict[str, Difference]:
    """Test whether two systems differ in token-binary precision, recall and F1 on the same notes.

    Uses paired approximate randomisation (Noreen 1989; Yeh, COLING 2000; used for i2b2 2014 with 9,999 shuffles). Each
    shuffle swaps the answers of the two systems at random, note by note. ``p = (n + 1) / (shuffles + 1)``, where n is
    the number of shuffles with a difference at least as large as the observed one.

    Raises SettingsError for an unknown group.
    """
    if group not in GROUPS:
        raise SettingsError(f"unknown group {group!r}; expected one of {', '.join(GROUPS)}")
    return compare_groups(gold, first, second, groups=(group,), shuffles=shuffles, seed=seed)[group]


def compare_groups(
    gold: Sequence[AnnotatedNote],
    first: Mapping[str, Sequence[Span]],
    second: Mapping[str, Sequence[Span]],
    *,
    groups: Sequence[str] = tuple(GROUPS),
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> dict[str, dict[str, Difference]]:
    """Return :func:`compare` for several groups, by group. Each group uses the same shuffles."""
    counts = [count_tokens(gold, found) for found in (first, second)]
    differences = {}
    for group in groups:
        left, right = (each.by_note(group) for each in counts)
        p_values = _swap_test(left, right, shuffles=shuffles, seed=seed)
        seen = (_measures(side.sum(0, keepdims=True))[0].tolist() for side in (left, right))
        differences[group] = {
            name: Difference(*(None if np.isnan(value) else value for value in (one, other, p_value)))
            for name, one, other, p_value in zip(MEASURES, *seen, p_values.tolist(), strict=True)
        }
    return differences


def _swap_test(left: IntArray, right: IntArray, *, shuffles: int, seed: int) -> FloatArray:
    """Return float64 (3,): the p value of each measure; NaN when a measure of one system is undefined."""
    observed = _measures(np.stack([left.sum(0), right.sum(0)]))
    observed_difference = np.abs(observed[0] - observed[1])
    # Swapping a note with equal counts changes nothing.
    differing = (left != right).any(1)
    change = (right - left)[differing].astype(np.float64)
    generator = np.random.default_rng(seed)
    at_least = np.zeros(3, np.int64)
    rows = max(1, _CELLS // max(1, len(change)))
    for done in range(0, shuffles, rows):
        swapped = generator.integers(0, 2, (min(rows, shuffles - done), len(change)), np.int8).astype(np.float64)
        moved = swapped @ change
        shuffled = np.abs(_measures(left.sum(0) + moved) - _measures(right.sum(0) - moved))
        # The small tolerance counts the shuffle that swaps nothing as equal, despite rounding. A shuffle that makes
        # a measure undefined counts as extreme, because it cannot support a difference.
        at_least += (~(shuffled < observed_difference - 1e-12)).sum(0)
    p_values: FloatArray = (at_least + 1) / (shuffles + 1)
    return np.where(np.isnan(observed_difference), np.nan, p_values)


def _measures(counts: npt.NDArray[np.int64] | FloatArray) -> FloatArray:
    """Convert (n, 3) true positives, false positives, false negatives to float64 (n, 3) of MEASURES; NaN for 0 / 0."""
    true_positives, false_positives, false_negatives = counts.T.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.stack(
            [
                true_positives / (true_positives + false_positives),
                true_positives / (true_positives + false_negatives),
                2 * true_positives / (2 * true_positives + false_positives + false_negatives),
            ],
            axis=1,
        )
