"""Test requests and answers as messages: values survive the round trip, and messages that do not fit are refused."""

import grpc
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2

from deid_client.errors import BadAnswerError, CallError, FailureKind
from deid_client.tensors import ANY, Output, Question, head_scores, outputs_of
from deid_runtime.models.manifest import HeadVersion

HEAD = HeadVersion("age", "v0", "age", ("B-AGE", "I-AGE"))


def answer_to(question, request_id, arrays):
    answer = service_pb2.ModelInferResponse(model_name=question.model, id=request_id)
    for output in question.outputs:
        answer.outputs.add(name=output.name, datatype=output.dtype, shape=output.shape)
        answer.raw_output_contents.append(arrays[output.name].tobytes())
    return answer


def test_a_question_does_not_show_its_tokens():
    question = Question("v0", {"input_ids": np.full((1, 2), 28741, np.int32)}, outputs_of(HEAD, (1, 2)))

    assert "28741" not in repr(question)


@pytest.mark.parametrize(("shape", "fits"), [((2, 32, 384), True), ((2, 32, 768), True), ((2, 16, 768), False)])
def test_a_hidden_state_may_have_any_size_for_each_token_asked(shape, fits):
    question = Question(
        "encoder_v0", {"input_ids": np.zeros((2, 32), np.int32)}, [Output("hidden", "FP32", (2, 32, ANY))]
    )
    answer = service_pb2.ModelInferResponse(model_name="encoder_v0", id="7")
    answer.outputs.add(name="hidden", datatype="FP32", shape=shape)
    answer.raw_output_contents.append(np.ones(shape, np.float32).tobytes())

    if fits:
        assert question.read("here", answer, "7")["hidden"].shape == shape
    else:
        with pytest.raises(BadAnswerError, match=r"expected FP32 \[2, 32, -1\]"):
            question.read("here", answer, "7")


@settings(max_examples=20)
@given(st.integers(1, 64), st.sampled_from((32, 128)), st.integers(0, 2**32))
def test_what_a_head_says_arrives_unchanged(rows, width, seed):
    shape, random = (rows, width), np.random.default_rng(seed)
    tags = random.integers(2, size=shape, dtype=np.uint8)
    scores = random.random(shape).astype(np.float16)
    question = Question("v0", {"input_ids": np.zeros(shape, np.int32)}, outputs_of(HEAD, shape))

    answer = answer_to(question, "7", {"age_label": tags, "age_score": scores})
    said = head_scores("here", HEAD, question.read("here", answer, "7"))

    assert np.array_equal(said.tags, tags)
    assert np.array_equal(said.scores, scores.astype(np.float32))


def test_a_request_holds_the_bytes_of_its_inputs():
    ids = np.arange(6, dtype=np.int32).reshape(2, 3)

    request = Question("v0", {"input_ids": ids}, [Output("age_label", "UINT8", (2, 3))]).request("7")

    assert (request.id, request.model_name, request.inputs[0].datatype) == ("7", "v0", "INT32")
    assert list(request.inputs[0].shape) == [2, 3]
    assert request.raw_input_contents[0] == ids.tobytes()
    assert [output.name for output in request.outputs] == ["age_label"]


def test_an_output_given_twice_does_not_stand_for_another():
    question = Question("v0", {}, outputs_of(HEAD, (1, 2)))
    answer = answer_to(question, "7", {"age_label": np.zeros(2, np.uint8), "age_score": np.zeros(2, np.float16)})
    answer.outputs[1].CopyFrom(answer.outputs[0])
    answer.raw_output_contents[1] = answer.raw_output_contents[0]

    with pytest.raises(BadAnswerError, match="age_score"):
        question.read("here", answer, "7")


def test_an_error_does_not_repeat_the_words_of_the_server():
    class Refusal(grpc.aio.AioRpcError):
        def __init__(self):
            super().__init__(grpc.StatusCode.INTERNAL, (), (), details="Mrs. Halvorsen was seen")

    assert "Halvorsen" not in str(CallError.of("here", Refusal()))
    assert "Halvorsen" not in str(CallError.of_stream("here", "Mrs. Halvorsen was seen"))


@pytest.mark.parametrize(
    ("details", "kind"),
    [("Received RST_STREAM with error code 2", FailureKind.TRANSIENT), ("the model failed", FailureKind.FAULT)],
)
def test_a_broken_connection_is_told_from_a_failed_model(details, kind):
    error = grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, (), (), details=details)

    assert CallError.of("here", error).kind is kind
