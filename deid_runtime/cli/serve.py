"""``deid serve``: the inference server on this machine, in one command."""

import logging
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import ExitCode
from deid_runtime.errors import DeidError, SettingsError
from deid_runtime.settings import Engine, Operator, Profile
from deid_runtime.system.cores import cores

if TYPE_CHECKING:
    from deid_runtime.serving.server import Server

_PORT = click.IntRange(1, 65535)


@click.command()
@click.option(
    "--repository",
    type=cli_options.FOLDER,
    help="Serve this folder, written by `deid-export repository --backend python`. It settles --models, --profile, "
    "--operator, --date-shift, --date-shift-weeks, --engine and --instances. The server runs the programs in it; its "
    "models are checked as those of --models. Default: one made of the models, removed at the end.",
)
@cli_options.models(cli_options.FOLDER)
@click.option(
    "--keys",
    type=cli_options.FOLDER,
    help="Folder of key files NAME.key, from `deid key new`. Requests to the model `deidentify` name one of them; "
    "whoever reaches the server can use them all. Without it `deidentify` refuses every note.",
)
@cli_options.allow_shared_key()
@click.option(
    "--patients",
    type=cli_options.FILE,
    help="Table of structured patient records for `deidentify`, as for `deid run`. Held in memory.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="IPv4 address for gRPC. One that other machines can reach needs --tls-cert, --tls-key and --tls-client-ca.",
)
@click.option("--grpc-port", type=_PORT, default=8001, show_default=True, help="For `deid run --server` and others.")
@click.option(
    "--http-port",
    type=_PORT,
    help="Take requests in JSON too, on 127.0.0.1 alone, because HTTP has no TLS here: whole requests within 30 s, of "
    "at most 64 MiB, neither packed nor in chunks. Default: no HTTP.",
)
@click.option(
    "--metrics-port",
    type=_PORT,
    default=8002,
    show_default=True,
    help="Prometheus metrics at /metrics, on 127.0.0.1 alone.",
)
@click.option(
    "--tls-cert",
    type=cli_options.FILE,
    help="Certificate (PEM) for gRPC, with --tls-key.",
)
@click.option("--tls-key", type=cli_options.FILE, help="Private key (PEM) of --tls-cert.")
@click.option(
    "--tls-client-ca",
    type=cli_options.FILE,
    help="Take only clients with a certificate that this authority (PEM) has signed.",
)
@cli_options.profile("Of `deidentify`, as of `deid run`.")
@cli_options.operator("Of `deidentify`, as of `deid run`.")
@cli_options.date_shift("Of `deidentify`. ")
@cli_options.engine("Inference engine. Answers equal those of `deid run` with the same one.")
@cli_options.counted(
    "--instances",
    cores,
    "Processes for each model, one core and about 300 MB each. More than cores makes it slower.",
    shown="cores available",
)
@click.option("--verbose", is_flag=True, help="Show all that the server logs, not its errors alone.")
def serve(
    repository: Path | None,
    models: Path | None,
    models_key: Path | None,
    trust_models: bool,
    keys: Path | None,
    allow_shared_key: bool,
    patients: Path | None,
    host: str,
    grpc_port: int,
    http_port: int | None,
    metrics_port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    profile: Profile,
    operator: Operator,
    date_shift: int,
    date_shift_weeks: bool,
    engine: Engine,
    instances: int,
    verbose: bool,
) -> None:
    """Serve the models on this machine until stopped (Ctrl-C or SIGTERM); needs `pip install 'deid-runtime[serve]'`.

    The server is Triton: any client of the KServe v2 protocol can use it, and `deid run --server HOST:PORT` does. A
    crashed or hung server is started again. Nothing of what it is sent is logged or kept.
    """
    from tempfile import TemporaryDirectory

    from deid_runtime.models.trust import read_trusted
    from deid_runtime.serving.graph_models import ServingOptions
    from deid_runtime.serving.installation import find_installation
    from deid_runtime.serving.keys import check_keys
    from deid_runtime.serving.note_models import NoteOptions
    from deid_runtime.serving.repository import write_repository
    from deid_runtime.serving.server_options import ServerOptions, Tls, check_host
    from deid_runtime.serving.supervisor import supervise
    from deid_runtime.surrogates import check_date_settings
    from deid_runtime.system.secret_files import check_secret_file

    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="deid: %(message)s")
    stop = _stop_event()
    try:
        if (tls_cert is None) != (tls_key is None) or (tls_client_ca and not tls_cert):
            raise SettingsError("--tls-cert and --tls-key go together, and --tls-client-ca with both")
        if repository is not None and date_shift_weeks:
            raise SettingsError(
                "--repository settles how dates shift, so --date-shift-weeks has no effect; leave one of them out"
            )
        check_date_settings(operator=operator, date_shift_days=date_shift, date_shift_whole_weeks=date_shift_weeks)
        tls = Tls(tls_cert, tls_key, tls_client_ca) if tls_cert and tls_key else None
        check_host(host, tls)
        if keys is not None:
            check_keys(keys, allow_shared=allow_shared_key)
        if tls_key is not None:
            check_secret_file(tls_key, tls_key.stat(), allow_shared=allow_shared_key)
        manifest = read_trusted(repository or models, key=models_key, trust=trust_models)
        installation = find_installation()
        with ExitStack() as resources:
            environment = {
                "DEID_SERVE_KEYS": keys,
                "DEID_SERVE_PATIENTS": patients,
                # A repository made here is not signed, and is of the models that were checked above.
                "DEID_SERVE_MODELS_KEY": models_key if repository else None,
            }
            flags = {
                "DEID_SERVE_ALLOW_SHARED_KEY": allow_shared_key,
                "DEID_SERVE_TRUST_MODELS": trust_models or repository is None,
            }
            if repository is None:
                repository = Path(resources.enter_context(TemporaryDirectory(prefix="deid-serve-"))) / "repository"
                notes = NoteOptions(
                    profile=profile,
                    operator=operator,
                    date_shift_days=date_shift,
                    date_shift_whole_weeks=date_shift_weeks,
                    engine=engine,
                    instances=instances,
                )
                graphs = ServingOptions(instances=instances, engine=engine)
                write_repository(manifest, repository, graphs, notes)
            options = ServerOptions(
                repository=repository,
                host=host,
                http_port=http_port,
                grpc_port=grpc_port,
                metrics_port=metrics_port,
                tls=tls,
                environment={
                    **{name: str(path.resolve()) if path else "" for name, path in environment.items()},
                    **{name: "1" if is_set else "" for name, is_set in flags.items()},
                },
            )
            supervise(installation, options, stop, _say_ready)
    except DeidError as error:
        click.echo(f"deid: {error}", err=True)
        sys.exit(ExitCode.WRONG_USE)
    click.echo("deid: the server is stopped", err=True)


def _stop_event() -> threading.Event:
    """Return an event that SIGINT and SIGTERM set."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # One that was ignored from outside, as in a shell's background job, stays so.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: stop.set())
    return stop


def _say_ready(server: "Server") -> None:
    options = server.options
    http = "" if options.http is None else f"HTTP {options.http}, "
    places = f"gRPC {options.grpc}, {http}metrics {options.metrics}/metrics"
    click.echo(f"deid: ready: {places} (process {server.pid})", err=True)
