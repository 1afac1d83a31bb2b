"""Test whole notes on the real server for clients without our library: unary gRPC, plain HTTP, a gRPC stream."""

import http.client
import json
import queue
import time
from typing import Any

import pytest

from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.serving.server import Server
from deid_runtime.settings import Settings
from deid_runtime.spans import Note
from deid_runtime.surrogates import load_key
from tests.deid_runtime.serving.requests import LINES, grpc, note_inputs, statistics
from tests.running_server import KEY_NAME, ServedFolder

#: Contains a paragraph that detectors read in another form than it is written.
TEXT = "\n".join(LINES) + (
    "\nThérèse Oyelaran visited.\n\nShe is looked after twice a week by the district nurse, Ms. Abiola\r\nOkonkwo, who "
    "met <b>Th&eacute;r\u00e8se</b> Oye\u200blaran at home.\n"
)


@pytest.fixture(scope="module")
def expected(served_folder: ServedFolder) -> Deidentified:
    """Return the result of the embedded pipeline for the note."""
    key = load_key(served_folder.keys / f"{KEY_NAME}.key")
    with load_pipeline(Settings(), key=key, records={}) as pipeline:
        [outcome] = pipeline.deidentify([Note("n1", TEXT, "p1")])
    assert isinstance(outcome, Deidentified)
    return outcome


def request(text: str | bytes = TEXT, key: str = KEY_NAME) -> list[Any]:
    return note_inputs(text=[text], note_id=["n1"], patient=["p1"], key=[key])


def test_a_note_over_grpc_is_that_of_the_embedded_pipeline(triton: Server, expected: Deidentified) -> None:
    with grpc.InferenceServerClient(triton.options.grpc) as client:
        result = client.infer("deidentify", request())

    spans = json.loads(result.as_numpy("spans").item())
    assert result.as_numpy("text").item().decode() == expected.text
    assert [(span["start"], span["end"], span["label"]) for span in spans] == [
        (span.start, span.end, span.label) for span in expected.spans
    ]
    assert next(TEXT[span["start"] : span["end"]] for span in spans) == "Rosalind Thackeray"
    assert json.loads(result.as_numpy("pseudonyms").item()) == {
        "note": expected.note_pseudonym,
        "patient": expected.patient_pseudonym,
    }


def over_http(server: Server, values: dict[str, str]) -> tuple[int, Any]:
    inputs = [{"name": name, "datatype": "BYTES", "shape": [1], "data": [value]} for name, value in values.items()]
    connection = http.client.HTTPConnection(server.options.http, timeout=60)
    try:
        connection.request("POST", "/v2/models/deidentify/infer", json.dumps({"inputs": inputs}))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_a_note_over_plain_http_is_that_of_the_embedded_pipeline(triton: Server, expected: Deidentified) -> None:
    status, answer = over_http(triton, {"text": TEXT, "note_id": "n1", "patient": "p1", "key": KEY_NAME})

    assert status == http.client.OK
    assert {output["name"]: output["data"] for output in answer["outputs"]}["text"] == [expected.text]


def test_a_note_that_fails_over_http_tells_stage_and_reason(triton: Server) -> None:
    status, answer = over_http(triton, {"text": "a\0b", "note_id": "n1", "patient": "p1", "key": KEY_NAME})

    assert status == http.client.BAD_REQUEST
    assert "stage read: the text has a null character at offset 1" in answer["error"]


def test_a_note_in_a_form_that_hides_text_is_refused(triton: Server) -> None:
    text = "Seen=20by=20J=C3=B6hn Quist."

    status, answer = over_http(triton, {"text": text, "note_id": "n1", "patient": "p1", "key": KEY_NAME})

    assert status == http.client.BAD_REQUEST
    assert "stage read: 3 quoted-printable characters among" in answer["error"]
    assert "Quist" not in answer["error"]


def test_a_stream_answers_every_note_in_order_and_a_bad_one_alone(triton: Server, expected: Deidentified) -> None:
    answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
    notes = note_inputs(text=[TEXT, b"\xff", TEXT], note_id=["n1", "n2", "n1"], patient=["p1"] * 3, key=[KEY_NAME] * 3)

    with grpc.InferenceServerClient(triton.options.grpc) as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        client.async_stream_infer("deidentify_stream", notes, enable_empty_final_response=True)
        (first, _), (_, error), (third, _), (last, _) = [answers.get(timeout=60) for _ in range(4)]
        client.stop_stream()

    assert first.as_numpy("text").item().decode() == third.as_numpy("text").item().decode() == expected.text
    assert first.as_numpy("note_id").item() == b"n1"
    assert "stage read: the text is not valid UTF-8 at byte 0" in str(error)
    assert last.get_response().parameters["triton_final_response"].bool_param


def test_a_stream_that_is_left_costs_no_more_notes(triton: Server) -> None:
    answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
    many = 400
    notes = note_inputs(text=[TEXT] * many, note_id=["n"] * many, patient=["p"] * many, key=[KEY_NAME] * many)

    with grpc.InferenceServerClient(triton.options.grpc) as client:
        before = statistics(client, "deidentify")["executions"]
        client.start_stream(lambda result, error: answers.put((result, error)))
        client.async_stream_infer("deidentify_stream", notes)
        answers.get(timeout=60)
        client.stop_stream(cancel_requests=True)
        first = second = -1
        until = time.monotonic() + 60
        while (first != second or first < 0) and time.monotonic() < until:
            time.sleep(0.5)
            first, second = second, statistics(client, "deidentify")["executions"] - before

    assert 1 <= second < many


def test_notes_that_clients_no_longer_want_cost_others_no_time(triton: Server) -> None:
    def long_note(number: int) -> list[Any]:  # texts that differ, or the answers would come from the cache
        return request("".join(f"{number}.{line} {LINES[line % len(LINES)]}\n" for line in range(150)))

    def timed(number: int) -> float:
        begun = time.monotonic()
        client.infer("deidentify", long_note(number))
        return time.monotonic() - begun

    with grpc.InferenceServerClient(triton.options.grpc) as client:
        alone = min(timed(number) for number in (1, 2))
        calls = [
            client.async_infer("deidentify", long_note(number), lambda result, error: None) for number in range(3, 27)
        ]
        for call in calls:
            time.sleep(0.01)
            call.cancel()
        assert timed(27) < 12 * alone  # two dozen notes were sent before it


@pytest.mark.parametrize("name", ["../" + KEY_NAME, f"{KEY_NAME}.key", "", "/etc/passwd", "other", "0" * 64])
def test_a_key_is_a_name_in_the_key_folder_and_nothing_else(triton: Server, name: str) -> None:
    with (
        grpc.InferenceServerClient(triton.options.grpc) as client,
        pytest.raises(grpc.InferenceServerException, match="stage surrogates") as error,
    ):
        client.infer("deidentify", request(key=name))

    assert not name or name not in error.value.message()


def test_a_note_over_the_limit_is_refused(triton: Server) -> None:
    with (
        grpc.InferenceServerClient(triton.options.grpc) as client,
        pytest.raises(grpc.InferenceServerException, match="1,048,577 bytes, but this server takes at most 1,048,576"),
    ):
        client.infer("deidentify", request("x" * (2**20 + 1)))
