"""Write a signed release: a folder of models with its card, and a signed list of all files by digest."""

import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from deid_runtime.errors import InputError, ModelError, OutputError
from deid_runtime.models.manifest import Manifest, read_manifest, sha256_of
from deid_runtime.models.signature import COMPILED, RELEASE, SIGNATURE, Origin, sign_models

CARD: Final = "MODEL_CARD.md"


def write_release(
    source: Path,
    out: Path,
    *,
    key: Path,
    version: str,
    card: Path | None = None,
    recipes: Sequence[Path] = (),
    allow_shared_key: bool = False,
) -> Manifest:
    """Copy the models in ``source`` to the new folder ``out``, sign them there and return their manifest.

    ``source`` is a folder of models or a repository for a server; links in it become files. ``card`` becomes
    ``MODEL_CARD.md``; without it ``source`` must have one. ``recipes`` are the files that document how the models
    were made: the release has their digests. ``out`` appears when everything is written and checked, or not at all.

    Raises ModelError for models that do not match their manifest, InputError without a card, SettingsError for an
    unusable key, OutputError when ``out`` exists or cannot be written.
    """
    read_manifest(source)
    if card is None and not (source / CARD).is_file():
        raise InputError(f"{source} has no {CARD}; name the card of these models with --card")
    if out.exists():
        raise OutputError(f"{out} already exists, and a release is never overwritten; choose another name")
    partial = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
    origin = Origin(version=version, card=CARD, recipes={path.name: sha256_of(path) for path in recipes})
    if len(origin.recipes) < len(recipes):
        raise InputError("two recipes have the same name; rename one, because the release lists them by name")
    try:
        try:
            shutil.copytree(source, partial, ignore=_left_out)
            if card is not None:
                shutil.copyfile(card, partial / CARD)
            sign_models(partial, key, origin=origin, allow_shared_key=allow_shared_key)
            partial.rename(out)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except shutil.Error as error:
        raise ModelError(
            f"{source} cannot be copied completely; {len(error.args[0]):,} files failed; check that all can be read"
        ) from None
    except OSError as error:
        raise OutputError(f"cannot write the release {out}: {error.strerror}") from error
    return read_manifest(out)


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Return the names in a folder that are not part of a new release: an old release, and compiled programs."""
    compiled = {name for name in names if name == COMPILED and (Path(folder) / name).is_dir()}
    return compiled | ({RELEASE, SIGNATURE} & set(names))
