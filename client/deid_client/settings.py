"""The settings of the connection to a server, in one frozen record that is sent to worker processes."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from deid_runtime.errors import SettingsError
from deid_runtime.system.secret_files import check_secret_file
from deid_runtime.text.windows import WINDOW_TOKENS

#: fused: one request per graph. ensemble: the server runs an ensemble of encoder and heads.
Route = Literal["fused", "ensemble"]

DEFAULT_PORT: Final = 8001


@dataclass(frozen=True, kw_only=True)
class Tls:
    """Encryption of the connection. With ``certificate`` and ``key`` the client also authenticates (mutual TLS)."""

    roots: Path | None = None  # PEM file of trusted authorities; None: the authorities that gRPC ships
    certificate: Path | None = None  # PEM file with the client's certificate chain
    key: Path | None = field(default=None, repr=False)  # PEM file with the client's private key
    server_name: str | None = None  # name in the server's certificate, if it differs from the endpoint's host

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise SettingsError("mutual TLS needs both a certificate and its key; one of them is missing")


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The endpoints of the service, and the options of requests. No option changes an answer.

    Seconds are wall-clock seconds. Raises SettingsError for a wrong value, and for an endpoint beyond the loopback
    without ``tls``: note text can be read from the requests.
    """

    #: host:port of gRPC. Several endpoints share the requests, and the others replace a failed one. The same holds for
    #: several addresses of one host name.
    endpoints: tuple[str, ...]
    is_streaming: bool = False  # one bidirectional stream per endpoint instead of one call per request
    route: Route = "fused"
    request_tokens: int = 4096  # most tokens per request, padding included: windows times their width
    request_rows: int = 64  # most windows per request; must not exceed the server's max_batch_size
    requests_in_flight: int = 4  # most per process; further requests wait
    call_seconds: float = 30.0  # deadline of one call of up to 4096 tokens; proportionally longer for a larger call
    batch_seconds: float = 120.0  # deadline of one batch of windows, including all calls and pauses
    connect_seconds: float = 30.0  # how long to wait for a first server when loading
    lookup_seconds: float = 10.0  # interval at which host names are resolved again, to follow changes
    fault_attempts: int = 3  # most calls for one question that get faulty answers; on other endpoints if possible
    first_pause_seconds: float = 0.1  # after a failed call; doubles with each further one, less a random part
    longest_pause_seconds: float = 5.0
    tls: Tls | None = None
    authorization: str | None = field(default=None, repr=False)  # value of the header, such as "Bearer ..."
    authorization_file: Path | None = None  # file with that value, read again every minute
    allow_shared_secrets: bool = False  # accept that file and the key of ``tls`` when other users can open them

    def __post_init__(self) -> None:
        object.__setattr__(self, "endpoints", tuple(_endpoint(name) for name in self.endpoints))
        if not self.endpoints or len(set(self.endpoints)) < len(self.endpoints):
            raise SettingsError("expected one or more different endpoints, as in --server host:8001,host2:8001")
        for name in ("request_tokens", "request_rows", "requests_in_flight", "fault_attempts"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; expected 1 or more")
        for name in (
            "call_seconds", "batch_seconds", "connect_seconds", "lookup_seconds", "first_pause_seconds",
            "longest_pause_seconds",
        ):  # fmt: skip
            if getattr(self, name) <= 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; expected more than 0")
        beyond = [name for name in self.endpoints if not is_loopback(name)]
        if beyond and self.tls is None:
            raise SettingsError(
                f"notes would go to {', '.join(beyond)} unencrypted, and the network could read them; use TLS (--tls, "
                "or --tls-ca FILE for your own authority), or a tunnel that begins on this machine, such as "
                "`ssh -L 8001:127.0.0.1:8001 HOST` with --server 127.0.0.1:8001"
            )

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Return the headers of a call.

        Raises SettingsError when the authorisation file cannot be read or other users can open it.
        """
        value = self.authorization
        if self.authorization_file is not None:
            try:
                with self.authorization_file.open(encoding="ascii") as file:
                    check_secret_file(
                        self.authorization_file, os.fstat(file.fileno()), allow_shared=self.allow_shared_secrets
                    )
                    value = file.read().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise SettingsError(
                    f"{self.authorization_file} cannot be read ({type(error).__name__}); expected one line of text, "
                    "the header"
                ) from None
        if value and not (value.isascii() and value.isprintable()):
            raise SettingsError("the authorisation header must be one line of printable ASCII")
        return (("authorization", value),) if value else ()

    def describe(self) -> Mapping[str, object]:
        """Return the description of the server for the run report: no secrets, and nothing that a restart changes."""
        return {
            "endpoints": list(self.endpoints),
            "route": self.route,
            "stream": self.is_streaming,
            "tls": self.tls is not None,
        }

    def longest_s(self, notes: int, chars: int) -> float:
        """Return the longest wait of a tagger in seconds, for ``notes`` notes of ``chars`` characters in total.

        In the worst case, every request of the batch takes its full deadline, one after the other. Then the failed
        batch is repeated note by note, and each note fails at its deadline.
        """
        rows = max(1, min(self.request_rows, self.request_tokens // WINDOW_TOKENS))
        requests = 1 + chars // (rows * WINDOW_TOKENS)  # a token has one character or more
        # The deadline holds for requests of the default size; larger requests may get proportionally more time.
        size = max(1.0, self.request_tokens / ServerSettings.request_tokens)
        return (requests + notes) * self.batch_seconds * size


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """Return host and port of ``host:port``. An IPv6 address keeps its brackets."""
    host, _, port = endpoint.rpartition(":")
    return host, int(port)


def is_loopback(endpoint: str) -> bool:
    """Return whether data sent to ``endpoint``, ``host:port``, stays on this machine.

    This is true for a loopback address and for the reserved name ``localhost``. It is false for every other name,
    whatever its address is now, since it may change at any time.
    """
    host, _ = split_endpoint(endpoint)
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _endpoint(name: str) -> str:
    host, _, port = name.strip().rpartition(":")
    if not host or name.strip().endswith("]"):
        host, port = name.strip(), str(DEFAULT_PORT)
    if not port.isdecimal() or not 0 < int(port) < 65536 or not host or (":" in host and not host.startswith("[")):
        raise SettingsError(f"wrong endpoint {name!r}; expected HOST:PORT, as in 127.0.0.1:8001 or [::1]:8001")
    return f"{host}:{port}"
