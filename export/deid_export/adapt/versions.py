"""Store heads in separate files: one file of shared layers, one small file per version of a head.

A trained ``heads.pt`` is split once. After that, every head is trained, stored and exchanged alone, and any versions
with the same shared encoder can be joined to a model again. The file of a version holds the upper layers and the
classifier of one head. A head fits only the shared layers of its training; its file names them by the digest of their
weights.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from deid_export.adapt.registry import folder_of, read_registry
from deid_export.model import weight_files
from deid_export.model.tagger import BranchedTagger, load
from deid_runtime.errors import ModelError

#: Name of a parameter or buffer -> its tensor, in the shape that it has in the model.
State = Mapping[str, Tensor]

_BRANCHES = "branches."
#: Fields of a model file that belong to its heads; all others belong to the shared layers.
_OF_HEADS = frozenset({"state", "heads", "joint"})


def weights_sha256(state: State) -> str:
    """Return a SHA-256 of tensors of any shape: names, types, shapes and values, independent of the file."""
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach().contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def split(trained: Path) -> tuple[dict[str, object], dict[str, dict[str, Tensor]]]:
    """Return the shared part of a model file for :func:`save_shared`, and the weights of its heads by name.

    Raises ModelError when the heads have no separate layers yet, or more than one branch each.
    """
    saved = weight_files.read(trained)
    try:
        state, heads, is_joint = saved["state"], saved["heads"], saved["joint"]
    except KeyError as error:
        raise ModelError(f"{trained} lacks {error}; expected heads.pt from `deid-export train`") from None
    if is_joint:
        raise ModelError(f"{trained} has heads that share all layers; give heads.pt, not joint.pt")
    again = [head for head in heads if "@" in head]
    if again:
        raise ModelError(f"{trained} has several versions of a head ({', '.join(again)}); give one that was trained")
    shared = {name: value for name, value in saved.items() if name not in _OF_HEADS}
    shared["state"] = {name: value for name, value in state.items() if not name.startswith(_BRANCHES)}
    return shared, {head: branch_state(state, head) for head in heads}


def branch_state(state: State, branch: str) -> dict[str, Tensor]:
    """Return the weights of one branch of a model, with names relative to the branch and shapes unchanged."""
    prefix = f"{_BRANCHES}{branch}."
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def shared_state(state: State) -> dict[str, Tensor]:
    """Return the weights of a model that belong to no branch, with names and shapes unchanged."""
    return {name: value for name, value in state.items() if not name.startswith(_BRANCHES)}


def save_shared(shared: Mapping[str, object], path: Path) -> str:
    """Write the shared part of :func:`split` and return the digest of its weights."""
    weight_files.write(dict(shared), path)
    state = shared["state"]
    assert isinstance(state, Mapping)
    return weights_sha256(state)


def save_branch(state: State, head: str, shared_sha256: str, path: Path) -> str:
    """Write the weights of one head with the digest of its shared layers; return the digest of the weights."""
    digest = weights_sha256(state)
    weight_files.write({"state": dict(state), "head": head, "sha256": digest, "shared_sha256": shared_sha256}, path)
    return digest


def join(shared: Path, branches: Mapping[str, Path], out: Path) -> None:
    """Write a model file of the shared layers and one branch per entry of ``branches`` (branch name to head file).

    Raises ModelError when a head was trained on other shared layers or a file is damaged.
    """
    content = weight_files.read(shared)
    state = dict(content["state"])
    digest = weights_sha256(state)
    for branch, path in branches.items():
        saved = weight_files.read(path)
        if saved["shared_sha256"] != digest:
            raise ModelError(
                f"{path} was trained on shared layers {saved['shared_sha256'][:16]}..., but {shared} has {digest[:16]}"
                "...; heads fit only the encoder on which they were trained"
            )
        if weights_sha256(saved["state"]) != saved["sha256"]:
            raise ModelError(f"{path} is damaged: its weights do not match its digest; restore it from a copy")
        state |= {f"{_BRANCHES}{branch}.{name}": value for name, value in saved["state"].items()}
    content |= {"state": state, "heads": tuple(branches), "joint": False}
    weight_files.write(content, out)


def branches_of(registry_path: Path, chosen: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, str]]:
    """Return branch name to (head, version) for the given versions of each head: ``name@v2`` for v2 of name.

    Raises ModelError for a version that is not in the registry.
    """
    registry = read_registry(registry_path)
    return {
        f"{head}@{name}": (head, registry.find(head, name).name) for head, names in chosen.items() for name in names
    }


def write_joined(registry_path: Path, versions_per_head: Mapping[str, Sequence[str]], out: Path) -> None:
    """Write a model file like ``heads.pt``, with the given versions of each head as branches ``head@version``."""
    _write_branches(registry_path, branches_of(registry_path, versions_per_head), out)


def joined(
    registry_path: Path,
    versions_per_head: Mapping[str, Sequence[str]],
    *,
    attention: str = "eager",
) -> BranchedTagger:
    """Return one model of the given versions of each head; branches are named as in :func:`write_joined`."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "joined.pt"
        write_joined(registry_path, versions_per_head, path)
        return load(path, attention=attention)


def to_train(registry_path: Path, version_per_head: Mapping[str, str], *, dropout: float) -> BranchedTagger:
    """Return a model to train, with one branch per head that starts from the given version and has the head's name.

    ``dropout`` is the dropout of the hidden states.
    """
    branches = {head: (head, name) for head, name in version_per_head.items()}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "begun.pt"
        _write_branches(registry_path, branches, path)
        return load(path, dropout=dropout)


def _write_branches(registry_path: Path, branches: Mapping[str, tuple[str, str]], out: Path) -> None:
    registry, folder = read_registry(registry_path), folder_of(registry_path)
    files: dict[str, Path] = {}
    for branch, (head, name) in branches.items():
        stored = registry.find(head, name).weights
        files[branch] = folder / stored.file
        found = weight_files.read(files[branch])["sha256"]
        if found != stored.sha256:
            raise ModelError(
                f"{files[branch]} has weights {found[:16]}..., but the registry has {stored.sha256[:16]}...; restore "
                "the file from a copy"
            )
    join(folder / registry.shared.file, files, out)
