"""What the options of several commands have in common, so that they are called alike and mean the same everywhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import click

from deid_runtime.settings import Engine, Operator, Precision, Profile, Recall

PATH: Final = click.Path(path_type=Path)
EXISTING: Final = click.Path(exists=True, path_type=Path)
FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER: Final = click.Path(exists=True, file_okay=False, path_type=Path)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def together(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Return one decorator for several options, in the order of the help."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def chosen(name: str, of: Any, default: str, text: str) -> Callable[[_Command], _Command]:
    """Return an option that takes one of the values of the ``Literal`` type ``of``; ``text`` is its help."""
    return click.option(name, type=click.Choice(get_args(of)), default=default, show_default=True, help=text)


def counted(
    name: str,
    default: int | Callable[[], int],
    text: str,
    *,
    least: int = 1,
    metavar: str | None = None,
    shown: str | bool = True,
) -> Callable[[_Command], _Command]:
    """Return an option that takes a whole number from ``least``; ``shown`` stands for a default that is computed."""
    return click.option(
        name, type=click.IntRange(min=least), default=default, show_default=shown, metavar=metavar, help=text
    )


def date_shift(of: str = "") -> Callable[[_Command], _Command]:
    """Return the options ``--date-shift`` and ``--date-shift-weeks``; ``of`` begins their help."""
    return together(
        counted(
            "--date-shift",
            365,
            f"{of}Dates of a patient move by one number of days from -DAYS to DAYS, never 0. A small number is easily "
            "undone. From the weekdays of 8 to 16 visits a reader can guess the number modulo 7; "
            "--date-shift-weeks prevents that.",
            metavar="DAYS",
        ),
        click.option(
            "--date-shift-weeks",
            is_flag=True,
            help=f"{of}Move dates by whole weeks, up to --date-shift: weekdays stay as they are and tell nothing about "
            "the number. Cost: 104 possible numbers in place of about 620 (for 365 days), and weekday habits stay in "
            "the text.",
        ),
    )


def engine(text: str) -> Callable[[_Command], _Command]:
    """Return the option ``--engine``."""
    return chosen("--engine", Engine, "auto", text)


def precision() -> Callable[[_Command], _Command]:
    """Return the option ``--precision``."""
    return chosen(
        "--precision",
        Precision,
        "float32",
        "Of what the models do not compute in whole numbers. bfloat16 is faster on processors with units for it (AMX, "
        "AVX-512 BF16) and refused on others; some scores and a few words differ from those of float32.",
    )


def operator(text: str) -> Callable[[_Command], _Command]:
    """Return the option ``--operator``."""
    return chosen("--operator", Operator, "surrogate", text)


def profile(text: str) -> Callable[[_Command], _Command]:
    """Return the option ``--profile``."""
    return chosen("--profile", Profile, "fast", text)


def recall() -> Callable[[_Command], _Command]:
    """Return the option ``--recall``."""
    return chosen(
        "--recall",
        Recall,
        "balanced",
        "high: take words from lower scores of the models. Finds more, and tags more that identifies no one; the model "
        "card says how much. --threshold still counts.",
    )


def models(kind: click.Path = EXISTING) -> Callable[[_Command], _Command]:
    """Return the option ``--models`` and those that say why such models are trusted."""
    return together(
        click.option(
            "--models",
            type=kind,
            help="Folder with other models. Models can be made to find nothing, so it must be signed (--models-key), a "
            "copy of those of the package, or trusted (--trust-models). Default: those of the package.",
        ),
        click.option(
            "--models-key",
            type=FILE,
            help="Public key (PEM) of those who signed the models with `deid models sign`. Models that were changed "
            "since, or that others signed, are refused. Needs the extra [signing].",
        ),
        click.option(
            "--trust-models",
            is_flag=True,
            help="Take the models without a signature. Only for models whose way to this folder you know: bad ones "
            "leave every name in.",
        ),
    )


def allow_shared_key() -> Callable[[_Command], _Command]:
    """Return the option ``--allow-shared-key``."""
    return click.option(
        "--allow-shared-key",
        is_flag=True,
        help="Take also key files that other users can open or own, which are refused otherwise: for file systems "
        "without modes, and for keys that a container platform mounts. Whoever can read a key can test guesses at the "
        "originals.",
    )
