"""What models and those who run them agree on: ``manifest.json`` in the model repository, read and checked."""

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deid_runtime.errors import ModelError
from deid_runtime.labels import HEADS
from deid_runtime.windows import WINDOW_TOKENS
from deid_runtime.words import TYPE_COUNT

CONTRACT_VERSION: Final = 1
#: Inputs of every graph, int32 ``(batch, tokens)``.
INPUTS: Final = ("input_ids", "token_type_ids", "attention_mask")
_MANIFEST: Final = "manifest.json"


@dataclass(frozen=True)
class Head:
    """One head: ``tags`` are ``B-LABEL`` and ``I-LABEL`` in output order, ``threshold`` the least 1 - P(O) found."""

    name: str
    tags: tuple[str, ...]
    threshold: float
    version: str


@dataclass(frozen=True)
class Manifest:
    """The checked contract of one model repository."""

    folder: Path
    graph: Path
    tokenizer: Path
    heads: tuple[Head, ...]
    content: Mapping[str, object] = field(repr=False)


def find_models(folder: Path | None) -> Path:
    """Return the folder of the models: the one given, the one installed with the package, or that of the checkout.

    Raises ModelError when there is none.
    """
    package = Path(sys.modules["deid_runtime"].__path__[0])
    places = [folder] if folder is not None else [package / "model_repository", package.parent / "model_repository"]
    for place in places:
        if (place / _MANIFEST).is_file():
            return place
    raise ModelError(
        f"no {_MANIFEST} in {' or '.join(map(str, places))}; install the deid-runtime wheel, name a folder that "
        "`deid-export onnx` wrote, or run without models"
    )


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest: version, window, token types, labels, and the digests of graph and tokenizer.

    Raises ModelError that names both sides of the first thing that does not match.
    """
    path = folder / _MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as JSON ({type(error).__name__}); export the models again") from error
    try:
        for name, expected in (
            ("contract", CONTRACT_VERSION),
            ("window_tokens", WINDOW_TOKENS),
            ("token_types", TYPE_COUNT),
        ):
            if content[name] != expected:
                raise ModelError(
                    f"{path}: {name} is {content[name]!r}, this version needs {expected!r}; use models exported by the "
                    "same version of deid-runtime"
                )
        heads = tuple(
            Head(row["name"], tuple(row["tags"]), float(row["threshold"]), str(row["version"]))
            for row in content["heads"]
        )
        graph = _checked_file(folder, content["graph"])
        tokenizer = _checked_file(folder, content["tokenizer"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path} lacks or misstates {error}; export the models again") from error
    for head in heads:
        labels = {tag.partition("-")[2] for tag in head.tags}
        if head.name not in HEADS or labels != set(HEADS[head.name]) or not 0 < head.threshold < 1:
            raise ModelError(
                f"{path}: head {head.name!r} tags {sorted(labels)} at threshold {head.threshold}, this version needs "
                f"{sorted(HEADS.get(head.name, ()))} and a threshold between 0 and 1"
            )
    missing = set(HEADS) - {head.name for head in heads}
    if missing:
        raise ModelError(f"{path} has no head for {sorted(missing)}; every entity class needs one")
    return Manifest(folder, graph, tokenizer, heads, content)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked_file(folder: Path, entry: Mapping[str, str]) -> Path:
    path = folder / entry["file"]
    if not path.is_file():
        raise ModelError(f"{path} is missing; the manifest beside it asks for it: fetch or export the models again")
    digest = sha256_of(path)
    if digest != entry["sha256"]:
        raise ModelError(
            f"{path} has SHA-256 {digest[:16]}..., the manifest says {entry['sha256'][:16]}...; the files are "
            "not of one export: fetch or export the models again"
        )
    return path
