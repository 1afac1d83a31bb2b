"""``deid serve``: run the inference server on this machine."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import cloup
from click.core import ParameterSource

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.config import config_option
from deid_runtime.cli.exits import reported
from deid_runtime.cli.logs import log_format_option
from deid_runtime.cli.surrogates import check_safe_harbor, rewriting_options
from deid_runtime.cli.watching import trace_option
from deid_runtime.errors import SettingsError
from deid_runtime.settings import Dates, Operator, Profile, Recall, Settings
from deid_runtime.system.cores import cores
from deid_runtime.system.json_logs import LogFormat, is_json, log_event

if TYPE_CHECKING:
    from deid_runtime.models.manifest import Manifest
    from deid_runtime.serving.server import Server
    from deid_runtime.serving.server_options import ServerTls

_PORT = click.IntRange(1, 65535)
_OF: Final = "Of `deidentify`. "
#: Options whose values are fixed in a model repository; other values would have no effect.
_SETTLED: Final = (
    "models", "profile", "recall", "threshold", "inclusion", "templates", "allow_unreadable_forms", "operator",
    "date_shift", "date_shift_weeks", "dates", "safe_harbor", "engine", "precision", "instances",
    "window_borders",
)  # fmt: skip


@cloup.command()
@cli_options.section(
    "Service",
    click.option(
        "--repository",
        type=cli_options.FOLDER,
        help="Serve this folder, written by `deid-export repository --backend python`. It fixes the models and all "
        "options in the sections below except --given-date-shifts, so these are refused with it. The server runs its "
        "programs; its models are checked like those of --models. Default: a temporary repository made from the "
        "models.",
    ),
    click.option(
        "--keys",
        type=cli_options.FOLDER,
        help="Folder of key files NAME.key, from `deid key new`. Requests to the model `deidentify` name one of them; "
        "every client can use all of them, unless --access limits it. Without it `deidentify` refuses "
        "every note.",
    ),
    cli_options.allow_shared_key(),
    click.option(
        "--access",
        type=cli_options.FILE,
        help="Access file, as for `deid gateway serve`: the models for whole notes require from each request the "
        "header `authorization: Bearer TOKEN` and allow only the keys of its project. Models that read windows require "
        "no token. Without it, every client of the server can use all keys.",
    ),
    click.option(
        "--patients",
        type=cli_options.FILE,
        help="Table of structured patient records for `deidentify`, as for `deid run`. It is kept in memory.",
    ),
    cli_options.flag("--verbose", "Show everything that the server logs, not only its errors."),
)
@cli_options.section(
    "Network",
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="IPv4 address for gRPC. An address that other machines can reach needs --tls-cert, --tls-key and "
        "--tls-client-ca.",
    ),
    click.option(
        "--grpc-port", type=_PORT, default=8001, show_default=True, help="For `deid run --server` and others."
    ),
    click.option(
        "--http-port",
        type=_PORT,
        help="Also accept requests in JSON, only on 127.0.0.1, because HTTP has no TLS here: complete within 30 s, "
        "at most 64 MiB, neither compressed nor chunked. Default: no HTTP.",
    ),
    click.option(
        "--metrics-port",
        type=_PORT,
        default=8002,
        show_default=True,
        help="HTTP port for monitoring: Prometheus metrics at /metrics; /ready and /live answer 200 or 503.",
    ),
    click.option(
        "--metrics-host",
        default="127.0.0.1",
        show_default=True,
        help="IPv4 address for --metrics-port and --health-port. These ports give only counts and states, no text and "
        "no ids, to every client, and accept no data.",
    ),
    click.option(
        "--health-port",
        type=_PORT,
        help="Answer the gRPC health protocol (grpc.health.v1) here, without TLS: services readiness and liveness. The "
        "server itself also answers it on --grpc-port, but says SERVING even when a model is dead. Default: none.",
    ),
    click.option("--tls-cert", type=cli_options.FILE, help="Certificate (PEM) for gRPC, with --tls-key."),
    click.option("--tls-key", type=cli_options.FILE, help="Private key (PEM) of --tls-cert."),
    click.option(
        "--tls-client-ca",
        type=cli_options.FILE,
        help="Accept only clients with a certificate that this authority (PEM) has signed.",
    ),
)
@cli_options.section(
    cli_options.FINDING,
    cli_options.models(cli_options.FOLDER),
    cli_options.profile(
        "fast: one model head per kind of identifier. full: two versions of each; clients can then choose either, and "
        "the server needs memory and time for both."
    ),
    cli_options.recall(),
    cli_options.threshold(_OF),
    cli_options.site_lists(),
    cli_options.allow_unreadable_forms(),
)
@cli_options.section(cli_options.SURROGATES, rewriting_options(_OF))
@cli_options.section(
    cli_options.SPEED,
    cli_options.engine("Inference engine. Answers equal those of `deid run` with the same engine."),
    cli_options.precision(),
    cli_options.window_borders(_OF),
    cli_options.counted(
        "--instances",
        cores,
        "Processes for each model, one core and about 300 MB each. More processes than cores are slower.",
        shown="cores available",
    ),
)
@trace_option
@config_option
@log_format_option
@reported
def serve(
    repository: Path | None,
    keys: Path | None,
    allow_shared_key: bool,
    access: Path | None,
    patients: Path | None,
    host: str,
    grpc_port: int,
    http_port: int | None,
    metrics_port: int,
    metrics_host: str,
    health_port: int | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    instances: int,
    verbose: bool,
    log_format: LogFormat,
    otlp_endpoint: str | None,
    **options: Any,
) -> None:
    """Serve the models on this machine until stopped (Ctrl-C or SIGTERM). Needs the extra [serve].

    The server is Triton: any client of the KServe v2 protocol can use it, such as `deid run --server HOST:PORT`. Its
    model `deidentify` takes whole notes and processes them like `deid run` with the same options. A crashed or
    hung server is restarted. No request is logged or stored. The exit code is 0 when it was stopped.
    """
    from deid_runtime.serving.installation import find_installation
    from deid_runtime.serving.monitor import Monitor
    from deid_runtime.serving.server_options import ServerOptions, check_host, check_ipv4
    from deid_runtime.serving.server_state import ServerState
    from deid_runtime.serving.supervisor import supervise

    _prepare_process(log_format, verbose=verbose)
    stop = _stop_event()
    check_ipv4("--metrics-host", metrics_host)
    tls = _tls(tls_cert, tls_key, tls_client_ca)
    _check_settled(repository, click.get_current_context())
    settings = _settings(**options)
    check_host(host, tls)
    _check_secrets(keys, tls_key, access, allow_shared=allow_shared_key)
    environment = _traced(otlp_endpoint)
    environment |= _environment(settings, repository, keys, patients, access, allow_shared_key=allow_shared_key)
    installation = find_installation()
    with _repository(settings, repository, instances) as served:
        server = ServerOptions(
            repository=served,
            host=host,
            http_port=http_port,
            grpc_port=grpc_port,
            metrics_port=None,  # the monitor serves the metrics, also while the server is down
            tls=tls,
            has_tokens=access is not None,
            environment=environment,
        )
        state = ServerState()
        with Monitor(state, metrics_host, metrics_port, health_port):
            supervise(installation, server, stop, _announcer(f"{metrics_host}:{metrics_port}"), state=state)
    _say("server_stopped", "the server is stopped")


def _prepare_process(log_format: LogFormat, *, verbose: bool) -> None:
    # The supervisor starts the server by fork and exec. The fork handlers of gRPC would only log warnings about it.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    if log_format == "text":
        logging.basicConfig(format="deid: %(message)s")
    logging.getLogger().setLevel(logging.INFO if verbose else logging.WARNING)


@contextmanager
def _repository(settings: Settings, given: Path | None, instances: int) -> Iterator[Path]:
    """Yield the model repository to serve: the given one, checked, or a temporary one made from the models."""
    from tempfile import TemporaryDirectory

    from deid_runtime.models.trust import read_trusted
    from deid_runtime.serving.graph_models import ServingOptions
    from deid_runtime.serving.note_models import NoteOptions
    from deid_runtime.serving.repository import write_repository

    if given is not None:
        read_trusted(given, key=settings.models_key, trust=settings.trust_models)
        yield given
        return
    manifest = _checked_models(settings)
    graphs = ServingOptions(instances=instances, engine=settings.engine, precision=settings.precision)
    with TemporaryDirectory(prefix="deid-serve-") as folder:
        repository = Path(folder) / "repository"
        write_repository(manifest, repository, graphs, NoteOptions(settings=settings, instances=instances))
        yield repository


def _environment(
    settings: Settings,
    repository: Path | None,
    keys: Path | None,
    patients: Path | None,
    access: Path | None,
    *,
    allow_shared_key: bool,
) -> dict[str, str]:
    """Return the environment variables that the model `deidentify` reads; ``repository`` is the one of the user."""
    files = {
        "DEID_SERVE_KEYS": keys,
        "DEID_SERVE_PATIENTS": patients,
        "DEID_SERVE_ACCESS": access,
        "DEID_SERVE_GIVEN_DATE_SHIFTS": settings.given_date_shifts,
        # A repository made here has no signature; its models were checked when it was made.
        "DEID_SERVE_MODELS_KEY": settings.models_key if repository else None,
    }
    flags = {
        "DEID_SERVE_ALLOW_SHARED_KEY": allow_shared_key,
        "DEID_SERVE_TRUST_MODELS": settings.trust_models or repository is None,
    }
    return {
        **{name: str(path.resolve()) if path else "" for name, path in files.items()},
        **{name: "1" if is_set else "" for name, is_set in flags.items()},
    }


def _traced(otlp_endpoint: str | None) -> dict[str, str]:
    """Return the environment variable of the collector for traces, checked; empty without one."""
    from deid_runtime.pipeline.tracing import check_collector

    if otlp_endpoint is None:
        return {}
    check_collector(otlp_endpoint)
    return {"DEID_SERVE_OTLP_ENDPOINT": otlp_endpoint}


def _check_secrets(keys: Path | None, tls_key: Path | None, access: Path | None, *, allow_shared: bool) -> None:
    """Raise SettingsError for files of secrets that are wrong, or that others can read unless that is allowed."""
    from deid_runtime.access.projects import read_access
    from deid_runtime.serving.keys import check_keys
    from deid_runtime.system.secret_files import check_secret_file

    if keys is not None:
        check_keys(keys, allow_shared=allow_shared)
    if tls_key is not None:
        check_secret_file(tls_key, tls_key.stat(), allow_shared=allow_shared)
    if access is not None:
        read_access(access, allow_shared=allow_shared)


def _tls(certificate: Path | None, key: Path | None, client_authority: Path | None) -> "ServerTls | None":
    from deid_runtime.serving.server_options import ServerTls

    if (certificate is None) != (key is None) or (client_authority and not certificate):
        raise SettingsError("--tls-cert and --tls-key need each other, and --tls-client-ca needs both")
    return ServerTls(certificate, key, client_authority) if certificate and key else None


def _check_settled(repository: Path | None, context: click.Context) -> None:
    """Raise SettingsError when an option was given whose value is fixed in the given repository, if there is one."""
    if repository is None:
        return
    given = [
        f"--{name.replace('_', '-')}"
        for name in _SETTLED
        if context.get_parameter_source(name) not in (ParameterSource.DEFAULT, None)
    ]
    if given:
        raise SettingsError(
            f"--repository fixes {', '.join(given)}, so these options have no effect; omit them, or omit --repository"
        )


def _settings(
    *,
    operator: Operator,
    date_shift: int,
    date_shift_weeks: bool,
    dates: Dates,
    safe_harbor: bool,
    allow_unreadable_forms: bool,
    profile: Profile,
    recall: Recall,
    threshold: dict[str, float],
    **same: Any,
) -> Settings:
    """Return the settings, after all checks that do not need the models."""
    from deid_runtime.pipeline.loading import surrogate_maker
    from deid_runtime.surrogates import new_key

    check_safe_harbor(safe_harbor=safe_harbor, allow_unreadable_forms=allow_unreadable_forms)
    if allow_unreadable_forms:
        click.echo("deid: WARNING: --allow-unreadable-forms: identifiers in unreadable forms will be MISSED", err=True)
    settings = Settings(
        operator=operator,
        date_shift_days=date_shift,
        date_shift_whole_weeks=date_shift_weeks,
        dates=dates,
        safe_harbor=safe_harbor,
        hold_back_unreadable=not allow_unreadable_forms,
        profile=profile,
        recall=recall,
        thresholds=threshold,
        **same,
    )
    surrogate_maker(settings)(new_key())
    return settings


def _checked_models(settings: Settings) -> "Manifest":
    """Check thresholds and the lists of the site; return the model manifest with the graphs of the profile."""
    from deid_runtime.detectors.inclusion import load_inclusion
    from deid_runtime.detectors.patterns import find_patterns
    from deid_runtime.detectors.templates import load_templates
    from deid_runtime.models.tagger import choose_profile

    if settings.inclusion is not None:
        load_inclusion(settings.inclusion, screen=find_patterns)
    if settings.templates is not None:
        load_templates(settings.templates)
    manifest, _ = choose_profile(settings)
    return manifest.only(settings.profile)


def _stop_event() -> threading.Event:
    """Return an event that SIGINT and SIGTERM set."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # A signal that the parent process ignores (background job of a shell) stays ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: stop.set())
    return stop


def _announcer(metrics: str) -> Callable[["Server"], None]:
    """Return a function that reports that a server is ready; ``metrics`` is the address of its metrics."""

    def announce(server: "Server") -> None:
        options = server.options
        http = "" if options.http is None else f"HTTP {options.http}, "
        _say(
            "server_ready",
            f"ready: gRPC {options.grpc}, {http}metrics {metrics}/metrics (process {server.pid})",
            grpc=options.grpc,
            metrics=metrics,
            pid=server.pid,
        )

    return announce


def _say(event: str, message: str, **fields: object) -> None:
    if is_json():
        log_event(event, message, **fields)
    else:
        click.echo(f"deid: {message}", err=True)
