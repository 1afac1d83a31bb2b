"""Decide which models are trusted: manipulated models can find nothing, which would leave all names in the text.

Trusted models are those installed with the package, copies of these, models with a valid signature, and models
that the user chooses to trust.
"""

from dataclasses import replace
from pathlib import Path

from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.models.manifest import Graph, Manifest, Profile, find_models, read_manifest
from deid_runtime.models.signature import SIGNATURE, check_signature


def read_trusted(folder: Path | None, *, key: Path | None = None, trust: bool = False) -> Manifest:
    """Return the checked manifest of the models in ``folder`` if they are trusted; None means those of the package.

    With ``key``, the file of a public key, any models need a release signed with that key, and all files of the folder
    must be those of the release: :mod:`deid_runtime.models.signature`. ``trust`` accepts any models.

    Raises ModelError for models that are missing, damaged or not trusted, SettingsError for a wrong key.
    """
    if key is not None and (trust or folder is None):
        raise SettingsError(
            "a key for models (--models-key) checks the signature of models in a separate folder; give the folder with "
            "--models, and omit --trust-models, which checks nothing"
        )
    manifest = read_manifest(find_models(folder))
    if folder is None or trust:
        return manifest
    if key is not None:
        check_signature(manifest, key)
    elif not _is_of_package(manifest):
        signed = (manifest.folder / SIGNATURE).exists()
        remedy = (
            "give the public key of the signer with --models-key (models_key)"
            if signed
            else "have them signed with `deid models sign` and give the public key with --models-key (models_key)"
        )
        raise ModelError(
            f"{manifest.folder}: these models are not those of the package, and manipulated models can find "
            f"nothing; {remedy}, or give --trust-models (trust_models=True) if you know their origin"
        )
    return manifest


def _is_of_package(manifest: Manifest) -> bool:
    """Return whether graphs, tokenizer and profiles are the same as in the package; some may be missing."""
    try:
        ours = read_manifest(find_models(None))
    except ModelError:
        return False

    return (
        all(_without_file(graph) == _without_file(ours.graphs.get(name)) for name, graph in manifest.graphs.items())
        and all(_by_name(profile) == _by_name(ours.profiles.get(name)) for name, profile in manifest.profiles.items())
        and manifest.tokenizer_sha256 == ours.tokenizer_sha256
    )


def _without_file(graph: Graph | None) -> object:
    """Return a graph without its file path, to compare graphs in different folders."""
    return graph and replace(graph, file=Path())


def _by_name(profile: Profile | None) -> object:
    """Return the content of a profile, with its graphs by name."""
    return profile and (
        [graph.name for graph in profile.graphs],
        dict(profile.thresholds),
        dict(profile.high_thresholds),
        profile.vote,
    )
