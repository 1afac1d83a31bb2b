"""Use an MPNet as an encoder: a BERT whose attention also depends on the distance of two tokens.

Song et al., *MPNet: Masked and Permuted Pre-training for Language Understanding*, NeurIPS 2020. Its distance biases are
those of T5 (Raffel et al. 2020, section 2.1), one set for all layers. All other layers equal those of BERT, so such a
model is trained, exported and served like the others. It is changed to read the tokens of another tokenizer, because
all models of a repository share one.
"""

import math
from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, BertConfig, BertModel, MPNetConfig, MPNetModel
from transformers import logging as transformers_logging

from deid_export.model.precision import pool_dropout
from deid_runtime.errors import InputError
from deid_runtime.text.windows import WINDOW_TOKENS
from deid_runtime.text.words import TYPE_COUNT

BUCKETS: Final = 32
_REACH: Final = 128  # tokens; larger distances count as this one
_PADDING: Final = 2  # the first positions, which MPNet uses for padding
#: Maps a special token of a BERT tokenizer to its name in MPNet.
_SPECIAL: Final = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[MASK]": "<mask>"}
_UNKNOWN: Final = "[UNK]"
#: Maps a module of a BERT layer to the same module in MPNet.
_LAYER: Final = {
    "attention.self.query": "attention.attn.q",
    "attention.self.key": "attention.attn.k",
    "attention.self.value": "attention.attn.v",
    "attention.output.dense": "attention.attn.o",
    "attention.output.LayerNorm": "attention.LayerNorm",
    "intermediate.dense": "intermediate.dense",
    "output.dense": "output.dense",
    "output.LayerNorm": "output.LayerNorm",
}


class Distances(nn.Module):
    """A learned bias for every attention head and distance bucket; each short distance has its own bucket."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.bias = nn.Embedding(BUCKETS, heads)
        self.bucket_of: Tensor
        self.register_buffer("bucket_of", bucket(torch.arange(1 - WINDOW_TOKENS, WINDOW_TOKENS)), persistent=False)

    def forward(self, tokens: int) -> Tensor:
        """Return the attention biases ``(1, heads, tokens, tokens)``; ``tokens`` is at most the length of a window."""
        by_distance = self.bias(self.bucket_of)
        place = torch.arange(tokens)
        distances = place[None, :] - place[:, None] + WINDOW_TOKENS - 1
        biases: Tensor = nn.functional.embedding(distances, by_distance).permute(2, 0, 1)[None]
        return biases


def bucket(distances: Tensor) -> Tensor:
    """Return the bucket of each distance, in tokens, negative to the left.

    Each side has 8 buckets of one distance and 8 of growing width.
    """
    side = BUCKETS // 2
    single = side // 2
    far = distances.abs()
    share = torch.log(far.clamp(min=1).float() / single) / math.log(_REACH / single)  # 0 at `single`, 1 at `_REACH`
    growing = single + (share * (side - single)).to(torch.long)
    return torch.where(far < single, far, growing.clamp(max=side - 1)) + side * (distances > 0)


def is_mpnet(base: str) -> bool:
    """Return whether the model ``base``, a Hub name or folder, is an MPNet."""
    return isinstance(AutoConfig.from_pretrained(base), MPNetConfig)


def load_mpnet(
    base: str, pieces: Mapping[str, int], *, layers: int | None = None, dropout: float = 0.0
) -> tuple[BertModel, Distances]:
    """Return the MPNet ``base`` as a BERT that reads ``pieces`` (token to id), and its distance biases.

    ``layers`` is the number of layers to keep, from the lowest on; None keeps all. Sajjad et al. 2023 find the upper
    layers least needed. Tokens unknown to the base get the embedding of its unknown token. ``dropout`` is the
    dropout of the hidden states.

    Raises InputError when the base has fewer layers, TypeError when it is not an MPNet.
    """
    transformers_logging.set_verbosity_error()  # it would warn about the missing pooler, which no head uses
    theirs = AutoModel.from_pretrained(base, add_pooling_layer=False)
    if not isinstance(theirs, MPNetModel):
        raise TypeError(f"{base} is a {type(theirs).__name__}; expected an MPNet")
    if layers is not None:
        check_layers(base, layers, theirs.config.num_hidden_layers)
    config = bert_config(theirs.config, len(pieces), layers=layers, dropout=dropout)
    config._attn_implementation = "eager"
    model = BertModel(config, add_pooling_layer=False)
    found = theirs.state_dict()
    state = {
        "embeddings.word_embeddings.weight": found["embeddings.word_embeddings.weight"][_rows(base, pieces)],
        "embeddings.position_embeddings.weight": found["embeddings.position_embeddings.weight"][
            _PADDING : _PADDING + WINDOW_TOKENS
        ],
        "embeddings.token_type_embeddings.weight": torch.zeros(TYPE_COUNT, config.hidden_size),
    }
    for what in ("weight", "bias"):
        state[f"embeddings.LayerNorm.{what}"] = found[f"embeddings.LayerNorm.{what}"]
        for layer in range(config.num_hidden_layers):
            for ours, there in _LAYER.items():
                state[f"encoder.layer.{layer}.{ours}.{what}"] = found[f"encoder.layer.{layer}.{there}.{what}"]
    last = f"encoder.layer.{config.num_hidden_layers - 1}.output.LayerNorm"
    size = state[f"{last}.weight"].abs().mean()
    for what in ("weight", "bias"):  # rescale to the usual size: with much smaller values, new classifiers learn slowly
        state[f"{last}.{what}"] = state[f"{last}.{what}"] / size
    model.load_state_dict(state, strict=False)  # position buffers keep their initial values
    pool_dropout(model)
    distances = Distances(config.num_attention_heads)
    distances.bias.weight.data.copy_(found["encoder.relative_attention_bias.weight"])
    return model, distances


def check_layers(base: str, wanted: int, there: int) -> None:
    """Raise InputError when more layers of ``base`` are ``wanted`` than are ``there``."""
    if wanted > there:
        raise InputError(f"{base} has {there} layers, so {wanted} cannot be kept; give {there} or fewer")


def bert_config(sizes: MPNetConfig, pieces: int, *, layers: int | None = None, dropout: float = 0.0) -> BertConfig:
    """Return the configuration of a BERT with the ``sizes`` of an MPNet and a vocabulary of ``pieces`` tokens."""
    return BertConfig(
        vocab_size=pieces,
        hidden_size=sizes.hidden_size,
        num_hidden_layers=sizes.num_hidden_layers if layers is None else layers,
        num_attention_heads=sizes.num_attention_heads,
        intermediate_size=sizes.intermediate_size,
        max_position_embeddings=WINDOW_TOKENS,
        type_vocab_size=TYPE_COUNT,
        layer_norm_eps=sizes.layer_norm_eps,
        hidden_act=sizes.hidden_act,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=0.0,
        distance_buckets=BUCKETS,
    )


def biases_by_bucket(by_distance: Tensor) -> Tensor:
    """Return the weights of :class:`Distances`, given the biases of all distances in an exported graph.

    ``by_distance`` is ``(distances, heads)``, the result ``(buckets, heads)``; a bucket without a distance gets 0.
    """
    found = torch.zeros(BUCKETS, by_distance.shape[1])
    found[bucket(torch.arange(1 - WINDOW_TOKENS, WINDOW_TOKENS))] = by_distance
    return found


def _rows(base: str, pieces: Mapping[str, int]) -> Tensor:
    """Return, in the order of our ids, the ids that ``base`` gives to the same tokens."""
    theirs = AutoTokenizer.from_pretrained(base).get_vocab()
    by_id = sorted(pieces, key=lambda piece: pieces[piece])
    return torch.tensor([theirs.get(_SPECIAL.get(piece, piece), theirs[_UNKNOWN]) for piece in by_id])
