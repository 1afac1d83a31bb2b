"""Test that a misbehaving server or network costs bounded time and memory and gives a clear error."""

import socket
import time
from contextlib import suppress

import pytest

from deid_runtime.errors import ModelError
from deid_runtime.settings import Settings
from tests.client import fault_server as faults
from tests.client.fault_server import FaultServer
from tests.client.relay import Relay

SETTINGS = Settings(window_cache_bytes=0)
STREAMS = [pytest.param(False, id="unary"), pytest.param(True, id="stream")]


@pytest.mark.parametrize("is_streaming", STREAMS)
@pytest.mark.parametrize("left", [0, 5, 150])
def test_half_an_answer_costs_one_deadline(models, asking, texts, sentences, expected, is_streaming, left):
    with FaultServer(models) as server, Relay(server.port) as relay:
        settings = asking(relay, is_streaming=is_streaming, batch_seconds=1.0, call_seconds=0.5)
        with settings.connect(SETTINGS) as tagger:
            assert tagger(texts, sentences) == expected["fast"]
            relay.left = left
            for reason in ("given up after 1 s", *["the service is down"] * 5):
                with pytest.raises(ModelError, match=reason):
                    tagger(texts, sentences)
            relay.left = None

            until = time.monotonic() + 60
            found = None
            while found is None and time.monotonic() < until:
                with suppress(ModelError):
                    found = tagger(texts, sentences)
                time.sleep(0.05)
            assert found == expected["fast"]


def test_a_server_that_accepts_and_says_nothing_is_told_when_connecting(models, asking):
    with FaultServer(models) as server, Relay(server.port) as relay:
        relay.left = 0
        began = time.monotonic()
        with pytest.raises(ModelError, match=rf"no server answers.*{relay.address}"):
            asking(relay, connect_seconds=0.5).connect(SETTINGS)
        assert time.monotonic() - began < 30


@pytest.mark.parametrize("is_streaming", STREAMS)
@pytest.mark.parametrize("content", [b"\xff\xff\xff", b"\x0a\xff\xff\xff\xff\x0f", b""])
def test_bytes_that_are_no_answer_are_refused(models, asking, content, is_streaming):
    server = FaultServer(models)
    server.stop()
    server.raw_answer = content
    server.start()
    with server, pytest.raises(ModelError, match=server.address):
        asking(server, is_streaming=is_streaming, connect_seconds=2.0, call_seconds=1.0).connect(SETTINGS)


@pytest.mark.parametrize("fault", [faults.huge, faults.too_many_bytes])
@pytest.mark.parametrize("is_streaming", STREAMS)
def test_an_answer_of_a_wrong_size_fails_after_a_few_tries(models, asking, texts, sentences, fault, is_streaming):
    with (
        FaultServer(models, always=fault) as server,
        asking(server, is_streaming=is_streaming, requests_in_flight=1).connect(SETTINGS) as tagger,
        pytest.raises(ModelError, match=server.address),
    ):
        tagger(texts[:1], sentences[:1])

    assert len({request for request, _ in server.asked}) <= 4


def test_a_huge_answer_is_told_from_a_full_queue(models, asking, texts, sentences):
    with (
        FaultServer(models, always=faults.huge) as server,
        asking(server).connect(SETTINGS) as tagger,
        pytest.raises(ModelError, match=r"larger than allowed.*--request-tokens"),
    ):
        tagger(texts, sentences)


def test_labels_of_very_many_levels_are_other_labels(models, asking):
    with FaultServer(models) as server:
        server.parameters["labels"] = "[" * 100_000
        with pytest.raises(ModelError, match="labels"):
            asking(server).connect(SETTINGS)


def test_a_type_that_the_protocol_does_not_have_is_another_type(models, asking):
    with FaultServer(models) as server:
        server.output_type = 4711
        with pytest.raises(ModelError, match="expected TYPE_UINT8"):
            asking(server).connect(SETTINGS)


def test_an_ensemble_of_very_many_models_costs_bounded_time(models, asking, monkeypatch):
    monkeypatch.setattr("deid_client.endpoint._CONFIGS_SECONDS", 0.5)
    with FaultServer(models) as server:
        for number in range(100_000):
            server.config.ensemble_scheduling.step.add(model_name=f"v0?{number}")
        began = time.monotonic()
        with pytest.raises(ModelError, match=server.address):
            asking(server, connect_seconds=1.0).connect(SETTINGS)
        assert time.monotonic() - began < 30


def test_what_is_sent_to_this_machine_goes_through_no_proxy(models, asking, texts, sentences, expected, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy, FaultServer(models) as server:
        for name in ("http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
            monkeypatch.delenv(name, raising=False)
        with asking(server, connect_seconds=10.0).connect(SETTINGS) as tagger:
            assert tagger(texts, sentences) == expected["fast"]
        proxy.settimeout(0.1)
        with pytest.raises(TimeoutError):
            proxy.accept()
