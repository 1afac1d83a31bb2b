"""``deid-export adapt iterate`` and ``versions``: train the next versions of the heads, and make models of them."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from deid_export.cli.config import config_option
from deid_runtime.cli import options as cli_options
from deid_runtime.labels import HEADS

if TYPE_CHECKING:
    from deid_export.adapt.registry import Registry

_EXISTING = click.Path(exists=True, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@cloup.command()
@click.argument("registry", type=_FOLDER)
@config_option
@cli_options.section(
    cli_options.INPUT,
    click.option(
        "--trained",
        type=_FILE,
        help="heads.pt to start from, as version v0 of every head. Required for a new registry.",
    ),
    click.option(
        "--notes",
        type=_EXISTING,
        required=True,
        multiple=True,
        help="Annotated notes to train on: tagged .txt, .jsonl, i2b2 .xml, brat .ann, or folders.",
    ),
    click.option(
        "--search",
        type=_EXISTING,
        multiple=True,
        help="Annotated notes to search for errors, such as newly annotated ones; training uses them only where the "
        "ensemble errs. Default: those of --notes.",
    ),
    click.option(
        "--dev",
        type=_EXISTING,
        required=True,
        multiple=True,
        help="Annotated notes on which to compare versions. On notes of the training, the worst version looks best.",
    ),
    click.option(
        "--lists", type=_EXISTING, required=True, help="Folder with gazetteers/ and medical/, as for `train`."
    ),
    click.option(
        "--negatives",
        type=_EXISTING,
        multiple=True,
        help=".jsonl.gz of clinical texts; screened, then learnt as clean.",
    ),
)
@cli_options.section(
    cli_options.FINDING,
    click.option("--inclusion", type=_FILE, help="Inclusion list of the ensemble. Default: that of the package."),
    click.option("--templates", type=_FILE, help="Templates of the ensemble. Default: those of the package."),
    click.option("--base", help="Base model whose tokenizer was used in training. Default: that of the package."),
)
@cli_options.section(
    "Training",
    click.option(
        "--head",
        "heads",
        type=click.Choice(tuple(HEADS)),
        multiple=True,
        help="Head to train; may be repeated. Default: all in one run, because they share the encoder.",
    ),
    click.option(
        "--rounds", type=click.IntRange(min=1), default=1, show_default=True, help="Rounds to run, one after the other."
    ),
    click.option(
        "--tokens",
        type=click.IntRange(min=1),
        default=800_000,
        show_default=True,
        help="Budget of a round, padding included. Time grows in proportion; with too few, the new versions "
        "hardly differ.",
    ),
    click.option(
        "--learning-rate",
        type=float,
        default=1e-4,
        show_default=True,
        help="If too high, the model forgets.",
    ),
    click.option(
        "--repeat",
        type=click.IntRange(min=0),
        default=3,
        show_default=True,
        help="How often a pass over the notes repeats a stretch where only a head errs. With many, it is "
        "learnt by heart.",
    ),
    click.option(
        "--ensemble-repeat",
        type=click.IntRange(min=0),
        default=6,
        show_default=True,
        help="The same for a stretch where the whole ensemble errs, rules included.",
    ),
    click.option(
        "--neighbours",
        type=click.IntRange(min=0),
        default=3,
        show_default=True,
        help="Sentences on each side of an error that are learnt with it. With 0, the heads learn it out of context.",
    ),
    click.option(
        "--variants",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Resampled variants of each note that are also searched: training notes themselves show few "
        "errors. Each variant takes as much time as the notes.",
    ),
    click.option("--forget", is_flag=True, help="Omit the error sentences of earlier rounds."),
    click.option("--seed", type=int, default=17, show_default=True),
    click.option("--abandon", is_flag=True, help="Drop an interrupted round, and start it again."),
)
@cli_options.section(
    cli_options.SPEED,
    click.option("--threads", type=click.IntRange(min=1), default=2, show_default=True),
)
def iterate(registry: Path, trained: Path | None, rounds: int, abandon: bool, **options: Any) -> None:
    """Train the next version of the heads on errors of the ensemble, and choose the best two of each.

    REGISTRY is a folder; registry.json in it keeps all versions with their scores, data digests, settings and parents,
    the weights are beside it. Run the same command again to continue an interrupted round.
    """
    # The log level of the group hides the steps of a run that takes hours.
    logging.getLogger("deid_export.adapt.iterate").setLevel(logging.INFO)
    _iterate(registry, trained, rounds, abandon, **options)


def _iterate(folder: Path, trained: Path | None, rounds: int, abandon: bool, **options: Any) -> None:
    from deid_export.adapt.iterate import IterateSettings, Loop, error_table, start, table
    from deid_export.adapt.iterate import abandon as drop
    from deid_export.adapt.iterate import iterate as run
    from deid_export.adapt.registry import locked, read_registry
    from deid_export.data.gazetteers import load_gazetteers
    from deid_export.data.negatives import screened_sentences
    from deid_export.model.tagger import packaged_base
    from deid_export.train.batches import StreamSettings
    from deid_export.train.training import Data
    from deid_runtime.annotations.read import read_annotated
    from deid_runtime.settings import Settings

    if trained is None:
        read_registry(folder)  # report a missing registry before the notes are read
    folder.mkdir(parents=True, exist_ok=True)
    lists = load_gazetteers(options["lists"])
    notes = read_annotated(options["notes"])
    data = Data(notes, screened_sentences(options["negatives"], lists), lists, read_annotated(options["dev"]))
    loop = Loop(
        data,
        read_annotated(options["search"]) if options["search"] else notes,
        Settings(inclusion=options["inclusion"], templates=options["templates"]),
        StreamSettings(),
    )
    settings = IterateSettings(
        tokens=options["tokens"],
        learning_rate=options["learning_rate"],
        repeat=options["repeat"],
        ensemble_repeat=options["ensemble_repeat"],
        neighbours=options["neighbours"],
        variants=options["variants"],
        remember=not options["forget"],
        threads=options["threads"],
        seed=options["seed"],
    )
    with locked(folder):
        if trained is not None:
            start(folder, trained, Path(options["base"] or packaged_base()) / "tokenizer.json")
        if abandon:
            drop(folder)
        for _ in range(rounds):
            registry = run(folder, options["heads"], loop, settings)
            last = registry.rounds[-1]
            assert last.errors is not None
            click.echo(f"round {last.number}: errors of the ensemble in {last.searched} notes")
            click.echo(error_table(last.errors))
    click.echo(table(registry))


def _wanted(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Parse ``HEAD=VERSION,VERSION`` values into versions by head."""
    wanted = {}
    for value in values:
        head, _, names = value.partition("=")
        if head not in HEADS or not names:
            raise click.BadParameter(f"{value!r}: expected HEAD=VERSION[,VERSION] with one of {', '.join(HEADS)}")
        wanted[head] = tuple(names.split(","))
    return wanted


@click.command()
@click.argument("registry", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Model file to write, for `deid-export models onnx`.",
)
@click.option(
    "--place",
    type=click.Choice(["1", "2", "all"]),
    default="all",
    show_default=True,
    help="The chosen versions of each head to join in OUT: the best, the second best (the best if there is "
    "no other), or both.",
)
@click.option(
    "--head",
    "wanted",
    metavar="HEAD=VERSION[,VERSION]",
    multiple=True,
    callback=_wanted,
    help="Join these versions of a head instead; may be repeated.",
)
def versions(registry: Path, out: Path | None, place: str, wanted: dict[str, tuple[str, ...]]) -> None:
    """List the versions in REGISTRY with their scores on dev, or join some of them into one model file."""
    from deid_export.adapt.registry import read_registry

    found = read_registry(registry)
    if out is None:
        from deid_export.adapt.iterate import table

        click.echo(table(found))
        return
    from deid_export.adapt.versions import write_joined

    write_joined(registry, _placed(found, place) | wanted, out)
    click.echo(out)


def _placed(registry: "Registry", place: str) -> dict[str, tuple[str, ...]]:
    """Return the chosen versions of one rank by head."""
    if place == "all":
        return dict(registry.chosen)
    return {head: (names[: int(place)][-1],) for head, names in registry.chosen.items()}
