"""How the commands of ``deid`` and ``deid-export`` end: one table of exit codes, errors on one line without note
text, and a clean stop on a stop signal.

A stop signal ends a command with exit code 128 plus the signal number, as in shells: 130 for SIGINT (Ctrl-C), 143 for
SIGTERM, 129 for SIGHUP, 131 for SIGQUIT. SIGPIPE itself ends no command. A command that writes to a closed stdout ends
with 141. Output to a closed stderr is dropped.
"""

import functools
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from deid_runtime.cli.streams import drop_stdout, is_stdout_closed, lasting_streams
from deid_runtime.errors import DefectError, DeidError, EngineError, InstallationError
from deid_runtime.system.extras import install_extra
from deid_runtime.system.installed_files import missing_file
from deid_runtime.system.json_logs import JsonLines
from deid_runtime.system.stop_signals import STOP_SIGNALS, Stopped

_SIGNAL_BASE: Final = 128


class ExitCode(IntEnum):
    """The exit codes of commands."""

    OK = 0
    HELD_BACK = 1
    WRONG_USE = 2
    FAILURE = 3
    STOPPED_BY_SIGHUP = _SIGNAL_BASE + signal.SIGHUP
    STOPPED_BY_SIGINT = _SIGNAL_BASE + signal.SIGINT
    STOPPED_BY_SIGQUIT = _SIGNAL_BASE + signal.SIGQUIT
    STDOUT_CLOSED = _SIGNAL_BASE + signal.SIGPIPE
    STOPPED_BY_SIGTERM = _SIGNAL_BASE + signal.SIGTERM


@dataclass(frozen=True, slots=True)
class Program:
    """What error messages need to know about a program.

    ``extra`` is the extra of the package with the libraries of the program, ``after_stop`` the state after a stop,
    as text. ``names_files``: errors of the operating system name the file. Those of ``deid`` do not: a file of
    notes may be named after its patient.
    """

    name: str = "deid"
    extra: str = ""
    after_stop: str = "nothing was written"
    names_files: bool = False

    def end(self, message: str, code: int) -> NoReturn:
        """Print one line on stderr and end the process."""
        if isinstance(sys.stderr, JsonLines):
            sys.stderr.write_object("error", "failed", message, {"exit_code": int(code)})
        else:
            click.echo(f"{self.name}: {message}", err=True)
        sys.exit(code)


DEID: Final = Program()

#: The meaning of each exit code. The help of `deid` shows this table.
MEANINGS: Final[Mapping[ExitCode, str]] = {
    ExitCode.OK: "Done.",
    ExitCode.HELD_BACK: "Some notes were held back; `verify`: a difference; `corpus resynthesize`: originals are left; "
    "`audit parrot`: the gate is not passed; `evaluate tune`: the wanted recall is not reached; `probe`: the server "
    "does not de-identify.",
    ExitCode.WRONG_USE: "Wrong use or input: an option, setting, file, model or server that cannot be used; a full "
    "disk.",
    ExitCode.FAILURE: "Failure of deid: a defect, an engine that fails, or a missing file of its installation.",
    ExitCode.STOPPED_BY_SIGHUP: "Stopped by SIGHUP.",
    ExitCode.STOPPED_BY_SIGINT: "Stopped by SIGINT (Ctrl-C).",
    ExitCode.STOPPED_BY_SIGQUIT: "Stopped by SIGQUIT.",
    ExitCode.STDOUT_CLOSED: "Stdout was closed.",
    ExitCode.STOPPED_BY_SIGTERM: "Stopped by SIGTERM.",
}
#: Errors that are failures of deid and not of the user; all others have the code ``WRONG_USE``.
_OURS: Final = (InstallationError, EngineError, DefectError)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def reported(command: _Command) -> _Command:
    """Give a command the exit codes of this module: errors on one line, a stop signal as 128 plus its number."""

    @functools.wraps(command)
    def run(*args: object, **kwargs: object) -> object:
        return end_as(DEID, command, *args, **kwargs)

    return run  # type: ignore[return-value]


def end_as(program: Program, command: Callable[..., object], /, *args: object, **kwargs: object) -> object:
    """Call ``command`` as :func:`report` does, with streams and stop signals that cannot interrupt it half-way."""
    with lasting_streams(), _stop_signals():
        return report(program, command, *args, **kwargs)


def report(program: Program, command: Callable[..., object], /, *args: object, **kwargs: object) -> object:
    """Call ``command``. When it raises, end the process with one line on stderr and an exit code."""
    try:
        result = command(*args, **kwargs)
        if sys.stdout is not None:
            sys.stdout.flush()  # here: an error while the interpreter ends could not be reported
        return result
    except DeidError as error:
        program.end(str(error), ExitCode.FAILURE if isinstance(error, _OURS) else ExitCode.WRONG_USE)
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except OSError as error:
        is_closed = is_stdout_closed()
        drop_stdout()
        if is_closed:
            sys.exit(ExitCode.STDOUT_CLOSED)
        missing = missing_file(error)
        if missing:
            program.end(str(missing), ExitCode.FAILURE)
        # The message comes from the system, so it contains no note text.
        file = f"{error.filename}: " if error.filename and program.names_files else ""
        program.end(f"{file}{error.strerror or type(error).__name__}, at {_place(error)}", ExitCode.WRONG_USE)
    except ModuleNotFoundError as error:
        if program.extra:
            message = f"the module {error.name} is not installed; {install_extra(program.extra)}"
            program.end(message, ExitCode.WRONG_USE)
        program.end(f"the module {error.name} is not installed; install deid-runtime again", ExitCode.FAILURE)
    except Exception as error:  # noqa: BLE001 - the last resort
        # Print no message and no traceback: both may quote a value, and so note text.
        message = f"unexpected {type(error).__name__}, a defect of {program.name}: {_place(error)}"
        program.end(message, ExitCode.FAILURE)
    except KeyboardInterrupt as error:
        _end_by_signal(program, error.number if isinstance(error, Stopped) else signal.SIGINT)


def end_interrupted() -> NoReturn:
    """End as for SIGINT. For a Ctrl-C while the command line is parsed."""
    _end_by_signal(DEID, signal.SIGINT)


def ignore_stop_signals() -> None:
    """Ignore stop signals from now on, because the output is complete."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _end_by_signal(program: Program, number: int) -> NoReturn:
    program.end(f"stopped by {signal.Signals(number).name}; {program.after_stop}", _SIGNAL_BASE + number)


def _place(error: Exception) -> str:
    """Return file names and line numbers of the project's code in the traceback, last call first, without values."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "deid_" in frame.filename]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames)) or "no line of deid"


@contextmanager
def _stop_signals() -> Iterator[None]:
    """Make the first stop signal raise Stopped. Later ones are ignored, so that they do not interrupt the clean-up."""

    def stop(number: int, frame: object) -> NoReturn:
        ignore_stop_signals()
        raise Stopped(number)

    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    for number in STOP_SIGNALS:
        # A signal that the parent process ignores (nohup, background job of a shell) stays ignored.
        if before[number] != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            signal.signal(number, before[number])
