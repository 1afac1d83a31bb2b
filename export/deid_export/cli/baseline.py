"""``deid-export baseline``: train systems of the literature on annotated notes, and write what they find."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from deid_export.cli.errors import errors_in_one_line
from deid_runtime.annotations.read import read_annotated

_FOLDER = click.Path(exists=True, path_type=Path)
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _shared(command: _Command) -> _Command:
    """Add the options of every training."""
    for option in (
        click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Folder for the model."),
        click.option(
            "--notes", type=_FOLDER, required=True, multiple=True, help="Annotated notes: tagged .txt or .jsonl."
        ),
    ):
        command = option(command)
    return command


def _neural(command: _Command) -> _Command:
    """Add the options of the trainings with torch."""
    for option in (
        click.option("--seed", type=int, default=17, show_default=True),
        click.option("--threads", type=int, default=2, show_default=True),
        click.option(
            "--held-out", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.1, show_default=True,
            help="Share of the patients kept aside to stop in time; taken from those to learn from.",
        ),
        click.option(
            "--resample-from", type=_FOLDER,
            help="Folder of lists: learn fresh values in every pass, as `deid-export train --lists` does.",
        ),
        click.option(
            "--minutes", type=click.FloatRange(min=0, min_open=True),
            help="End by the clock, if --tokens lasts longer; the model then depends on how fast the machine is.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@click.group()
def baseline() -> None:
    """Train systems of the literature on annotated notes, to compare ours with.

    Training is not repeated when the folder holds the same system with the same notes and settings.
    """


@baseline.command()
@_shared
@click.option(
    "--iterations", type=click.IntRange(1), default=100, show_default=True,
    help="Of L-BFGS, some three seconds each for 250,000 words; too few miss much.",
)  # fmt: skip
@click.option("--c1", type=click.FloatRange(0), default=0.0, show_default=True, help="Weight of absolute weights.")
@click.option("--c2", type=click.FloatRange(0), default=0.3, show_default=True, help="Weight of squared weights.")
@click.option("--min-count", type=click.IntRange(1), default=2, show_default=True, help="Rarer features are dropped.")
@click.option("--lists", type=_FOLDER, help="Folder of further gazetteers, as `deid-export train --lists` takes it.")
def crf(
    notes: tuple[Path, ...], out: Path, iterations: int, c1: float, c2: float, min_count: int, lists: Path | None
) -> None:
    """A CRF with the features of Dernoncourt et al. 2016."""
    from deid_export.baselines.crf import CrfSettings

    _train("crf", notes, CrfSettings(iterations=iterations, c1=c1, c2=c2, min_count=min_count, lists=lists), out)


@baseline.command("bilstm-crf")
@_shared
@click.option(
    "--tokens", type=click.IntRange(1), default=5_000_000, show_default=True,
    help="Words to learn from, the same ones again and again; some 10,000 a second and core.",
)  # fmt: skip
@click.option("--optimizer", type=click.Choice(["adam", "sgd"]), default="adam", show_default=True)
@click.option("--learning-rate", type=float, default=2e-3, show_default=True, help="The paper: 0.005, of sgd.")
@click.option("--batch-sentences", type=click.IntRange(1), default=32, show_default=True, help="The paper: 1.")
@click.option("--base", help="BERT, by folder, whose pieces the token embeddings begin as; default: the packaged one.")
@click.option("--random-embeddings", is_flag=True, help="Begin with random token embeddings instead.")
@_neural
def bilstm_crf(notes: tuple[Path, ...], out: Path, base: str | None, random_embeddings: bool, **settings: Any) -> None:
    """The character-enhanced BiLSTM-CRF of Dernoncourt et al. 2016."""
    from deid_export.baselines.bilstm_crf import BilstmSettings
    from deid_export.model.tagger import packaged_base

    chosen = None if random_embeddings else base or packaged_base()
    _train("bilstm-crf", notes, BilstmSettings(base=chosen, **settings), out)


@baseline.command("bert-bieso")
@_shared
@click.option(
    "--tokens", type=click.IntRange(1), default=2_000_000, show_default=True,
    help="Word pieces to learn from, padding included; some 4,000 a second on two cores.",
)  # fmt: skip
@click.option("--learning-rate", type=float, default=3e-4, show_default=True, help="A larger base wants 5e-5.")
@click.option("--base", help="BERT by Hub name or folder; default: the packaged MiniLM-L6-H384.")
@_neural
def bert_bieso(notes: tuple[Path, ...], out: Path, base: str | None, **settings: Any) -> None:
    """One BERT with BIESO tags over all labels, as in OpenDeID (Liu et al. 2023)."""
    from deid_export.baselines.bert_bieso import BertSettings
    from deid_export.model.tagger import packaged_base

    _train("bert-bieso", notes, BertSettings(base=base or packaged_base(), **settings), out)


@baseline.command()
@click.argument("trained", type=_FOLDER, nargs=-1, required=True)
@click.option("--notes", type=_FOLDER, required=True, multiple=True, help="Notes to search: tagged .txt or .jsonl.")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help=".jsonl of spans, for deid evaluate.")
def find(trained: tuple[Path, ...], notes: tuple[Path, ...], out: Path) -> None:
    """Write what the baselines in the folders TRAINED find; of several, what any of them finds."""
    from deid_export.baselines.systems import load_union, write_found

    with errors_in_one_line():
        searched = read_annotated(notes)
        write_found(out, [note.id for note in searched], load_union(trained)([note.text for note in searched]))
    click.echo(out)


def _train(system: str, notes: tuple[Path, ...], settings: object, out: Path) -> None:
    from deid_export.baselines.systems import train_baseline

    with errors_in_one_line():
        card = train_baseline(system, read_annotated(notes), settings, out)
    click.echo(f"{out}: {system} after {card['seconds']:.0f} s")
