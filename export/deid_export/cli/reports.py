"""How the commands of ``deid-export`` end, and how they name the notes that they omitted."""

from collections.abc import Sequence
from typing import Final

import click
import cloup

from deid_runtime.cli.exits import Program, end_as

NAMED: Final = 5  # number of notes that are named one by one

_EXPORT: Final = Program(
    name="deid-export",
    extra="export",
    after_stop="run the same command again to continue a long task",
    names_files=True,
)


class ReportingGroup(cloup.Group):
    """A command group whose commands end with the exit codes of ``deid``, whatever they raise."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; when it raises, print one line on stderr and end the process."""
        return end_as(_EXPORT, super().invoke, ctx)


def tell_notes(refused: Sequence[tuple[str, str]], what: str, *, named: int = NAMED) -> None:
    """Name the refused notes, each with its reason, on stderr; reasons contain no text."""
    for note_id, reason in refused[:named]:
        click.echo(f"{note_id}: {reason}", err=True)
    if refused:
        click.echo(f"{len(refused)} notes {what}", err=True)
