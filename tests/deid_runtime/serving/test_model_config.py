"""Test configurations by reading them with Triton's own protobuf."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.models.manifest import INPUTS, Graph, Manifest, find_models, read_manifest
from deid_runtime.serving.graph_models import GraphBackend, GraphModels, ServingOptions
from deid_runtime.serving.model_config import Accelerator, ModelConfig, Tensor
from deid_runtime.serving.note_models import NoteOptions, note_models

text_format: Any = pytest.importorskip("google.protobuf.text_format")
model_config_pb2: Any = pytest.importorskip("tritonclient.grpc.model_config_pb2")


def read_back(config: ModelConfig) -> Any:
    return text_format.Parse(config.text(), model_config_pb2.ModelConfig())


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return read_manifest(find_models(None))


@pytest.fixture(scope="module")
def graph(manifest: Manifest) -> Graph:
    return manifest.graphs["v0"]


def test_the_model_of_a_graph(manifest: Manifest, graph: Graph) -> None:
    options = ServingOptions(instances=2, max_queue_delay_us=300, max_queue_size=7, queue_timeout_us=900)

    config = read_back(GraphModels(manifest, options).whole(graph))

    assert (config.name, config.backend, config.max_batch_size) == ("v0", "python", 64)
    assert [(each.name, each.data_type, list(each.dims)) for each in config.input] == [
        (name, model_config_pb2.TYPE_INT32, [-1]) for name in INPUTS
    ]
    assert all(each.allow_ragged_batch for each in config.input)
    outputs = {each.name: each.data_type for each in config.output}
    assert outputs["name_label"] == model_config_pb2.TYPE_UINT8
    assert outputs["identifier_score"] == model_config_pb2.TYPE_FP16
    assert len(outputs) == 10
    batching = config.dynamic_batching
    assert list(batching.preferred_batch_size) == [16, 32, 64]
    assert batching.max_queue_delay_microseconds == 300
    policy = batching.default_queue_policy
    assert policy.timeout_action == model_config_pb2.ModelQueuePolicy.REJECT
    assert (policy.max_queue_size, policy.default_timeout_microseconds) == (7, 900)
    assert policy.allow_timeout_override
    [group] = config.instance_group
    assert (group.count, group.kind) == (2, model_config_pb2.ModelInstanceGroup.KIND_CPU)
    assert config.version_policy.latest.num_versions == 1
    shapes = {(each.batch_size, each.inputs["input_ids"].dims[0]) for each in config.model_warmup}
    assert shapes == {(rows, width) for rows in (1, 2, 4, 8, 16) for width in (32, 64, 96, 112, 128)}
    assert config.model_warmup[0].inputs["attention_mask"].input_data_file == "mask_32"
    assert json.loads(config.parameters["labels"].string_value)["age"] == ["B-AGE", "I-AGE"]


@pytest.mark.parametrize("backend", ["onnxruntime", "tensorrt"])
def test_on_a_gpu_no_batch_mixes_widths(manifest: Manifest, graph: Graph, backend: GraphBackend) -> None:
    config = read_back(GraphModels(manifest, ServingOptions(backend=backend)).whole(graph))

    assert config.backend == "onnxruntime"
    assert config.instance_group[0].kind == model_config_pb2.ModelInstanceGroup.KIND_GPU
    assert not any(each.allow_ragged_batch for each in config.input)
    accelerators = config.optimization.execution_accelerators.gpu_execution_accelerator
    assert [each.name for each in accelerators] == (["tensorrt"] if backend == "tensorrt" else [])


def test_an_ensemble_runs_encoder_and_heads(manifest: Manifest, graph: Graph) -> None:
    models = GraphModels(manifest, ServingOptions(), hidden_size=384)

    config = read_back(models.ensemble(graph))

    assert config.platform == "ensemble"
    encoder, *heads = config.ensemble_scheduling.step
    assert encoder.model_name == "encoder_v0"
    assert dict(encoder.input_map) == {name: name for name in INPUTS}
    assert [step.model_name for step in heads] == [
        "name_v0", "location_v0", "organization_v0", "age_v0", "identifier_v0"
    ]  # fmt: skip
    assert {step.input_map["hidden"] for step in heads} == {encoder.output_map["hidden"]}
    whole = read_back(models.whole(graph))
    assert [each.name for each in config.output] == [each.name for each in whole.output]


def test_the_ensemble_of_all_graphs_names_heads_by_graph(manifest: Manifest) -> None:
    config = read_back(GraphModels(manifest, ServingOptions(), hidden_size=384).all_graphs())

    assert len(config.ensemble_scheduling.step) == 6 * len(manifest.graphs)  # an encoder and five heads each
    assert {"name_v0_label", "age_v1_score"} < {each.name for each in config.output}
    assert config.parameters["graph"].string_value == ",".join(manifest.graphs)


def test_the_models_for_notes(manifest: Manifest) -> None:
    plain, stream = (read_back(config) for config in note_models(NoteOptions(max_queue_size=3)))

    assert [each.name for each in plain.input] == ["text", "note_id", "patient", "key"]
    assert plain.dynamic_batching.default_queue_policy.max_queue_size == 3
    assert not plain.model_transaction_policy.decoupled
    assert stream.model_transaction_policy.decoupled
    assert list(stream.input[0].dims) == [-1]


def test_every_text_survives() -> None:
    @given(st.text(), st.text())
    def check(name: str, value: str) -> None:
        config = ModelConfig(
            name="m",
            backend="onnxruntime",
            max_batch_size=0,
            inputs=(Tensor("a", "FP32", (1,)),),
            outputs=(),
            accelerators=(Accelerator("x", {"key": value}),),
            parameters={name: value},
        )

        found = read_back(config)

        assert found.parameters[name].string_value == value

    check()
