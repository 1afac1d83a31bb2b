"""Average the weights of several models into one: part of the gain of an ensemble at the cost of one model.

This is the uniform soup of Wortsman et al., *Model soups*, ICML 2022. It works for trainings that continued from one
start and stay in one basin of the loss. The weights of models with different starts do not correspond; their mean is
noise.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deid_export.model import weight_files
from deid_export.model.tagger import with_shared_layers, with_word_classes
from deid_runtime.errors import ModelError

_ALIKE = ("config", "shared_layers", "heads", "joint")


def average(models: Sequence[Path], out: Path) -> None:
    """Write the mean of the weights of ``models``, files of ``deid-export train``, as a model file of the same kind.

    Raises ModelError for a file that is not a model, and for models of different sizes, heads or architectures.
    """
    first, *others = (_model(path) for path in models)
    others = [_branched_like(first, other) for other in others]
    for path, other in zip(models[1:], others, strict=True):
        if any(first[name] != other[name] for name in _ALIKE) or _shapes(first["state"]) != _shapes(other["state"]):
            raise ModelError(f"{path} has other sizes or heads than {models[0]}; expected trainings from one start")
    states = [first["state"], *(other["state"] for other in others)]
    mean = {name: _mean([state[name] for state in states]) for name in first["state"]}
    weight_files.write(first | {"state": mean}, out)


def _model(path: Path) -> dict[str, Any]:
    saved = with_word_classes(weight_files.read(path))
    if not {*_ALIKE, "state"} <= saved.keys():
        raise ModelError(f"{path} is not a model; expected a joint.pt or heads.pt of `deid-export train`")
    return saved


def _branched_like(first: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return ``other`` with its layers named as in ``first``, if only the names of shared layers differ.

    This happens when a training started from a model of ``restore``.
    """
    old, new = other["shared_layers"], first["shared_layers"]
    if not (first["joint"] and other["joint"]) or old == new:
        return other
    state = with_shared_layers(other["state"], other["heads"], old, new)
    return other | {"state": state, "shared_layers": new}


def _shapes(state: dict[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in state.items()}


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    if not tensors[0].is_floating_point():
        return tensors[0]  # positions and similar buffers, which training does not change
    total = torch.zeros_like(tensors[0], dtype=torch.float64)
    for tensor in tensors:
        total += tensor
    return (total / len(tensors)).to(tensors[0].dtype)
