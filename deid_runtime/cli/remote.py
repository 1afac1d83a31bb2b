"""The options of commands whose models may run on a server, and the settings made from them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from deid_runtime.cli import options as cli_options

if TYPE_CHECKING:
    from deid_client.server import TritonServer
    from deid_client.settings import ServerSettings

#: The variable with the authorisation header. It is not an option, because other users can see process arguments.
AUTHORIZATION_VARIABLE: Final = "DEID_AUTHORIZATION"

#: How to connect to a server.
_connection_options: Final = cli_options.together(
    cli_options.flag("--tls", "Encrypt, and trust the authorities that gRPC comes with."),
    click.option("--tls-ca", type=cli_options.FILE, help="Encrypt, and trust only the authorities in this PEM file."),
    click.option("--tls-cert", type=cli_options.FILE, help="Client certificate (PEM); needs --tls-key."),
    click.option("--tls-key", type=cli_options.FILE, help="Key of --tls-cert (PEM), which only you may read."),
    click.option(
        "--authorization-file",
        type=cli_options.FILE,
        help="File with the authorization header, `Bearer ...`, which only you may read; read again every minute. "
        f"Or set {AUTHORIZATION_VARIABLE}.",
    ),
)

#: The options of ``deid probe``: which server, and how to connect to it.
probe_options: Final = cli_options.section(
    cli_options.SERVER,
    click.option(
        "--server",
        metavar="HOST:PORT[,...]",
        default="127.0.0.1:8001",
        show_default=True,
        help="The server; the default gRPC port is 8001. With several servers or several addresses of a HOST, each "
        "must de-identify.",
    ),
    _connection_options,
    cli_options.allow_shared_key(),
)

#: The options of commands whose models may run on a server, as one decorator.
server_options = cli_options.section(
    cli_options.SERVER,
    click.option(
        "--server",
        metavar="HOST:PORT[,...]",
        help="Run the models on these servers (`deid serve`, or Triton with a repository of `deid-export models "
        "repository`); the default gRPC port is 8001. Several servers, and all addresses of a HOST, are used in turn "
        "and replace each other on a failure. A server whose models differ from --models is refused. Notes that no "
        "server answers go to quarantine. A server on another machine needs --tls or --tls-ca. Use more --workers than "
        "cores to keep a server busy. Needs the extra [client].",
    ),
    cli_options.flag(
        "--stream",
        "Use one stream per server instead of one call per request. Usually not faster, and Triton has crashed with "
        "streams. A broken stream is opened again, and unanswered requests are repeated.",
    ),
    click.option(
        "--route",
        type=click.Choice(("fused", "ensemble")),
        default="fused",
        show_default=True,
        help="fused: one graph for all heads. ensemble: the server chains encoder and heads, each replaceable. The "
        "answers are the same.",
    ),
    cli_options.counted(
        "--request-tokens",
        4096,
        "Tokens per request, padding included. A small number needs more calls, a large one waits longer.",
    ),
    cli_options.counted(
        "--in-flight",
        4,
        "Open requests at a time for each worker. When the queue of a server is full, it refuses requests, and they "
        "are sent again later.",
    ),
    click.option(
        "--deadline",
        type=click.FloatRange(min=0, min_open=True),
        default=120.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for an answer before the notes of a request go to quarantine. If no server answers in "
        "this time, later notes go to quarantine at once, until a server answers a probe. Choose more than the restart "
        "time of a server, otherwise every restart puts notes into quarantine.",
    ),
    _connection_options,
    click.option(
        "--metrics-port",
        type=click.IntRange(1, 65535),
        help="During the run, serve request counters for Prometheus on this port of 127.0.0.1.",
    ),
)


def server_settings(
    *,
    server: str | None,
    no_models: bool,
    engine: str,
    precision: str,
    stream: bool,
    route: Any,
    request_tokens: int,
    in_flight: int,
    deadline: float,
    tls: bool,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    authorization_file: Path | None,
    metrics_port: int | None,
    allow_shared_key: bool,
    **_: object,
) -> "TritonServer | None":
    """Return the settings of the server; None without ``--server``. Serve metrics until the command ends.

    Waits until a server can be reached, and reports at once why it cannot. Raises click.UsageError for options that
    exclude each other, SettingsError for a wrong value, ModelError when no server is reached.
    """
    if server is None:
        if stream or tls or tls_ca or tls_cert or tls_key or authorization_file or metrics_port:
            raise click.UsageError("--stream, --tls..., --authorization-file and --metrics-port need --server")
        return None
    if no_models or engine != "auto" or precision != "float32":
        raise click.UsageError("the server of --server uses its own engine; omit --no-models, --engine and --precision")
    from deid_client.diagnosis import wait_reachable
    from deid_client.server import TritonServer

    settings = TritonServer(
        endpoints=tuple(server.split(",")),
        is_streaming=stream,
        route=route,
        request_tokens=request_tokens,
        requests_in_flight=in_flight,
        batch_seconds=deadline,
        call_seconds=min(TritonServer.call_seconds, deadline),
        connect_seconds=min(TritonServer.connect_seconds, deadline),
        **_connection(tls, tls_ca, tls_cert, tls_key, authorization_file, allow_shared_key),
    )
    wait_reachable(settings, lambda message: click.echo(f"deid: {message}", err=True))
    if metrics_port is not None:
        from deid_client.metrics import serving_metrics

        click.get_current_context().with_resource(serving_metrics(metrics_port))
    return settings


def probe_settings(
    *,
    server: str,
    tls: bool,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    authorization_file: Path | None,
    allow_shared_key: bool,
) -> "ServerSettings":
    """Return the settings of ``deid probe``. Raises SettingsError for a wrong value."""
    from deid_client.settings import ServerSettings

    return ServerSettings(
        endpoints=tuple(server.split(",")),
        **_connection(tls, tls_ca, tls_cert, tls_key, authorization_file, allow_shared_key),
    )


def _connection(
    tls: bool,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    authorization_file: Path | None,
    allow_shared_key: bool,
) -> dict[str, Any]:
    """Return the fields of the settings that the options for connections set."""
    from deid_client.settings import Tls

    is_encrypted = tls or tls_ca or tls_cert or tls_key
    return {
        "tls": Tls(roots=tls_ca, certificate=tls_cert, key=tls_key) if is_encrypted else None,
        "authorization": os.environ.get(AUTHORIZATION_VARIABLE) or None,
        "authorization_file": authorization_file,
        "allow_shared_secrets": allow_shared_key,
    }
