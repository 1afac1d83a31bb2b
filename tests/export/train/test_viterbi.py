"""The best path is the one that trying all paths finds, and never breaks BIO."""

import itertools

import numpy as np
import pytest

from deid_export.train.viterbi import constrained, learned, viterbi

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["constrained", "learned"])
def test_it_finds_the_best_of_all_paths(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    emissions = np.log(rng.dirichlet(np.ones(5), size=4))
    sequences = [[0, 1, 2, 2, 0], [3, 4, 0, 0], [0, 0, 1, 0]]
    transitions = constrained(TAGS) if kind == "constrained" else learned(TAGS, sequences)

    def score(path: tuple[int, ...]) -> float:
        steps = zip((0, *(tag + 1 for tag in path)), path, strict=False)
        return sum(transitions[a, b] for a, b in steps) + sum(emissions[i, tag] for i, tag in enumerate(path))

    best = max(itertools.product(range(5), repeat=4), key=score)

    assert viterbi(emissions, transitions) == list(best)


def test_an_i_without_its_b_is_never_chosen() -> None:
    emissions = np.log(np.array([[0.1, 0.05, 0.8, 0.02, 0.03], [0.1, 0.05, 0.05, 0.1, 0.7]]))
    path = viterbi(emissions, constrained(TAGS))

    names = [TAGS[tag] for tag in path]
    assert names[0][0] != "I"
    assert names[1] != "I-B" or names[0] == "B-B"


def test_no_words_no_tags() -> None:
    assert viterbi(np.zeros((0, 5)), constrained(TAGS)) == []
