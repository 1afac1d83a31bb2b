"""Middleware for every request: header checks, a request id, times, and safe answers."""

import asyncio
import logging
import secrets
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deid_runtime.gateway.metrics import GatewayMetrics
from deid_runtime.gateway.problems import BAD_REQUEST, DEFECT, ProblemError
from deid_runtime.gateway.protocol import CONNECTION

#: Headers that a proxy and the gateway could interpret differently when they occur twice.
_ONCE: Final = frozenset(
    (b"authorization", b"content-encoding", b"content-length", b"content-type", b"host", b"transfer-encoding")
)
_HEADERS: Final[Mapping[bytes, bytes]] = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
_DRAIN_S: Final = 1.0
_DRAIN_BYTES: Final = 16 * 2**20
_FIRST_ERROR: Final = 400

_logger = logging.getLogger(__name__)


class Guard:
    """ASGI middleware around the application. The id of a request is ``request.state.request_id``.

    An id that a client sends is not used, because it could contain a name.
    """

    def __init__(self, app: ASGIApp, metrics: GatewayMetrics, answer_s: float, operations: Mapping[str, str]) -> None:
        self._app = app
        self._metrics = metrics
        self._answer_s = answer_s
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        exchange = _Exchange(scope, receive, send, self._answer_s)
        scope.setdefault("state", {})["request_id"] = exchange.request_id
        operation = self._operations.get(scope["path"], "other")
        begun = time.monotonic()
        with self._metrics.in_progress.track_inprogress():
            try:
                problem = header_problem(scope["headers"])
                if problem is None:
                    await self._app(scope, exchange.receive, exchange.send)
                else:
                    await exchange.refuse(problem)
            except ClientDisconnect:
                exchange.abort()
            except ProblemError as error:
                self._metrics.problems.labels(error.kind.name).inc()
                await exchange.refuse(error)
            except Exception as error:  # noqa: BLE001 - its message and its traceback may hold note text
                _logger.error(
                    "a defect: %s at %s, request %s", type(error).__name__, _place(error), exchange.request_id
                )
                await exchange.refuse(ProblemError(DEFECT, f"unexpected {type(error).__name__}, a defect of deid"))
        self._metrics.requests.labels(operation, str(exchange.status or "gone")).inc()
        self._metrics.seconds.labels(operation).observe(time.monotonic() - begun)


class _Exchange:
    """One request and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, answer_s: float) -> None:
        self.request_id = secrets.token_hex(8)
        self.status = 0
        self._scope = scope
        self._receive = receive
        self._send = send
        self._answer_s = answer_s
        self._has_body = True  # more of the body may come
        self._is_gone = False

    async def receive(self) -> Message:
        """Return the next part of the request."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._is_gone = True
            self._has_body = False
        elif not message.get("more_body", False):
            self._has_body = False
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with the headers of every answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": self._headers(message)}
        is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if is_last and self._has_body and self.status >= _FIRST_ERROR:
            # Many clients read the answer after they have sent all; a connection that closes at once would break it.
            await self._timed({**message, "more_body": True})
            await self._drain()
            message = {"type": "http.response.body", "body": b""}
        await self._timed(message)

    async def refuse(self, problem: ProblemError) -> None:
        """Answer with a problem; an answer that has begun is aborted, so that it does not look complete."""
        if self.status:
            self.abort()
            return
        await problem.response(self.request_id)(self._scope, self.receive, self.send)

    def abort(self) -> None:
        """End the connection at once."""
        connection = self._scope.get(CONNECTION)
        if connection is not None:
            connection.abort()

    def _headers(self, message: Message) -> list[tuple[bytes, bytes]]:
        given = list(message.get("headers", []))
        names = {name.lower() for name, _ in given}
        extra = [*_HEADERS.items(), (b"x-request-id", self.request_id.encode("ascii"))]
        if self.status >= _FIRST_ERROR and self._has_body:
            extra.append((b"connection", b"close"))
        return [*given, *((name, value) for name, value in extra if name not in names)]

    async def _timed(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self._answer_s):
                await self._send(message)
        except TimeoutError:
            self.abort()
            raise ClientDisconnect from None

    async def _drain(self) -> None:
        """Read a little more of the body, and drop it."""
        seen = 0
        try:
            async with asyncio.timeout(_DRAIN_S):
                while self._has_body and seen < _DRAIN_BYTES:
                    seen += len((await self.receive()).get("body", b""))
        except TimeoutError:
            return


def header_problem(headers: list[tuple[bytes, bytes]]) -> ProblemError | None:
    """Return what is wrong with the headers of a request; None when nothing is wrong."""
    names = [name for name, _ in headers]
    twice = next((name for name in _ONCE if names.count(name) > 1), None)
    if twice is not None:
        return ProblemError(BAD_REQUEST, f"the header {twice.decode('ascii')} occurs twice; send it once")
    if b"content-length" in names and b"transfer-encoding" in names:
        return ProblemError(BAD_REQUEST, "give content-length or transfer-encoding, not both")
    return None


async def has_gone(request: Request) -> None:
    """Return when the client has gone. Only after the whole body was read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _place(error: Exception) -> str:
    """Return file names and line numbers of the project's code in the traceback, last call first, without values."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "deid_" in frame.filename]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames)) or "no line of deid"
