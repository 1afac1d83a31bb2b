"""All that can be set about the connection to a server, in one frozen record that workers take with them."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from deid_runtime.errors import SettingsError
from deid_runtime.system.secret_files import check_secret_file
from deid_runtime.text.windows import WINDOW_TOKENS

#: fused: one request a graph. ensemble: the server's own chain of encoder and heads.
Route = Literal["fused", "ensemble"]

DEFAULT_PORT: Final = 8001


@dataclass(frozen=True, kw_only=True)
class Tls:
    """Encryption of the connection. With ``certificate`` and ``key`` the client proves who it is, too (mutual TLS)."""

    roots: Path | None = None  # PEM file of trusted authorities; None: those that gRPC ships
    certificate: Path | None = None  # PEM file, the chain of the client
    key: Path | None = field(default=None, repr=False)  # PEM file
    server_name: str | None = None  # name in the server's certificate, where it is not that of the endpoint

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise SettingsError("mutual TLS needs both a certificate and its key; one of them is missing")


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Where the models run and how they are asked. None of it changes an answer. Seconds are wall-clock seconds.

    Raises SettingsError for a wrong value, and for an endpoint beyond the loopback without ``tls``: notes can be read
    from what is sent.
    """

    #: host:port of gRPC; several are used in turn, and one stands in for another. So are the addresses of a host name.
    endpoints: tuple[str, ...]
    is_streaming: bool = False  # one bidirectional stream an endpoint in place of one call a request
    route: Route = "fused"
    request_tokens: int = 4096  # most tokens a request, padding included: windows times their width
    request_rows: int = 64  # most windows a request; the server's max_batch_size must allow them
    requests_in_flight: int = 4  # of one process; what is behind them waits
    call_seconds: float = 30.0  # deadline of one call of up to 4096 tokens; a larger one gets longer in proportion
    batch_seconds: float = 120.0  # deadline of one batch of windows, all calls and pauses together
    connect_seconds: float = 30.0  # how long to wait for a first server when loading
    lookup_seconds: float = 10.0  # host names are looked up again so often, for servers that came or went
    fault_attempts: int = 3  # calls, on other endpoints where there are any, for an answer that is wrong
    first_pause_seconds: float = 0.1  # after a failed call; doubles with each further one, less a random part
    longest_pause_seconds: float = 5.0
    tls: Tls | None = None
    authorization: str | None = field(default=None, repr=False)  # value of the header, such as "Bearer ..."
    authorization_file: Path | None = None  # file that holds it, read anew every minute
    allow_shared_secrets: bool = False  # take that file and the key of ``tls`` also where other users can open them

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
                "or --tls-ca FILE for your own authority), or a tunnel that begins on this machine, as "
                "`ssh -L 8001:127.0.0.1:8001 HOST` with --server 127.0.0.1:8001"
            )

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Return the headers of a call.

        Raises SettingsError for an authorisation file that cannot be read, or that other users can open.
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
                    f"{self.authorization_file} cannot be read as an authorisation header ({type(error).__name__})"
                ) from None
        if value and not (value.isascii() and value.isprintable()):
            raise SettingsError("the authorisation header is not one line of printable ASCII")
        return (("authorization", value),) if value else ()

    def describe(self) -> Mapping[str, object]:
        """Return what a run's manifest says of the server: no secret, and nothing that a restart changes."""
        return {
            "endpoints": list(self.endpoints),
            "route": self.route,
            "stream": self.is_streaming,
            "tls": self.tls is not None,
        }

    def longest_s(self, notes: int, chars: int) -> float:
        """Return how long a tagger may wait for answers on ``notes`` of ``chars`` characters before it gives all up.

        Every request of the batch takes its full deadline, one after the other. Then a batch that failed is asked about
        note by note, and each note fails at its deadline.
        """
        rows = max(1, min(self.request_rows, self.request_tokens // WINDOW_TOKENS))
        requests = 1 + chars // (rows * WINDOW_TOKENS)  # a token has one character or more
        # The deadline is for requests of the default size; larger ones may get longer in proportion.
        size = max(1.0, self.request_tokens / ServerSettings.request_tokens)
        return (requests + notes) * self.batch_seconds * size


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """Return host and port of a ``host:port``; an IPv6 address keeps its brackets."""
    host, _, port = endpoint.rpartition(":")
    return host, int(port)


def is_loopback(endpoint: str) -> bool:
    """Return whether what is sent to ``endpoint``, ``host:port``, stays on this machine.

    A loopback address and the reserved name ``localhost`` do. No other name does, whatever it resolves to now: it may
    resolve to another address a moment later.
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
        raise SettingsError(f"endpoint {name!r}; expected HOST:PORT, as in 127.0.0.1:8001 or [::1]:8001")
    return f"{host}:{port}"
