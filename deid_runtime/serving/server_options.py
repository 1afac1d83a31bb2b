"""The options of a server, their checks before the start, and the command line arguments made from them."""

import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deid_runtime.errors import SettingsError

LOOPBACK: Final = "127.0.0.1"
#: The server's own HTTP socket, in its working directory. The supervisor and the relay of the HTTP port use it.
OWN_SOCKET: Final = "http"
#: The socket of the metrics, in the same directory.
METRICS_SOCKET: Final = "metrics"

#: Interfaces through which a client can log tensors, read memory of the models, or change which models are served.
_RESTRICTED: Final = "shared-memory,model-repository,trace,logging"
# Triton allows these interfaces only for requests with a header of this name and value. Process arguments are not
# secret, so the header must be impossible to send: HTTP ends a name at a line feed; gRPC refuses line feeds and
# capitals.
_UNSENDABLE_HEADER: Final = "Nobody\nSends\nThis=Nobody\nSends\nThis"

_TOKEN_HEADER: Final = "(?i)^authorization$"


@dataclass(frozen=True, slots=True)
class ServerTls:
    """PEM files for TLS on gRPC. With ``client_authority``, clients must present a certificate that it has signed."""

    certificate: Path
    key: Path
    client_authority: Path | None = None


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """The model repository, the addresses and the limits of a server.

    gRPC listens on ``host``. Metrics and HTTP always listen on the loopback, because the server has no TLS for them.
    """

    repository: Path
    host: str = LOOPBACK
    http_port: int | None = None  # None: no HTTP for clients
    grpc_port: int = 8001
    metrics_port: int | None = 8002  # None: another part of the program serves the metrics
    tls: ServerTls | None = None
    has_tokens: bool = False  # the models for whole notes get the header `authorization` of each request
    environment: Mapping[str, str] = field(default_factory=dict)  # additional variables for the models
    ready_s: float = 180.0  # time limit for loading the models
    request_memory_bytes: int = 4 * 2**30  # memory limit for requests; a server that exceeds it is restarted

    @property
    def grpc(self) -> str:
        """Host and port of the gRPC endpoint."""
        return f"{self.host}:{self.grpc_port}"

    @property
    def http(self) -> str | None:
        """Host and port of the HTTP endpoint; None without HTTP."""
        return None if self.http_port is None else f"{LOOPBACK}:{self.http_port}"

    @property
    def metrics(self) -> str | None:
        """Host and port of the Prometheus endpoint, path ``/metrics``; None without one."""
        return None if self.metrics_port is None else f"{LOOPBACK}:{self.metrics_port}"

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models in the repository, sorted."""
        return tuple(sorted(path.parent.name for path in self.repository.glob("*/config.pbtxt")))


def check_options(options: ServerOptions) -> None:
    """Raise SettingsError when other machines could use the server without a certificate, or a port cannot be bound.

    Ports are checked here, because the server's own error message for a busy port is hard to understand.
    """
    check_host(options.host, options.tls)
    named = {"gRPC": options.grpc_port, "metrics": options.metrics_port, "HTTP": options.http_port}
    ports = {name: port for name, port in named.items() if port is not None}
    if len(set(ports.values())) < len(ports):
        raise SettingsError(f"{', '.join(ports)} need different ports; got {', '.join(map(str, ports.values()))}")
    for name, port in ports.items():
        host = options.host if name == "gRPC" else LOOPBACK
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                raise SettingsError(
                    f"cannot listen on {host}:{port} for {name} ({error.strerror}); stop the program that uses it, or "
                    f"give another port with --{name.lower()}-port"
                ) from None


def check_host(host: str, tls: ServerTls | None) -> None:
    """Raise SettingsError unless ``host`` is a loopback address or clients must present a certificate."""
    is_loopback = check_ipv4("--host", host).is_loopback
    if not is_loopback and (tls is None or tls.client_authority is None):
        raise SettingsError(
            f"--host {host} can be reached from other machines: anyone who can reach this server can use its keys, and "
            "a request of any client can crash it. Give --tls-cert, --tls-key and --tls-client-ca, so that only "
            "clients with a certificate are served; or omit --host"
        )


def check_ipv4(option: str, host: str) -> ipaddress.IPv4Address:
    """Return the address of ``host``. Raises SettingsError for another kind of address, which the server cannot use."""
    try:
        return ipaddress.IPv4Address(host)
    except ValueError:
        raise SettingsError(
            f"{option} {host!r} is not an IPv4 address; expected a form like 127.0.0.1 or 0.0.0.0"
        ) from None


def arguments(options: ServerOptions, backends: Path, shared_prefix: str) -> list[str]:
    """Return the arguments of ``tritonserver``. The names of its shared memory begin with ``shared_prefix``."""
    return [
        f"--model-repository={options.repository.resolve()}",
        f"--backend-directory={backends}",
        f"--backend-config=python,shm-region-prefix-name={shared_prefix}",
        f"--http-address=unix:{OWN_SOCKET}",
        f"--grpc-address={options.host}",
        f"--grpc-port={options.grpc_port}",
        f"--metrics-address=unix:{METRICS_SOCKET}",
        "--allow-gpu-metrics=false",
        "--pinned-memory-pool-byte-size=0",
        "--disable-auto-complete-config",
        "--log-info=false",
        f"--http-restricted-api={_RESTRICTED}:{_UNSENDABLE_HEADER}",
        f"--grpc-restricted-protocol={_RESTRICTED}:{_UNSENDABLE_HEADER}",
        *(_tls_arguments(options.tls) if options.tls else ()),
        *(
            (f"--{each}-header-forward-pattern={_TOKEN_HEADER}" for each in ("grpc", "http"))
            if options.has_tokens
            else ()
        ),
    ]


def _tls_arguments(tls: ServerTls) -> list[str]:
    arguments = [
        "--grpc-use-ssl=true",
        f"--grpc-server-cert={tls.certificate.resolve()}",
        f"--grpc-server-key={tls.key.resolve()}",
    ]
    if tls.client_authority:
        arguments += ["--grpc-use-ssl-mutual=true", f"--grpc-root-cert={tls.client_authority.resolve()}"]
    return arguments
