"""An HTTP port: reads complete requests within a time limit and answers each by a function, in threads.

Each connection has one request. The port refuses everything except simple requests: other methods than GET and POST,
chunked bodies, compressed or too large bodies, and connections above the limit.
"""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

_PART_BYTES: Final = 65_536
_READ_ON_S: Final = 1.0
_READ_ON_PARTS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """The limits for clients. Seconds are wall-clock seconds."""

    request_s: float = 30.0  # for the whole request, headers and body, from the start of the connection
    body_bytes: int = 64 * 2**20
    connections: int = 64  # at a time; further connections get status 503


@dataclass(frozen=True, slots=True)
class Request:
    """A complete request."""

    method: str
    path: str = field(repr=False)
    headers: Sequence[tuple[str, str]] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Response:
    """The response to a request. The port adds the headers for length and connection."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    content: bytes = field(default=b"", repr=False)


#: Answers a request with a response, or refuses it with a status only.
Responder = Callable[[Request], Response | HTTPStatus]


class HttpPort:
    """Listens on a port and answers requests. Leaving the ``with`` block stops it."""

    def __init__(self, address: tuple[str, int], answer: Responder, limits: HttpLimits | None = None) -> None:
        """Start to listen on ``address``. Raises OSError when the address cannot be bound."""
        self._listener = _Listener(address, answer, limits or HttpLimits())
        self._thread = threading.Thread(target=self._listener.serve_forever, name="http-port", daemon=True)
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


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], answer: Responder, limits: HttpLimits) -> None:
        self.answer = answer
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
        """Log nothing: a traceback could quote a request, and a client that disconnects is not an error of the port."""


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
            self._answer(body)

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

    def _answer(self, body: bytes) -> None:
        answer = self.server.answer(Request(self.command, self.path, tuple(self.headers.items()), body))
        if isinstance(answer, HTTPStatus):
            self._refuse(answer)
            return
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self._end(answer.content)

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
        """Log nothing: request lines may contain confidential data."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request that cannot be parsed, without the default error page, which quotes the request."""
        self._refuse(HTTPStatus(code))
