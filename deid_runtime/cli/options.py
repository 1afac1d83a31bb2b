"""The options that several commands share, so that they have the same name and meaning everywhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import click
import cloup

from deid_runtime.labels import HEADS
from deid_runtime.settings import Engine, Operator, Precision, Profile, Recall, WindowBorders

PATH: Final = click.Path(path_type=Path)
EXISTING: Final = click.Path(exists=True, path_type=Path)
FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER: Final = click.Path(exists=True, file_okay=False, path_type=Path)

#: Titles of the sections of the help, the same in every command.
INPUT: Final = "Input"
OUTPUT: Final = "Output"
FINDING: Final = "Finding"
SURROGATES: Final = "Surrogates"
SERVER: Final = "Server"
SPEED: Final = "Speed"
JOB: Final = "Resuming and progress"

#: The form of a value of ``--threshold``. A configuration file has a table of these values.
THRESHOLD_METAVAR: Final = "HEAD=VALUE"

_Command = TypeVar("_Command", bound=Callable[..., Any])


def together(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Return one decorator for several options, given in the order of the help."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def section(title: str, *options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Return one decorator for several options that the help shows together under ``title``."""
    return cloup.option_group(title, *options)


def flag(name: str, text: str, *, off: str | None = None) -> Callable[[_Command], _Command]:
    """Return an option without a value.

    ``off``, by default ``--no-NAME``, overrides a file or variable that sets it.
    """
    return click.option(f"{name}/{off or name.replace('--', '--no-', 1)}", default=False, help=text)


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
    """Return an option that takes a whole number of ``least`` or more. ``shown`` describes a computed default."""
    return click.option(
        name, type=click.IntRange(min=least), default=default, show_default=shown, metavar=metavar, help=text
    )


def date_shift(of: str = "") -> Callable[[_Command], _Command]:
    """Return the options ``--date-shift`` and ``--date-shift-weeks``. Their help begins with ``of``."""
    return together(
        counted(
            "--date-shift",
            365,
            f"{of}All dates of a patient move by the same number of days, from -DAYS to DAYS, never 0. A small DAYS is "
            "easy to guess. From the weekdays of 8 to 16 visits a reader can guess the number modulo 7; "
            "--date-shift-weeks prevents that.",
            metavar="DAYS",
        ),
        flag(
            "--date-shift-weeks",
            f"{of}Move dates by whole weeks, up to --date-shift: weekdays stay unchanged and reveal nothing about "
            "the number. Cost: 104 possible numbers instead of about 620 (for 365 days), and weekly habits stay in "
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
        "Number format of those parts of the models that are not computed in integers. bfloat16 is faster on "
        "processors that support it (AMX, AVX-512 BF16) and refused on others; some scores and a few words differ from "
        "float32.",
    )


def window_borders(of: str = "") -> Callable[[_Command], _Command]:
    """Return the option ``--window-borders``. Its help begins with ``of``."""
    return chosen(
        "--window-borders",
        WindowBorders,
        "packed",
        f"{of}Where a window of text ends. packed: when it is full. blocks: also at blank lines, so that copied "
        "sections and fixed paragraphs are computed once; for notes that repeat each other. Some scores differ.",
    )


def repeated_text() -> Callable[[_Command], _Command]:
    """Return the options ``--window-borders`` and ``--window-cache``, for notes that repeat each other."""
    return together(
        window_borders(),
        counted(
            "--window-cache",
            64,
            "Memory in each worker, in MiB, to keep model answers for text that may occur again; 0 for no cache. "
            "The output is the same for any number. The cache is never written to disk.",
            least=0,
            metavar="MIB",
        ),
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
        "high: use lower thresholds. This finds more identifiers, but also replaces more clinical words. "
        "The model card has the figures. --threshold overrides it.",
    )


def models(kind: click.Path = EXISTING) -> Callable[[_Command], _Command]:
    """Return the option ``--models`` and the options that make such models trusted."""
    return together(
        click.option(
            "--models",
            type=kind,
            help="Folder with other models. Because manipulated models could find nothing, it must be signed "
            "(--models-key), a copy of the models of the package, or trusted (--trust-models). Default: the models of "
            "the package.",
        ),
        click.option(
            "--models-key",
            type=FILE,
            help="Public key (PEM) of the person who signed the models with `deid models sign`. Models that were "
            "changed later, or signed with another key, are refused. Needs the extra [signing].",
        ),
        flag(
            "--trust-models",
            "Use the models without a signature. Only for models whose origin you know: manipulated models leave "
            "every name in the output.",
        ),
    )


def allow_shared_key() -> Callable[[_Command], _Command]:
    """Return the option ``--allow-shared-key``."""
    return flag(
        "--allow-shared-key",
        "Also accept key files that other users can open or own. Without this option they are refused. For file "
        "systems without modes, and for keys that a container platform mounts. Anyone who can read a key can test "
        "guesses about the originals.",
    )


def threshold(of: str = "") -> Callable[[_Command], _Command]:
    """Return the option ``--threshold``, a mapping from head to number. Its help begins with ``of``."""
    return click.option(
        "--threshold",
        metavar=THRESHOLD_METAVAR,
        callback=_thresholds,
        multiple=True,
        help=f"{of}Lowest score, from 0 to 1, with which a model head finds a word; may be repeated. If it is too "
        "high, identifiers stay in the text; if it is too low, clinical words are replaced. Heads: "
        f"{', '.join(HEADS)}. Default: as trained.",
    )


def site_lists() -> Callable[[_Command], _Command]:
    """Return the options ``--inclusion`` and ``--templates``: the lists of a site's own sentences."""
    return together(
        click.option(
            "--inclusion",
            type=FILE,
            help="List of sentences known to have no identifier, one per line. The models do not score these "
            "sentences: a wrong line is a leak in every note with it. Default: the list of the package.",
        ),
        click.option(
            "--templates",
            type=FILE,
            help="Templates of sentences with known places for identifiers. A match is final for its sentence: if the "
            "template is too general, other identifiers in the sentence are missed. Default: the templates of the "
            "package.",
        ),
    )


def allow_unreadable_forms() -> Callable[[_Command], _Command]:
    """Return the option ``--allow-unreadable-forms``."""
    return flag(
        "--allow-unreadable-forms",
        "Also process notes in a form that hides text from the detectors, such as invisible characters, HTML, wrongly "
        "decoded characters, or letters with gaps. NOT SAFE: in such notes up to nine of ten identifiers "
        "are missed. Default: these notes are held back, with the form and the remedy.",
    )


def _thresholds(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Parse ``HEAD=VALUE`` strings into thresholds by head. Raises click.BadParameter for an invalid one."""
    return dict(_threshold(value) for value in values)


def _threshold(value: str) -> tuple[str, float]:
    head, _, number = value.partition("=")
    if head not in HEADS:
        raise click.BadParameter(f"unknown head in {value!r}; expected HEAD=VALUE with one of {', '.join(HEADS)}")
    try:
        least = float(number)
    except ValueError:
        least = -1.0
    if not 0.0 < least < 1.0:
        raise click.BadParameter(f"{value!r}: expected HEAD=VALUE with a number between 0 and 1")
    return head, least
