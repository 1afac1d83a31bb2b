"""End the commands of ``deid-export``: the exit codes of ``deid``, and errors on one line without note text."""

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from deid_runtime.errors import DefectError, DeidError, EngineError, InstallationError

HELD_BACK: Final = 1  # some notes were left out, or a check found something
WRONG_USE: Final = 2
FAILURE: Final = 3
STOPPED: Final = 130  # by Ctrl-C, as shells do

NAMED: Final = 5  # number of notes that are named one by one


class ReportingGroup(click.Group):
    """A command group whose commands end with the exit codes of this module, whatever they raise."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; when it raises, print one line on stderr and end the process."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except DeidError as error:
            _end(str(error), FAILURE if isinstance(error, (EngineError, InstallationError, DefectError)) else WRONG_USE)
        except ModuleNotFoundError as error:
            # `packaged_base` says how to install the base model; all other libraries belong to the extra.
            told = f"the module {error.name} is not installed: pip install 'deid-runtime[export]'"
            _end(told if error.name else str(error), WRONG_USE)
        except OSError as error:  # an error of the operating system: its message holds no text
            file = f"{error.filename}: " if error.filename else ""
            _end(f"{file}{error.strerror or type(error).__name__}, at {_place(error)}", WRONG_USE)
        except KeyboardInterrupt:
            _end("stopped; what takes long goes on where it was when the same command is run again", STOPPED)
        except Exception as error:  # noqa: BLE001 - the last resort
            # The message of a library error may quote a value, so it is not shown.
            _end(f"unexpected {type(error).__name__}, a defect of deid-export: {_place(error)}", FAILURE)
        return None


def tell_notes(refused: Sequence[tuple[str, str]], what: str, *, named: int = NAMED) -> None:
    """Name the refused notes, each with its reason, on stderr; reasons hold no text."""
    for note_id, reason in refused[:named]:
        click.echo(f"{note_id}: {reason}", err=True)
    if refused:
        click.echo(f"{len(refused)} notes {what}", err=True)


def _end(told: str, code: int) -> None:
    click.echo(f"deid-export: {told}", err=True)
    sys.exit(code)


def _place(error: Exception) -> str:
    """Return the lines of our code that an error passed through, last first, without any value."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "deid_" in frame.filename]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames)) or "no line of ours"
