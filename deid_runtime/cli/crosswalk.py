"""``deid crosswalk``: read a crosswalk. For the honest broker, who has the private key."""

import contextlib
import os
import secrets
import sys
from pathlib import Path

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import reported
from deid_runtime.errors import OutputError


@cloup.group("crosswalk")
def crosswalk_group() -> None:
    """Read what `deid run --crosswalk` wrote."""


@crosswalk_group.command("read")
@cloup.argument("file", type=cli_options.FILE)
@click.option("--key", type=cli_options.FILE, required=True, help="Private key, from `deid key pair`.")
@click.option(
    "--id",
    metavar="ID",
    multiple=True,
    help="Only this note or patient, by id or pseudonym; may be repeated. Default: all.",
)
@click.option(
    "-o",
    "--out",
    type=cli_options.PATH,
    help="New file to write to, which only you may read; it appears when everything was read. Default: stdout, where "
    "lines appear before the end of the crosswalk is checked.",
)
@cli_options.allow_shared_key()
@reported
def read(
    file: Path,
    key: Path,
    id: tuple[str, ...],  # noqa: A002 - names its variable
    out: Path | None,
    allow_shared_key: bool,
) -> None:
    """Decrypt the crosswalk FILE to JSON Lines: for each note its ids, and the original and surrogate of each span.

    The output identifies patients. Exit code 2 for a wrong key, or when FILE was changed or truncated.
    """
    from deid_runtime.run.crosswalk import read_crosswalk

    if out is None:
        count = read_crosswalk(file, key, sys.stdout.buffer.write, id, allow_shared_key=allow_shared_key)
        sys.stdout.buffer.flush()
    else:
        count = _read_to_file(file, key, id, out, allow_shared_key=allow_shared_key)
    click.echo(f"{count:,} notes", err=True)


def _read_to_file(file: Path, key: Path, ids: tuple[str, ...], out: Path, *, allow_shared_key: bool) -> int:
    from deid_runtime.run.crosswalk import read_crosswalk

    if os.path.lexists(out):
        raise OutputError(f"{out}: already exists; choose another name")
    partial = out.with_name(f".{out.name}.partial-{secrets.token_hex(4)}")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
            count = read_crosswalk(file, key, target.write, ids, allow_shared_key=allow_shared_key)
            target.flush()
            os.fsync(target.fileno())
        partial.rename(out)
    except OSError as error:
        raise OutputError(f"{out}: cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return count
