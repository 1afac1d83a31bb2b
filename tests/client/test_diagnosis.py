"""Test that a client tells at once, against real servers, why it cannot use one."""

import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import grpc
import pytest
from click.testing import CliRunner

from deid_client.addresses import Address
from deid_client.diagnosis import Cause, Diagnosis, diagnose
from deid_client.settings import ServerSettings, Tls
from deid_runtime.cli.main import main
from deid_runtime.errors import ModelError
from deid_runtime.settings import Settings
from tests.client.certificates import Authority, Signed
from tests.client.conftest import NAME


@contextmanager
def grpc_server(own: Signed | None = None, clients: Path | None = None) -> Iterator[int]:
    """Run a server of gRPC without methods; with TLS when it has a certificate. Yield its port."""
    server = grpc.server(ThreadPoolExecutor(2))
    if own is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        roots = clients.read_bytes() if clients else None
        credentials = grpc.ssl_server_credentials([own.pair], roots, require_client_auth=clients is not None)
        port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()


@contextmanager
def http_server() -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@contextmanager
def listener() -> Iterator[int]:
    """Take connections and say nothing. Yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        yield silent.getsockname()[1]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("others"), "others")


def look(port: int, tls: Tls | None = None, host: str = "127.0.0.1") -> Diagnosis | None:
    settings = ServerSettings(endpoints=(f"{host}:{port}",), tls=tls)
    began = time.monotonic()
    found = asyncio.run(diagnose(Address(settings.endpoints[0]), settings))
    assert time.monotonic() - began < 5
    return found


def test_a_server_that_can_be_used_has_no_diagnosis(ours: Authority) -> None:
    server, client = ours.sign("server"), ours.sign("client")

    with grpc_server() as port:
        assert look(port) is None
    with grpc_server(server) as port:
        assert look(port, Tls(roots=ours.certificate)) is None
    with grpc_server(server, ours.certificate) as port:
        assert look(port, Tls(roots=ours.certificate, certificate=client.certificate, key=client.key)) is None


def test_a_closed_port_and_a_port_of_something_else() -> None:
    found = look(closed_port())
    assert found is not None
    assert (found.cause, found.is_lasting) == (Cause.WRONG_ADDRESS, False)
    assert "nothing listens there (connection refused)" in found.message

    with http_server() as port:
        found = look(port)
    assert found is not None
    assert (found.cause, found.is_lasting) == (Cause.NOT_OUR_SERVER, True)
    assert "an HTTP/1 server answers" in found.message

    with listener() as port:
        found = look(port)
    assert found is not None
    assert (found.cause, found.is_lasting) == (Cause.SILENT, False)
    assert "sends nothing" in found.message


def test_a_name_that_is_not_known(known: dict[str, list[str]], ours: Authority) -> None:
    known[NAME] = []

    found = look(8001, Tls(roots=ours.certificate), NAME)

    assert found is not None
    assert found.cause is Cause.NAME_NOT_FOUND
    assert f"the name {NAME} is not found; check its spelling" in found.message


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("other-authority", "not from an authority that you trust"),
        ("expired", "has expired"),
        ("other-name", "for another (name|address)"),
        ("no-client-certificate", "requires a client certificate; give --tls-cert"),
        ("other-client-certificate", "does not accept the client certificate"),
        ("client-without-tls", "the server requires TLS"),
        ("client-without-tls-to-mutual", "the server requires TLS"),
        ("server-without-tls", "the server does not use TLS"),
    ],
)
def test_tls_that_is_refused(ours: Authority, others: Authority, kind: str, message: str) -> None:
    server = ours.sign("server")
    stranger = others.sign("client")
    roots = Tls(roots=ours.certificate)
    with {
        "other-authority": lambda: grpc_server(others.sign("server")),
        "expired": lambda: grpc_server(ours.sign("old", days=-3)),
        "other-name": lambda: grpc_server(ours.sign("elsewhere", names=("elsewhere.test",))),
        "no-client-certificate": lambda: grpc_server(server, ours.certificate),
        "other-client-certificate": lambda: grpc_server(server, ours.certificate),
        "client-without-tls": lambda: grpc_server(server),
        "client-without-tls-to-mutual": lambda: grpc_server(server, ours.certificate),
        "server-without-tls": lambda: grpc_server(),
    }[kind]() as port:
        tls = {
            "other-client-certificate": Tls(roots=ours.certificate, certificate=stranger.certificate, key=stranger.key),
            "client-without-tls": None,
            "client-without-tls-to-mutual": None,
        }.get(kind, roots)
        found = look(port, tls)

    assert found is not None
    assert (found.cause, found.is_lasting) == (Cause.TLS_REFUSED, True)
    assert re.search(message, found.message), found.message


def test_the_library_says_it_at_once(ours: Authority, others: Authority) -> None:
    from deid_client.server import TritonServer

    with grpc_server(others.sign("server")) as port:
        settings = TritonServer(endpoints=(f"127.0.0.1:{port}",), tls=Tls(roots=ours.certificate), connect_seconds=60)
        began = time.monotonic()
        with pytest.raises(ModelError, match="not from an authority that you trust"):
            settings.connect(Settings())
        assert time.monotonic() - began < 10


def test_the_command_says_it_at_once(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"id": "n1", "text": "BP 120/80."}\n')
    began = time.monotonic()
    with http_server() as port:
        arguments = ["detect", str(notes), "-o", str(tmp_path / "out.jsonl"), "--server", f"127.0.0.1:{port}"]
        result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 2
    assert time.monotonic() - began < 5
    assert result.stderr.splitlines()[-1].startswith(f"deid: 127.0.0.1:{port}: not our server")


def test_the_command_says_what_it_waits_for(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"id": "n1", "text": "BP 120/80."}\n')
    port = closed_port()
    arguments = ["detect", str(notes), "-o", str(tmp_path / "out.jsonl"), "--server", f"127.0.0.1:{port}"]

    result = CliRunner().invoke(main, [*arguments, "--deadline", "0.7"])

    assert result.exit_code == 2
    first, last = [line for line in result.stderr.splitlines() if f":{port}" in line]
    assert "nothing listens there" in first
    assert "trying for 0.7 s" in first
    assert "no server was reached in 0.7 s" in last
