"""The option ``--log-format``."""

import logging
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from deid_runtime.system.json_logs import VARIABLE, LogFormat, is_json, log_as_json

_Command = TypeVar("_Command", bound=Callable[..., Any])


def log_format_option(command: _Command) -> _Command:
    """Add the option ``--log-format``, which takes effect while the command line is parsed.

    Put it below the option ``--config``, whose file may set it.
    """
    return click.option(
        "--log-format",
        type=click.Choice(("text", "json")),
        default="text",
        show_default=True,
        is_eager=True,
        callback=_use,
        help="json: everything on stderr is one JSON object per line: time, level, event, message and numbers; ids of "
        "runs, never of notes or patients. Progress, too.",
    )(command)


def _use(context: click.Context, parameter: click.Parameter, value: LogFormat) -> LogFormat:
    if value == "json" and not context.resilient_parsing and not is_json():
        handler = log_as_json()
        os.environ[VARIABLE] = "json"

        def end() -> None:
            # The stream stays, because the error that ends a command is printed after this. The caller of
            # the command has kept the former stream.
            logging.getLogger().removeHandler(handler)
            os.environ.pop(VARIABLE, None)
            sys.stderr.flush()

        context.call_on_close(end)
    return value
