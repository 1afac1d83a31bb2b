"""The HTTP port of ``deid serve``: reads complete requests within a time limit and relays them to the server.

Triton 2.51 reads HTTP without time-outs and size limits. An unfinished request keeps its connection open for ever. A
body in many chunks ends the server. A compressed body may expand to more memory than the machine has. So the server
listens for HTTP only on a socket file, and this relay listens on the port. It reads each request completely within
:attr:`RelayLimits.request_s`. It refuses requests that Triton cannot handle safely. It relays each other request over a
connection of its own.
"""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

#: Headers that apply to one connection only (RFC 9110, section 7.6.1), and headers that the relay writes itself.
_OF_THE_CONNECTION: Final = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "host", "expect")
)
_PART_BYTES: Final = 65_536
_READ_ON_S: Final = 1.0
_READ_ON_PARTS: Final = 16
_ANSWER_S: Final = 600.0  # longest wait for the response; the request may queue behind others


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayLimits:
    """The limits for clients. Seconds are wall-clock seconds."""

    request_s: float = 30.0  # for the whole request, headers and body, from the start of the connection
    body_bytes: int = 64 * 2**20
    connections: int = 64  # at a time; further connections get status 503


class HttpRelay:
    """Relays HTTP from a port to the socket file of a server, in threads. Leaving the ``with`` block stops it."""

    def __init__(self, address: tuple[str, int], socket_path: str, limits: RelayLimits | None = None) -> None:
        """Start to listen on ``address``. Raises OSError when the address cannot be bound."""
        self._listener = _Listener(address, socket_path, limits or RelayLimits())
        self._thread = threading.Thread(target=self._listener.serve_forever, name="http-relay", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening. Open connections end when their request ends."""
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join(timeout=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class SocketFileConnection(http.client.HTTPConnection):
    """HTTP over a Unix domain socket. ``timeout_s`` limits each wait for a part of the response."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        """Open the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], socket_path: str, limits: RelayLimits) -> None:
        self.socket_path = socket_path
        self.limits = limits
        self.free = threading.BoundedSemaphore(limits.connections)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self.free.acquire(blocking=False):
            with suppress(OSError):
                request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: a traceback could quote a request, and a client that disconnects is no error of the relay."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.server.limits.request_s)

    def handle(self) -> None:
        """Handle the single request of this connection."""
        with self._deadline():
            self.raw_requestline = self.rfile.readline(_PART_BYTES + 1)
            if len(self.raw_requestline) > _PART_BYTES:
                self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG)
                return
            if not self.raw_requestline.endswith(b"\n") or not self.parse_request():
                return
            body = self._body()
        self.close_connection = True
        if body is not None:
            self._relay(body)

    @contextmanager
    def _deadline(self) -> Iterator[None]:
        """Shut the connection when the request is incomplete after ``request_s``, even while data still arrives."""

        def end() -> None:
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self.server.limits.request_s, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _body(self) -> bytes | None:
        """Return the body; None when the request was refused or is incomplete."""
        problem = self._problem()
        if problem is not None:
            self._refuse(problem)
            return None
        wanted = int(self.headers.get("Content-Length", "0"))
        parts = bytearray()
        while len(parts) < wanted:
            part = self.rfile.read1(min(_PART_BYTES, wanted - len(parts)))
            if not part:
                return None
            parts += part
        return bytes(parts)

    def _problem(self) -> HTTPStatus | None:
        """Return the error status for the request, judged by its headers; None when it is accepted."""
        if self.command not in ("GET", "POST"):
            return HTTPStatus.METHOD_NOT_ALLOWED
        if self.headers.get("Transfer-Encoding"):
            return HTTPStatus.LENGTH_REQUIRED
        if self.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        lengths = self.headers.get_all("Content-Length", ["0"])
        if len(lengths) != 1 or not (lengths[0].isascii() and lengths[0].isdecimal() and len(lengths[0]) < 16):
            return HTTPStatus.BAD_REQUEST
        if int(lengths[0]) > self.server.limits.body_bytes:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        return None

    def _relay(self, body: bytes) -> None:
        connection = SocketFileConnection(self.server.socket_path, _ANSWER_S)
        try:
            connection.putrequest(self.command, self.path, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _OF_THE_CONNECTION and name.lower() != "content-length":
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            content = response.read()
        except (OSError, ValueError, http.client.HTTPException):
            self._refuse(HTTPStatus.BAD_GATEWAY)
            return
        finally:
            connection.close()
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _OF_THE_CONNECTION and name.lower() != "content-length":
                self.send_header(name, value)
        self._end(content)

    def _refuse(self, status: HTTPStatus) -> None:
        """Send a response with ``status`` only, then read a little more of the request.

        A client that is still sending would otherwise not receive the response.
        """
        self.close_connection = True
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        with suppress(OSError):
            self.connection.sendall(head.encode("ascii"))
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(_READ_ON_S)
            for _ in range(_READ_ON_PARTS):
                if not self.connection.recv(_PART_BYTES):
                    break

    def _end(self, content: bytes) -> None:
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Log nothing: request lines may hold confidential data."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request that cannot be parsed, without the default error page, which quotes the request."""
        self._refuse(HTTPStatus(code))
