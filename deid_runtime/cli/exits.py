"""How commands end: our exit codes, errors on one line and without text, and one clean stop on a stop signal.

A stop signal ends a command with 128 plus its number, as shells say it: 130 for SIGINT (Ctrl-C), 143 for SIGTERM, 129
for SIGHUP, 131 for SIGQUIT. SIGPIPE stops no command by itself: whoever writes to a stdout that is closed ends with
141, and what goes to a stderr that is closed is dropped.
"""

import functools
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from deid_runtime.cli.streams import drop_stdout, is_stdout_closed, lasting_streams
from deid_runtime.errors import DeidError
from deid_runtime.system.stop_signals import STOP_SIGNALS, Stopped

EXIT_QUARANTINED: Final = 1
EXIT_DIFFERS: Final = 1
EXIT_ERROR: Final = 2
_SIGNAL_BASE: Final = 128
EXIT_STOPPED: Final = _SIGNAL_BASE + signal.SIGINT
EXIT_PIPE_CLOSED: Final = _SIGNAL_BASE + signal.SIGPIPE

_Command = TypeVar("_Command", bound=Callable[..., Any])


def reported(command: _Command) -> _Command:
    """Give a command our exit codes: errors on one line, a stop signal as 128 plus its number."""

    @functools.wraps(command)
    def run(*args: object, **kwargs: object) -> object:
        with lasting_streams(), _stop_signals():
            return _run(command, *args, **kwargs)

    return run  # type: ignore[return-value]


def _run(command: Callable[..., object], *args: object, **kwargs: object) -> object:
    try:
        result = command(*args, **kwargs)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, not when the interpreter ends: then an error could not be told
        return result
    except DeidError as error:
        click.echo(f"deid: {error}", err=True)
        sys.exit(EXIT_ERROR)
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except OSError as error:
        if is_stdout_closed():
            drop_stdout()
            sys.exit(EXIT_PIPE_CLOSED)
        drop_stdout()
        # Of the system, not of a value: the message holds no text.
        click.echo(f"deid: {error.strerror or type(error).__name__}, at {_place(error)}", err=True)
        sys.exit(EXIT_ERROR)
    except Exception as error:  # noqa: BLE001 - the last resort
        # What a library says of a value may quote it, and so may a traceback of its own frames: no message.
        click.echo(f"deid: unexpected {type(error).__name__}, a defect of deid: {_place(error)}", err=True)
        sys.exit(EXIT_ERROR)
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Stopped) else signal.SIGINT
        click.echo(f"deid: stopped by {signal.Signals(number).name}; nothing was written", err=True)
        sys.exit(_SIGNAL_BASE + number)


def ignore_stop_signals() -> None:
    """Let no stop signal change how the command ends: its output is there."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _place(error: Exception) -> str:
    """Return the lines of our code that an error came through, the last first, without any value."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "deid_" in frame.filename]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames)) or "no line of ours"


@contextmanager
def _stop_signals() -> Iterator[None]:
    """Let a stop signal raise Stopped, once: the clean-up that follows is not to be interrupted."""

    def stop(number: int, frame: object) -> NoReturn:
        ignore_stop_signals()
        raise Stopped(number)

    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    for number in STOP_SIGNALS:
        # One that was ignored from outside, as by nohup or in a shell's background job, stays so.
        if before[number] != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            signal.signal(number, before[number])
