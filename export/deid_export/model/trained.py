"""Reads a model file of any architecture."""

from pathlib import Path

import torch

from deid_export.model import convolutional
from deid_export.model import tagger as model


def load(path: Path) -> model.Tagger:
    """Read what ``deid-export train`` wrote; tensors and plain values only, nothing is executed."""
    saved = torch.load(path, map_location="cpu", weights_only=True)
    if saved["config"].get("architecture") == convolutional.NAME:
        return convolutional.restore(saved["config"], model.Shape(0, tuple(saved["heads"])), saved["state"])
    return model.load(path)
