"""Test the test of equivalence against scipy and by simulation."""

import numpy as np
import pytest

from tests.benchmarks.scripts import load_script

equivalence = load_script("equivalence")


def sides(generator, notes, first, second, *, tokens=20):
    """Return (notes, 2) counts of two sides; the second finds with another probability what the first finds."""
    of = np.full(notes, tokens)
    return tuple(np.stack([generator.binomial(of, share), of], axis=1) for share in (first, second))


def test_interval_and_p_values_are_those_of_the_paired_t_test():
    stats = pytest.importorskip("scipy.stats")
    first, second = sides(np.random.default_rng(5), 400, 0.9, 0.905)
    margin = 0.015

    made = equivalence.compare_recalls(first, second, [str(number) for number in range(400)], margin=margin)

    # Notes of equal size, each of another patient: recalls are means, so the t test is the reference.
    differences = (second[:, 0] - first[:, 0]) / 20
    interval = stats.ttest_rel(second[:, 0] / 20, first[:, 0] / 20).confidence_interval(0.90)
    assert made.difference == pytest.approx(differences.mean())
    assert (made.low, made.high) == pytest.approx((interval.low, interval.high), abs=6e-4)
    below = stats.ttest_1samp(differences, -margin, alternative="greater").pvalue
    above = stats.ttest_1samp(differences, margin, alternative="less").pvalue
    assert (made.p_below, made.p_above) == pytest.approx((below, above), abs=0.012)


def test_patients_and_not_notes_are_drawn():
    generator = np.random.default_rng(2)
    first, second = sides(generator, 40, 0.9, 0.9)
    repeated = [np.repeat(side, 10, axis=0) for side in (first, second)]
    names = [str(number) for number in range(40) for _ in range(10)]

    once = equivalence.compare_recalls(first, second, [str(number) for number in range(40)], margin=0.01)
    often = equivalence.compare_recalls(*repeated, names, margin=0.01)

    assert often.patients == 40
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


def test_equivalence_is_seldom_claimed_at_the_margin_and_often_without_a_difference(monkeypatch):
    monkeypatch.setattr(equivalence, "_RESAMPLES", 600)
    generator = np.random.default_rng(9)
    names = [str(number) for number in range(160)]
    claimed = {
        second: sum(
            equivalence.compare_recalls(*sides(generator, 160, 0.95, second), names, margin=0.02).is_equivalent
            for _ in range(60)
        )
        for second in (0.93, 0.95)
    }

    assert claimed[0.93] / 60 <= 0.12  # 5 % are expected
    assert claimed[0.95] / 60 >= 0.8


def test_nothing_to_find_is_not_tested():
    empty = np.zeros((3, 2), np.int64)

    assert equivalence.compare_recalls(empty, empty, ["a", "b", "c"], margin=0.01) is None


@pytest.mark.parametrize(("patients", "is_shown"), [(1, False), (298, False), (299, True)])
def test_few_patients_show_nothing_even_where_all_is_found(patients, is_shown):
    sides = np.full((patients, 2), 10)

    made = equivalence.compare_recalls(sides, sides, [str(number) for number in range(patients)], margin=0.01)

    assert made.is_equivalent is is_shown


def test_tokens_are_counted_by_label():
    script = load_script("surrogate_detection")
    note = script.AnnotatedNote(
        "n", "p", "", "Ann Lee of Elko", (script.Span(0, 7, "PATIENT"), script.Span(11, 15, "CITY"))
    )

    counts = script.count_found([note], [[script.Span(4, 7, "DOCTOR")]])

    assert counts[0, 0].tolist() == [1, 3]
    assert counts[0, 1 + script.LABELS.index("PATIENT")].tolist() == [1, 2]
    assert counts[0, 1 + script.LABELS.index("CITY")].tolist() == [0, 1]
