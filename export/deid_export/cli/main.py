"""``deid-export``: train, export, quantise and check the models."""

import json
import logging
from pathlib import Path
from typing import Literal

import click

from deid_export.cli.corpus_card import corpus_card
from deid_export.cli.corpus_check import corpus_check
from deid_export.cli.corpus_convert import corpus_convert
from deid_export.cli.errors import errors_in_one_line
from deid_export.cli.harvest import harvest
from deid_export.cli.head_cards import head_cards
from deid_export.cli.iterate import iterate, versions
from deid_export.cli.recipe import recipe
from deid_export.cli.repository import repository
from deid_export.cli.review import review
from deid_export.cli.select import corrections, select
from deid_runtime.system.process_privacy import keep_private

_FOLDER = click.Path(exists=True, path_type=Path)


@click.group()
@click.option("--verbose", is_flag=True, help="Log what is done, to stderr.")
def main(verbose: bool) -> None:
    """Train, export and quantise the models that deid-runtime serves."""
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(name)s: %(message)s")
    keep_private()


@main.command()
@click.option(
    "--notes",
    "notes",
    type=_FOLDER,
    required=True,
    multiple=True,
    help="Annotated notes: tagged .txt, .jsonl, i2b2 .xml, brat .ann.",
)
@click.option("--dev", type=_FOLDER, multiple=True, help="Annotated notes to watch; never trained on.")
@click.option(
    "--lists", type=_FOLDER, required=True, help="Folder with gazetteers/ and medical/ to resample values from."
)
@click.option(
    "--negatives", type=_FOLDER, multiple=True, help=".jsonl.gz of clinical texts; screened, then learnt as clean."
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, help="Folder for the models and checkpoints."
)
@click.option("--base", help="BERT or MPNet by Hub name or folder; default: the packaged MiniLM-L6-H384.")
@click.option("--layers", type=click.IntRange(min=1), help="Keep so many layers of the base, from the lowest on.")
@click.option(
    "--coded-pieces",
    is_flag=True,
    help="Keep the base's piece embeddings as product codes, a quarter of their int8 size, and do not train them.",
)
@click.option(
    "--architecture",
    type=click.Choice(["bert", "convolutional"]),
    default="bert",
    show_default=True,
    help="convolutional: a small model of another kind to vote beside a BERT, with the tokenizer and the piece "
    "embeddings of the base alone; it learns best at a rate of 1.5e-3 and has no phase of separate heads.",
)
@click.option(
    "--joint-tokens", type=int, default=11_000_000, show_default=True, help="Fewer learn less; time is linear."
)
@click.option("--head-tokens", type=int, default=2_500_000, show_default=True, help="For the phase of separate heads.")
@click.option("--shared-layers", type=int, default=5, show_default=True, help="Layers all heads share: more is faster.")
@click.option("--threads", type=int, default=2, show_default=True)
@click.option("--seed", type=int, default=17, show_default=True)
@click.option(
    "--learning-rate", type=float, default=3e-4, show_default=True, help="Of the joint phase; too high forgets."
)
@click.option(
    "--batch-tokens",
    type=int,
    default=2048,
    show_default=True,
    help="Of one step; fewer suit a large base and few tokens.",
)
@click.option("--start", type=_FOLDER, help="joint.pt of an earlier training to go on from, as with notes of your own.")
@click.option(
    "--teacher",
    type=_FOLDER,
    help="joint.pt of a larger model, whose answers count as much as the annotations in the joint phase.",
)
@click.option(
    "--dropout", type=click.FloatRange(0, 1, max_open=True), default=0.1, show_default=True, help="Of hidden states."
)
@click.option(
    "--resampled",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    help="Share of notes shown with fresh values in a pass; 0 learns the corpus as it stands.",
)
@click.option(
    "--prose",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Marked prose (`deid-export mark-prose`) to set people into, other people in each pass. Its screened "
    "sentences are learnt as clean, too.",
)
@click.option(
    "--prose-share",
    type=click.FloatRange(0, 0.7),
    default=0.35,
    show_default=True,
    help="Share of the windows that is such prose; more finds more people in sparse text, and learns the notes less.",
)
@click.option(
    "--contrast-share",
    type=click.FloatRange(0, 0.5),
    default=0.0,
    show_default=True,
    help="Share of the windows with identifiers beside clinical facts of the same form, such as 3/14 nodes and 3/14.",
)
@click.option(
    "--negative-share",
    type=click.FloatRange(0, 0.7),
    default=0.24,
    show_default=True,
    help="Share of the windows that is clean text; less finds more, and more that is none.",
)
@click.option(
    "--wrapped", type=click.FloatRange(0, 1), default=0.1, show_default=True, help="Share of notes shown hard-wrapped."
)
@click.option(
    "--names-recased",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="Share of notes whose names are shown in lower case or in capitals.",
)
def train(
    notes: tuple[Path, ...],
    dev: tuple[Path, ...],
    lists: Path,
    negatives: tuple[Path, ...],
    out: Path,
    base: str | None,
    layers: int | None,
    coded_pieces: bool,
    architecture: Literal["bert", "convolutional"],
    joint_tokens: int,
    head_tokens: int,
    shared_layers: int,
    threads: int,
    seed: int,
    learning_rate: float,
    start: Path | None,
    batch_tokens: int,
    teacher: Path | None,
    dropout: float,
    resampled: float,
    prose: Path | None,
    prose_share: float,
    negative_share: float,
    contrast_share: float,
    wrapped: float,
    names_recased: float,
) -> None:
    """Fine-tune the shared encoder and the heads; run again to go on after an interruption."""
    from deid_export.data.corpus import read_corpus
    from deid_export.data.gazetteers import load_gazetteers
    from deid_export.data.negatives import screened, screened_sentences
    from deid_export.data.substitution.prose import read_marked
    from deid_export.model.mpnet import is_mpnet
    from deid_export.model.tagger import packaged_base
    from deid_export.train.batches import StreamSettings
    from deid_export.train.training import Data, TrainSettings
    from deid_export.train.training import train as run
    from deid_runtime.text.windows import WordEncoder

    with errors_in_one_line():
        base = base or packaged_base()
        gazetteers = load_gazetteers(lists)
        documents = read_marked(prose) if prose else []
        data = Data(
            read_corpus(notes),
            screened_sentences(negatives, gazetteers) + screened((each.text for each in documents), gazetteers),
            gazetteers,
            read_corpus(dev) if dev else [],
            prose=documents,
        )
        settings = TrainSettings(
            base=base,
            architecture=architecture,
            layers=layers,
            coded_pieces=coded_pieces,
            joint_tokens=joint_tokens,
            head_tokens=head_tokens,
            shared_layers=shared_layers,
            threads=threads,
            seed=seed,
            learning_rate=learning_rate,
            start=start,
            teacher=teacher,
            dropout=dropout,
        )
        stream = StreamSettings(
            seed=seed,
            resample=resampled,
            batch_tokens=batch_tokens,
            negative_share=negative_share,
            contrast_share=contrast_share,
            prose_share=prose_share if prose else 0.0,
            wrapped=wrapped,
            names_recased=names_recased,
        )
        # All models of a repository share one tokenizer, and an MPNet has its own.
        tokenizer = Path(packaged_base() if is_mpnet(base) else base) / "tokenizer.json"
        path = run(data, WordEncoder.from_file(tokenizer), settings, stream, out)
    click.echo(path)


@main.command()
@click.argument("trained", type=_FOLDER, nargs=-1, required=True)
@click.option(
    "--notes", type=_FOLDER, required=True, multiple=True, help="The training notes: ranges are calibrated on them."
)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Model repository to write.")
@click.option("--base", help="Base whose tokenizer the model was trained with; default: the packaged one.")
@click.option("--float32", is_flag=True, help="Do not quantise: four times the size, half the speed.")
@click.option(
    "--weight",
    "weights",
    type=click.FloatRange(min=0, min_open=True),
    multiple=True,
    help="How much a model counts in `full`, once for each of TRAINED in their order. Default: all the same.",
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

    The profile `fast` runs the first of them, `full` all.
    """
    from deid_export.data.corpus import read_corpus
    from deid_export.model.tagger import packaged_base
    from deid_export.onnx.assemble import assemble

    tokenizer = Path(base or packaged_base()) / "tokenizer.json"
    with errors_in_one_line():
        settled = json.loads(profiles.read_text(encoding="utf-8")) if profiles else None
        manifest = assemble(
            trained, tokenizer, read_corpus(notes), out, int8=not float32, weights=weights, profiles=settled
        )
    click.echo(manifest)


@main.command("mark-prose")
@click.argument("texts", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--models", type=_FOLDER, help="Model repository that marks. Default: the packaged one.")
@click.option("--half", type=click.Choice(["train", "test"]), default="train", show_default=True)
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="JSON Lines to write."
)
def mark_prose(texts: tuple[Path, ...], models: Path | None, half: Literal["train", "test"], out: Path) -> None:
    """Mark what identifies in public TEXTS (.jsonl.gz), and write one half of them for `train --prose`.

    Halves are chosen by a digest of each text. The test half is for the outside check alone.
    """
    from deid_export.data.substitution.marking import mark

    with errors_in_one_line():
        count = mark(texts, out, models=models, half=half)
    click.echo(f"{out}: {count} documents")


@main.command()
@click.argument("repository", type=_FOLDER)
@click.option("--dev", type=_FOLDER, required=True, multiple=True, help="Annotated notes, none of them trained on.")
@click.option("--recall", type=float, required=True, help="Share of identifying tokens to find; more costs precision.")
@click.option("--profile", type=click.Choice(["fast", "full"]), default="fast", show_default=True)
@click.option(
    "--label-recall", type=float, default=0.0, show_default=True, help="Least share for every frequent label."
)
def calibrate(
    repository: Path, dev: tuple[Path, ...], recall: float, profile: Literal["fast", "full"], label_recall: float
) -> None:
    """Choose the thresholds of a profile of REPOSITORY and write them into its manifest."""
    from deid_export.data.corpus import read_corpus
    from deid_export.train.calibrate import calibrate as run

    with errors_in_one_line():
        choice = run(repository, read_corpus(dev), profile, recall, label_recall)
    click.echo(f"precision {choice.precision:.4f}, recall {choice.recall:.4f}, thresholds {choice.thresholds}")


@main.command()
@click.argument("graph", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Model file to write."
)
@click.option("--base", help="Base that the model was trained from; default: the packaged one.")
@click.option(
    "--shared-layers",
    type=click.IntRange(min=0),
    help="Give each head its own copy of the layers above these, as `iterate --trained` wants it. Default: the heads "
    "share all, as `train --start` wants it.",
)
def restore(graph: Path, out: Path, base: str | None, shared_layers: int | None) -> None:
    """Turn GRAPH, model.onnx of a model repository, back into a model file, to train it on with notes of your own.

    Heads that were exported with layers of their own cannot be read back.
    """
    from deid_export.model.tagger import packaged_base
    from deid_export.onnx.restore import restore as run

    with errors_in_one_line():
        run(graph, base or packaged_base(), out, shared_layers=shared_layers)
    click.echo(out)


@main.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Model file to write."
)
def average(models: tuple[Path, ...], out: Path) -> None:
    """Write one model of the mean weights of MODELS, trainings that went on from one start.

    It often finds more than each of them, at the cost of one. Measure it on dev: models that began apart give noise.
    """
    from deid_export.model.average import average as run

    with errors_in_one_line():
        run(models, out)
    click.echo(out)


@main.command()
@click.argument("trained", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--notes", type=_FOLDER, required=True, multiple=True, help="Annotated notes to choose by.")
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Model file to write."
)
@click.option("--base", help="Base whose tokenizer the model was trained with; default: the packaged one.")
@click.option("--layers", type=click.IntRange(min=1), required=True, help="How many layers to keep.")
@click.option(
    "--feed-forward", type=click.IntRange(min=1), required=True, help="How many inner neurons of each layer to keep."
)
def shrink(trained: Path, notes: tuple[Path, ...], out: Path, base: str | None, layers: int, feed_forward: int) -> None:
    """Cut TRAINED, a joint.pt, to a smaller and faster model; relearn with `train --start OUT --teacher TRAINED`."""
    from deid_export.data.corpus import read_corpus
    from deid_export.model.tagger import packaged_base
    from deid_export.train.shrink import shrink as run
    from deid_runtime.text.windows import WordEncoder

    with errors_in_one_line():
        encoder = WordEncoder.from_file(Path(base or packaged_base()) / "tokenizer.json")
        kept = run(trained, read_corpus(notes), encoder, out, layers=layers, feed_forward=feed_forward)
    click.echo(f"{out}: layers {', '.join(map(str, kept))} of the model")


main.add_command(corpus_card)
main.add_command(corpus_check)
main.add_command(corpus_convert)
main.add_command(harvest)
main.add_command(head_cards)
main.add_command(recipe)
main.add_command(repository)
main.add_command(review)
main.add_command(iterate)
main.add_command(versions)
main.add_command(select)
main.add_command(corrections)


if __name__ == "__main__":
    main()
