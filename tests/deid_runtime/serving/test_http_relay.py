"""Test HTTP that never ends, is too long, chunked or compressed, on the real server behind its relay."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from deid_runtime.serving.http_port import HttpLimits, HttpPort
from deid_runtime.serving.http_relay import relay_to
from deid_runtime.serving.server import Server
from deid_runtime.serving.server_options import OWN_SOCKET
from tests.running_server import free_ports

HEAD = b"POST /v2/models/v0/infer HTTP/1.1\r\nHost: localhost\r\n"


@contextmanager
def relay(triton: Server, limits: HttpLimits) -> Iterator[int]:
    """Start another relay to the running server; yield its port."""
    [port] = free_ports(1)
    with HttpPort(("127.0.0.1", port), relay_to(f"/proc/{triton.pid}/cwd/{OWN_SOCKET}"), limits):
        yield port


def answer_to(port: int, *parts: bytes, pause_s: float = 0.0) -> bytes:
    """Send parts with pauses between them; return everything received until the connection ends."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause_s)
            while more := connection.recv(65_536):
                received += more
        except (BrokenPipeError, ConnectionResetError):
            pass
    return received


def test_a_request_is_answered_as_by_the_server(triton: Server) -> None:
    connection = http.client.HTTPConnection(triton.options.http or "", timeout=20)
    connection.request("GET", "/v2/models/v0")
    response = connection.getresponse()

    assert response.status == 200
    assert json.loads(response.read())["name"] == "v0"
    assert triton.ask("GET", "/v2/models/v0")[0] == 200


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((b"POST /v2",), id="half-a-line"),
        pytest.param((HEAD, b"X-A: b\r\n"), id="headers-without-end"),
        pytest.param((HEAD + b"Content-Length: 100\r\n\r\n", b"{"), id="half-a-body"),
        pytest.param((HEAD, *[b"X-A: b\r\n"] * 40), id="a-line-every-now-and-then"),
    ],
)
def test_a_request_that_is_never_finished_is_given_up(triton: Server, parts: tuple[bytes, ...]) -> None:
    with relay(triton, HttpLimits(request_s=0.5)) as port:
        started = time.monotonic()
        answer = answer_to(port, *parts, pause_s=0.1)

    assert answer == b""
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        pytest.param((HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 7_000), 411, id="chunks"),
        pytest.param((HEAD + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",), 415, id="packed"),
        pytest.param((HEAD + b"Content-Length: 1000001\r\n\r\n",), 413, id="long"),
        pytest.param((HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",), 400, id="two-lengths"),
        pytest.param((HEAD + b"Content-Length: -1\r\n\r\n",), 400, id="negative"),
        pytest.param((HEAD + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n",), 400, id="endless-length"),
        pytest.param((b"DELETE /v2/models/v0 HTTP/1.1\r\n\r\n",), 405, id="other-method"),
        pytest.param((b"\x16\x03\x01 secret text\r\n\r\n",), 400, id="no-http"),
        pytest.param((b"GET /" + b"x" * 70_000,), 414, id="long-line"),
        pytest.param((HEAD + b"X-A: " + b"x" * 70_000 + b"\r\n\r\n",), 431, id="long-header"),
        pytest.param((HEAD + b"X: y\r\n" * 200 + b"\r\n",), 431, id="many-headers"),
    ],
)
def test_what_the_server_cannot_take_is_refused_without_a_word_of_it(
    triton: Server, parts: tuple[bytes, ...], status: int
) -> None:
    with relay(triton, HttpLimits(request_s=5, body_bytes=1_000_000)) as port:
        answer = answer_to(port, *parts)

    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"secret" not in answer
    assert triton.ask("GET", "/v2/health/ready")[0] == 200


def test_connections_are_counted_and_given_back(triton: Server) -> None:
    with relay(triton, HttpLimits(request_s=3, connections=2)) as port, ExitStack() as stack:
        for _ in range(2):
            held = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            held.sendall(b"GET")
        time.sleep(0.3)
        refused = answer_to(port, b"GET /v2/health/ready HTTP/1.1\r\n\r\n")
        stack.close()
        time.sleep(0.3)
        taken = answer_to(port, b"GET /v2/health/ready HTTP/1.1\r\n\r\n")

    assert refused.startswith(b"HTTP/1.1 503 ")
    assert taken.startswith(b"HTTP/1.1 200 ")


def test_nothing_is_left_when_it_is_closed(triton: Server) -> None:
    before = threading.active_count()
    with relay(triton, HttpLimits()) as port:
        answer_to(port, b"GET /v2/health/ready HTTP/1.1\r\n\r\n")

    assert threading.active_count() <= before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
