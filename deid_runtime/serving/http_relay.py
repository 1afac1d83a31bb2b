"""The HTTP port of ``deid serve``: relays complete requests to the server.

Triton 2.51 reads HTTP without time-outs and size limits. An unfinished request keeps its connection open forever. A
body in many chunks crashes the server. A compressed body may expand to more memory than the machine has. So the server
listens for HTTP only on a socket file, and an :class:`~deid_runtime.serving.http_port.HttpPort` listens on the port. It
reads each request completely and refuses requests that Triton cannot handle safely. This module relays each other
request over a new connection.
"""

import http.client
import socket
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Final

from deid_runtime.serving.http_port import Request, Response

#: Headers that apply to one connection only (RFC 9110, section 7.6.1), and headers that the relay writes itself.
_OF_THE_CONNECTION: Final = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "host", "expect",
     "content-length")
)  # fmt: skip
_ANSWER_S: Final = 600.0  # longest wait for the response; the request may queue behind others


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


def relay_to(socket_path: str, timeout_s: float = _ANSWER_S) -> Callable[[Request], Response | HTTPStatus]:
    """Return a function that relays requests to a socket file; BAD_GATEWAY when there is no complete response."""

    def relay(request: Request) -> Response | HTTPStatus:
        connection = SocketFileConnection(socket_path, timeout_s)
        try:
            connection.putrequest(request.method, request.path, skip_accept_encoding=True)
            for name, value in _passed_on(request.headers):
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body)
            response = connection.getresponse()
            content = response.read()
        except (OSError, ValueError, http.client.HTTPException):
            return HTTPStatus.BAD_GATEWAY
        finally:
            connection.close()
        return Response(response.status, _passed_on(response.getheaders()), content)

    return relay


def _passed_on(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers if name.lower() not in _OF_THE_CONNECTION]
