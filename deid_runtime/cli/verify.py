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
    help="Crosswalk that the run wrote, to be compared too. The manifest has its digest, not its place. Default: not "
    "compared.",
)
@reported
def verify(out: Path, crosswalk: Path | None) -> None:
    """Compare an output with its manifest: digests of OUT and of its quarantine, and the counts of notes.

    OUT is what was given to `deid run`, `deid detect` or `deid corpus resynthesize`. Every difference is one line on
    stdout; a table is named, a file that is a single note is not.

    Exit codes: 0 when all is as the run wrote it, 1 when not, 2 when there is no manifest to compare with or a file
    cannot be read. The manifest is not signed: whoever can change OUT can change both.
    """
    from deid_runtime.run.verify import verify_output

    found = verify_output(out, crosswalk)
    if found.is_crosswalk_left_out:
        click.echo("deid: NOTICE: the run wrote a crosswalk; compare it with --crosswalk FILE", err=True)
    for difference in found.differences:
        click.echo(difference)
    if found.differences:
        click.echo(f"deid: {out} is not what its manifest says", err=True)
        sys.exit(ExitCode.HELD_BACK)
    click.echo(f"{out}: {found.files:,} files, {found.size_bytes:,} bytes, as the manifest says")
