"""Test the merit of versions and the choice of the best two."""

from pathlib import Path

import numpy as np
import pytest

from deid_export.adapt.grading import (
    NONE,
    OTHER,
    OWN,
    HeadWords,
    best_threshold,
    combined,
    f_beta,
    pick,
    reached,
    read_words,
    write_words,
)
from deid_export.adapt.registry import Grade, StoredFile, Version

GOLD = np.array([OWN, OWN, OWN, OTHER, NONE, NONE], dtype=np.uint8)


def words(*scores: float) -> HeadWords:
    return HeadWords(np.array(scores, dtype=np.float16), GOLD[: len(scores)])


def version(name: str, merit: float) -> Version:
    grade = Grade(dev_sha256="", gold_words=3, threshold=0.5, precision=1, recall=1, merit=merit, words=name)
    return Version(head="age", name=name, parent=None, round=0, weights=StoredFile(file="", sha256=""), grade=grade)


def test_recall_weighs_more_than_precision() -> None:
    assert f_beta(0.5, 1.0) > f_beta(1.0, 0.5)
    assert f_beta(1.0, 0.5) == pytest.approx(5 * 0.5 / 4.5)
    assert f_beta(0.0, 0.0) == 0.0


def test_words_of_other_heads_count_neither_way() -> None:
    found = reached(words(0.9, 0.9, 0.1, 0.9, 0.9, 0.1), 0.5)

    assert (found.precision, found.recall) == (2 / 3, 2 / 3)


def test_the_best_threshold_is_the_highest_of_equals() -> None:
    assert best_threshold(words(0.9, 0.9, 0.25, 0, 0.1, 0)).threshold == 0.2
    assert best_threshold(words(0.9, 0.9, 0.9, 0, 0, 0)).threshold == 0.5
    assert best_threshold(words(0, 0, 0, 0, 0, 0)).merit == 0.0


def test_a_score_just_below_a_threshold_is_not_rounded_up_to_it() -> None:
    below = float(np.nextafter(np.float16(0.3), np.float16(0)))

    assert not HeadWords(np.array([below], dtype=np.float16), GOLD[:1]).found(0.3).any()


def test_combined_scores_lie_between_those_of_the_versions() -> None:
    both = combined([words(0.9, 0.2), words(0.5, 0.1)])

    assert 0.5 < both.scores[0] < 0.9
    assert 0.1 < both.scores[1] < 0.2


def test_the_best_two_serve_and_of_equals_the_older() -> None:
    def none(_: Version) -> HeadWords:
        raise AssertionError("no ties, so no words are asked for")

    assert pick([version("v0", 0.8), version("v1", 0.9), version("v2", 0.85)], none) == ("v1", "v2")
    assert pick([version("v0", 0.8)], none) == ("v0",)
    assert pick([version("v0", 0.9), version("v1", 0.9)], none) == ("v0", "v1")


def test_diversity_settles_ties_alone() -> None:
    of = {
        "v0": words(0.9, 0.9, 0.1, 0, 0, 0),  # misses the third word
        "v1": words(0.9, 0.9, 0.1, 0, 0, 0),  # same error
        "v2": words(0.1, 0.9, 0.9, 0, 0, 0),  # different error
        "v3": words(0.1, 0.9, 0.9, 0, 0, 0),
    }
    versions = [version("v0", 0.9), version("v1", 0.80001), version("v2", 0.80003), version("v3", 0.7)]

    assert pick(versions, lambda v: of[v.name]) == ("v0", "v2")
    assert pick(versions[:2] + versions[3:], lambda v: of[v.name]) == ("v0", "v1"), "v3 differs more but is worse"


def test_words_come_back_from_their_file(tmp_path: Path) -> None:
    stored = words(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    write_words(tmp_path / "dev" / "age.v0.npz", stored)
    again = read_words(tmp_path / "dev" / "age.v0.npz")

    assert (again.scores == stored.scores).all()
    assert (again.gold == stored.gold).all()
    assert [path.name for path in (tmp_path / "dev").iterdir()] == ["age.v0.npz"]
