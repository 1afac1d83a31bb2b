"""The end of ``deid run`` and ``deid detect``: a summary and the exit code."""

import sys
from typing import TYPE_CHECKING, Literal

import click

from deid_runtime.cli.exits import ExitCode

if TYPE_CHECKING:
    from deid_runtime.run.job import Summary


def conclude(summary: "Summary", verb: Literal["written", "searched"], *, has_records: bool, quiet: bool) -> None:
    """Print the result of the run, and exit with 1 when notes were held back."""
    counts = summary.counts
    held_back = counts.quarantined.total()
    if has_records and counts.read and not counts.with_record:
        click.echo(
            "deid: WARNING: no note belongs to a patient of --patients; check --patient-column and the ids",
            err=True,
        )
    if summary.special_files:
        click.echo(
            f"deid: NOTICE: {summary.special_files:,} pipes, sockets or devices in the input folders were not read",
            err=True,
        )
    if summary.is_done_before:
        click.echo("deid: an earlier run has finished this output, so nothing was done", err=True)
    if not quiet:
        click.echo(f"{counts.written:,} notes {verb}, {held_back:,} quarantined; see {summary.manifest}", err=True)
    if held_back:
        click.echo(f"deid: {held_back:,} notes were held back: {summary.quarantine}", err=True)
        sys.exit(ExitCode.HELD_BACK)
