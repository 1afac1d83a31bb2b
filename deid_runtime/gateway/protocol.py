"""The connections of clients: uvicorn's HTTP/1.1 on h11, with additional time-outs and limits.

Uvicorn waits forever for the headers of a request, and for a client that does not read its answer. h11 refuses requests
whose length is not clear (two lengths, spaces before a colon, line ends in headers), which a proxy could interpret
differently.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from deid_runtime.gateway.clients import subject_text
from deid_runtime.gateway.problems import BAD_REQUEST, BUSY, MEDIA_TYPE, TOO_SLOW, ProblemError

#: The key of a request's scope with its :class:`Connection`.
CONNECTION: Final = "deid.connection"


@dataclass(frozen=True, slots=True)
class Connection:
    """The data of a connection for its requests: the subject of the client's certificate, and how to end it."""

    subject: str | None
    abort: Callable[[], None]


class GatewayProtocol(H11Protocol):
    """One connection. :func:`protocol_class` sets the limits."""

    most_connections = 512
    headers_s = 10.0

    _headers_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the headers, or refuse a connection above the limit."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._refuse(ProblemError(BUSY, "too many connections; connect again later", retry_s=1))
            return
        security: Any = transport.get_extra_info("ssl_object")
        certificate = security.getpeercert() if security is not None else None
        subject = subject_text(certificate["subject"]) if certificate else None
        connection, inner = Connection(subject, transport.abort), self.app

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope[CONNECTION] = connection
            await inner(scope, receive, send)

        self.app = app
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._headers_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read the data. Headers must be complete in time, however slowly they arrive."""
        super().data_received(data)
        if self.transport.is_closing() or (self.cycle is not None and not self.cycle.response_complete):
            self._headers_came()
        elif self._headers_timer is None and self.conn.trailing_data[0]:
            self._wait_for_headers()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0] and not self.transport.is_closing():
            self._wait_for_headers()

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not HTTP, or too many headers."""
        self._refuse(ProblemError(BAD_REQUEST, "this is not an HTTP/1.1 request, or its headers are too long"))

    def _wait_for_headers(self) -> None:
        self._headers_came()
        self._headers_timer = self.loop.call_later(self.headers_s, self._too_slow)

    def _headers_came(self) -> None:
        if self._headers_timer is not None:
            self._headers_timer.cancel()
            self._headers_timer = None

    def _too_slow(self) -> None:
        self._headers_timer = None
        self._refuse(ProblemError(TOO_SLOW, f"the headers must arrive within {self.headers_s:g} s"))

    def _refuse(self, problem: ProblemError) -> None:
        """Send a problem and close, whatever was read before."""
        self._headers_came()
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            content = json.dumps(problem.content("none")).encode("ascii")
            kind = problem.kind
            head = (
                f"HTTP/1.1 {kind.status} {kind.title}\r\ncontent-type: {MEDIA_TYPE}\r\n"
                f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode("ascii") + content)
        if cycle is not None:  # the application must no longer answer
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()


def protocol_class(most_connections: int, headers_s: float) -> type[GatewayProtocol]:
    """Return the class of connections with these limits."""
    limits = {"most_connections": most_connections, "headers_s": headers_s}
    return type("LimitedProtocol", (GatewayProtocol,), limits)
