"""Read and write files of weights: only tensors and plain values; a file is replaced completely or not at all."""

import os
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from deid_runtime.errors import ModelError


def read(path: Path) -> dict[str, Any]:
    """Return the content of a file of :func:`write` or ``deid-export train``; executes nothing in the file.

    Raises ModelError when the file is missing, cannot be read, or has other content.
    """
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ModelError(f"{path} is missing; restore it from a copy") from None
    except (RuntimeError, EOFError, OSError, ValueError, UnpicklingError) as error:
        raise ModelError(
            f"{path} cannot be read as weights ({type(error).__name__}); restore it from a copy"
        ) from error
    if not isinstance(saved, dict):
        raise ModelError(f"{path} contains {type(saved).__name__}; expected weights written by deid-export")
    return saved


def write(content: Mapping[str, object], path: Path) -> None:
    """Write ``content``, tensors and plain values, in one step; missing folders are created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    with temporary.open("wb") as file:
        torch.save(dict(content), file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
