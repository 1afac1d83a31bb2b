"""The ``deid`` command: a tree of groups. Data and reports go to stdout, all other output to stderr.

:data:`deid_runtime.cli.exits.MEANINGS` lists the exit codes. A stop signal has no effect while the complete output is
moved to its final path.
"""

# Only the imports that --help needs are at the top; each command imports the rest.
import sys
from collections.abc import Sequence
from typing import Any

import click
import cloup

from deid_runtime.cli.audit import audit
from deid_runtime.cli.completion import completion
from deid_runtime.cli.config import config_group
from deid_runtime.cli.corpus import corpus
from deid_runtime.cli.crosswalk import crosswalk_group
from deid_runtime.cli.evaluate import evaluate
from deid_runtime.cli.exits import DEID, MEANINGS, ExitCode, end_interrupted, report, reported
from deid_runtime.cli.gateway import gateway_group
from deid_runtime.cli.jobs import jobs_group
from deid_runtime.cli.keys import key_group
from deid_runtime.cli.models import models_group
from deid_runtime.cli.probe import probe
from deid_runtime.cli.release import bundle_group, check
from deid_runtime.cli.review import demo, review
from deid_runtime.cli.run import detect, run
from deid_runtime.cli.serve import serve
from deid_runtime.cli.streams import drop_stdout, lasting_streams
from deid_runtime.cli.verify import verify
from deid_runtime.system.process_privacy import keep_private


class Tree(cloup.Group):
    """The root of the commands. It applies the exit codes of commands also to the parsing of the command line."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **options: Any) -> Any:  # type: ignore[override]
        """Parse ``args``, by default those of this process; run the command; end with a code of ``ExitCode``."""
        if not options.pop("standalone_mode", True):
            return super().main(args, prog_name, standalone_mode=False, **options)
        with lasting_streams():
            stdout = sys.stdout
            try:
                ended = report(DEID, super().main, args, prog_name, standalone_mode=False, **options)
            except click.ClickException as error:
                error.show()
                sys.exit(error.exit_code)
            except click.Abort:  # click raises it for Ctrl-C
                end_interrupted()
            except SystemExit:
                if sys.stdout is stdout:
                    raise
                # When stdout is closed, click replaces it with its own stream and exits with 1.
                sys.stdout = stdout
                drop_stdout()
                sys.exit(ExitCode.STDOUT_CLOSED)
        sys.exit(ended if isinstance(ended, int) else ExitCode.OK)


def _echo_version() -> None:
    from deid_runtime.run.report import deid_version

    click.echo(f"deid {deid_version()}")


def _version_option(context: click.Context, parameter: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not context.resilient_parsing:
        _echo_version()
        context.exit()


@cloup.group(
    cls=Tree,
    context_settings={"auto_envvar_prefix": "DEID", "help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items()),
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version_option, help="Print the version."
)
def main() -> None:
    """De-identify clinical notes: find identifiers and replace them with plausible surrogates.

    Every option can be given as an environment variable too: DEID_RUN_KEY for `deid run --key`, and so on. Settings
    of a site can be in a file: `deid config --help`.
    """
    keep_private()


@cloup.command()
@reported
def version() -> None:
    """Print the version."""
    _echo_version()


main.section("Notes", run, detect, jobs_group, evaluate, verify, check, demo)
main.section("Service", serve, probe, gateway_group)
main.section("Keys, models and settings", key_group, crosswalk_group, models_group, config_group)
main.section("Corpora and releases", corpus, bundle_group, review, audit)
main.section("This program", completion, version)
