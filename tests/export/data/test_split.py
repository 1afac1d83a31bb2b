"""Test that the parts of a graph compute the same result as the whole graph."""

import numpy as np
import pytest

from deid_runtime.models.batching import pad, width_of
from deid_runtime.models.engines import EngineKind, load_session
from deid_runtime.models.manifest import INPUTS, Graph, find_models, read_manifest
from deid_runtime.text.windows import Window
from tests.deid_runtime.serving.requests import windows

split = pytest.importorskip("deid_export.data.split", reason="needs onnx")


@pytest.fixture(scope="module", params=["v0", "v1"])
def graph(request: pytest.FixtureRequest) -> Graph:
    """Return the graph of a BERT, and of an MPNet with coded token embeddings."""
    return read_manifest(find_models(None)).graphs[request.param]


@pytest.fixture(scope="module")
def parts(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> "split.Parts":
    return split.split(graph, tmp_path_factory.mktemp("parts"))


def batch() -> list[Window]:
    return [window for window in windows() if width_of(len(window.ids)) == 96][:4]


# Engines fuse the whole graph differently at the cut, so a value may be one int8 step off.
@pytest.mark.parametrize(("engine", "tolerance"), [("onnxruntime", 0.08), ("openvino", 0.05)])
def test_encoder_and_heads_answer_as_the_whole_graph(
    graph: Graph, parts: "split.Parts", engine: EngineKind, tolerance: float
) -> None:
    names = [name for version in graph.heads for name in (f"{version.output}_label", f"{version.output}_score")]
    inputs = pad(batch(), 0)
    whole = load_session(engine, graph.file, INPUTS, names, 1)(*inputs)

    [hidden] = load_session(engine, parts.encoder, INPUTS, ["hidden"], 1)(*inputs)
    answers = [
        answer
        for version in graph.heads
        for answer in load_session(
            engine, parts.heads[version.output], ["hidden"], [f"{version.output}_label", f"{version.output}_score"], 1
        )(hidden)
    ]

    assert hidden.shape == (*inputs[0].shape, parts.hidden_size)
    assert parts.hidden_size == 384
    for (label, score), (own_label, own_score) in zip(
        zip(whole[::2], whole[1::2], strict=True), zip(answers[::2], answers[1::2], strict=True), strict=True
    ):
        assert np.abs(score.astype(np.float32) - own_score.astype(np.float32)).max() <= tolerance
        sure = score > 0.5
        assert (label[sure] == own_label[sure]).all()


def test_the_weights_are_kept_once(graph: Graph, parts: "split.Parts") -> None:
    sizes = [path.stat().st_size for path in (parts.encoder, *parts.heads.values())]

    assert sum(sizes) < 1.02 * graph.file.stat().st_size
