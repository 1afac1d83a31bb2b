"""Test that the tagger of a server answers like the embedded engine, whatever fails on the way."""

import time

import grpc
import pytest

from deid_runtime.errors import ModelError
from deid_runtime.settings import Settings
from tests.client import fault_server as faults
from tests.client.fault_server import FaultServer, abort

SETTINGS = Settings(window_cache_bytes=0)
STREAMS = [pytest.param(False, id="unary"), pytest.param(True, id="stream")]


@pytest.fixture(scope="module", params=STREAMS)
def asked(request, models, asking):
    """Return a server and its tagger, for many faults one after the other."""
    with (
        FaultServer(models) as server,
        asking(server, is_streaming=request.param, call_seconds=2.0).connect(SETTINGS) as tagger,
    ):
        yield server, tagger


@pytest.mark.parametrize("is_streaming", STREAMS)
@pytest.mark.parametrize("profile", ["fast", "full"])
@pytest.mark.parametrize("route", ["fused", "ensemble"])
def test_answers_are_those_of_the_embedded_engine(
    models, asking, texts, sentences, expected, profile, route, is_streaming
):
    with (
        FaultServer(models) as server,
        asking(server, route=route, is_streaming=is_streaming).connect(
            Settings(profile=profile, window_cache_bytes=0)
        ) as tagger,
    ):
        assert tagger(texts, sentences) == expected[profile]
        assert tagger(texts, sentences) == expected[profile]


@pytest.mark.parametrize("request_tokens", [1, 500, 100_000])
def test_answers_do_not_depend_on_how_windows_are_packed(models, asking, texts, sentences, expected, request_tokens):
    with FaultServer(models) as server, asking(server, request_tokens=request_tokens).connect(SETTINGS) as tagger:
        assert tagger(texts, sentences) == expected["fast"]
        assert max(rows for _, rows in server.asked) <= max(1, request_tokens // 32)


@pytest.mark.parametrize(
    "fault",
    [
        *(pytest.param(abort(code), id=code.name) for code in (
            grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.DEADLINE_EXCEEDED,
            grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN,
        )),
        pytest.param(faults.half, id="half-of-the-outputs"),
        pytest.param(faults.cut, id="half-of-the-bytes"),
        pytest.param(faults.fewer_rows, id="fewer-rows"),
        pytest.param(faults.other_type, id="another-type"),
        pytest.param(faults.other_id, id="another-request"),
        pytest.param(faults.unknown_tag, id="unknown-tag"),
        pytest.param(faults.score_of(float("nan")), id="not-a-number"),
        pytest.param(faults.score_of(1.5), id="above-one"),
        pytest.param(faults.score_of(-0.25), id="below-zero"),
        pytest.param(faults.slow(2.5), id="too-slow"),
        pytest.param(faults.die(0.3), id="dies-and-comes-back"),
    ],
)  # fmt: skip
def test_what_fails_is_asked_again(asked, texts, sentences, expected, fault):
    server, tagger = asked
    server.asked.clear()
    server.faults.extend((None, fault))

    assert tagger(texts, sentences) == expected["fast"]
    assert not server.faults
    again = len(server.asked)
    server.asked.clear()
    assert tagger(texts, sentences) == expected["fast"]
    assert again > len(server.asked)


@pytest.mark.parametrize("words", ["Exceeds maximum queue size", "the model failed"])
def test_an_error_in_words_on_a_stream_fails_its_request_alone(models, asking, texts, sentences, expected, words):
    with (
        FaultServer(models, faults=(faults.say(words), None, faults.say(words))) as server,
        asking(server, is_streaming=True).connect(SETTINGS) as tagger,
    ):
        assert tagger(texts, sentences) == expected["fast"]


def test_a_server_that_dies_again_and_again_costs_only_time(asked, texts, sentences, expected):
    server, tagger = asked
    server.faults.extend((faults.die(0.2), None, faults.die(0.1), faults.die(0.1)))

    for _ in range(3):
        assert tagger(texts, sentences) == expected["fast"]


@pytest.mark.parametrize("fault", [faults.half, faults.score_of(float("nan")), abort(grpc.StatusCode.INTERNAL)])
def test_an_answer_that_stays_wrong_is_an_error(models, asking, texts, sentences, fault):
    with (
        FaultServer(models, always=fault) as server,
        asking(server).connect(SETTINGS) as tagger,
        pytest.raises(ModelError) as raised,
    ):
        tagger(texts, sentences)

    assert server.address in str(raised.value)
    assert "words of the server" not in str(raised.value)


def test_a_wrong_answer_is_asked_for_elsewhere(models, asking, texts, sentences, expected):
    with (
        FaultServer(models, always=faults.half) as bad,
        FaultServer(models) as good,
        asking(bad, good).connect(SETTINGS) as tagger,
    ):
        assert tagger(texts, sentences) == expected["fast"]
        assert bad.asked


def test_a_server_that_is_gone_is_replaced_by_another(models, asking, texts, sentences, expected):
    with (
        FaultServer(models) as first,
        FaultServer(models) as second,
        asking(first, second).connect(SETTINGS) as tagger,
    ):
        assert tagger(texts, sentences) == expected["fast"]
        assert first.asked
        assert second.asked
        first.stop()
        assert tagger(texts, sentences) == expected["fast"]

        first.start()
        first.asked.clear()
        until = time.monotonic() + 20
        while not first.asked and time.monotonic() < until:
            assert tagger(texts, sentences) == expected["fast"]
        assert first.asked


def test_only_so_many_requests_are_under_way(models, asking, texts, sentences, expected):
    with (
        FaultServer(models, always=faults.slow(0.02)) as server,
        asking(server, request_tokens=1, requests_in_flight=3).connect(SETTINGS) as tagger,
    ):
        assert tagger(texts, sentences) == expected["fast"]
        assert server.most_at_once == 3


def test_a_closed_tagger_says_so(models, asking, texts, sentences):
    with FaultServer(models) as server:
        with asking(server).connect(SETTINGS) as tagger:
            pass
        with pytest.raises(ModelError, match="closed"):
            tagger(texts, sentences)
