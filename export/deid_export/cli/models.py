"""``deid-export models``: make graphs from trained models, and trained models from graphs."""

import json
from pathlib import Path
from typing import Any, Literal

import click

from deid_runtime.errors import SourceError

_FOLDER = click.Path(exists=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("trained", type=_FOLDER, nargs=-1, required=True)
@click.option(
    "--notes", type=_FOLDER, required=True, multiple=True, help="The training notes, on which ranges are calibrated."
)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Model repository to write.")
@click.option("--base", help="Base model whose tokenizer was used in training. Default: that of the package.")
@click.option("--float32", is_flag=True, help="Do not quantise: four times the size, half the speed.")
@click.option(
    "--weight",
    "weights",
    type=click.FloatRange(min=0, min_open=True),
    multiple=True,
    help="Weight of a model in `full`, once for each of TRAINED in their order. Default: equal weights.",
)
@click.option(
    "--profiles",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON with `thresholds`, `high_thresholds` (of `deid run --recall high`) and `vote` (any: the highest score "
    "of a head counts; mean: their mean) for `fast` and `full`. Default: thresholds of 0.5, mean.",
)
def onnx(
    trained: tuple[Path, ...],
    notes: tuple[Path, ...],
    out: Path,
    base: str | None,
    float32: bool,
    weights: tuple[float, ...],
    profiles: Path | None,
) -> None:
    """Export each of TRAINED (joint.pt or heads.pt) to one ONNX graph in static int8.

    The profile `fast` runs the first of them, `full` runs all.
    """
    from deid_export.model.tagger import packaged_base
    from deid_export.onnx.assemble import assemble
    from deid_runtime.annotations.read import read_annotated

    tokenizer = Path(base or packaged_base()) / "tokenizer.json"
    settled = _read_json(profiles) if profiles else None
    manifest = assemble(
        trained, tokenizer, read_annotated(notes), out, int8=not float32, weights=weights, profiles=settled
    )
    click.echo(manifest)


@click.command()
@click.argument("repository", type=_FOLDER)
@click.option(
    "--dev", type=_FOLDER, required=True, multiple=True, help="Annotated notes, none of them used in training."
)
@click.option(
    "--recall", type=float, required=True, help="Share of identifying tokens to find; a higher share costs precision."
)
@click.option("--profile", type=click.Choice(["fast", "full"]), default="fast", show_default=True)
@click.option(
    "--label-recall", type=float, default=0.0, show_default=True, help="Lowest share for every frequent label."
)
def calibrate(
    repository: Path, dev: tuple[Path, ...], recall: float, profile: Literal["fast", "full"], label_recall: float
) -> None:
    """Choose the thresholds of a profile of REPOSITORY and write them into its manifest."""
    from deid_export.train.calibrate import calibrate as run
    from deid_runtime.annotations.read import read_annotated

    choice = run(repository, read_annotated(dev), profile, recall, label_recall)
    click.echo(f"precision {choice.precision:.4f}, recall {choice.recall:.4f}, thresholds {choice.thresholds}")


@click.command()
@click.argument("graph", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Model file to write."
)
@click.option("--base", help="Base model from which the model was trained. Default: that of the package.")
@click.option(
    "--shared-layers",
    type=click.IntRange(min=0),
    help="Give each head its own copy of the layers above these, as `adapt iterate --trained` needs it. Default: the "
    "heads share all, as `train --start` needs it.",
)
def restore(graph: Path, out: Path, base: str | None, shared_layers: int | None) -> None:
    """Convert GRAPH, model.onnx of a model repository, back to a model file, to train it with your own notes.

    Heads that were exported with separate layers cannot be converted back.
    """
    from deid_export.model.tagger import packaged_base
    from deid_export.onnx.restore import restore as run

    run(graph, base or packaged_base(), out, shared_layers=shared_layers)
    click.echo(out)


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Model file to write."
)
def average(models: tuple[Path, ...], out: Path) -> None:
    """Write one model with the mean weights of MODELS, which were all trained from the same start.

    It often finds more than each of them and is as fast as one. Measure it on dev: models from different starts
    give noise.
    """
    from deid_export.model.average import average as run

    run(models, out)
    click.echo(out)


@click.command()
@click.argument("trained", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--notes", type=_FOLDER, required=True, multiple=True, help="Annotated notes for the choice.")
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Model file to write."
)
@click.option("--base", help="Base model whose tokenizer was used in training. Default: that of the package.")
@click.option("--layers", type=click.IntRange(min=1), required=True, help="How many layers to keep.")
@click.option(
    "--feed-forward", type=click.IntRange(min=1), required=True, help="How many inner neurons of each layer to keep."
)
def shrink(trained: Path, notes: tuple[Path, ...], out: Path, base: str | None, layers: int, feed_forward: int) -> None:
    """Cut TRAINED, a joint.pt, to a smaller and faster model.

    Train it again with `train --start OUT --teacher TRAINED`.
    """
    from deid_export.model.tagger import packaged_base
    from deid_export.train.shrink import shrink as run
    from deid_runtime.annotations.read import read_annotated
    from deid_runtime.text.windows import WordEncoder

    encoder = WordEncoder.from_file(Path(base or packaged_base()) / "tokenizer.json")
    kept = run(trained, read_annotated(notes), encoder, out, layers=layers, feed_forward=feed_forward)
    click.echo(f"{out}: layers {', '.join(map(str, kept))} of the model")


@click.command("card")
@click.argument("models", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--notes", type=_FOLDER, required=True, multiple=True, help="The annotated notes of the training of the heads."
)
@click.option(
    "--accuracy",
    type=_FILE,
    required=True,
    multiple=True,
    help="Results of benchmarks/accuracy.py with these models, one file for each profile.",
)
@click.option(
    "--update", type=_FILE, help="Page into which to write the cards, between its marks. Default: print them."
)
def card(models: Path, notes: tuple[Path, ...], accuracy: tuple[Path, ...], update: Path | None) -> None:
    """Write the training data, the scores by label and the errors of each head of the repository MODELS."""
    from deid_export.adapt.head_cards import MARK, head_cards
    from deid_export.data.marked_tables import with_tables
    from deid_runtime.annotations.read import read_annotated

    manifest = _read_json(models / "manifest.json")
    reports = [_read_json(path) for path in accuracy]
    cards = head_cards(
        manifest, read_annotated(notes), {report["run"]["pipeline"]["models"]["profile"]: report for report in reports}
    )
    if update is None:
        click.echo("\n\n".join(f"### {head}\n\n{card}" for head, card in cards.items()))
    else:
        update.write_text(with_tables(update.read_text(encoding="utf-8"), cards, MARK), encoding="utf-8")


def _read_json(path: Path) -> Any:
    """Read a JSON file. Raises SourceError when it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} cannot be read as JSON ({type(error).__name__})") from None
