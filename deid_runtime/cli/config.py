"""The option ``--config``, and ``deid config``: check a configuration file and show the effective settings."""

import copy
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click
import cloup
from click.core import ParameterSource

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.config_file import COMMANDS, options_of, read_config
from deid_runtime.cli.exits import reported
from deid_runtime.cli.remote import AUTHORIZATION_VARIABLE

#: The file for all commands. When it is not set, the variable of the command is read, for instance DEID_RUN_CONFIG.
CONFIG_VARIABLE: Final = "DEID_CONFIG"

_SOURCES: Final = {
    ParameterSource.COMMANDLINE: "command line",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
}
#: Matches private keys of age and keys of surrogates, in case one is given in place of a file or a name.
_SECRET: Final = re.compile(r"AGE-SECRET-KEY|[0-9A-Fa-f]{64}")


def config_option_of(
    program: str, commands: Callable[[click.Context], Mapping[str, click.Command]], variable: str, text: str
) -> Callable[[Any], Any]:
    """Return the option ``--config`` of a program.

    ``commands`` returns the commands that may have a table in the file, by name; ``variable`` may name the file, too.
    The option is eager, because the file gives defaults for all other options.
    """

    def load(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
        if path is None or context.resilient_parsing:
            return
        values = read_config(path, commands(context), program)
        context.default_map = {**(context.default_map or {}), **values[str(context.command.name)]}

    return click.option(
        "--config",
        type=cli_options.FILE,
        is_eager=True,
        expose_value=False,
        callback=load,
        envvar=variable,
        help=f"{text} Environment variables and the command line override it. Or set {variable}.",
    )


def _commands(context: click.Context) -> Mapping[str, click.Command]:
    root = context.find_root().command
    assert isinstance(root, click.Group)
    return {name: root.commands[name] for name in COMMANDS}


config_option = config_option_of(
    "deid",
    _commands,
    CONFIG_VARIABLE,
    'TOML file with the options of a site: `profile = "full"` for all commands, `[run]` for one; see '
    "`deid config --help`.",
)


@cloup.group("config")
def config_group() -> None:
    """Check a configuration file, and show the effective settings.

    `deid run`, `detect`, `evaluate` and `serve` take `--config FILE`, a TOML file of their options without the dashes:

    \b
        profile = "full"             # for every command that has the option
        models = "models"            # paths are relative to the folder of the file
        [run]                        # for one command; overrides the values above
        key = "site.key"
        safe-harbor = true           # an option without a value; --no-safe-harbor switches it off
        keep-column = ["ward"]       # an option that may be repeated
        threshold = {name = 0.2}
        [serve]
        keys = "keys"

    The command line overrides environment variables, these override the file, and the file overrides the defaults. An
    unknown name, or a value of a wrong type, is an error.
    """


@config_group.command("check")
@cloup.argument("file", type=cli_options.FILE)
@reported
def check(file: Path) -> None:
    """Check that all names in FILE are options of a command, and that all values have the right type.

    Files that it names must exist. Reports every mistake; the exit code is 2 if there is any.
    """
    found = read_config(file, _commands(click.get_current_context()))
    for command, values in found.items():
        if values:
            click.echo(f"deid {command}: {', '.join(name.replace('_', '-') for name in values)}")
    click.echo(f"{file}: no mistakes found")


@config_group.command("show", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@cloup.argument("command", type=click.Choice(COMMANDS))
@cloup.argument("options", metavar="[OPTIONS OF COMMAND]...", nargs=-1, type=click.UNPROCESSED)
@reported
def show(command: str, options: tuple[str, ...]) -> None:
    """Print the effective settings of COMMAND, and where each comes from: default, file, environment, command line.

    Example: `deid config show run --config site.toml --profile full`. The output is a table of a configuration
    file. Secrets are not shown.
    """
    root = click.get_current_context().find_root()
    context = _without_required(_commands(root)[command]).make_context(command, list(options), parent=root)
    with context:
        click.echo(f"[{command}]")
        for name, option in options_of(context.command).items():
            source = context.get_parameter_source(str(option.name))
            click.echo(_line(name, context.params.get(str(option.name)), _SOURCES.get(source, "default")))  # type: ignore[arg-type]
        if os.environ.get(AUTHORIZATION_VARIABLE):
            click.echo(f"# {AUTHORIZATION_VARIABLE} is set in the environment; not shown")


def _line(name: str, value: object, source: str) -> str:
    """Return one setting as a line of TOML with its source. A setting without a value or a secret is a comment."""
    if value is None or value in ((), {}):
        return f"# {name} is not set  # {source}"
    if _SECRET.search(str(value)):
        return f"# {name} is set, but not shown, because it looks like a key; give a file  # {source}"
    return f"{name} = {_toml(value)}  # {source}"


def _toml(value: object) -> str:
    """Return a value as TOML. Strings, numbers and booleans are written as in JSON, which is valid TOML here."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name} = {_toml(each)}' for name, each in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Path):
        value = str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _without_required(command: click.Command) -> click.Command:
    """Return a copy of a command without required parameters, so that it can be parsed without inputs and outputs."""
    same = copy.copy(command)
    same.params = [copy.copy(parameter) for parameter in command.params]
    for parameter in same.params:
        parameter.required = False
    return same
