"""Test graphs on the real server: equal to the embedded engine, in any batch; bad requests fail alone."""

import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from deid_runtime.models.batching import pad, width_of
from deid_runtime.models.engines import Array, load_engine
from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.serving.server import Server
from deid_runtime.text.windows import Window
from deid_runtime.text.words import TYPE_COUNT
from tests.deid_runtime.serving.requests import grpc, statistics, token_inputs, tokens, windows

WINDOWS = windows()


@pytest.fixture(scope="module")
def client(triton: Server) -> Iterator[Any]:
    with grpc.InferenceServerClient(triton.options.grpc) as opened:
        yield opened


@pytest.fixture(scope="module")
def embedded() -> list[dict[str, Array]]:
    """Return the answer of the embedded engine to each window alone, by output, without the padding."""
    graph = read_manifest(find_models(None)).graphs["v0"]
    engine = load_engine("auto", graph.file, [version.output for version in graph.heads], 1)
    found = []
    for window in WINDOWS:
        answers = zip(graph.heads, engine(*pad([window], 0)), strict=True)
        outputs = {}
        for version, answer in answers:
            outputs[f"{version.output}_label"] = answer.tags[0, : len(window.ids)]
            outputs[f"{version.output}_score"] = answer.scores[0, : len(window.ids)].astype(np.float16)
        found.append(outputs)
    engine.close()
    return found


def same(result: Any, row: int, window: Window, expected: dict[str, Array]) -> bool:
    """Return whether a row of an answer holds the expected bytes."""
    return all(
        result.as_numpy(name)[row, : len(window.ids)].tobytes() == array.tobytes() for name, array in expected.items()
    )


def test_a_row_gets_the_bytes_of_the_embedded_engine_in_every_batch(
    client: Any, embedded: list[dict[str, Array]]
) -> None:
    choose = random.Random(5)
    before = statistics(client, "v0")

    def ask(number: int) -> bool:
        rows = [choose.randrange(len(WINDOWS)) for _ in range(choose.choice([1, 1, 1, 2, 5]))]
        least = max(len(WINDOWS[row].ids) for row in rows)
        width = choose.choice([width_of(least), least, 128])
        result = client.infer("v0", token_inputs(tokens([WINDOWS[row] for row in rows], width)))
        return all(same(result, place, WINDOWS[row], embedded[row]) for place, row in enumerate(rows))

    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(ask, range(160)))

    after = statistics(client, "v0")
    assert all(answers)
    assert after["executions"] - before["executions"] < 100  # requests of different widths were joined


@pytest.mark.parametrize(
    ("input_number", "value", "said"),
    [
        pytest.param(0, 10**6, "input_ids has a value outside 0..30521", id="id-beyond-the-vocabulary"),
        pytest.param(0, -1, "input_ids has a value outside", id="negative-id"),
        pytest.param(1, TYPE_COUNT, f"token_type_ids has a value outside 0..{TYPE_COUNT - 1}", id="unknown-type"),
        pytest.param(2, 2, "attention_mask has a value outside 0..1", id="mask-of-2"),
    ],
)
def test_a_bad_request_fails_alone(
    client: Any, embedded: list[dict[str, Array]], input_number: int, value: int, said: str
) -> None:
    bad = tokens(WINDOWS[:2], 128)
    bad[input_number][1, 3] = value
    requests = [tokens([window], width_of(len(window.ids))) for window in WINDOWS[:12]]
    requests.insert(6, bad)

    with ThreadPoolExecutor(13) as pool:
        futures = [pool.submit(client.infer, "v0", token_inputs(request)) for request in requests]
        failed: Future[Any] = futures.pop(6)
        with pytest.raises(grpc.InferenceServerException, match=said) as error:
            failed.result()
        good = [future.result() for future in futures]

    assert error.value.status() == "StatusCode.INVALID_ARGUMENT"
    assert all(same(result, 0, WINDOWS[row], embedded[row]) for row, result in enumerate(good))


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        pytest.param((1, 129), "1 to 128 tokens", id="wider-than-a-window"),
        pytest.param((65, 32), "batch-size must be <= 64", id="too-many-rows"),
    ],
)
def test_a_request_of_another_shape_is_refused(client: Any, shape: tuple[int, int], said: str) -> None:
    with pytest.raises(grpc.InferenceServerException, match=said):
        client.infer("v0", token_inputs([np.ones(shape, np.int32)] * 3))


def test_inputs_of_different_shapes_are_refused(client: Any) -> None:
    arrays = [np.ones((1, 32), np.int32), np.ones((1, 31), np.int32), np.ones((1, 32), np.int32)]

    with pytest.raises(grpc.InferenceServerException, match="expected the same for all inputs"):
        client.infer("v0", token_inputs(arrays))


def test_only_the_outputs_asked_for_come_back(client: Any) -> None:
    wanted = [grpc.InferRequestedOutput("name_label")]

    result = client.infer("v0", token_inputs(tokens(WINDOWS[:1], 128)), outputs=wanted)

    assert [output.name for output in result.get_response().outputs] == ["name_label"]


def test_a_configuration_tells_what_a_client_must_check(client: Any) -> None:
    manifest = read_manifest(find_models(None))

    parameters = client.get_model_config("v1").config.parameters

    assert parameters["graph_sha256"].string_value == manifest.content["graphs"]["v1"]["sha256"]  # type: ignore[index]
    assert parameters["tokenizer_sha256"].string_value == manifest.content["tokenizer"]["sha256"]  # type: ignore[index]
    assert parameters["interface_version"].string_value == "2"
