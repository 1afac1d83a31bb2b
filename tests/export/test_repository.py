"""The repository that `deid-export repository` writes: read by Triton's protobuf, and served."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from deid_runtime.contract import find_models, read_manifest
from deid_runtime.detectors.models import width_of
from deid_runtime.serving.graph_models import ServingOptions
from deid_runtime.serving.note_models import NoteOptions
from tests.deid_runtime.serving.requests import grpc, token_inputs, tokens, windows
from tests.running_server import ServedFolder, started

pytest.importorskip("onnx")
text_format: Any = pytest.importorskip("google.protobuf.text_format")
model_config_pb2: Any = pytest.importorskip("tritonclient.grpc.model_config_pb2")


def write(out: Path, backend: str) -> Path:
    from deid_export.cli import main

    result = CliRunner().invoke(main, ["repository", str(find_models(None)), "-o", str(out), "--backend", backend])
    assert result.exit_code == 0, result.output
    return out


@pytest.mark.parametrize("backend", ["python", "onnxruntime", "tensorrt"])
def test_every_folder_is_a_model_that_triton_can_read(tmp_path: Path, backend: str) -> None:
    out = write(tmp_path / "out", backend)

    heads = ["name", "location", "organization", "age", "identifier"]
    assert {path.name for path in out.iterdir() if path.is_dir()} == {"deid", "deidentify", "deidentify_stream"} | {
        pattern.format(graph=graph)
        for graph in ("v0", "v1")
        for pattern in ("{graph}", "encoder_{graph}", "deid_{graph}", "name_normalized_{graph}",
                        *(f"{head}_{{graph}}" for head in heads))
    }  # fmt: skip
    for path in out.glob("*/**/*.pbtxt"):
        config = text_format.Parse(path.read_text(), model_config_pb2.ModelConfig())
        assert config.name == path.relative_to(out).parts[0]
        has_graph = config.platform != "ensemble" and not config.name.startswith("deidentify")
        assert (out / config.name / "1" / "model.onnx").is_file() == has_graph
        assert (out / config.name / "1" / "model.py").is_file() == (config.backend == "python")
    assert (out / "v0" / "configs" / "plans.pbtxt").exists() == (backend == "tensorrt")
    assert read_manifest(out).content == read_manifest(find_models(None)).content


def test_an_existing_folder_is_not_written_into(tmp_path: Path) -> None:
    from deid_export.cli import main

    (tmp_path / "mine").write_text("")

    result = CliRunner().invoke(main, ["repository", str(find_models(None)), "-o", str(tmp_path)])

    assert result.exit_code == 1
    assert "name a new or empty folder" in result.output


def test_ensembles_on_the_server_answer_as_the_whole_graphs(tmp_path: Path) -> None:
    from deid_export.repository import write_full_repository

    folder = ServedFolder(tmp_path / "out", tmp_path)
    # One row a call has few shapes to warm up.
    write_full_repository(
        read_manifest(find_models(None)), folder.repository, ServingOptions(call_rows=1), NoteOptions()
    )
    rows = [window for window in windows() if width_of(len(window.ids)) == 64][:2]
    inputs = token_inputs(tokens(rows, 64))

    with started(folder.options()) as server, grpc.InferenceServerClient(server.options.grpc) as client:
        whole = {graph: client.infer(graph, inputs) for graph in ("v0", "v1")}
        alone = client.infer("deid_v0", inputs)
        both = client.infer("deid", inputs)
        normalized = client.infer("name_normalized_v0", inputs)
        config = client.get_model_config("deid_v0", as_json=True)["config"]

    def near(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
        return bool(np.abs(left.astype(np.float32) - right.astype(np.float32)).max() < 0.05)

    for head in ("name", "location", "organization", "age", "identifier"):
        score = f"{head}_score"
        assert near(alone.as_numpy(score), whole["v0"].as_numpy(score))
        for graph in ("v0", "v1"):
            assert near(both.as_numpy(f"{head}_{graph}_score"), whole[graph].as_numpy(score))
    assert near(normalized.as_numpy("name_score"), whole["v0"].as_numpy("name_score"))
    assert {output.name for output in normalized.get_response().outputs} == {"name_label", "name_score"}
    assert json.loads(config["parameters"]["labels"]["string_value"])["age"] == ["B-AGE", "I-AGE"]
