"""Test how the answers of several versions of one head are combined."""

import numpy as np

from deid_runtime.models.engines import TokenScores
from deid_runtime.models.manifest import HeadVersion
from deid_runtime.models.tagger import combine, combined


def answer(tag: int, *scores: float) -> TokenScores:
    return TokenScores(np.full((1, len(scores)), tag, np.uint8), np.array([scores], np.float32))


def log_odds(scores: np.ndarray) -> np.ndarray:
    return np.log(scores / (1 - scores))


def test_log_odds_are_averaged_by_weight() -> None:
    one, other = answer(1, 0.9, 0.2), answer(2, 0.5, 0.4)

    even, uneven = combine([one, other]), combine([one, other], [1, 2])

    np.testing.assert_allclose(log_odds(even.scores), (log_odds(one.scores) + log_odds(other.scores)) / 2, rtol=1e-5)
    np.testing.assert_allclose(
        log_odds(uneven.scores), (log_odds(one.scores) + 2 * log_odds(other.scores)) / 3, rtol=1e-5
    )
    assert uneven.tags.tolist() == [[1, 2]]
    assert uneven.scores.dtype == np.float32


def test_equal_weights_change_no_bit() -> None:
    answers = [answer(1, 0.9, 0.2, 0.013), answer(2, 0.5, 0.4, 0.71)]

    assert np.array_equal(combine(answers).scores, combine(answers, [2, 2]).scores)


def test_each_head_takes_the_weights_of_its_own_versions() -> None:
    versions = [
        HeadVersion("name", "v0", "name", ("B-PATIENT",)),
        HeadVersion("age", "v0", "age", ("B-AGE",)),
        HeadVersion("name", "v1", "name", ("B-PATIENT",), weight=3.0),
    ]

    found = combined(zip(versions, [answer(0, 0.5), answer(0, 0.3), answer(0, 0.9)], strict=True), "mean")

    assert list(found) == ["name", "age"]
    np.testing.assert_allclose(log_odds(found["name"].scores), 0.75 * np.log(9), rtol=1e-5)
    assert found["age"].scores[0, 0] == np.float32(0.3)


def test_with_any_no_version_can_veto_another() -> None:
    one, other = answer(1, 0.9, 0.2), answer(2, 0.001, 0.4)

    both = combine([one, other], [1, 2], "any")

    np.testing.assert_array_equal(both.scores, np.array([[0.9, 0.4]], np.float32))
    assert both.tags.tolist() == [[1, 2]]
