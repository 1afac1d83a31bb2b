from itertools import product

import numpy as np
import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import SettingsError
from deid_runtime.evaluation.significance import bootstrap, compare
from deid_runtime.spans import Span

WORD = "Kasson"


def notes(count):
    return [AnnotatedNote(f"n{index}", "", "", WORD, (Span(0, 6, "CITY"),)) for index in range(count)]


def answers(found):
    return {f"n{index}": [Span(0, 6, "CITY")] if hit else [] for index, hit in enumerate(found)}


def test_bootstrap_is_near_the_binomial_interval_for_independent_notes():
    counts = np.array([[1, 0, 0]] * 80 + [[0, 0, 1]] * 20)

    recall = bootstrap(counts, [""] * 100, resamples=4_000, seed=3)["recall"]

    assert recall.low == pytest.approx(0.80 - 1.96 * 0.04, abs=0.015)
    assert recall.high == pytest.approx(0.80 + 1.96 * 0.04, abs=0.015)


def test_bootstrap_draws_patients_and_not_notes():
    counts = np.array([[1, 0, 0]] * 80 + [[0, 0, 1]] * 20)
    patients = ["p1"] * 40 + ["p2"] * 40 + ["p3"] * 20

    recall = bootstrap(counts, patients, resamples=1_000, seed=3)["recall"]

    assert recall.high - recall.low > 0.5


def test_bootstrap_is_repeatable_and_leaves_out_what_is_undefined():
    counts = np.array([[0, 0, 3], [0, 0, 1]])

    intervals = bootstrap(counts, ["a", "b"], resamples=100, seed=0)

    assert set(intervals) == {"recall", "f1"}
    assert intervals == bootstrap(counts, ["a", "b"], resamples=100, seed=0)
    assert bootstrap(np.zeros((0, 3), np.int64), [], resamples=100, seed=0) == {}


def test_randomisation_agrees_with_all_swaps_of_a_small_case():
    first = [1, 1, 1, 1, 1, 0]
    second = [0, 0, 0, 1, 0, 1]
    observed = abs(sum(first) - sum(second))
    swaps = [
        abs(sum(a if keep else b for keep, a, b in rows) - sum(b if keep else a for keep, a, b in rows))
        for mask in product([True, False], repeat=6)
        for rows in [list(zip(mask, first, second, strict=True))]
    ]
    exact = sum(swap >= observed for swap in swaps) / len(swaps)

    recall = compare(notes(6), answers(first), answers(second))["recall"]

    assert recall.first == pytest.approx(5 / 6)
    assert recall.second == pytest.approx(2 / 6)
    assert recall.p_value == pytest.approx(exact, abs=0.02)


def test_randomisation_extremes():
    same = compare(notes(5), answers([1, 0, 1, 1, 0]), answers([1, 0, 1, 1, 0]))
    apart = compare(notes(60), answers([1] * 60), answers([0] * 30 + [1] * 30))

    assert same["recall"].p_value == 1.0
    assert apart["recall"].p_value == pytest.approx(1 / 10_000)
    assert apart == compare(notes(60), answers([1] * 60), answers([0] * 30 + [1] * 30))


def test_an_undefined_measure_has_no_p_value():
    silent = compare(notes(3), answers([0, 0, 0]), answers([1, 1, 0]))

    assert silent["precision"].first is None
    assert silent["precision"].p_value is None


def test_unknown_group():
    with pytest.raises(SettingsError, match="expected one of A, B, C"):
        compare([], {}, {}, group="D")
