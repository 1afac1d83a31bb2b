"""How the commands of ``deid-export`` tell what went wrong."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import click

from deid_runtime.errors import DeidError

NAMED: Final = 5  # how many notes are told one by one


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turn our errors into one line and exit code 1."""
    try:
        yield
    except DeidError as error:
        raise click.ClickException(str(error)) from error


def tell_notes(refused: Sequence[tuple[str, str]], what: str, *, named: int = NAMED) -> None:
    """Name notes that were not taken, with the reason of each, on stderr; reasons hold no text."""
    for note_id, reason in refused[:named]:
        click.echo(f"{note_id}: {reason}", err=True)
    if refused:
        click.echo(f"{len(refused)} notes {what}", err=True)
