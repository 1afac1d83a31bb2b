"""Test that a model repository that does not fit is refused with a message that names both sides."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.labels import HEADS
from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.models.tagger import load_tagger
from deid_runtime.settings import Settings


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Copy the shipped models."""
    return Path(shutil.copytree(find_models(None), tmp_path / "models"))


def edit(repository: Path, **changes: Any) -> None:
    path = repository / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_sound_repository_is_read(repository: Path) -> None:
    manifest = read_manifest(repository)

    assert all(graph.file.is_file() for graph in manifest.graphs.values())
    assert set(manifest.profiles) == {"fast", "full"}
    assert manifest.tokenizer.is_file()


def fast(**changes: Any) -> dict[str, Any]:
    """Return a profile section with changes in ``fast``."""
    profile = {"graphs": ["v0"], "thresholds": dict.fromkeys(HEADS, 0.5)}
    return {"profiles": {"fast": profile | changes}}


def graph(**changes: Any) -> dict[str, Any]:
    """Return a graph section with changes in its only graph."""
    folder = find_models(None)
    entry = json.loads((folder / "manifest.json").read_text())["graphs"]["v0"]
    return {"graphs": {"v0": entry | changes}} | fast()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"interface_version": 99}, r"interface_version is 99, this version needs 2"),
        ({"window_tokens": 512}, r"window_tokens is 512, this version needs 128"),
        ({"token_types": 2}, r"token_types is 2, this version needs 1734 or 18"),
        (fast(title_case=True), r"misstates profiles/fast/title_case"),
        (graph(weight=0), r"misstates graphs/v0/weight"),
        (graph(weight="much"), r"lacks or misstates"),
        (graph(heads=[]), r"profile 'fast' has no head for \['age'"),
        (
            graph(heads=[{"head": "age", "tags": ["B-DATE"], "output": "age", "version": "v0"}]),
            r"head 'age' tags \['DATE'\]",
        ),
        (graph(heads=[{"head": "age", "version": "v0", "output": "age"}]), r"lacks or misstates 'tags'"),
        (graph(file="gone.onnx"), r"gone\.onnx is missing"),
        (fast(graphs=["v9"]), r"lacks or misstates 'v9'"),
        (fast(thresholds={"age": 1.5}), r"profile 'fast' has no threshold between 0 and 1 for name, location"),
    ],
)
def test_what_does_not_match_is_named(repository: Path, changes: dict[str, Any], message: str) -> None:
    edit(repository, **changes)

    with pytest.raises(ModelError, match=message):
        read_manifest(repository)


def test_a_changed_file_is_refused(repository: Path) -> None:
    with (repository / "tokenizer.json").open("a") as file:
        file.write(" ")

    with pytest.raises(ModelError, match=r"tokenizer\.json has SHA-256 .*, the manifest has"):
        read_manifest(repository)


def test_a_manifest_that_is_no_json_is_refused(repository: Path) -> None:
    (repository / "manifest.json").write_text("{")

    with pytest.raises(ModelError, match="cannot be read as JSON"):
        read_manifest(repository)


def test_a_folder_without_models_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no manifest\.json in"):
        find_models(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"thresholds": {"nobody": 0.5}}, "unknown head 'nobody'; these models have"),
        ({"thresholds": {"age": 1.5}}, "1.5 for head 'age' is not between 0 and 1"),
        ({"batch_windows": 0}, "batch_windows is 0"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_tagger(Settings(**changes))


def test_a_graph_that_no_engine_can_load_is_refused(repository: Path) -> None:
    import hashlib

    read_manifest(repository).graphs["v0"].file.write_bytes(b"not a graph")
    edit(repository, **graph(sha256=hashlib.sha256(b"not a graph").hexdigest()))

    for engine in ("openvino", "onnxruntime"):
        with pytest.raises(ModelError, match=f"{engine} cannot load"):
            load_tagger(Settings(models=repository, trust_models=True, engine=engine))  # type: ignore[arg-type]
