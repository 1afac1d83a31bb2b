"""Test the mean of models: weight by weight, only for models that fit; otherwise nothing is written."""

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which the runtime does without")
pytest.importorskip("transformers", reason="training needs transformers, which the runtime does without")

import torch
from click.testing import CliRunner

from deid_export.cli.main import main
from deid_export.model.average import average
from deid_export.model.tagger import load, with_shared_layers
from deid_runtime.errors import ModelError
from deid_runtime.text.words import type_id
from tests.export.tiny_model import write_base, write_trained


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Write two joint models of one size with different weights, and one whose heads have layers of their own."""
    folder = tmp_path_factory.mktemp("models")
    base = write_base(folder)
    paths = [write_trained(folder / name, base, joint=True) for name in ("a.pt", "b.pt")]
    saved = torch.load(paths[1], weights_only=True)
    torch.save(saved | {"state": {name: tensor + 0.5 for name, tensor in saved["state"].items()}}, paths[1])
    return [*paths, write_trained(folder / "heads.pt", base)]


def test_every_weight_is_the_mean_and_the_model_loads(models: list[Path], tmp_path: Path) -> None:
    average(models[:2], tmp_path / "mean.pt")
    [first, mean] = [load(path).state_dict() for path in (models[0], tmp_path / "mean.pt")]

    assert first.keys() == mean.keys()
    for name, tensor in first.items():
        torch.testing.assert_close(mean[name], tensor + 0.25)


def test_joint_models_fit_whatever_they_name_their_layers(models: list[Path], tmp_path: Path) -> None:
    saved = torch.load(models[1], weights_only=True)
    layers = saved["config"]["num_hidden_layers"]
    state = with_shared_layers(saved["state"], saved["heads"], saved["shared_layers"], layers)
    torch.save(saved | {"state": state, "shared_layers": layers}, tmp_path / "restored.pt")

    average([models[0], tmp_path / "restored.pt"], tmp_path / "mean.pt")
    average(models[:2], tmp_path / "expected.pt")

    mean, expected = load(tmp_path / "mean.pt").state_dict(), load(tmp_path / "expected.pt").state_dict()
    assert state.keys() != saved["state"].keys()
    assert mean.keys() == expected.keys()
    assert all(torch.equal(mean[name], tensor) for name, tensor in expected.items())


def test_a_model_without_word_classes_answers_the_same_for_all(models: list[Path], tmp_path: Path) -> None:
    name = "embeddings.token_type_embeddings.weight"
    saved = torch.load(models[0], weights_only=True)
    old = saved["state"] | {name: torch.randn(18, saved["config"]["hidden_size"])}
    torch.save(saved | {"state": old, "config": saved["config"] | {"type_vocab_size": 18}}, tmp_path / "old.pt")
    model = load(tmp_path / "old.pt").eval()
    ids, mask = torch.ones(1, 6, dtype=torch.long), torch.ones(1, 6, dtype=torch.long)
    shapes = torch.tensor([[0, 3, 4, 7, 10, 17]])
    listed = torch.tensor([[type_id(kind // 3, kind % 3, 5 if kind < 12 else 0) for kind in shapes[0].tolist()]])

    with torch.inference_mode():
        answers, others = model(ids, shapes, mask), model(ids, listed, mask)
        different = model(ids, shapes.flip(1), mask)

    assert not torch.equal(shapes, listed)
    assert all(torch.equal(answers[head], others[head]) for head in answers)
    assert not all(torch.equal(answers[head], different[head]) for head in answers)


def test_one_model_stays_as_it_is(models: list[Path], tmp_path: Path) -> None:
    average(models[:1], tmp_path / "same.pt")
    same, first = load(tmp_path / "same.pt").state_dict(), load(models[0]).state_dict()

    assert all(torch.equal(same[name], tensor) for name, tensor in first.items())


def test_models_of_other_shape_are_refused(models: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"heads\.pt has other sizes or heads than .*a\.pt"):
        average([models[0], models[2]], tmp_path / "mean.pt")
    assert not list(tmp_path.iterdir())


def test_what_is_no_model_is_refused_by_name(models: list[Path], tmp_path: Path) -> None:
    (tmp_path / "notes.pt").write_text("no weights")
    torch.save({"state": {}}, tmp_path / "part.pt")

    for name, expected in (("notes.pt", "cannot be read as weights"), ("part.pt", "is not a model")):
        result = CliRunner().invoke(
            main, ["models", "average", str(models[0]), str(tmp_path / name), "-o", str(tmp_path / "o.pt")]
        )
        assert result.exit_code != 0
        assert f"{name} {expected}" in result.output
    assert not (tmp_path / "o.pt").exists()
