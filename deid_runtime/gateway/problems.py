"""The errors that clients of the gateway see: problem details of RFC 9457, with no text of a request in them."""

import json
import math
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

MEDIA_TYPE: Final = "application/problem+json"
_TYPE: Final = "urn:deid:problem:"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of problem: its status, its name in ``type`` and in the audit log, and its title."""

    status: int
    name: str
    title: str


BAD_REQUEST: Final = Kind(400, "bad-request", "The request cannot be read")
NO_ACCESS: Final = Kind(401, "no-access", "No valid token or certificate")
FORBIDDEN: Final = Kind(403, "forbidden", "Not for this project")
KEY_REFUSED: Final = Kind(403, "key-refused", "The key cannot be used")
NOT_FOUND: Final = Kind(404, "not-found", "No such address")
WRONG_METHOD: Final = Kind(405, "wrong-method", "This method has no meaning here")
TOO_SLOW: Final = Kind(408, "too-slow", "The request did not come in time")
TOO_LARGE: Final = Kind(413, "too-large", "The request is too large")
WRONG_TYPE: Final = Kind(415, "wrong-type", "The content cannot be read in this form")
INVALID: Final = Kind(422, "invalid", "The request has a wrong value")
HELD_BACK: Final = Kind(422, "held-back", "The note was not de-identified")
RATE: Final = Kind(429, "rate", "Too many requests")
DEFECT: Final = Kind(500, "defect", "A defect of the gateway")
SERVER_FAILED: Final = Kind(502, "server-failed", "The servers failed on this note")
BUSY: Final = Kind(503, "busy", "The gateway is busy")
NO_SERVER: Final = Kind(503, "no-server", "No server answers")
NO_AUDIT: Final = Kind(503, "no-audit", "The audit log cannot be written")
DEADLINE: Final = Kind(504, "deadline", "The servers did not answer in time")

#: All kinds, by name.
KINDS: Final = {
    kind.name: kind
    for kind in (
        BAD_REQUEST, NO_ACCESS, FORBIDDEN, KEY_REFUSED, NOT_FOUND, WRONG_METHOD, TOO_SLOW, TOO_LARGE, WRONG_TYPE,
        INVALID, HELD_BACK, RATE, DEFECT, SERVER_FAILED, BUSY, NO_SERVER, NO_AUDIT, DEADLINE,
    )
}  # fmt: skip


@dataclass(slots=True, eq=False)
class ProblemError(Exception):
    """A request that is answered with a problem. ``detail`` says what was expected and has no text of the request.

    ``pointer`` is the place in the request as a JSON pointer, ``retry_s`` the seconds after which to retry.
    """

    kind: Kind
    detail: str
    pointer: str | None = None
    retry_s: float | None = None
    stage: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind.name}: {self.detail}"

    def content(self, request_id: str) -> dict[str, object]:
        """Return the problem as a JSON object."""
        found: dict[str, object] = {
            "type": _TYPE + self.kind.name,
            "title": self.kind.title,
            "status": self.kind.status,
            "detail": self.detail,
            "instance": f"urn:deid:request:{request_id}",
        }
        if self.pointer is not None:
            found["pointer"] = self.pointer
        if self.stage is not None:
            found["stage"] = self.stage
        return found

    def response(self, request_id: str) -> Response:
        """Return the answer to the request."""
        headers = dict(self.headers)
        if self.retry_s is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.retry_s)))
        if self.kind is NO_ACCESS:
            headers["www-authenticate"] = 'Bearer realm="deid"'
        content = json.dumps(self.content(request_id)).encode("ascii")
        return Response(content, self.kind.status, headers, MEDIA_TYPE)


def of_status(status: int) -> ProblemError:
    """Return the problem for a status that the router gives: unknown address or method."""
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return ProblemError(WRONG_METHOD, "this address supports other methods; /docs lists them")
    if status == HTTPStatus.NOT_FOUND:
        return ProblemError(NOT_FOUND, "there is nothing at this address; /docs lists the addresses")
    return ProblemError(BAD_REQUEST, "the request cannot be handled")
