"""Store token embeddings as product codes: one byte for every few values, a quarter of the size of int8.

Jégou et al., *Product quantization for nearest neighbor search*, 2011: the values of an embedding are cut into short
stretches. Each stretch is replaced by the nearest of 256 centres that k-means found for its position. In a large model
the embeddings are a third of the file but are read only once per token. So decoding them costs little compared with the
layers.
"""

import torch
from torch import Tensor, nn
from transformers import BertModel

from deid_runtime.errors import InputError

WIDTH = 4  # values per byte
_CENTRES = 256
_ROUNDS = 10


class CodedEmbedding(nn.Module):
    """An embedding of ``count`` rows of ``size`` values, stored as codes; it is not trained further."""

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        if size % WIDTH:
            raise InputError(
                f"embeddings of {size} values cannot be divided into stretches of {WIDTH}; do not code them"
            )
        self.size = size
        stretches = size // WIDTH
        self.codes: Tensor
        self.first: Tensor
        self.register_buffer("codes", torch.zeros(count, stretches, dtype=torch.uint8))
        self.register_buffer("first", _CENTRES * torch.arange(stretches), persistent=False)
        self.centres = nn.Parameter(torch.zeros(stretches * _CENTRES, WIDTH), requires_grad=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Map ids ``(batch, tokens)`` to ``(batch, tokens, size)``."""
        found = self.centres[self.codes[ids.to(torch.long)].to(torch.long) + self.first]
        return found.flatten(-2)


def code_pieces(encoder: BertModel, counts: Tensor) -> None:
    """Replace the token embeddings of ``encoder`` by codes, as :func:`code` makes them."""
    coded = code(encoder.embeddings.word_embeddings, counts)
    encoder.embeddings.register_module("word_embeddings", coded)
    encoder.config.coded_pieces = True


def code(embedding: nn.Embedding, counts: Tensor, *, seed: int = 0) -> CodedEmbedding:
    """Return ``embedding`` as codes. ``counts`` has the frequency of each row; frequent rows keep more precision.

    Raises InputError for rows that cannot be cut into stretches of :data:`WIDTH` values.
    """
    weight = embedding.weight.detach().float()
    coded = CodedEmbedding(*weight.shape)
    generator = torch.Generator().manual_seed(seed)
    heard = (counts.float() + 1).sqrt()  # the weight of each row; rare rows still count
    for number, stretch in enumerate(torch.split(weight, WIDTH, dim=1)):
        centres, nearest = _k_means(stretch, heard, generator)
        coded.centres.data[number * _CENTRES : (number + 1) * _CENTRES] = centres
        coded.codes[:, number] = nearest.to(torch.uint8)
    return coded


def _k_means(points: Tensor, heard: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return 256 centres of ``points`` weighted by ``heard``, and the index of the nearest one for each point."""
    repeated = len(points) < _CENTRES  # in a small vocabulary some centres are equal
    centres = points[torch.multinomial(heard, _CENTRES, replacement=repeated, generator=generator)].clone()
    for _ in range(_ROUNDS):
        nearest = torch.cdist(points, centres).argmin(1)
        total = torch.zeros(_CENTRES).index_add_(0, nearest, heard)
        sums = torch.zeros_like(centres).index_add_(0, nearest, points * heard[:, None])
        met = total > 0
        centres[met] = sums[met] / total[met, None]
    return centres, torch.cdist(points, centres).argmin(1)
