"""The configuration file: read a TOML file and check every key against the options of the commands.

::

    profile = "full"            # for every command that has the option
    [run]                       # for `deid run` only; overrides the values above
    safe-harbor = true
    threshold = {name = 0.2}
    [serve]
    keys = "keys"               # paths are relative to the folder of this file

A key is the name of an option without the leading dashes. An option without a value is ``true`` or ``false``. An option
that may be repeated is a list. All mistakes are reported together, with the file, the key and what is expected.
Messages do not quote values, because a value may be a misplaced secret.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import click

from deid_runtime.cli.options import THRESHOLD_METAVAR
from deid_runtime.errors import SettingsError

#: The commands that read a configuration file; each may have a table in it.
COMMANDS: Final = ("run", "detect", "evaluate", "serve")
#: Options with another meaning in `serve` than in the other commands. They must be in the table of a command.
AMBIGUOUS: Final = ("metrics-port", "tls-cert", "tls-key")

_LIMIT_BYTES: Final = 2**20
#: Options that name the file or end the command.
_NOT_IN_A_FILE: Final = ("config", "help")


@dataclass
class _Check:
    """One check of a file: collects the values by command and parameter, and all faults."""

    path: Path
    program: str
    options: Mapping[str, Mapping[str, click.Option]]  # command to option name to option
    faults: list[str] = field(default_factory=list)

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that may have a table in the file."""
        return tuple(self.options)

    def fault(self, key: str, expected: str) -> None:
        """Record a fault of ``key``; ``expected`` says what is expected."""
        self.faults.append(f"{self.path}: {key}: {expected}")

    def values(self, content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the values of every command, by parameter name."""
        found: dict[str, dict[str, Any]] = {command: {} for command in self.commands}
        for name, value in content.items():
            if name not in self.commands:
                self._common(name, value, found)
        for command in self.commands:
            table = content.get(command, {})
            if isinstance(table, dict):
                for name, value in table.items():
                    self._one(f"{command}.{name}", name, value, [command], found)
            else:
                self.fault(command, f"expected a table, [{command}]")
        return found

    def _common(self, name: str, value: object, found: dict[str, dict[str, Any]]) -> None:
        owners = [command for command in self.commands if name in self.options[command]]
        if owners and name in AMBIGUOUS:
            self.fault(name, f"has another meaning in `serve`; put it into a table: {_tables(owners)}")
        elif isinstance(value, dict) and not owners:
            known = self.commands
            self.fault(name, f"unknown table; expected one of {_tables(known)}{_suggestion(name, known)}")
        else:
            self._one(name, name, value, owners, found)

    def _one(self, key: str, name: str, value: object, owners: list[str], found: dict[str, dict[str, Any]]) -> None:
        """Check one value and store it for the commands ``owners``."""
        known = [option for command in (owners or self.commands) for option in self.options[command]]
        if not owners or name not in self.options[owners[0]]:
            where = f"`{self.program} {owners[0]}`" if owners else "any command"
            self.fault(key, f"not an option of {where}{_suggestion(name, known)}")
            return
        for command in owners:
            option = self.options[command][name]
            checked, expected = _checked(option, value, self.path.parent)
            if expected:
                self.fault(key, f"expected {expected}")
                return  # the fault is the same for every command
            found[command][str(option.name)] = checked


def read_config(path: Path, commands: Mapping[str, click.Command], program: str = "deid") -> dict[str, dict[str, Any]]:
    """Return the values in a file: command to parameter to value, in the form of click's ``default_map``.

    ``commands`` are the commands of ``program`` that may have a table in the file, by name. Raises SettingsError with
    the file, the key and what is expected, for every fault.
    """
    check = _Check(path, program, {name: options_of(command) for name, command in commands.items()})
    found = check.values(_content(path))
    if check.faults:
        raise SettingsError(f"\n{program}: ".join(check.faults))
    return found


def options_of(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command that a file may set, by their names without leading dashes."""
    found = {}
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            name = file_name(parameter)
            if name not in _NOT_IN_A_FILE:
                found[name] = parameter
    return found


def file_name(option: click.Option) -> str:
    """Return the name of an option in a file: its long name without leading dashes."""
    return next(name for name in option.opts if name.startswith("--")).removeprefix("--")


def _content(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_LIMIT_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) > _LIMIT_BYTES:
        raise SettingsError(f"{path}: more than {_LIMIT_BYTES:,} bytes; a configuration file is smaller")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: bad bytes at offset {error.start}; expected TOML in UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        place = str(error).rpartition("(")[2].rstrip(")") or "unknown place"
        raise SettingsError(f'{path}: not TOML, {place}; expected lines like `profile = "full"`') from None


def _checked(option: click.Option, value: object, folder: Path) -> tuple[Any, str]:
    """Return the value in the form that click takes, and what was expected; "" for a valid value."""
    if option.is_flag:
        return value, "" if isinstance(value, bool) else "true or false"
    if not option.multiple:
        return _single(option, value, folder)
    if option.metavar == THRESHOLD_METAVAR and isinstance(value, dict):
        value = [f"{head}={number}" for head, number in value.items()]
    if not isinstance(value, list):
        return None, "a table of heads and numbers" if option.metavar == THRESHOLD_METAVAR else "a list of strings"
    if option.metavar == THRESHOLD_METAVAR:
        return _thresholds(option, value)
    each = [_single(option, entry, folder) for entry in value]
    return [made for made, _ in each], next((f"a list, each {expected}" for _, expected in each if expected), "")


def _thresholds(option: click.Option, value: list[object]) -> tuple[Any, str]:
    assert option.callback is not None
    try:
        option.callback(click.Context(click.Command("check")), option, tuple(map(str, value)))
    except click.BadParameter:
        return None, "heads of the models, each with a number between 0 and 1"
    return [str(entry) for entry in value], ""


def _single(option: click.Option, value: object, folder: Path) -> tuple[Any, str]:
    kind = option.type
    expected = _expectation(kind)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(kind, click.types.IntParamType):  # also the base class of IntRange
        is_right = is_number and isinstance(value, int)
    elif isinstance(kind, click.types.FloatParamType):
        is_right = is_number
    else:
        is_right = isinstance(value, str) and bool(value)
    if not is_right:
        return None, expected
    if isinstance(kind, click.Path):
        value = str(folder / str(value))
    try:
        kind.convert(value, option, None)
    except click.BadParameter:
        return None, expected
    return value, ""


def _expectation(kind: click.ParamType[Any]) -> str:
    if isinstance(kind, click.Choice):
        return f"one of {', '.join(map(str, kind.choices))}"
    if isinstance(kind, click.IntRange | click.FloatRange):
        number = "a whole number" if isinstance(kind, click.IntRange) else "a number"
        low = "" if kind.min is None else f" {'over' if kind.min_open else 'from'} {kind.min}"
        return f"{number}{low}" + ("" if kind.max is None else f" to {kind.max}")
    if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return "a whole number" if isinstance(kind, click.types.IntParamType) else "a number"
    if isinstance(kind, click.Path) and kind.exists:
        what = "folder" if not kind.file_okay else "file" if not kind.dir_okay else "file or folder"
        return f"the path of a {what} that exists, relative to the folder of this file"
    if isinstance(kind, click.Path):
        return "a path, relative to the folder of this file"
    return "a string that is not empty"


def _tables(commands: Iterable[str]) -> str:
    return ", ".join(f"[{command}]" for command in commands)


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name.replace("_", "-"), list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""
