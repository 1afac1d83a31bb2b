"""``deid gateway``: REST with tokens and limits in front of the servers."""

import json
import logging
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import reported
from deid_runtime.cli.remote import AUTHORIZATION_VARIABLE
from deid_runtime.errors import SettingsError
from deid_runtime.system.extras import install_extra

if TYPE_CHECKING:
    from deid_runtime.gateway.app import Gateway
    from deid_runtime.gateway.options import GatewayOptions

_PORT = click.IntRange(0, 65535)
_SECONDS = click.FloatRange(min=0, min_open=True)
_NO_LOG: Final = "none"


@cloup.group("gateway")
def gateway_group() -> None:
    """Put a REST interface before the servers: JSON, tokens or certificates, limits and an audit log."""


@gateway_group.command("serve")
@cli_options.section(
    "Access",
    click.option(
        "--access",
        type=cli_options.FILE,
        required=True,
        help="TOML file of the projects: their tokens or certificates, key names, rates and sizes; readable by you "
        "alone. Read again when it changes. `deid gateway token new` makes its entries.",
    ),
    click.option(
        "--audit-log",
        required=True,
        metavar="FILE|none",
        help="Append one JSON line for each request: times, project, key name, counts, outcome; no text and no ids of "
        "notes. Readable by you alone. A request that cannot be logged is not answered. none: no log.",
    ),
    click.option(
        "--audit-key",
        type=cli_options.FILE,
        help="Add keyed digests of ids and texts to the audit log, with this key from `deid key new`. Whoever has the "
        "key can test guesses.",
    ),
)
@cli_options.section(
    "Servers",
    click.option(
        "--server",
        metavar="HOST:PORT[,...]",
        default="127.0.0.1:8001",
        show_default=True,
        help="The servers, `deid serve` with --keys or Triton with the model `deidentify`, as for `deid run --server`.",
    ),
    click.option("--server-ca", type=cli_options.FILE, help="Encrypt to the servers; trust only this authority (PEM)."),
    click.option("--server-cert", type=cli_options.FILE, help="Client certificate for the servers (PEM)."),
    click.option("--server-key", type=cli_options.FILE, help="Key of --server-cert (PEM), which only you may read."),
    click.option(
        "--authorization-file",
        type=cli_options.FILE,
        help="File with the authorisation header for the servers, for `deid serve --access`, which only you may read.",
    ),
    cli_options.counted(
        "--in-flight", 16, "Notes of all requests that are at the servers at a time. Further ones wait."
    ),
    cli_options.counted("--notes-at-once", 8, "The same for one request, so that a large one leaves room for others."),
)
@cli_options.section(
    "Network",
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="IP address to listen on. One that other machines can reach needs --tls-cert and --tls-key.",
    ),
    click.option("--port", type=_PORT, default=8443, show_default=True, help="0: a free port."),
    click.option(
        "--monitor-port",
        type=_PORT,
        help="Answer /healthz, /readyz and /metrics on this port of 127.0.0.1 too, without token and TLS.",
    ),
    click.option("--tls-cert", type=cli_options.FILE, help="Certificate (PEM). Read again when it changes."),
    click.option("--tls-key", type=cli_options.FILE, help="Its key (PEM), which only you may read."),
    click.option(
        "--tls-client-ca",
        type=cli_options.FILE,
        help="Accept only clients with a certificate that this authority (PEM) has signed. Its subject names a "
        "project, unless a token does.",
    ),
)
@cli_options.section(
    "Limits",
    cli_options.counted("--requests", 64, "Requests handled at a time; further ones get 503. Each holds its body."),
    cli_options.counted("--connections", 512, "Connections at a time."),
    click.option("--deadline", type=_SECONDS, default=120.0, show_default=True, metavar="SECONDS",
                 help="For the servers to answer a request, or each note of a stream."),
    click.option("--header-time", type=_SECONDS, default=10.0, show_default=True, metavar="SECONDS",
                 help="For a client to send the headers of a request."),
    click.option("--body-time", type=_SECONDS, default=60.0, show_default=True, metavar="SECONDS",
                 help="For a client to send a body; for a stream, the longest pause."),
    click.option("--answer-time", type=_SECONDS, default=60.0, show_default=True, metavar="SECONDS",
                 help="How long a client may read nothing of its answer."),
)  # fmt: skip
@reported
def serve_gateway(access: Path, audit_log: str, audit_key: Path | None, **options: Any) -> None:
    """Serve REST until stopped (Ctrl-C or SIGTERM). Needs the extra [gateway].

    POST /v1/deidentify takes one note, a batch, or a stream of JSON lines; POST /v1/detect gives their spans. /docs
    describes all. The gateway keeps nothing and logs no text. It starts without servers, and is ready (/readyz) as soon
    as one de-identifies a known note.
    """
    logging.basicConfig(level=logging.WARNING, format="deid: %(message)s")
    try:
        from deid_runtime.gateway.serve import serve
    except ModuleNotFoundError as error:
        raise SettingsError(f"the module {error.name} is not installed; {install_extra('gateway')}") from None
    serve(
        _gateway(access, audit_log, audit_key, options),
        lambda addresses: click.echo(f"deid: the gateway listens: {addresses}", err=True),
    )
    click.echo("deid: the gateway is stopped", err=True)


def _gateway(access: Path, audit_log: str, audit_key: Path | None, options: dict[str, Any]) -> "Gateway":
    from deid_client.whole_notes import WholeNotes
    from deid_runtime.access.access_file import AccessFile
    from deid_runtime.gateway.app import Gateway
    from deid_runtime.gateway.audit_log import AuditLog, Digests
    from deid_runtime.gateway.metrics import GatewayMetrics
    from deid_runtime.surrogates import load_key

    if audit_key is not None and audit_log == _NO_LOG:
        raise SettingsError("--audit-key needs an --audit-log")
    digests = Digests(load_key(audit_key)) if audit_key else None
    servers = WholeNotes(_server_settings(**options))
    return Gateway(
        options=_gateway_options(**options),
        access=AccessFile(access),
        servers=servers,
        audit=AuditLog(None if audit_log == _NO_LOG else Path(audit_log), digests),
        metrics=GatewayMetrics([servers.metrics.registry]),
    )


def _server_settings(
    *,
    server: str,
    server_ca: Path | None,
    server_cert: Path | None,
    server_key: Path | None,
    authorization_file: Path | None,
    in_flight: int,
    deadline: float,
    **_: object,
) -> Any:
    import os

    from deid_client.settings import ServerSettings, Tls

    is_encrypted = server_ca or server_cert or server_key
    return ServerSettings(
        endpoints=tuple(server.split(",")),
        requests_in_flight=in_flight,
        batch_seconds=deadline,
        call_seconds=min(ServerSettings.call_seconds, deadline),
        connect_seconds=min(10.0, deadline),
        tls=Tls(roots=server_ca, certificate=server_cert, key=server_key) if is_encrypted else None,
        authorization=os.environ.get(AUTHORIZATION_VARIABLE) or None,
        authorization_file=authorization_file,
    )


def _gateway_options(
    *,
    host: str,
    port: int,
    monitor_port: int | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    requests: int,
    connections: int,
    notes_at_once: int,
    deadline: float,
    header_time: float,
    body_time: float,
    answer_time: float,
    **_: object,
) -> "GatewayOptions":
    from deid_runtime.gateway.options import GatewayOptions, ListenTls, Timeouts

    if (tls_cert is None) != (tls_key is None) or (tls_client_ca and not tls_cert):
        raise SettingsError("--tls-cert and --tls-key go together, and --tls-client-ca with both")
    return GatewayOptions(
        host=host,
        port=port,
        monitor_port=monitor_port,
        tls=ListenTls(tls_cert, tls_key, tls_client_ca) if tls_cert and tls_key else None,
        timeouts=Timeouts(headers_s=header_time, body_s=body_time, answer_s=answer_time, deadline_s=deadline),
        connections=connections,
        requests=requests,
        notes_at_once=notes_at_once,
    )


@gateway_group.command("check")
@cloup.argument("access", type=cli_options.FILE)
@cli_options.flag("--json", "Print one JSON object.")
@reported
def check_access(access: Path, json: bool) -> None:
    """Check an access file and show what each project may do: no secrets."""
    from deid_runtime.access.projects import read_access

    rows = [
        {
            "project": project.name,
            "keys": list(project.keys),
            "tokens": {token.id: str(token.expires) if token.expires else None for token in project.tokens},
            "certificates": list(project.certificates),
            "notes_per_minute": project.limits.notes_per_minute,
        }
        for project in read_access(access).projects.values()
    ]
    click.echo(_as_json(rows) if json else "\n".join(_as_text(row) for row in rows))


def _as_json(rows: list[dict[str, Any]]) -> str:
    return json.dumps({"projects": rows})


def _as_text(row: dict[str, Any]) -> str:
    tokens = [name if end is None else f"{name} (until {end})" for name, end in row["tokens"].items()]
    return (
        f"{row['project']}: keys {', '.join(row['keys']) or 'none'}; tokens {', '.join(tokens) or 'none'}; "
        f"certificates {len(row['certificates'])}; {row['notes_per_minute']:,} notes a minute"
    )


@gateway_group.group("token")
def token_group() -> None:
    """Make tokens for clients."""


@token_group.command("new")
@click.option("--project", required=True, metavar="NAME", help="The project of the token in the access file.")
@click.option(
    "--expires",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="The first day on which it is no longer valid, in UTC, such as 2027-11-01. Default: no end.",
)
@reported
def new_client_token(project: str, expires: datetime | None) -> None:
    """Print a new token once; it is not stored. Print its entry for the access file on stderr.

    The entry has only a digest. Give the token to the client, who sends it as `authorization: Bearer TOKEN`. To
    replace one, add a second entry, change the client, and remove the first.
    """
    from deid_runtime.access.projects import parse_access
    from deid_runtime.access.tokens import new_token

    if expires is not None and expires.date() <= date.today():
        raise SettingsError("--expires must be a day in the future")
    token = new_token()
    entry: dict[str, object] = {"id": token.id, "sha256": token.sha256}
    if expires is not None:
        entry["expires"] = expires.date()
    parse_access({"projects": {project: {"tokens": [entry]}}})
    lines = [f"[[projects.{project}.tokens]]", f'id = "{token.id}"', f'sha256 = "{token.sha256}"']
    if expires is not None:
        lines.append(f"expires = {expires.date().isoformat()}")
    click.echo("\n".join(lines), err=True)
    click.echo(token.text)


__all__ = ["gateway_group"]
