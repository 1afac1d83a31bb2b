"""The options of a gateway, and their checks before the start."""

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deid_runtime.errors import SettingsError

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ListenTls:
    """PEM files for TLS. With ``client_authority``, clients must present a certificate that it has signed."""

    certificate: Path
    key: Path
    client_authority: Path | None = None
    allow_shared: bool = False  # take the key also when other users can open it


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeouts:
    """How long clients and servers may take, in wall-clock seconds."""

    headers_s: float = 10.0  # from the connection, or from the first byte of a further request, to the last header
    body_s: float = 60.0  # for a JSON body; for a stream, the longest time in which nothing comes
    answer_s: float = 60.0  # the longest time in which a client takes nothing of an answer
    idle_s: float = 15.0  # a connection without a request
    deadline_s: float = 120.0  # for the servers' answer to a JSON request, and to each note of a stream
    ready_s: float = 4.0  # for the known note of /readyz


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayOptions:
    """The address, the limits and the times of a gateway."""

    host: str = LOOPBACK
    port: int = 8443
    monitor_port: int | None = None  # /healthz, /readyz and /metrics without a token and without TLS
    monitor_host: str = LOOPBACK
    tls: ListenTls | None = None
    timeouts: Timeouts = Timeouts()
    connections: int = 512
    requests: int = 64  # handled at once; further ones get 503
    notes_at_once: int = 8  # of one request; all requests share the connection to the servers


def check_host(host: str, tls: ListenTls | None) -> None:
    """Raise SettingsError unless ``host`` is a loopback address, or traffic to it is encrypted."""
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise _no_address("--host", host) from None
    if not is_loopback and tls is None:
        raise SettingsError(
            f"--host {host} can be reached from other machines, and the network could read notes and tokens; give "
            "--tls-cert and --tls-key, or leave out --host"
        )


def check_monitor_host(host: str) -> None:
    """Raise SettingsError unless ``host`` is an IP address. Any will do: a monitor tells counts and states alone."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise _no_address("--monitor-host", host) from None


def _no_address(option: str, host: str) -> SettingsError:
    return SettingsError(f"{option} {host!r:.60} is no IP address; expected one as 127.0.0.1, 0.0.0.0 or ::1")


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an IP address. Port 0 takes a free one. Raises SettingsError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(128)
    except (OSError, OverflowError) as error:
        opened.close()
        reason = getattr(error, "strerror", None) or "no such port"
        raise SettingsError(
            f"cannot listen on {host}:{port} ({reason}); stop what does, or name another port"
        ) from None
    return opened
