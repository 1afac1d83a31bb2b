import numpy as np
import pytest

from deid_runtime.resynthesis.chi_square import compare_counts


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 50, "b": 30, "c": 20}, {"a": 40, "b": 35, "c": 25}),
        ({"a": 300, "b": 100}, {"a": 250, "b": 150}),
        ({"a": 20, "b": 20, "c": 20, "d": 20}, {"a": 25, "b": 18, "c": 15, "d": 22}),
    ],
)
def test_agrees_with_the_asymptotic_test_where_counts_are_large(before: dict[str, int], after: dict[str, int]) -> None:
    stats = pytest.importorskip("scipy.stats")

    expected = stats.chi2_contingency([list(before.values()), list(after.values())], correction=False)
    found = compare_counts(before, after)

    assert found.statistic == pytest.approx(expected.statistic)
    assert found.degrees == expected.dof
    assert found.p_value == pytest.approx(expected.pvalue, abs=0.02)


def test_the_p_value_is_that_of_all_tables_with_these_margins() -> None:
    # 2 x 2, columns of 12 and 12, rows of 12: the exact distribution is hypergeometric.
    stats = pytest.importorskip("scipy.stats")
    tables = stats.hypergeom(24, 12, 12)
    as_far = sum(tables.pmf(count) for count in range(13) if abs(count - 6) >= 3)

    assert compare_counts({"a": 9, "b": 3}, {"a": 3, "b": 9}).p_value == pytest.approx(as_far, abs=0.01)


def test_equal_counts_are_nothing_to_wonder_at() -> None:
    found = compare_counts({"a": 30, "b": 12}, {"a": 30, "b": 12})

    assert (found.statistic, found.degrees, found.p_value) == (0.0, 1, 1.0)


def test_rare_kinds_are_one_kind() -> None:
    rare = {f"r{number}": 1 for number in range(40)}

    assert compare_counts({"a": 40, **rare}, {"a": 40, **rare}).degrees == 1


@pytest.mark.parametrize(("before", "after"), [({}, {}), ({"a": 50}, {"a": 40}), ({"a": 50, "b": 20}, {})])
def test_nothing_to_compare_has_no_p_value(before: dict[str, int], after: dict[str, int]) -> None:
    assert compare_counts(before, after).p_value is None


def test_p_values_of_samples_from_one_distribution_are_even() -> None:
    generator = np.random.default_rng(3)
    kinds = ["a", "b", "c", "d"]
    p_values = []
    for seed in range(200):
        first, second = generator.multinomial(100, [0.4, 0.3, 0.2, 0.1], 2).tolist()
        tested = compare_counts(dict(zip(kinds, first)), dict(zip(kinds, second)), draws=199, seed=seed)  # noqa: B905
        p_values.append(tested.p_value or 0.0)

    assert 0.02 < np.mean(np.array(p_values) <= 0.1) < 0.2
