"""``deid audit``: judge de-identified notes before a release."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from click.core import ParameterSource

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.audit_bound import bound, sample
from deid_runtime.cli.exits import ExitCode, reported
from deid_runtime.errors import SettingsError
from deid_runtime.system.extras import install_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deid_runtime.audit.attack import AttackSettings
    from deid_runtime.audit.gate import GateSettings, JudgedAttack
    from deid_runtime.audit.score import AttackScore

_EXISTING = click.Path(exists=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_PERCENT = click.FloatRange(0, 50, min_open=True)


@click.group()
def audit() -> None:
    """Judge de-identified notes before they are released: attack them, or bound what was missed by reading a sample."""


audit.add_command(sample)
audit.add_command(bound)


@audit.command()
@click.argument("notes", metavar="NOTES...", nargs=-1, required=True, type=_EXISTING)
@click.option(
    "--leaks",
    type=_PERCENT,
    multiple=True,
    default=(5.0,),
    show_default=True,
    metavar="PERCENT",
    help="Share of the values to leave unchanged; may be repeated. Below 1 % of a small corpus the figures are "
    "unreliable.",
)
@click.option(
    "--attacker",
    type=click.Choice(["parrot", "list", "code", "frequency", "insider"]),
    multiple=True,
    default=("parrot", "list", "code", "frequency"),
    show_default=True,
    help="May be repeated. parrot: has only the text, and marks identifiers that a tagger trained on the release does "
    "not find. list: has our lists, and marks names and places in none of them. code: has our code, and marks those "
    "that differ most from generated ones. frequency: has our code, and marks those with an unusual repetition. "
    "insider: knows the surrogates. No outsider knows them, so it is not part of the gate.",
)
@click.option(
    "--max-gain",
    type=click.FloatRange(1.0, 100.0),
    default=1.2,
    show_default=True,
    help="Pass when the precision of no attacker is more than this times that of random marks, by the upper end of "
    "its 95 % interval.",
)
@click.option(
    "--draws",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    help="How many times leaks are drawn, except for parrot. More draws give narrower intervals and take longer.",
)
@click.option(
    "--informed",
    is_flag=True,
    help="Let code and frequency also have the annotated originals of other patients: a worst case.",
)
@click.option(
    "--released",
    is_flag=True,
    help="NOTES are de-identified, and their spans mark the surrogates in the new text. Nothing is planted: the "
    "insider shows where originals may have been left.",
)
@click.option(
    "--known",
    type=_FILE,
    help="With --released: spans of the new text that are known to be originals, as `deid detect` writes them, for "
    "the score.",
)
@click.option(
    "--candidates",
    type=click.Path(path_type=Path),
    help="With --released: write the offsets where originals may have been left, without text, to this new file, which "
    "only you may read.",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=2,
    show_default=True,
    help="Parts of the patients; each is attacked by a tagger trained on the others. More parts train better taggers "
    "and take longer.",
)
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    help="Iterations of each training. With few, the attacker is weak and a bad release looks good.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the leaks, the folds and the intervals.")
@click.option("--key", type=_FILE, help="Key of the surrogates in notes with planted leaks. Default: a random one.")
@cli_options.allow_shared_key()
@click.option("--json", is_flag=True, help="Print JSON instead of tables.")
@reported
def parrot(
    notes: tuple[Path, ...],
    leaks: tuple[float, ...],
    attacker: tuple[str, ...],
    max_gain: float,
    draws: int,
    informed: bool,
    released: bool,
    known: Path | None,
    candidates: Path | None,
    folds: int,
    iterations: int,
    seed: int,
    key: Path | None,
    allow_shared_key: bool,
    json: bool,
) -> None:
    """Attack de-identified notes with planted leaks, and say whether they may be released (Carrell et al. 2019).

    NOTES are annotated originals, in the formats of `deid corpus resynthesize`. Some values stay, the rest are
    replaced, and attackers try to recognize the values that stayed. Each attacker is compared with the same number of
    random marks. The exit code is 0 when no attacker is much better (see --max-gain), and 1 when one is, or when there
    are too few notes to decide.
    """
    if not released and (known or candidates):
        raise SettingsError("--known and --candidates need --released; add it")
    is_default = click.get_current_context().get_parameter_source("attacker") == ParameterSource.DEFAULT
    if released and not is_default and set(attacker) != {"insider"}:
        raise SettingsError("with --released the only possible attacker is insider; omit --attacker")
    _require_crfsuite()
    if released:
        _search(notes, known, candidates, folds=folds, iterations=iterations, seed=seed, is_json=json)
        return
    from deid_runtime.audit.attack import AttackSettings
    from deid_runtime.audit.gate import ATTACKERS as GATE_ATTACKERS
    from deid_runtime.audit.gate import GateSettings, is_passed
    from deid_runtime.audit.releases import audit_planted
    from deid_runtime.surrogates import load_key, new_key

    settings = GateSettings(
        attackers=tuple(each for each in GATE_ATTACKERS if each in attacker),
        is_informed=informed,
        max_gain=max_gain,
        draws=draws,
        folds=folds,
        iterations=iterations,
        seed=seed,
    )
    insider = AttackSettings(folds=folds, iterations=iterations, seed=seed) if "insider" in attacker else None
    judged, rows = audit_planted(
        notes,
        [percent / 100 for percent in dict.fromkeys(leaks)],
        settings,
        insider,
        key=load_key(key, allow_shared=allow_shared_key) if key else new_key(),
    )
    _echo_gate(judged, rows, settings, is_json=json)
    if judged and not is_passed(judged):
        _end_not_passed(judged)


def _end_not_passed(judged: "Sequence[JudgedAttack]") -> NoReturn:
    bad = ", ".join(f"{each.attacker} at {each.share:.1%}: {each.verdict}" for each in judged if each.verdict != "pass")
    click.echo(f"deid: the gate is not passed ({bad}); for 'not shown', give more notes or more --draws", err=True)
    sys.exit(ExitCode.HELD_BACK)


def _require_crfsuite() -> None:
    if find_spec("pycrfsuite") is None:
        raise SettingsError(f"the attackers need python-crfsuite; {install_extra('audit')}")


def _search(
    notes: tuple[Path, ...],
    known: Path | None,
    candidates: Path | None,
    *,
    folds: int,
    iterations: int,
    seed: int,
    is_json: bool,
) -> None:
    """Let the insider search a release for originals."""
    from deid_runtime.audit.attack import AttackSettings
    from deid_runtime.audit.releases import audit_release, read_release, write_candidates

    settings = AttackSettings(folds=folds, iterations=iterations, seed=seed)
    release = read_release(notes, known)
    score, guesses = audit_release(release, settings, seed=seed)
    _echo([("release", score)], settings, is_json=is_json)
    if candidates is not None:
        count = write_candidates(candidates, release, guesses)
        click.echo(f"{count:,} places to check in {candidates}", err=True)


def _echo_gate(
    judged: "Sequence[JudgedAttack]",
    rows: "Sequence[tuple[str, AttackScore]]",
    settings: "GateSettings",
    *,
    is_json: bool,
) -> None:
    from dataclasses import asdict
    from json import dumps

    from deid_runtime.audit.gate import is_passed
    from deid_runtime.audit.report import render, render_gate

    if is_json:
        values = {
            "settings": asdict(settings),
            "verdict": ("pass" if is_passed(judged) else "fail") if judged else None,
            "gate": [each.to_json() for each in judged],
            "attacks": {name: score.to_json() for name, score in rows},
        }
        click.echo(dumps(values, indent=2))
        return
    parts = ([render_gate(judged, settings.max_gain)] if judged else []) + ([render(rows)] if rows else [])
    click.echo("\n".join(parts), nl=False)


def _echo(rows: "Sequence[tuple[str, AttackScore]]", settings: "AttackSettings", *, is_json: bool) -> None:
    from json import dumps

    from deid_runtime.audit.report import render

    if is_json:
        values = {name: score.to_json() for name, score in rows}
        options = {"folds": settings.folds, "iterations": settings.iterations, "seed": settings.seed}
        click.echo(dumps({"settings": options, "attacks": values}, indent=2))
    else:
        click.echo(render(rows), nl=False)
