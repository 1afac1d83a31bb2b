"""Test encrypted connections: only the right authority is trusted, and the server may ask for a client certificate."""

import grpc
import pytest

from deid_client import endpoint
from deid_client.server import TritonServer
from deid_client.settings import Tls
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.settings import Settings
from tests.client.certificates import Authority
from tests.client.conftest import NAME, make_certificate
from tests.client.fault_server import FaultServer


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"), "IP:127.0.0.1")


@pytest.fixture(scope="module")
def server(models, certificate):
    """Start a server that asks its clients for a certificate."""
    chain, key = (path.read_bytes() for path in certificate)
    credentials = grpc.ssl_server_credentials([(key, chain)], chain, require_client_auth=True)
    with FaultServer(models, credentials=credentials) as running:
        yield running


def test_mutual_tls_and_a_header(server, certificate, asking, texts, sentences, expected):
    chain, key = certificate
    tls = Tls(roots=chain, certificate=chain, key=key)
    server.metadata.clear()

    with asking(server, tls=tls, authorization="Bearer 9f2c").connect(Settings(window_cache_bytes=0)) as tagger:
        assert tagger(texts, sentences) == expected["fast"]

    assert {each["authorization"] for each in server.metadata} == {"Bearer 9f2c"}


def test_a_private_key_that_others_can_read_is_refused(server, certificate, asking, tmp_path):
    chain, key = certificate
    shared = tmp_path / "key.pem"
    shared.write_bytes(key.read_bytes())
    shared.chmod(0o640)

    with pytest.raises(SettingsError, match=r"key\.pem.*chmod 600"):
        asking(server, tls=Tls(roots=chain, certificate=chain, key=shared)).connect(Settings(window_cache_bytes=0))


@pytest.mark.parametrize("kind", ["no-tls", "unknown-authority", "no-client-certificate"])
def test_who_is_not_trusted_gets_nowhere(server, certificate, asking, kind):
    chain, _ = certificate
    tls = {"no-tls": None, "unknown-authority": Tls(), "no-client-certificate": Tls(roots=chain)}[kind]
    server.asked.clear()

    with pytest.raises(ModelError, match=server.address):
        asking(server, tls=tls, connect_seconds=0.5).connect(Settings(window_cache_bytes=0))
    assert not server.asked


def test_servers_behind_a_name_show_the_certificate_of_the_name(models, known, tmp_path, texts, sentences, expected):
    chain, key = make_certificate(tmp_path, f"DNS:{NAME}")
    credentials = grpc.ssl_server_credentials([(key.read_bytes(), chain.read_bytes())])
    with FaultServer(models, credentials=credentials) as server:
        settings = TritonServer(endpoints=(f"{NAME}:{server.port}",), tls=Tls(roots=chain), request_tokens=256)
        with settings.connect(Settings(window_cache_bytes=0)) as tagger:
            assert tagger(texts, sentences) == expected["fast"]


def test_a_certificate_that_expires_while_notes_are_sent_is_named(
    models, asking, tmp_path, texts, sentences, expected, caplog
):
    authority = Authority(tmp_path, "ours")
    good, old = (
        grpc.ssl_server_credentials([authority.sign(name, days=days).pair]) for name, days in (("good", 2), ("old", -1))
    )
    with FaultServer(models, credentials=good) as server:
        settings = asking(server, tls=Tls(roots=authority.certificate), batch_seconds=4.0)
        with settings.connect(Settings(window_cache_bytes=0)) as tagger:
            assert tagger(texts, sentences) == expected["fast"]
            server.stop()
            with (
                FaultServer(models, port=server.port, credentials=old),
                pytest.raises(ModelError, match="certificate of the server has expired; renew it"),
            ):
                tagger(texts, sentences)
            assert "certificate of the server has expired" in caplog.text  # not only at the deadline


def test_a_header_whose_file_is_being_replaced_goes_on_being_sent(
    models, asking, tmp_path, texts, sentences, expected, monkeypatch
):
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_text("Bearer 9f2c")
    monkeypatch.setattr(endpoint, "_HEADER_SECONDS", 0.0)
    with (
        FaultServer(models) as server,
        asking(server, authorization_file=file).connect(Settings(window_cache_bytes=0)) as tagger,
    ):
        file.unlink()
        assert tagger(texts, sentences) == expected["fast"]
        assert server.metadata[-1]["authorization"] == "Bearer 9f2c"
        file.touch(mode=0o600)
        file.write_text("Bearer 77aa")
        assert tagger(texts, sentences) == expected["fast"]
        assert server.metadata[-1]["authorization"] == "Bearer 77aa"


@pytest.mark.parametrize(
    ("version", "warned"),
    [("2.51.0", "2.51"), ("2.58.1", "2.58"), ("2.59.0", None), ("2.60.0", None), ("of our own", None), ("", None)],
)
def test_an_old_server_on_another_machine_is_warned_of_once(models, known, tmp_path, caplog, version, warned):
    chain, key = make_certificate(tmp_path, f"DNS:{NAME}")
    credentials = grpc.ssl_server_credentials([(key.read_bytes(), chain.read_bytes())])
    with (
        FaultServer(models, credentials=credentials) as server,
        FaultServer(models, host="127.0.0.2", port=server.port, credentials=credentials) as other,
    ):
        server.version = other.version = version
        settings = TritonServer(endpoints=(f"{NAME}:{server.port}",), tls=Tls(roots=chain))
        with settings.connect(Settings(window_cache_bytes=0)):
            pass

    said = [record.getMessage() for record in caplog.records]
    if warned is None:
        assert said == []
    else:
        [warning] = said
        assert f"{NAME}:{server.port}" in warning
        assert f"Triton {warned};" in warning
        assert "2.59 (container 25.07)" in warning


def test_an_old_server_on_this_machine_is_as_good_as_any(models, asking, caplog):
    with FaultServer(models) as server:
        server.version = "2.51.0"
        with asking(server).connect(Settings(window_cache_bytes=0)):
            assert caplog.records == []
