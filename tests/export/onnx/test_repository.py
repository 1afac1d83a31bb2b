"""Test the repository of `deid-export models repository`: read by Triton's protobuf, and served."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from click.testing import CliRunner

from deid_client.server import TritonServer
from deid_client.settings import Route
from deid_runtime.models.batching import width_of
from deid_runtime.models.manifest import find_models, read_manifest, served_version
from deid_runtime.models.tagger import load_tagger
from deid_runtime.serving.graph_models import ServingOptions
from deid_runtime.serving.note_models import NoteOptions
from deid_runtime.serving.server import Server
from deid_runtime.settings import Profile, Settings
from deid_runtime.text.sentences import split_sentences
from tests.deid_runtime.serving.requests import LINES, grpc, token_inputs, tokens, windows
from tests.running_server import ServedFolder, changed_models, started

pytest.importorskip("onnx")
text_format: Any = pytest.importorskip("google.protobuf.text_format")
model_config_pb2: Any = pytest.importorskip("tritonclient.grpc.model_config_pb2")


def write(out: Path, backend: str) -> Path:
    from deid_export.cli.main import main

    source = out.parent / "source"
    source.mkdir()
    changed_models(source, call_float32 if backend == "tensorrt" else lambda content: None)
    result = CliRunner().invoke(main, ["models", "repository", str(source), "-o", str(out), "--backend", backend])
    assert result.exit_code == 0, result.output
    return out


GRAPHS = tuple(read_manifest(find_models(None)).graphs)


def call_float32(content: dict[str, Any]) -> None:
    """Mark the graphs of a manifest as not quantised; the result of TensorRT can only be tested on a GPU."""
    for graph in content["graphs"].values():
        graph["precision"] = "float32"


@pytest.mark.parametrize("backend", ["python", "onnxruntime", "tensorrt"])
def test_every_folder_is_a_model_that_triton_can_read(tmp_path: Path, backend: str) -> None:
    out = write(tmp_path / "out", backend)

    heads = ["name", "location", "organization", "age", "identifier"]
    assert {path.name for path in out.iterdir() if path.is_dir()} == {"deid", "deidentify", "deidentify_stream"} | {
        pattern.format(graph=graph)
        for graph in GRAPHS
        for pattern in ("{graph}", "encoder_{graph}", "deid_{graph}",
                        *(f"{head}_{{graph}}" for head in heads))
    }  # fmt: skip
    for path in out.glob("*/**/*.pbtxt"):
        config = text_format.Parse(path.read_text(), model_config_pb2.ModelConfig())
        assert config.name == path.relative_to(out).parts[0]
        has_graph = config.platform != "ensemble" and not config.name.startswith("deidentify")
        [version] = [each for each in (out / config.name).iterdir() if each.name.isdecimal()]
        assert (version / "model.onnx").is_file() == has_graph
        assert (version / "model.py").is_file() == (config.backend == "python")
    assert (out / "v0" / "configs" / "plans.pbtxt").exists() == (backend == "tensorrt")
    written, source = read_manifest(out), read_manifest(tmp_path / "source")
    assert {name: graph.sha256 for name, graph in written.graphs.items()} == {
        name: graph.sha256 for name, graph in source.graphs.items()
    }
    assert all(written.profile_sha256(name) == source.profile_sha256(name) for name in source.profiles)


def test_int8_is_not_written_for_tensorrt(tmp_path: Path) -> None:
    from deid_export.cli.main import main

    result = CliRunner().invoke(
        main, ["models", "repository", str(find_models(None)), "-o", str(tmp_path / "out"), "--backend", "tensorrt"]
    )

    assert result.exit_code == 2
    assert "deid-export models onnx --float32" in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "given"), [("--fp16 --int8 --onnx", ["--fp16"]), ("--onnx", [])], ids=["tensorrt-10", "tensorrt-11"]
)
def test_the_script_asks_for_a_plan_of_every_graph_in_its_shapes(
    tmp_path: Path, options: str, given: list[str]
) -> None:
    out = write(tmp_path / "out", "tensorrt")
    trtexec = tmp_path / "trtexec"
    trtexec.write_text(f'#!/bin/sh\n[ "$1" = --help ] && echo "{options}" || echo "$@" >> {tmp_path}/calls\n')
    trtexec.chmod(0o755)

    script = Path(__file__).resolve().parents[3] / "docker" / "build_plans.sh"
    subprocess.run(["bash", str(script), str(out)], env={**os.environ, "TRTEXEC": str(trtexec)}, check=True)

    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    by_model = {Path(call[0].partition("=")[2]).parts[-3]: call for call in calls}
    assert len(calls) == len(by_model) == 7 * len(GRAPHS)
    graphs = read_manifest(out).graphs
    versions = {model: served_version(graphs[model.rpartition("_")[2]].sha256) for model in by_model}
    assert all(f"--saveEngine={out}/{model}/{versions[model]}/model.plan" in call for model, call in by_model.items())
    assert all([each for each in call if each == "--fp16" or each == "--int8"] == given for call in calls)
    assert "--minShapes=input_ids:1x32,token_type_ids:1x32,attention_mask:1x32" in by_model["v0"]
    assert "--maxShapes=hidden:64x128x384" in by_model["name_v1"]


def test_an_existing_folder_is_not_written_into(tmp_path: Path) -> None:
    from deid_export.cli.main import main

    (tmp_path / "mine").write_text("")

    result = CliRunner().invoke(main, ["models", "repository", str(find_models(None)), "-o", str(tmp_path)])

    assert result.exit_code == 2
    assert "name a new or empty folder" in result.output


@pytest.fixture(scope="module")
def full_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server of the complete repository."""
    from deid_export.onnx.repository import write_full_repository

    folder = ServedFolder(tmp_path_factory.mktemp("full") / "out", tmp_path_factory.mktemp("keys"))
    # One row per call has few shapes to warm up.
    write_full_repository(
        read_manifest(find_models(None)), folder.repository, ServingOptions(call_rows=1), NoteOptions()
    )
    with started(folder.options()) as server:
        yield server


def test_ensembles_on_the_server_answer_as_the_whole_graphs(full_server: Server) -> None:
    rows = [window for window in windows() if width_of(len(window.ids)) == 64][:2]
    batch = tokens(rows, 64)
    inputs = token_inputs(batch)
    real = batch[2].astype(bool)  # values after the end of a row have no meaning

    with grpc.InferenceServerClient(full_server.options.grpc) as client:
        whole = {graph: client.infer(graph, inputs) for graph in GRAPHS}
        alone = client.infer("deid_v0", inputs)
        both = client.infer("deid", inputs)
        config = client.get_model_config("deid_v0", as_json=True)["config"]

    def near(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
        return bool(np.abs(left.astype(np.float32) - right.astype(np.float32))[real].max() < 0.05)

    for head in ("name", "location", "organization", "age", "identifier"):
        score = f"{head}_score"
        assert near(alone.as_numpy(score), whole["v0"].as_numpy(score))
        for graph in GRAPHS:
            assert near(both.as_numpy(f"{head}_{graph}_score"), whole[graph].as_numpy(score))
    assert json.loads(config["parameters"]["labels"]["string_value"])["age"] == ["B-AGE", "I-AGE"]


NOTES = ("\n".join(LINES), "\n".join(LINES[:3]).upper(), "SEEN BY DR. OYELARAN WITH IMOGEN THACKERAY.")


@pytest.mark.parametrize("profile", ["fast", "full"])
def test_every_route_through_the_server_finds_what_the_embedded_engine_finds(
    full_server: Server, profile: Profile
) -> None:
    settings = Settings(profile=profile, thresholds={"name": 0.01})
    sentences = [split_sentences(text) for text in NOTES]
    with load_tagger(settings) as embedded:
        expected = embedded(NOTES, sentences)
    found = {}
    for route in get_args(Route):
        server = TritonServer(endpoints=(full_server.options.grpc,), route=route, request_tokens=256)
        with server.connect(settings) as tagger:
            found[route] = tagger(NOTES, sentences)

    assert found["fused"] == expected
    for row, answer in zip(expected, found["ensemble"], strict=True):
        sure = {(span.start, span.end, span.label) for span in row if span.score > 0.2}
        scores = {(span.start, span.end, span.label): span.score for span in answer}
        assert sure <= scores.keys()
        # Parts are quantised separately, so they differ from the whole by rounding.
        assert all(abs(scores.get((span.start, span.end, span.label), span.score) - span.score) < 0.1 for span in row)
