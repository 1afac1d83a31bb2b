"""A linear-chain CRF for torch: the log-likelihood of a tag sequence (forward algorithm) and the best one (Viterbi).

Shapes: ``emissions`` float ``(batch, length, tags)``, ``mask`` bool ``(batch, length)`` that is true from the first
word of a row to its last, ``tags`` int64 ``(batch, length)``. The recursions are those of Rabiner 1989 in log space;
the forward step is a matrix product of exponentials, which is many times faster than a sum over all pairs of tags.
"""

from typing import Final

import torch
from tag_schemes import Allowed
from torch import Tensor, nn

_FORBIDDEN: Final = -1e4  # log weight: far below any score, and finite, so that gradients stay finite
_TINY: Final = 1e-30  # least sum of exponentials: e^-69 of the best path so far


class LinearChainCrf(nn.Module):
    """Scores of which tag follows which, learnt; what a scheme forbids stays forbidden in training and decoding."""

    forbidden: Tensor
    forbidden_first: Tensor
    forbidden_last: Tensor

    def __init__(self, allowed: Allowed) -> None:
        super().__init__()
        count = len(allowed.begins)
        self.transitions = nn.Parameter(torch.zeros(count, count))
        self.first = nn.Parameter(torch.zeros(count))
        self.last = nn.Parameter(torch.zeros(count))
        for name, weights in zip(("forbidden", "forbidden_first", "forbidden_last"), constraints(allowed), strict=True):
            self.register_buffer(name, weights, persistent=False)

    def log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Return the log probability of each row's ``tags``, float ``(batch,)``; masked tags may be anything."""
        return self._score(emissions, tags, mask) - self._log_partition(emissions, mask)

    @torch.no_grad()
    def decode(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """Return the best tags of each row that the scheme allows, as many as the row has words."""
        return viterbi(emissions, mask, *self._weights())

    def _weights(self) -> tuple[Tensor, Tensor, Tensor]:
        return (
            self.transitions + self.forbidden,
            self.first + self.forbidden_first,
            self.last + self.forbidden_last,
        )

    def _score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        transitions, first, last = self._weights()
        tags = tags.masked_fill(~mask, 0)
        rows = torch.arange(len(tags), device=tags.device)
        steps = emissions.gather(2, tags[:, :, None])[:, :, 0]
        steps = steps + torch.cat([first[tags[:, :1]], transitions[tags[:, :-1], tags[:, 1:]]], dim=1)
        ends = tags[rows, mask.sum(1) - 1]
        return (steps * mask).sum(1) + last[ends]

    def _log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        transitions, first, last = self._weights()
        # All weights of one step share a factor, the largest, so that none of the exponentials overflows.
        largest = transitions.max()
        factors = (transitions - largest).exp()
        alpha = first + emissions[:, 0]
        for step in range(1, emissions.shape[1]):
            top = alpha.max(1, keepdim=True).values
            sums = ((alpha - top).exp() @ factors).clamp_min(_TINY)
            alpha = torch.where(mask[:, step, None], sums.log() + top + largest + emissions[:, step], alpha)
        return (alpha + last).logsumexp(1)


@torch.no_grad()
def viterbi(emissions: Tensor, mask: Tensor, transitions: Tensor, first: Tensor, last: Tensor) -> list[list[int]]:
    """Return the tags of each row with the highest sum of emissions, transitions, ``first`` and ``last`` weights."""
    best = first + emissions[:, 0]
    pointers = []
    for step in range(1, emissions.shape[1]):
        scores, came_from = (best[:, :, None] + transitions).max(1)
        live = mask[:, step, None]
        best = torch.where(live, scores + emissions[:, step], best)
        # A row that has ended points at itself, so that all rows can be followed back from the same end.
        pointers.append(torch.where(live, came_from, torch.arange(came_from.shape[1], device=came_from.device)))
    path = [(best + last).argmax(1)]
    for pointer in reversed(pointers):
        path.append(pointer.gather(1, path[-1][:, None])[:, 0])
    tags = torch.stack(path[::-1], dim=1).tolist()
    return [row[:length] for row, length in zip(tags, mask.sum(1).tolist(), strict=True)]


def constraints(allowed: Allowed) -> tuple[Tensor, Tensor, Tensor]:
    """Return transitions, first and last weights for :func:`viterbi`: 0 for what is allowed, else far below."""
    follows, begins, ends = (
        torch.where(torch.from_numpy(fine), 0.0, _FORBIDDEN) for fine in (allowed.follows, allowed.begins, allowed.ends)
    )
    return follows, begins, ends
