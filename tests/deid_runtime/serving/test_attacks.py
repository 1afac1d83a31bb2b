"""Test malicious requests: they are refused, or the server that they crash is started again."""

import dataclasses
import re
import resource
from collections.abc import Callable
from typing import Any

import pytest

from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.serving.confined import MAX_FILE_BYTES
from deid_runtime.serving.installation import server_environment
from deid_runtime.serving.server import Server
from deid_runtime.serving.supervisor import RestartPolicy
from deid_runtime.serving.triton_requests import VERSION_VARIABLE, check_version
from tests.deid_runtime.serving.requests import LINES, grpc, note_inputs, token_inputs, tokens, windows
from tests.running_server import KEY_NAME, ServedFolder, installation, processes, started, supervised

POLICY = RestartPolicy(first_delay_s=0.1, poll_s=0.1)


def note(**changes: str | bytes) -> list[Any]:
    values: dict[str, str | bytes] = {"text": LINES[0], "note_id": "n1", "patient": "p1", "key": KEY_NAME, **changes}
    return note_inputs(**{name: [value] for name, value in values.items()})


def answer(server: Server) -> Any:
    with grpc.InferenceServerClient(server.options.grpc) as client:
        return client.infer("deidentify", note(), client_timeout=120).as_numpy("text")


def classes_of_a_text(server: Server) -> None:
    """Request the most likely classes of a text: the server divides by the size of its elements, which is 0."""
    with grpc.InferenceServerClient(server.options.grpc) as client:
        client.infer("deidentify", note(), outputs=[grpc.InferRequestedOutput("text", class_count=1)])


def more_tokens_than_there_are(server: Server) -> None:
    """Claim 2**62 + 32 tokens of 4 bytes each; as a number of 64 bits, the size is that of 32 tokens."""
    inputs = token_inputs(tokens(windows()[:1], 128))
    for each in inputs:
        each.set_shape([1, 2**62 + 128])
    with grpc.InferenceServerClient(server.options.grpc) as client:
        client.infer("v0", inputs)


@pytest.mark.parametrize("attack", [classes_of_a_text, more_tokens_than_there_are])
def test_a_server_that_a_request_ends_comes_back_and_answers(
    served_folder: ServedFolder, attack: Callable[[Server], None]
) -> None:
    with supervised(served_folder.options(), POLICY) as state:
        expected = answer(state.server)
        with pytest.raises(grpc.InferenceServerException):
            attack(state.server)
        second = state.wait_started(2)
        assert answer(second) == expected


@pytest.mark.parametrize("name", ["note_id", "patient", "key"])
def test_a_name_that_is_too_long_is_refused(triton: Server, name: str) -> None:
    with (
        grpc.InferenceServerClient(triton.options.grpc) as client,
        pytest.raises(grpc.InferenceServerException, match=f"the {name} has 1,025 bytes; expected at most 1,024"),
    ):
        client.infer("deidentify", note(**{name: "x" * 1025}))


@pytest.mark.parametrize("model", ["deidentify", "v0"])
def test_a_request_with_a_long_id_or_many_parameters_is_refused(triton: Server, model: str) -> None:
    inputs = note() if model == "deidentify" else token_inputs(tokens(windows()[:1], 128))

    with grpc.InferenceServerClient(triton.options.grpc) as client:
        with pytest.raises(grpc.InferenceServerException, match="the id of the request is too long"):
            client.infer(model, inputs, request_id="x" * 1025)
        with pytest.raises(grpc.InferenceServerException, match="the parameters of the request are too large"):
            client.infer(model, inputs, parameters={f"p{number}": "x" * 100 for number in range(50)})
        assert client.infer(model, inputs, request_id="x" * 1024, parameters={"p": 1})


def test_a_stream_takes_a_limited_number_of_notes(triton: Server) -> None:
    said: list[str] = []
    many = 4097
    notes = note_inputs(text=["x"] * many, note_id=["n"] * many, patient=["p"] * many, key=[KEY_NAME] * many)

    with grpc.InferenceServerClient(triton.options.grpc) as client:
        client.start_stream(lambda result, error: said.append(str(error)))
        client.async_stream_infer("deidentify_stream", notes)
        client.stop_stream()

    assert len(said) == 1
    assert "4,097 notes, expected at most 4,096" in said[0]


def test_a_text_over_the_shared_memory_is_refused_and_costs_nothing_else(triton: Server) -> None:
    before = {process.pid for process in processes(triton)}

    with (
        grpc.InferenceServerClient(triton.options.grpc) as client,
        pytest.raises(grpc.InferenceServerException, match="shared memory"),
    ):
        client.infer("deidentify", note(text=bytes(MAX_FILE_BYTES)), client_timeout=120)

    assert {process.pid for process in processes(triton)} == before
    assert answer(triton)


def test_the_memory_for_requests_is_bounded(small_folder: ServedFolder) -> None:
    """Test that a message that unpacks to more ends the server, not the machine; the server is started again."""
    options = dataclasses.replace(small_folder.options(), request_memory_bytes=64 * 2**20)
    inputs = token_inputs(tokens(windows()[:1], 128))

    with supervised(options, POLICY) as state:
        limit, _ = resource.prlimit(state.server.pid, resource.RLIMIT_DATA)
        with (
            grpc.InferenceServerClient(options.grpc) as client,
            pytest.raises(grpc.InferenceServerException),
        ):
            client.infer("v0", inputs, request_id="x" * 400_000_000, compression_algorithm="gzip")
        second = state.wait_started(2)
        with grpc.InferenceServerClient(second.options.grpc) as client:
            assert client.infer("v0", inputs)

    assert limit != resource.RLIM_INFINITY


@pytest.mark.parametrize("version", ["25.06", "24.10", "2.51.0", "latest"])
def test_an_image_that_is_too_old_is_refused(version: str) -> None:
    with pytest.raises(SettingsError, match=rf"Triton {re.escape(version)} .* 25\.07 or newer"):
        check_version({VERSION_VARIABLE: version})


@pytest.mark.parametrize("version", ["25.07", "25.12", "26.01.1", ""])
def test_a_newer_one_and_the_server_of_the_wheel_are_not(version: str) -> None:
    check_version({VERSION_VARIABLE: version})


def test_what_an_image_says_is_not_said_of_the_server_of_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VERSION_VARIABLE, "24.10")

    assert VERSION_VARIABLE not in server_environment(installation())


def test_a_model_is_not_loaded_in_an_old_image(small_folder: ServedFolder) -> None:
    options = dataclasses.replace(small_folder.options(), environment={VERSION_VARIABLE: "24.10"})

    with pytest.raises(ModelError, match="this is Triton 24.10"), started(options):
        pass
