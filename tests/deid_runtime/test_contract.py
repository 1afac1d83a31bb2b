"""A model repository that does not fit is refused, with both sides named."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from deid_runtime.contract import find_models, read_manifest
from deid_runtime.detectors.models import load_tagger
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.settings import Settings


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the models that ship."""
    return Path(shutil.copytree(find_models(None), tmp_path / "models"))


def edit(repository: Path, **changes: Any) -> None:
    path = repository / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_sound_repository_is_read(repository: Path) -> None:
    manifest = read_manifest(repository)

    assert manifest.graph.is_file()
    assert manifest.tokenizer.is_file()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contract": 99}, r"contract is 99, this version needs 1"),
        ({"window_tokens": 512}, r"window_tokens is 512, this version needs 128"),
        ({"token_types": 2}, r"token_types is 2, this version needs 18"),
        ({"heads": []}, r"no head for \['age'"),
        (
            {"heads": [{"name": "age", "tags": ["B-DATE"], "threshold": 0.5, "version": "v0"}]},
            r"head 'age' tags \['DATE'\]",
        ),
        ({"heads": [{"name": "age"}]}, r"lacks or misstates 'tags'"),
        ({"graph": {"file": "gone.onnx", "sha256": ""}}, r"gone\.onnx is missing"),
    ],
)
def test_what_does_not_match_is_named(repository: Path, changes: dict[str, Any], message: str) -> None:
    edit(repository, **changes)

    with pytest.raises(ModelError, match=message):
        read_manifest(repository)


def test_a_changed_file_is_refused(repository: Path) -> None:
    with (repository / "tokenizer.json").open("a") as file:
        file.write(" ")

    with pytest.raises(ModelError, match=r"tokenizer\.json has SHA-256 .*, the manifest says"):
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

    graph = read_manifest(repository).graph
    graph.write_bytes(b"not a graph")
    entry = {"file": graph.relative_to(repository).as_posix(), "sha256": hashlib.sha256(b"not a graph").hexdigest()}
    edit(repository, graph=entry)

    for engine in ("openvino", "onnxruntime"):
        with pytest.raises(ModelError, match=f"{engine} cannot load"):
            load_tagger(Settings(models=repository, engine=engine))  # type: ignore[arg-type]
