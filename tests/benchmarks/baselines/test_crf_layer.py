"""Test the forward algorithm and Viterbi against the sum and the maximum over all sequences, one by one."""

import itertools

import numpy as np
import pytest

pytest.importorskip("torch", reason="the neural baselines need torch")

import torch
from torch import Tensor, nn

from tests.benchmarks.scripts import load_script

schemes = load_script("baselines/tag_schemes")
layers = load_script("baselines/crf_layer")

LENGTHS = (4, 1, 3)
TAGS = 3


def layer(seed: int, scale: float = 1.0) -> nn.Module:
    """Return a CRF layer of three tags, O B I, with random weights."""
    torch.manual_seed(seed)
    follows = np.ones((TAGS, TAGS), dtype=bool)
    follows[0, 2] = False
    crf = layers.LinearChainCrf(schemes.Allowed(follows, np.array([True, True, False]), np.array([True, True, True])))
    for weights in crf.parameters():
        torch.nn.init.normal_(weights, std=scale)
    return crf


def rows(seed: int, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    torch.manual_seed(seed)
    emissions = scale * torch.randn(len(LENGTHS), max(LENGTHS), TAGS)
    return emissions, torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]


@torch.no_grad()
def all_scores(crf: nn.Module, emissions: Tensor, length: int) -> dict[tuple[int, ...], float]:
    """Return the score of every allowed sequence for one row."""
    scores = {}
    for tags in itertools.product(range(TAGS), repeat=length):
        if tags[0] == 2 or (0, 2) in itertools.pairwise(tags):
            continue
        score = crf.first[tags[0]] + crf.last[tags[-1]] + sum(emissions[i, tag] for i, tag in enumerate(tags))
        score += sum(crf.transitions[a, b] for a, b in itertools.pairwise(tags))
        scores[tags] = float(score)
    return scores


@pytest.mark.parametrize("seed", range(5))
def test_likelihood_is_that_of_enumeration(seed: int) -> None:
    crf, (emissions, mask) = layer(seed), rows(seed + 100)
    tags = torch.tensor([[1, 2, 0, 1], [0, 2, 2, 2], [1, 1, 2, 0]])

    got = crf.log_likelihood(emissions, tags, mask).tolist()

    for row, length in enumerate(LENGTHS):
        scores = all_scores(crf, emissions[row], length)
        expected = scores[tuple(tags[row, :length].tolist())] - torch.tensor(list(scores.values())).logsumexp(0)
        assert got[row] == pytest.approx(float(expected), abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_viterbi_finds_the_best_of_all_sequences(seed: int) -> None:
    crf, (emissions, mask) = layer(seed), rows(seed + 200)

    best = crf.decode(emissions, mask)

    for row, length in enumerate(LENGTHS):
        scores = all_scores(crf, emissions[row], length)
        assert tuple(best[row]) == max(scores, key=scores.__getitem__)


def test_large_scores_neither_overflow_nor_vanish() -> None:
    crf, (emissions, mask) = layer(1, scale=50.0), rows(2, scale=500.0)
    emissions.requires_grad_()

    loss = -crf.log_likelihood(emissions, torch.zeros(mask.shape, dtype=torch.long), mask).sum()
    loss.backward()

    assert torch.isfinite(loss)
    assert emissions.grad is not None
    assert torch.isfinite(emissions.grad).all()
    assert all(torch.isfinite(weights.grad).all() for weights in crf.parameters() if weights.grad is not None)


def test_the_gradient_is_what_is_expected_less_what_is_there() -> None:
    crf, (emissions, mask) = layer(3), rows(4)
    emissions.requires_grad_()
    tags = torch.zeros(mask.shape, dtype=torch.long)
    crf.log_likelihood(emissions, tags, mask).sum().backward()
    assert emissions.grad is not None

    for row, length in enumerate(LENGTHS):
        scores = all_scores(crf, emissions[row].detach(), length)
        weights = torch.tensor(list(scores.values())).softmax(0).tolist()
        for word, tag in itertools.product(range(length), range(TAGS)):
            marginal = sum(w for sequence, w in zip(scores, weights, strict=True) if sequence[word] == tag)
            assert float(emissions.grad[row, word, tag]) == pytest.approx((tag == 0) - marginal, abs=1e-4)
    assert not emissions.grad[~mask].any()


def test_padding_changes_nothing() -> None:
    crf, (emissions, mask) = layer(5), rows(6)
    tags = torch.tensor([[1, 2, 0, 1], [0, 0, 0, 0], [1, 1, 2, 0]])
    wider = torch.cat([emissions, 9 * torch.ones(3, 2, TAGS)], dim=1)
    wide_mask = torch.cat([mask, torch.zeros(3, 2, dtype=torch.bool)], dim=1)
    wide_tags = torch.cat([tags, torch.ones(3, 2, dtype=torch.long)], dim=1)

    assert torch.allclose(crf.log_likelihood(emissions, tags, mask), crf.log_likelihood(wider, wide_tags, wide_mask))
    assert crf.decode(emissions, mask) == crf.decode(wider, wide_mask)


def test_constrained_decoding_mends_what_the_best_tags_alone_break() -> None:
    names = schemes.tag_names("BIESO")
    emissions = torch.full((1, 3, len(names)), -5.0)
    for word, tag in enumerate(("B-AGE", "I-AGE", "O")):
        emissions[0, word, names.index(tag)] = 0.0
    emissions[0, 1, names.index("E-AGE")] = -1.0

    [best] = layers.viterbi(
        emissions, torch.ones(1, 3, dtype=torch.bool), *layers.constraints(schemes.allowed("BIESO"))
    )

    assert [names[tag] for tag in best] == ["B-AGE", "E-AGE", "O"]
