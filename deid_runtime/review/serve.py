"""Serve a local page until the command is stopped."""

import logging
import socket
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from deid_runtime.errors import DeidError, OutputError
from deid_runtime.review.access import HOST, Door, Guard
from deid_runtime.review.project import ConflictError

_TYPES: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}

_Endpoint = Callable[[Request], Awaitable[Response]]


def listen(port: int) -> socket.socket:
    """Return a socket that listens only on this machine. Port 0 takes a free one. Raises OutputError."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((HOST, port))
        opened.listen()  # a link that was printed works at once
    except OSError as error:
        opened.close()
        raise OutputError(f"port {port} cannot be used: {error.strerror}; choose another with --port") from None
    return opened


def application(door: Door, page: str, files: tuple[str, ...], routes: list[BaseRoute]) -> Starlette:
    """Return the application with the page at ``/``, its ``files`` beside it, and ``routes``, all behind ``door``."""
    static: list[BaseRoute] = [Route(f"/{name}", _file(name)) for name in files]
    return Starlette(
        routes=[Route("/", _file(page)), *static, *routes],
        middleware=[Middleware(Guard, door=door)],
        exception_handlers={
            ConflictError: _error(409),
            DeidError: _error(400),
            ClientDisconnect: _error(400, "the request ended early or was too long"),
            Exception: _defect,
        },
    )


def serve(app: Starlette, opened: socket.socket) -> None:
    """Answer requests until a stop signal. Nothing is logged, because addresses and bodies may contain note text."""
    logging.getLogger("uvicorn.error").disabled = True
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", server_header=False)
    uvicorn.Server(config).run(sockets=[opened])


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request. Raises OutputError when there is none."""
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise OutputError("expected a JSON object")
    return body


def _file(name: str) -> _Endpoint:
    content = resources.files("deid_runtime").joinpath(f"data/review/{name}").read_bytes()
    media_type = _TYPES[name[name.rindex(".") :]]

    async def answer(request: Request) -> Response:
        return Response(content, media_type=media_type)

    return answer


def _error(status: int, text: str = "") -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": text or str(error)}, status)

    return answer


async def _defect(request: Request, error: Exception) -> Response:
    # Not its message: it may quote a value of the note.
    return JSONResponse({"error": f"unexpected {type(error).__name__}, a defect of deid"}, 500)
