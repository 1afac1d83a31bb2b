"""Test that a graph of a model repository gives back the weights it was made from."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs torch, which the runtime does without")
pytest.importorskip("transformers", reason="training needs transformers, which the runtime does without")
pytest.importorskip("nncf", reason="quantising needs nncf")

import torch
from click.testing import CliRunner

from deid_export.cli.main import main
from deid_export.model.tagger import load
from deid_export.onnx.assemble import assemble
from deid_export.onnx.restore import restore
from deid_runtime.errors import ModelError
from tests.export.tiny_model import annotated, write_base, write_trained


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base"))


def shaken(trained: Path) -> Path:
    """Make all weights of a model file differ, as training does; the exporter stores equal weights once."""
    content = torch.load(trained, weights_only=True)
    torch.manual_seed(3)
    content["state"] = {name: value + 0.05 * torch.randn_like(value) for name, value in content["state"].items()}
    heads = content["heads"]
    for name in content["state"]:
        if content["joint"] and ".layers." in name:  # one copy, under the names of all heads
            content["state"][name] = content["state"][name.replace(name.split(".")[1], heads[0], 1)]
    torch.save(content, trained)
    return trained


def graph_of(trained: Path, base: Path, out: Path, *, int8: bool) -> Path:
    assemble([trained], base / "tokenizer.json", annotated(), out, int8=int8)
    return out / "v0" / "1" / "model.onnx"


@pytest.mark.parametrize("shared_layers", [None, 0, 1])
def test_a_float32_graph_gives_its_weights_back(tmp_path: Path, base: Path, shared_layers: int | None) -> None:
    trained = shaken(write_trained(tmp_path / "joint.pt", base, joint=True))
    graph = graph_of(trained, base, tmp_path / "repository", int8=False)

    found = restore(graph, str(base), tmp_path / "again.pt", shared_layers=shared_layers)

    before = load(trained)
    inputs = torch.ones((1, 9), dtype=torch.long), torch.zeros((1, 9), dtype=torch.long), torch.ones((1, 9))
    assert found.joint == (shared_layers is None)
    with torch.inference_mode():
        for answers in (found.eval()(*inputs), load(tmp_path / "again.pt").eval()(*inputs)):
            for head, logits in before.eval()(*inputs).items():
                torch.testing.assert_close(answers[head], logits)


def test_an_int8_graph_gives_them_back_to_within_a_step(tmp_path: Path, base: Path) -> None:
    trained = shaken(write_trained(tmp_path / "joint.pt", base, joint=True))
    graph = graph_of(trained, base, tmp_path / "repository", int8=True)

    found = restore(graph, str(base), tmp_path / "again.pt", shared_layers=1).state_dict()

    wanted = load(trained).branch_out().state_dict()
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        # Symmetric, 255 steps per channel; the largest weight of a tensor bounds that of its channels.
        step = 2 * float(value.abs().max()) / 255
        # Factors that were moved between activations and weights enlarge the steps of some rows.
        assert float((found[name] - value).abs().mean()) <= step, name
        if value.ndim > 1:
            assert np.corrcoef(found[name].numpy().ravel(), value.numpy().ravel())[0, 1] > 0.999, name


def test_heads_with_layers_of_their_own_are_refused(tmp_path: Path, base: Path) -> None:
    graph = graph_of(shaken(write_trained(tmp_path / "heads.pt", base)), base, tmp_path / "repository", int8=False)

    with pytest.raises(ModelError, match="separate layers"):
        restore(graph, str(base), tmp_path / "again.pt")


def test_the_command_writes_a_file_and_tells_a_wrong_one_in_one_line(tmp_path: Path, base: Path) -> None:
    trained = shaken(write_trained(tmp_path / "joint.pt", base, joint=True))
    graph = graph_of(trained, base, tmp_path / "repository", int8=False)
    out = tmp_path / "again.pt"

    done = CliRunner().invoke(main, ["models", "restore", str(graph), "-o", str(out), "--base", str(base)])
    assert done.exit_code == 0, done.output
    assert load(out).joint

    done = CliRunner().invoke(main, ["models", "restore", str(graph), "-o", str(out)])  # wrong base: the default
    assert done.exit_code != 0
    assert "--base" in done.output
    assert done.output.count("\n") == 1

    graph.write_bytes(b"no graph")
    done = CliRunner().invoke(main, ["models", "restore", str(graph), "-o", str(out), "--base", str(base)])
    assert done.exit_code != 0
    assert "cannot be read as an ONNX graph" in done.output
