"""How commands end: our exit codes, errors on one line and without text, and one clean stop on Ctrl-C or SIGTERM."""

import functools
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from deid_runtime.errors import DeidError

EXIT_QUARANTINED: Final = 1
EXIT_ERROR: Final = 2
EXIT_STOPPED: Final = 130

_Command = TypeVar("_Command", bound=Callable[..., Any])


def reported(command: _Command) -> _Command:
    """Give a command our exit codes: errors on one line, a stop signal as 130."""

    @functools.wraps(command)
    def run(*args: object, **kwargs: object) -> object:
        try:
            with _stop_signals():
                return command(*args, **kwargs)
        except DeidError as error:
            click.echo(f"deid: {error}", err=True)
            sys.exit(EXIT_ERROR)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:  # noqa: BLE001 - the last resort
            # What a library says of a value may quote it, and so may a traceback of its own frames: no message.
            click.echo(f"deid: unexpected {type(error).__name__}, a defect of deid: {_place(error)}", err=True)
            sys.exit(EXIT_ERROR)
        except KeyboardInterrupt:
            click.echo("deid: stopped; nothing was written", err=True)
            sys.exit(EXIT_STOPPED)

    return run  # type: ignore[return-value]


def _place(error: Exception) -> str:
    """Return the lines of our code that an error came through, the last first, without any value."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "deid_" in frame.filename]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames)) or "no line of ours"


@contextmanager
def _stop_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt, once: the clean-up that follows is not to be interrupted."""
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop(number: int, frame: object) -> NoReturn:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in signals}
    for number in signals:
        # One that was ignored from outside, as in a shell's background job, stays so.
        if before[number] != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, before[number])
