"""Test heads that are split from a model, stored as files, and joined again."""

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="versions are torch weights")
pytest.importorskip("transformers", reason="the model needs transformers")

import torch

from deid_export.adapt.iterate import start
from deid_export.adapt.registry import read_registry
from deid_export.adapt.versions import branch_state, joined, save_branch, split, to_train, write_joined
from deid_export.model.engine import TorchEngine
from deid_export.model.tagger import load
from deid_runtime.errors import ModelError
from deid_runtime.labels import HEADS
from deid_runtime.models.batching import pad
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import WordEncoder, make_windows
from tests.export.tiny_model import write_base, write_trained


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trained(tmp_path_factory.mktemp("trained") / "heads.pt", base)


@pytest.fixture
def folder(base: Path, trained: Path, tmp_path: Path) -> Path:
    start(tmp_path / "registry", trained, base / "tokenizer.json")
    return tmp_path / "registry"


def test_split_and_joined_again_is_the_same_model(trained: Path, folder: Path, base: Path) -> None:
    before, after = load(trained), joined(folder, dict.fromkeys(HEADS, ("v0",)))
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    text = "pt alma orr, seen 3/14/2019"
    inputs = pad(list(make_windows(text, split_sentences(text), encoder)), encoder.pad)

    assert after.shape.heads == tuple(f"{head}@v0" for head in HEADS)
    for one, other in zip(TorchEngine(before)(*inputs), TorchEngine(after)(*inputs), strict=True):
        assert (one.scores == other.scores).all()
        assert (one.tags == other.tags).all()


def test_a_head_file_is_small_beside_the_shared_layers(folder: Path, trained: Path) -> None:
    heads = [folder / version.weights.file for version in read_registry(folder).versions]

    assert sum(path.stat().st_size for path in heads) < trained.stat().st_size
    assert {path.parent.name for path in heads} == {"heads"}


def test_several_versions_of_a_head_are_branches_of_one_model(folder: Path, tmp_path: Path) -> None:
    registry = read_registry(folder)
    state = torch.load(folder / "heads" / "name.v0.pt", weights_only=True)["state"]
    changed = {name: value + 1 for name, value in state.items()}
    save_branch(changed, "name", registry.shared.sha256, tmp_path / "name.v1.pt")
    other = joined(folder, {"name": ("v0",), "age": ("v0",)})

    assert other.shape.heads == ("name@v0", "age@v0")
    write_joined(folder, {"name": ("v0",)}, tmp_path / "name.pt")
    assert load(tmp_path / "name.pt").shape.heads == ("name@v0",)
    with pytest.raises(ModelError, match="no version name=v1"):
        joined(folder, {"name": ("v0", "v1")})


def test_training_begins_from_the_version_named_with_dropout(folder: Path) -> None:
    model = to_train(folder, {"age": "v0"}, dropout=0.3)
    stored = torch.load(folder / "heads" / "age.v0.pt", weights_only=True)["state"]
    begun = branch_state(model.state_dict(), "age")

    assert model.shape.heads == ("age",)
    assert set(begun) == set(stored)
    assert all(torch.equal(begun[name], stored[name]) for name in stored)
    assert {float(module.rate) for name, module in model.named_modules() if name.endswith("output.dropout")} == {0.3}


def test_a_head_of_another_encoder_is_refused(folder: Path, base: Path, tmp_path: Path) -> None:
    shared = torch.load(folder / "shared.pt", weights_only=True)
    shared["state"] = {name: value + 1 for name, value in shared["state"].items()}
    torch.save(shared, folder / "shared.pt")

    with pytest.raises(ModelError, match=r"name\.v0\.pt was trained on shared layers"):
        joined(folder, {"name": ("v0",)})


def test_damaged_weights_are_told(folder: Path) -> None:
    path = folder / "heads" / "age.v0.pt"
    saved = torch.load(path, weights_only=True)
    saved["state"] = {name: value * 2 for name, value in saved["state"].items()}
    torch.save(saved, path)
    with pytest.raises(ModelError, match="damaged"):
        joined(folder, {"age": ("v0",)})

    path.write_bytes(b"no weights")
    with pytest.raises(ModelError, match="cannot be read as weights"):
        joined(folder, {"age": ("v0",)})

    path.unlink()
    with pytest.raises(ModelError, match="is missing"):
        joined(folder, {"age": ("v0",)})


def test_a_model_whose_heads_share_all_layers_is_refused(base: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"not joint\.pt"):
        split(write_trained(tmp_path / "joint.pt", base, joint=True))


def test_a_registry_keeps_to_what_it_was_started_from(folder: Path, base: Path, trained: Path, tmp_path: Path) -> None:
    before = read_registry(folder)
    assert start(folder, trained, base / "tokenizer.json") == before

    other = torch.load(trained, weights_only=True)
    other["state"] = {name: value + 1 for name, value in other["state"].items()}
    torch.save(other, tmp_path / "other.pt")
    with pytest.raises(ModelError, match="started from other weights"):
        start(folder, tmp_path / "other.pt", base / "tokenizer.json")
