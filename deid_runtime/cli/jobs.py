"""``deid jobs``: show how far a long or stopped run is."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import reported

if TYPE_CHECKING:
    from deid_runtime.run.job_status import JobStatus


@cloup.group("jobs")
def jobs_group() -> None:
    """Show runs that are in progress or were stopped."""


@jobs_group.command()
@cloup.argument("out", type=cli_options.PATH)
@cli_options.flag("--json", "Print one JSON object: the same values, times in seconds.")
@reported
def status(out: Path, json: bool) -> None:
    """Show how far the run to OUT is.

    OUT is the --out of `deid run` or `deid detect`. Shows the shards that are finished, the notes in them and how many
    of these were held back, the rate of the last shards, and the time that is left with its likely range. The run is
    not disturbed.
    """
    from deid_runtime.run.job_status import job_status

    found = job_status(out)
    click.echo(_as_json(found) if json else _as_text(found))


def _as_json(status: "JobStatus") -> str:
    return json.dumps(status.to_json())


def _as_text(status: "JobStatus") -> str:
    if status.state == "finished":
        return "finished; `deid verify` compares the output with its report"
    lines = [f"{status.state}{f' ({status.holder})' if status.holder else '; continue with `deid run ... --resume`'}"]
    if status.started:
        lines += [
            f"began {status.started}, resumed {status.resumed:,} times",
            f"{status.shards:,} shards finished, {status.share:.0%} of the input",
            f"{status.notes:,} notes, {status.quarantined:,} quarantined, {status.notes_per_s:,.1f} notes/s",
            f"{status.left} left" if status.left else "time left: not known yet",
        ]
    return "\n".join(lines)


__all__ = ["jobs_group"]
