"""Who may use a local page: this machine only, with a link that works once, and no trace left in the browser."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Most bytes of one request. A note of 50,000 characters with a thousand spans takes about 300 kB.
MOST_BYTES: Final = 4 * 2**20
HOST: Final = "127.0.0.1"

_HEADERS: Final[Mapping[str, str]] = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass(slots=True)
class Door:
    """The links of a page. Each works once and then is the session of one person, known by a cookie."""

    port: int
    _links: dict[str, str] = field(default_factory=dict, repr=False)  # token -> person
    _sessions: dict[str, str] = field(default_factory=dict, repr=False)  # secret of the cookie -> person

    @property
    def cookie(self) -> str:
        """Return the name of the cookie. Browsers share cookies between ports, so it has the port."""
        return f"deid_{self.port}"

    def link(self, person: str) -> str:
        """Return a new link for ``person``; it works once."""
        token = secrets.token_urlsafe(32)
        self._links[token] = person
        return f"http://{HOST}:{self.port}/enter?token={token}"

    def enter(self, token: str) -> str | None:
        """Mark a link as used. Return the secret of the new session, or None for a link that is wrong or used."""
        person = self._links.pop(_same(token, self._links), None)
        if person is None:
            return None
        secret = secrets.token_urlsafe(32)
        self._sessions[secret] = person
        return secret

    def person(self, request: Request) -> str | None:
        """Return the person whose session a request belongs to, or None."""
        try:
            cookie = SimpleCookie(request.headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        return self._sessions.get(_same(cookie.value, self._sessions)) if cookie else None


def _same(value: str, known: Mapping[str, str]) -> str:
    """Return the key of ``known`` that equals ``value``, or an empty string, in a time that does not depend on it."""
    found = ""
    for each in known:
        if hmac.compare_digest(each.encode(), value.encode()):
            found = each
    return found


class Guard:
    """ASGI middleware that lets only sessions of ``door`` through, bounds requests, and sets the security headers.

    The person of the session is ``request.state.person`` for the application.
    """

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message.get("headers", [])}
                extra = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [
                    *message.get("headers", []), *((name, value) for name, value in extra if name not in names)
                ]  # fmt: skip
            await send(message)

        refused = self._refused(Request(scope))
        if refused is not None:
            await refused(scope, receive, send_guarded)
            return
        await self._app(scope, _bounded(receive), send_guarded)

    def _refused(self, request: Request) -> Response | None:
        """Return the answer to a request that the application must not see, or None."""
        own = {f"{HOST}:{self._door.port}", f"localhost:{self._door.port}"}
        # Another name that resolves to this machine is a foreign page (DNS rebinding).
        if request.headers.get("host") not in own:
            return PlainTextResponse("wrong host", 421)
        if request.url.path == "/enter" and request.method == "GET":
            secret = self._door.enter(request.query_params.get("token", ""))
            if secret is None:
                return PlainTextResponse("This link was already used or is wrong. Start the command again.", 403)
            answer = RedirectResponse("/", 303)
            answer.set_cookie(self._door.cookie, secret, httponly=True, samesite="strict", path="/")
            return answer
        person = self._door.person(request)
        if person is None:
            return PlainTextResponse("No session. Open the link that the command printed.", 403)
        origin = request.headers.get("origin")
        if request.method not in ("GET", "HEAD") and origin not in {f"http://{name}" for name in own}:
            return JSONResponse({"error": "request from another page"}, 403)
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return JSONResponse({"error": f"expected at most {MOST_BYTES} bytes"}, 413)
        request.scope.setdefault("state", {})["person"] = person
        return None


def _bounded(receive: Receive) -> Receive:
    """Return a ``receive`` that ends a request whose body is longer than :data:`MOST_BYTES`."""
    seen = 0

    async def receive_bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > MOST_BYTES else message

    return receive_bounded
