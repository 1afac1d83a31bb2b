"""Test a host name with several addresses: each is a server that is used, checked and replaced by the others."""

import time
from contextlib import contextmanager

import grpc
import pytest

from deid_client.addresses import Address, is_name
from deid_client.server import TritonServer
from deid_client.settings import Tls
from deid_runtime.errors import ModelError
from deid_runtime.settings import Settings
from tests.client.conftest import NAME, make_certificate
from tests.client.fault_server import FaultServer

QUICK = {"first_pause_seconds": 0.02, "longest_pause_seconds": 0.2, "lookup_seconds": 0.1, "connect_seconds": 20.0}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Return the certificate of the name and its key, because connections to a name are encrypted."""
    return make_certificate(tmp_path_factory.mktemp("tls"), f"DNS:{NAME}")


@pytest.fixture(scope="module")
def serving(models, certificate):
    """Return a function that makes servers with the certificate of the name."""
    chain, key = (path.read_bytes() for path in certificate)
    credentials = grpc.ssl_server_credentials([(key, chain)])

    def make(**where):
        return FaultServer(models, credentials=credentials, **where)

    return make


@pytest.fixture(scope="module")
def asking_name(certificate):
    def make(port, **changes):
        settings = {"request_tokens": 256, "tls": Tls(roots=certificate[0]), **QUICK, **changes}
        return TritonServer(endpoints=(f"{NAME}:{port}",), **settings)

    return make


@contextmanager
def two_servers(serving):
    """Return two servers on one port of two addresses of this machine."""
    with serving() as first, serving(host="127.0.0.2", port=first.port) as second:
        yield first, second


@pytest.mark.parametrize("is_streaming", [False, True])
def test_all_addresses_of_a_name_are_used(known, serving, asking_name, texts, sentences, expected, is_streaming):
    with (
        two_servers(serving) as (first, second),
        asking_name(first.port, is_streaming=is_streaming).connect(Settings(window_cache_bytes=0)) as tagger,
    ):
        assert tagger(texts, sentences) == expected["fast"]
        assert first.asked
        assert second.asked


def test_one_address_stands_in_for_another(known, serving, asking_name, texts, sentences, expected):
    with (
        two_servers(serving) as (first, second),
        asking_name(first.port).connect(Settings(window_cache_bytes=0)) as tagger,
    ):
        for gone, left in ((first, second), (second, first)):
            gone.stop()
            left.asked.clear()
            assert tagger(texts, sentences) == expected["fast"]
            assert left.asked
            gone.start()


def until_asked(tagger, server, texts, sentences, expected):
    """Send requests until ``server`` gets one too."""
    server.asked.clear()
    until = time.monotonic() + 30
    while not server.asked and time.monotonic() < until:
        assert tagger(texts, sentences) == expected["fast"]
    assert server.asked


def test_a_server_that_comes_is_found_and_one_that_goes_is_asked_no_more(
    known, serving, asking_name, texts, sentences, expected
):
    with (
        two_servers(serving) as (first, second),
        serving(host="127.0.0.3", port=first.port) as third,
        asking_name(first.port).connect(Settings(window_cache_bytes=0)) as tagger,
    ):
        assert tagger(texts, sentences) == expected["fast"]
        assert not third.asked
        known[NAME] = ["127.0.0.2", "127.0.0.3"]
        until_asked(tagger, third, texts, sentences, expected)
        first.asked.clear()
        for _ in range(5):
            assert tagger(texts, sentences) == expected["fast"]
        assert not first.asked
        known[NAME] = []  # known addresses stay when the name server fails
        time.sleep(0.3)
        second.stop()
        until_asked(tagger, third, texts, sentences, expected)


def test_servers_of_other_models_behind_a_name_are_refused_by_their_addresses(known, serving, asking_name):
    with two_servers(serving) as (first, second):
        first.parameters["graph_sha256"] = second.parameters["graph_sha256"] = "0" * 64
        with pytest.raises(ModelError, match=rf"{NAME}:{first.port} \(127\.0\.0\.[12]\): graph_sha256"):
            asking_name(first.port).connect(Settings(window_cache_bytes=0))


def test_a_name_that_is_not_known_is_told(known, asking_name):
    known[NAME] = []

    with pytest.raises(ModelError, match=rf"no server answers.*{NAME}:8001"):
        asking_name(8001, connect_seconds=0.3).connect(Settings(window_cache_bytes=0))


@pytest.mark.parametrize(
    ("endpoint", "expected"), [("triton:8001", True), ("127.0.0.1:8001", False), ("[::1]:8001", False)]
)
def test_only_names_are_looked_up(endpoint, expected):
    assert is_name(endpoint) == expected


@pytest.mark.parametrize(
    ("address", "target"),
    [
        (Address("triton:8001"), "triton:8001"),
        (Address("triton:8001", "10.0.0.3"), "ipv4:10.0.0.3:8001"),
        (Address("triton:8001", "fd00::3"), "ipv6:[fd00::3]:8001"),
    ],
)
def test_targets(address, target):
    assert address.target == target
