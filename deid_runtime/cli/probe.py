"""``deid probe``: check that a server de-identifies now."""

import sys
from typing import Any

import click
import cloup

from deid_runtime.cli.exits import ExitCode, reported
from deid_runtime.cli.logs import log_format_option
from deid_runtime.cli.remote import probe_options, probe_settings
from deid_runtime.errors import ModelError
from deid_runtime.system.extras import install_extra


@cloup.command()
@probe_options
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1, max=600),
    default=4.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the answers. A server whose processes are all busy with long notes may take longer.",
)
@log_format_option
@reported
def probe(timeout: float, log_format: str, **options: Any) -> None:
    """Check that a server de-identifies now: send it an invented note and compare the answer.

    For probes of containers, and by hand. The note needs no key of the server and reveals nothing about one. Every
    model must answer, because a server reports that it is ready even when a model is dead or stopped.

    Exit code 0 when every server de-identifies; 1 when one does not, does not answer in time, or cannot be reached,
    with one line that gives the reason; 2 for wrong options. Needs the extra [client].
    """
    settings = probe_settings(**options)
    try:
        from deid_client.canary import ask_servers
    except (ImportError, RuntimeError) as error:  # tritonclient raises RuntimeError for a missing library
        raise ModelError(f"`deid probe` needs more libraries ({error}); {install_extra('client')}") from error
    healths = ask_servers(settings, timeout)
    for health in healths:
        click.echo(f"deid: {health.message}", err=not health.is_healthy)
    if not all(health.is_healthy for health in healths):
        sys.exit(ExitCode.HELD_BACK)
