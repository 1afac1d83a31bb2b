"""Test a silent server: it costs one deadline, not one per note, and is used again when its models answer."""

import time
from contextlib import suppress

import grpc
import pytest

from deid_runtime.errors import ModelError
from deid_runtime.settings import Settings
from deid_runtime.text.sentences import split_sentences
from tests.client import fault_server as faults
from tests.client.conftest import embedded
from tests.client.fault_server import FaultServer, abort

SETTINGS = Settings(window_cache_bytes=0)
STREAMS = [pytest.param(False, id="unary"), pytest.param(True, id="stream")]
WAIT_S = 60


def found_again(tagger, texts, sentences):
    """Return the first answer, or None after a minute."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        with suppress(ModelError):
            return tagger(texts, sentences)
        time.sleep(0.05)
    return None


def wait_for(condition):
    until = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("is_streaming", STREAMS)
def test_a_silent_server_is_asked_once_and_then_only_probed(
    models, asking, texts, sentences, expected, is_streaming, caplog
):
    with FaultServer(models) as server:
        settings = asking(server, is_streaming=is_streaming, batch_seconds=1.0, call_seconds=0.5)
        with settings.connect(SETTINGS) as tagger:
            assert tagger(texts, sentences) == expected["fast"]
            server.is_silent = True
            with pytest.raises(ModelError, match=rf"given up after 1 s: {server.address} gave no answer in time"):
                tagger(texts, sentences)
            asked, probed = len(server.asked), len(server.probed)
            # Several probes stay unanswered, each with a pause, so this takes far longer than all pauses together.
            while len(server.probed) < probed + 4:
                with pytest.raises(ModelError, match=r"the service is down.*gave no answer in time"):
                    tagger(texts, sentences)
                time.sleep(0.01)
            assert len(server.asked) == asked

            server.is_silent = False
            assert found_again(tagger, texts, sentences) == expected["fast"]
    assert f"{server.address} gave no answer in time; it is not used" in caplog.text


@pytest.mark.parametrize("is_streaming", STREAMS)
def test_with_another_server_a_silent_one_is_left_alone_until_it_answers_a_probe(
    models, asking, texts, sentences, expected, is_streaming
):
    with (
        FaultServer(models) as silent,
        FaultServer(models) as good,
        asking(silent, good, is_streaming=is_streaming, call_seconds=0.5).connect(SETTINGS) as tagger,
    ):
        silent.is_silent = True
        assert tagger(texts, sentences) == expected["fast"]
        asked, probed = len(silent.asked), len(silent.probed)
        assert asked
        while len(silent.probed) < probed + 3:
            assert tagger(texts, sentences) == expected["fast"]
        assert len(silent.asked) == asked

        silent.is_silent = False
        wait_for(lambda: tagger(texts, sentences) == expected["fast"] and len(silent.asked) > asked)


def test_time_is_left_to_ask_another_server(models, asking, texts, sentences, expected):
    with (
        FaultServer(models) as silent,
        FaultServer(models) as good,
        asking(silent, good, batch_seconds=4.0, call_seconds=20.0).connect(SETTINGS) as tagger,
    ):
        silent.is_silent = True
        assert tagger(texts, sentences) == expected["fast"]
        assert silent.asked


def test_a_question_that_is_never_answered_does_not_stop_others(models, asking, texts, sentences, expected):
    held = int(embedded(models, SETTINGS)._encoder.encode("Priya")[0][0])
    with (
        FaultServer(models) as server,
        asking(server, batch_seconds=1.5, call_seconds=0.3).connect(SETTINGS) as tagger,
    ):
        server.held_token = held
        for _ in range(2):
            with pytest.raises(ModelError, match="given up"):
                tagger(texts[3:4], sentences[3:4])
            assert tagger(texts[:3], sentences[:3]) == expected["fast"][:3]


def test_a_server_that_answers_probes_alone_costs_a_call_now_and_then(models, asking, texts, sentences, expected):
    with (
        FaultServer(models) as hanging,
        FaultServer(models) as good,
        asking(hanging, good, call_seconds=0.3, requests_in_flight=8).connect(SETTINGS) as tagger,
    ):
        hanging.always = faults.hang
        assert tagger(texts, sentences) == expected["fast"]
        asked, until = len(hanging.asked), time.monotonic() + 3.0
        while time.monotonic() < until:
            assert tagger(texts, sentences) == expected["fast"]
        # One call at a time, each of 0.3 s and followed by a pause.
        assert 0 < len(hanging.asked) - asked <= 10
        hanging.always = None


def test_a_server_that_answers_probes_alone_costs_one_call_a_question(models, asking, texts, sentences, expected):
    with (
        FaultServer(models, always=faults.hang) as server,
        asking(server, batch_seconds=1.5, call_seconds=0.3).connect(SETTINGS) as tagger,
    ):
        with pytest.raises(ModelError, match="given up"):
            tagger(texts[:1], sentences[:1])
        assert len(server.asked) > 2
        for _ in range(10):
            asked = len(server.asked)
            with pytest.raises(ModelError, match=r"after it had come back|the service is down"):
                tagger(texts[:1], sentences[:1])
            assert len(server.asked) - asked <= 1

        server.always = None
        assert found_again(tagger, texts, sentences) == expected["fast"]


def test_a_slow_server_is_not_left_alone(models, asking, texts, sentences, expected):
    with (
        FaultServer(models, always=faults.slow(0.4)) as server,
        asking(server, call_seconds=5.0).connect(SETTINGS) as tagger,
    ):
        probed = len(server.probed)
        assert tagger(texts, sentences) == expected["fast"]
        assert len(server.probed) == probed


def test_a_full_queue_needs_no_probe(models, asking, texts, sentences, expected):
    busy = abort(grpc.StatusCode.RESOURCE_EXHAUSTED)
    with FaultServer(models, faults=(busy, busy, busy)) as server, asking(server).connect(SETTINGS) as tagger:
        probed = len(server.probed)
        assert tagger(texts, sentences) == expected["fast"]
        assert len(server.probed) == probed


def test_a_probe_that_is_refused_for_a_full_queue_is_sent_again(models, asking, texts, sentences, expected):
    with FaultServer(models) as server:
        server.probe_fault = abort(grpc.StatusCode.RESOURCE_EXHAUSTED)
        with pytest.raises(ModelError, match="queue is full"):
            asking(server, connect_seconds=0.5).connect(SETTINGS)
        assert len(server.probed) > 1
        server.probe_fault = None
        with asking(server).connect(SETTINGS) as tagger:
            assert tagger(texts, sentences) == expected["fast"]


def test_a_large_call_has_more_time_than_a_small_one(models, asking):
    seconds = {}

    def look(server, context, answer):
        rows, tokens = answer.outputs[0].shape
        seconds[rows * tokens] = context.time_remaining()
        return answer

    text = "Seen with a cough, no fever, lungs clear, plan as before and see again in two weeks or so. " * 450
    with FaultServer(models, always=look) as server:
        settings = asking(server, call_seconds=1000.0, batch_seconds=9000.0, request_tokens=8192)
        with settings.connect(SETTINGS) as tagger:
            tagger([text, "No fever."], [split_sentences(text), split_sentences("No fever.")])

    assert seconds[8192] > 1500  # gRPC rounds them up
    assert seconds[32] < 1100


def test_a_silent_server_is_told_when_connecting(models, asking):
    with FaultServer(models) as server:
        server.is_silent = True
        with pytest.raises(ModelError, match=rf"{server.address} gave no answer in time to a probe of model v0"):
            asking(server, connect_seconds=0.5).connect(SETTINGS)
        assert not server.asked


def test_a_silent_server_does_not_keep_a_client_from_another(models, asking, texts, sentences, expected):
    with FaultServer(models) as silent, FaultServer(models) as good:
        silent.is_silent = True
        began = time.monotonic()
        with asking(silent, good, connect_seconds=60.0, call_seconds=60.0).connect(SETTINGS) as tagger:
            assert time.monotonic() - began < 30
            assert tagger(texts, sentences) == expected["fast"]
        assert not silent.asked


@pytest.mark.parametrize(
    "fault",
    [faults.half, faults.cut, faults.fewer_rows, faults.other_type, faults.other_id, faults.unknown_tag,
     faults.score_of(float("nan")), faults.score_of(1.5), faults.huge, faults.too_many_bytes],
    ids=lambda fault: fault.__name__,
)  # fmt: skip
def test_a_server_that_answers_a_probe_wrongly_is_refused(models, asking, fault):
    with FaultServer(models) as server:
        server.probe_fault = fault
        began = time.monotonic()
        with pytest.raises(ModelError, match=rf"{server.address} gave a wrong answer: .* before any note"):
            asking(server, connect_seconds=60.0).connect(SETTINGS)
        assert time.monotonic() - began < 30
        assert not server.asked


def test_a_server_that_comes_back_with_wrong_answers_is_not_asked(models, asking, texts, sentences, expected):
    with FaultServer(models) as bad, FaultServer(models) as good, asking(bad, good).connect(SETTINGS) as tagger:
        bad.stop()
        bad.probe_fault = faults.score_of(float("nan"))
        bad.start()
        bad.asked.clear()
        wait_for(lambda: tagger(texts, sentences) == expected["fast"] and len(bad.probed) > 1)
        assert tagger(texts, sentences) == expected["fast"]
        assert not bad.asked


@pytest.mark.parametrize(
    ("route", "profile", "asked"),
    [
        ("fused", "fast", {"v0"}),
        ("fused", "full", {"v0", "v1"}),
        ("ensemble", "fast", {"deid_v0"}),
        ("ensemble", "full", {"deid"}),
    ],
)
def test_every_model_of_a_route_is_probed(models, asking, route, profile, asked):
    with (
        FaultServer(models) as server,
        asking(server, route=route).connect(Settings(profile=profile, window_cache_bytes=0)),
    ):
        assert set(server.probed) == asked
        assert not server.asked
