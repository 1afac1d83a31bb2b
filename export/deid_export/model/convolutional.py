"""A gated convolutional tagger over the same inputs as the BERT models: a second, cheap opinion of another kind.

Blocks of dilated convolutions read a word with its neighbours at growing distances (Strubell et al. 2017, iterated
dilated convolutions), each gated (Dauphin et al. 2017, gated linear units) and added to what came before. Nothing in it
depends on the batch or on padding, so a window's answer does not either.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

from deid_export.model.precision import PooledDropout
from deid_export.model.tagger import Shape, Tagger, main_axes, tags_of
from deid_runtime.text.words import TYPE_COUNT

NAME: Final = "convolutional"
_EMBEDDING_SPREAD: Final = 0.4  # standard deviation of the piece embeddings at the start, about that of the usual ones


@dataclass(frozen=True, kw_only=True)
class ConvSizes:
    """Widths and reach of the network. ``dilations`` are in tokens, one block each: in all 46 tokens to each side."""

    pieces: int = 128
    types: int = 16
    width: int = 224
    hidden: int = 192
    dilations: tuple[int, ...] = (1, 2, 4, 8, 1, 2, 4, 8, 16)
    dropout: float = 0.15


class Block(nn.Module):
    """One gated convolution over a token and its neighbours at ``dilation`` on each side, with a residual."""

    def __init__(self, width: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.dilation = dilation
        self.norm = nn.LayerNorm(width)
        # A convolution of width 3 written as one product, which quantises and trains as those of the BERT models do.
        self.mix = nn.Linear(3 * width, 2 * width)
        self.dropout = PooledDropout(dropout)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map ``(batch, tokens, width)`` and the mask ``(batch, tokens, 1)`` to the same shape as ``hidden``."""
        x = self.norm(hidden) * mask  # what lies behind the end is as what lies before the beginning: zero
        edge = torch.zeros_like(x[:, :1]).expand(-1, self.dilation, -1)
        wide = torch.cat([edge, x, edge], dim=1)
        around = torch.cat([wide[:, : -2 * self.dilation], x, wide[:, 2 * self.dilation :]], dim=2)
        values, gates = self.mix(around).chunk(2, dim=-1)
        added: Tensor = hidden + self.dropout(values * torch.sigmoid(gates))
        return added


class ConvTagger(Tagger):
    """Piece and shape embeddings, the blocks, and a classifier for every head of ``shape``; all else is shared."""

    def __init__(self, vocabulary: int, shape: Shape, sizes: ConvSizes) -> None:
        super().__init__()
        self.shape = shape
        self.joint = True
        self.sizes = sizes
        self.pieces = nn.Embedding(vocabulary, sizes.pieces)
        nn.init.normal_(self.pieces.weight, std=_EMBEDDING_SPREAD)
        self.types = nn.Embedding(TYPE_COUNT, sizes.types)
        self.enter = nn.Linear(sizes.pieces + sizes.types, sizes.width)
        self.dropout = PooledDropout(sizes.dropout)
        self.blocks = nn.ModuleList(Block(sizes.width, dilation, sizes.dropout) for dilation in sizes.dilations)
        self.norm = nn.LayerNorm(sizes.width)
        self.leave = nn.Linear(sizes.width, sizes.hidden)
        self.classifiers = nn.ModuleDict({head: nn.Linear(sizes.hidden, len(tags_of(head))) for head in shape.heads})

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        """Return logits ``(batch, tokens, tags)`` by head."""
        hidden = torch.cat([self.pieces(input_ids), self.types(token_type_ids)], dim=-1)
        hidden = self.enter(self.dropout(hidden))
        mask = attention_mask[:, :, None].to(hidden.dtype)
        for block in self.blocks:
            hidden = block(hidden, mask)
        hidden = self.dropout(nn.functional.gelu(self.leave(self.norm(hidden))))
        return {head: classifier(hidden) for head, classifier in self.classifiers.items()}


def begin(base: str, shape: Shape, sizes: ConvSizes) -> ConvTagger:
    """Return a new model whose piece embeddings are those of ``base`` on their main axes, at the usual spread."""
    pieces = main_axes(base, sizes.pieces, _EMBEDDING_SPREAD)
    model = ConvTagger(len(pieces), shape, sizes)
    model.pieces.weight.data[:, : pieces.shape[1]] = pieces  # a narrow base leaves some at random
    return model


def describe(model: ConvTagger) -> dict[str, object]:
    """Return what :func:`restore` needs beside the weights, as plain values."""
    return {"architecture": NAME, "vocabulary": model.pieces.num_embeddings, **asdict(model.sizes)}


def restore(config: Mapping[str, Any], shape: Shape, state: Mapping[str, Tensor]) -> ConvTagger:
    """Return the model that :func:`describe` described, with its weights."""
    sizes = {name: value for name, value in config.items() if name not in {"architecture", "vocabulary"}}
    model = ConvTagger(config["vocabulary"], shape, ConvSizes(**{**sizes, "dilations": tuple(sizes["dilations"])}))
    model.load_state_dict(state)
    return model
