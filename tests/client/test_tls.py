"""Encrypted connections: the right authority is trusted, another is not, and the server may ask who the client is."""

import shutil
import subprocess

import grpc
import pytest

from deid_client.settings import Tls
from deid_runtime.errors import ModelError
from deid_runtime.settings import Settings
from tests.client.fault_server import FaultServer


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with openssl")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture(scope="module")
def server(models, certificate):
    """A server that asks its clients for a certificate."""
    chain, key = (path.read_bytes() for path in certificate)
    with FaultServer(models) as running:
        running.stop()
        running.start(grpc.ssl_server_credentials([(key, chain)], chain, require_client_auth=True))
        yield running


def test_mutual_tls_and_a_header(server, certificate, asking, texts, sentences, expected):
    chain, key = certificate
    tls = Tls(roots=chain, certificate=chain, key=key)
    server.metadata.clear()

    with asking(server, tls=tls, authorization="Bearer 9f2c").connect(Settings()) as tagger:
        assert tagger(texts, sentences) == expected["fast"]

    assert {each["authorization"] for each in server.metadata} == {"Bearer 9f2c"}


@pytest.mark.parametrize("kind", ["no-tls", "unknown-authority", "no-client-certificate"])
def test_who_is_not_trusted_gets_nowhere(server, certificate, asking, kind):
    chain, _ = certificate
    tls = {"no-tls": None, "unknown-authority": Tls(), "no-client-certificate": Tls(roots=chain)}[kind]
    server.asked.clear()

    with pytest.raises(ModelError, match=server.address):
        asking(server, tls=tls, connect_seconds=0.5).connect(Settings())
    assert not server.asked
