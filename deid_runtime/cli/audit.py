"""``deid audit``: attack de-identified notes, to judge them before a release."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import reported
from deid_runtime.errors import SettingsError
from deid_runtime.system.extras import install_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deid_runtime.audit.attack import AttackSettings
    from deid_runtime.audit.score import AttackScore

_EXISTING = click.Path(exists=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_PERCENT = click.FloatRange(0, 50, min_open=True)


@click.group()
def audit() -> None:
    """Attack de-identified notes, to judge them before they are released."""


@audit.command()
@click.argument("notes", metavar="NOTES...", nargs=-1, required=True, type=_EXISTING)
@click.option(
    "--leaks",
    type=_PERCENT,
    multiple=True,
    default=(1.0, 2.0, 5.0),
    show_default=True,
    metavar="PERCENT",
    help="Share of the spans to leave as they are, whole values; may be repeated. Below 1 in a small corpus figures "
    "are luck.",
)
@click.option(
    "--attacker",
    type=click.Choice(["insider", "parrot", "both"]),
    default="insider",
    show_default=True,
    help="insider: knows the surrogates, and guesses what else looks like them to a tagger. parrot: has the text "
    "alone, and guesses what looks like an identifier to a person and not to a tagger.",
)
@click.option(
    "--released",
    is_flag=True,
    help="NOTES are de-identified, and their spans are the surrogates, in the new text. Nothing is planted: the "
    "insider tells where originals may have been left.",
)
@click.option(
    "--known",
    type=_FILE,
    help="With --released: spans of the new text known to be originals, as `deid detect` writes them, to be scored on.",
)
@click.option(
    "--candidates",
    type=click.Path(path_type=Path),
    help="With --released: write where originals may have been left, offsets without text, to this new file, which "
    "only you may read.",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=2,
    show_default=True,
    help="Parts of the patients; each is attacked by a tagger that learnt from the others. More learn better and take "
    "longer.",
)
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    help="Of each training. Few make a weak attacker, and a bad release look good.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the leaks, the folds and the intervals.")
@click.option("--key", type=_FILE, help="Key of the surrogates where leaks are planted. Default: a random one.")
@cli_options.allow_shared_key()
@click.option("--json", is_flag=True, help="Print JSON instead of tables.")
@reported
def parrot(
    notes: tuple[Path, ...],
    leaks: tuple[float, ...],
    attacker: str,
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
    """Train a tagger on de-identified notes and let it look for originals that were missed (Carrell et al. 2019).

    NOTES are annotated originals, in the formats of `deid corpus resynthesize`. Some values are withheld, the rest is
    replaced, and the attacker tries to tell the one from the other. The report says how many of the planted leaks are
    found and how many guesses are right, beside as many guesses at random. Where the attacker does little better than
    chance, what was missed hides well.
    """
    if not released and (known or candidates):
        raise SettingsError("--known and --candidates are of a release; say --released")
    if released and attacker != "insider":
        raise SettingsError("--released knows the surrogates; the parrot needs marks of a person, so it is planted for")
    if find_spec("pycrfsuite") is None:
        raise SettingsError(f"the attack trains a CRF, which needs python-crfsuite; {install_extra('audit')}")
    from deid_runtime.audit.attack import AttackSettings
    from deid_runtime.audit.releases import audit_planted, audit_release, read_release, write_candidates
    from deid_runtime.surrogates import load_key, new_key

    settings = AttackSettings(folds=folds, iterations=iterations, seed=seed)
    if released:
        release = read_release(notes, known)
        score, guesses = audit_release(release, settings, seed=seed)
        _echo([("release", score)], settings, is_json=json)
        if candidates is not None:
            count = write_candidates(candidates, release, guesses)
            click.echo(f"{count:,} places to look at in {candidates}", err=True)
        return
    attackers = [each for each in ("insider", "parrot") if attacker in (each, "both")]
    wanted = [AttackSettings(attacker=each, folds=folds, iterations=iterations, seed=seed) for each in attackers]  # type: ignore[arg-type]
    shares = [percent / 100 for percent in dict.fromkeys(leaks)]
    rows = audit_planted(
        notes, shares, wanted, key=load_key(key, allow_shared=allow_shared_key) if key else new_key(), seed=seed
    )
    _echo(rows, settings, is_json=json)


def _echo(rows: "Sequence[tuple[str, AttackScore]]", settings: "AttackSettings", *, is_json: bool) -> None:
    from json import dumps

    from deid_runtime.audit.report import render

    if is_json:
        told = {name: score.to_json() for name, score in rows}
        options = {"folds": settings.folds, "iterations": settings.iterations, "seed": settings.seed}
        click.echo(dumps({"settings": options, "attacks": told}, indent=2))
    else:
        click.echo(render(rows), nl=False)
