"""``deid verify``: check that an output is still as its run wrote it."""

import sys
from pathlib import Path

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import ExitCode, reported


@cloup.command()
@cloup.argument("out", type=cli_options.PATH)
@click.option(
    "--crosswalk",
    type=cli_options.PATH,
    help="Crosswalk that the run wrote, to compare it as well. The run report has its digest, but not its path. "
    "Default: not compared.",
)
@reported
def verify(out: Path, crosswalk: Path | None) -> None:
    """Compare an output with its run report: digests of OUT and of its quarantine, and the counts of notes.

    OUT is what was given to `deid run`, `deid detect` or `deid corpus resynthesize`. Prints every difference as one
    line on stdout; it names tables, but not files that are a single note.

    Exit codes: 0 when nothing has changed since the run, 1 when something has, 2 when there is no run report or a file
    cannot be read. The run report is not signed: anyone who can change OUT can change both.
    """
    from deid_runtime.run.verify import verify_output

    found = verify_output(out, crosswalk)
    if found.is_crosswalk_left_out:
        click.echo("deid: NOTICE: the run also wrote a crosswalk; compare it with --crosswalk FILE", err=True)
    for difference in found.differences:
        click.echo(difference)
    if found.differences:
        click.echo(f"deid: {out} differs from its run report", err=True)
        sys.exit(ExitCode.HELD_BACK)
    click.echo(f"{out}: {found.files:,} files, {found.size_bytes:,} bytes, as the run report says")
