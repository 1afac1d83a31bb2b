"""Test a service that is down or has other models: one clear message, and not one deadline per note."""

import time
from contextlib import suppress

import grpc
import pytest

from deid_client.errors import FAILURE_KINDS, FailureKind
from deid_runtime.errors import ModelError
from deid_runtime.settings import Settings
from tests.client import fault_server as faults
from tests.client.fault_server import FaultServer, abort

SETTINGS = Settings(window_cache_bytes=0)


def test_every_status_of_grpc_is_a_kind_of_failure():
    assert set(FAILURE_KINDS) == set(grpc.StatusCode)
    assert all(isinstance(kind, FailureKind) for kind in FAILURE_KINDS.values())


def test_no_server_at_all_is_an_error_that_names_it(models, asking):
    server = FaultServer(models)
    server.stop()

    with pytest.raises(ModelError, match=rf"{server.address}.*deid serve"):
        asking(server, connect_seconds=0.3).connect(SETTINGS)


@pytest.mark.parametrize(
    ("code", "remedy"),
    [(grpc.StatusCode.UNAUTHENTICATED, "authorisation"), (grpc.StatusCode.UNIMPLEMENTED, "the port is the gRPC port")],
)
def test_a_server_that_will_never_do_is_told_at_once(models, asking, code, remedy):
    with FaultServer(models) as server:
        server.refuses_config = code
        began = time.monotonic()
        with pytest.raises(ModelError, match=rf"{server.address} answered {code.name}; .*{remedy}"):
            asking(server).connect(SETTINGS)
        assert time.monotonic() - began < 10  # not the 20 s that a server may take to come


def test_a_server_without_the_models_of_a_route_is_told_with_the_remedy(models, asking):
    with FaultServer(models) as server:
        server.refuses_config = grpc.StatusCode.NOT_FOUND
        with pytest.raises(ModelError, match=r"NOT_FOUND; .*deid-export models repository"):
            asking(server, connect_seconds=0.3).connect(SETTINGS)


def test_a_server_that_comes_late_is_waited_for(models, asking, texts, sentences, expected):
    server = FaultServer(models)
    server.stop_for(0.5)
    time.sleep(0.1)

    with server, asking(server).connect(SETTINGS) as tagger:
        assert tagger(texts, sentences) == expected["fast"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("interface_version", "1"),
        ("graph", "v7"),
        ("graph_sha256", "0" * 64),
        ("tokenizer_sha256", ""),
        ("labels", '{"name": ["B-PATIENT"]}'),
        ("labels", "no json"),
    ],
)
def test_other_models_are_refused(models, asking, texts, sentences, expected, caplog, name, value):
    """Test a server of other models alone, and beside a right one: there it is left out, as while servers change."""
    with FaultServer(models) as good, FaultServer(models) as bad:
        bad.parameters[name] = value
        with pytest.raises(ModelError, match=bad.address) as raised:
            asking(bad).connect(SETTINGS)
        with asking(good, bad).connect(SETTINGS) as tagger:
            assert tagger(texts, sentences) == expected["fast"]
        assert not bad.asked

    assert "manifest" in str(raised.value)
    assert f"an endpoint is not used: {bad.address}" in caplog.text


def test_a_server_that_comes_back_with_other_models_is_not_asked(models, asking, texts, sentences, expected):
    with (
        FaultServer(models) as good,
        FaultServer(models) as bad,
        asking(good, bad).connect(SETTINGS) as tagger,
    ):
        bad.stop()
        bad.parameters["graph_sha256"] = "0" * 64
        bad.asked.clear()
        bad.start()
        for _ in range(5):
            assert tagger(texts, sentences) == expected["fast"]
        assert not bad.asked


def test_the_only_server_that_comes_back_with_other_models_is_an_error(models, asking, texts, sentences):
    with FaultServer(models) as server, asking(server).connect(SETTINGS) as tagger:
        server.stop()
        server.parameters["graph_sha256"] = "0" * 64
        server.asked.clear()
        server.start()
        with pytest.raises(ModelError, match="graph_sha256"):
            tagger(texts, sentences)
        assert not server.asked


def _found_again(tagger, texts, sentences):
    """Return the first answer, or None after a minute."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(ModelError):
            return tagger(texts, sentences)
        time.sleep(0.05)
    return None


def test_a_dead_service_costs_one_deadline_and_is_found_again(models, asking, texts, sentences, expected):
    with FaultServer(models) as server, asking(server, batch_seconds=1.5).connect(SETTINGS) as tagger:
        server.stop()
        began = time.monotonic()
        with pytest.raises(ModelError, match="given up after 1.5 s"):
            tagger(texts, sentences)
        for _ in range(20):
            with pytest.raises(ModelError, match="the service is down"):
                tagger(texts, sentences)
        assert time.monotonic() - began < 21 * 1.5 / 2

        server.start()
        assert _found_again(tagger, texts, sentences) == expected["fast"]


@pytest.mark.parametrize("was_down", [False, True])
def test_a_service_that_was_too_busy_is_found_again(models, asking, texts, sentences, expected, was_down):
    busy = abort(grpc.StatusCode.RESOURCE_EXHAUSTED)
    with FaultServer(models, always=busy) as server, asking(server, batch_seconds=1.0).connect(SETTINGS) as tagger:
        if was_down:
            server.stop()
        with pytest.raises(ModelError):
            tagger(texts, sentences)
        if was_down:
            server.start()
        time.sleep(0.5)
        server.always = None
        assert _found_again(tagger, texts, sentences) == expected["fast"]


def test_a_service_that_only_looks_alive_costs_one_call_after_its_deadline(models, asking, texts, sentences):
    with (
        FaultServer(models, always=abort(grpc.StatusCode.UNAVAILABLE)) as server,
        asking(server, batch_seconds=0.5).connect(SETTINGS) as tagger,
    ):
        with pytest.raises(ModelError):
            tagger(texts, sentences)
        began = time.monotonic()
        calls = len(server.asked)
        while time.monotonic() - began < 1.0:
            with pytest.raises(ModelError):
                tagger(texts, sentences)
            time.sleep(0.01)
        # After each apparent recovery only a few calls were tried, not all calls of a deadline.
        assert len(server.asked) - calls < 60


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, "authorisation"),
        (grpc.StatusCode.INVALID_ARGUMENT, "malformed"),
    ],
)
def test_what_cannot_be_mended_is_not_tried_again(models, asking, texts, sentences, code, remedy):
    with FaultServer(models, always=abort(code)) as server, asking(server).connect(SETTINGS) as tagger:
        with pytest.raises(ModelError, match=remedy):
            tagger(texts, sentences)
        time.sleep(0.1)
        assert len({request for request, _ in server.asked}) == len(server.asked) <= 4


def test_a_hanging_server_is_left_for_another(models, asking, texts, sentences, expected):
    with (
        FaultServer(models, always=faults.slow(6.0)) as hanging,
        FaultServer(models) as good,
        asking(hanging, good, call_seconds=2.0).connect(SETTINGS) as tagger,
    ):
        assert tagger(texts, sentences) == expected["fast"]
        assert hanging.asked
