"""``deid-export train``: train a model on annotated notes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from deid_export.cli.config import config_option
from deid_runtime.cli import options as cli_options

if TYPE_CHECKING:
    from deid_export.train.batches import StreamSettings
    from deid_export.train.training import Data, TrainSettings

_FOLDER = click.Path(exists=True, path_type=Path)

#: Options passed on as training settings under the same name; below, stream settings under another name.
_TRAIN = (
    "base", "layers", "coded_pieces", "joint_tokens", "head_tokens", "shared_layers", "threads", "seed",
    "learning_rate", "start", "teacher", "dropout",
)  # fmt: skip
_STREAM = {
    "seed": "seed",
    "resampled": "resample",
    "batch_tokens": "batch_tokens",
    "negative_share": "negative_share",
    "contrast_share": "contrast_share",
    "prose_share": "prose_share",
    "wrapped": "wrapped",
    "names_recased": "names_recased",
}


@cloup.command()
@config_option
@cli_options.section(
    cli_options.INPUT,
    click.option(
        "--notes",
        "notes",
        type=_FOLDER,
        required=True,
        multiple=True,
        help="Annotated notes: tagged .txt, .jsonl, i2b2 .xml, brat .ann.",
    ),
    click.option(
        "--dev",
        type=_FOLDER,
        multiple=True,
        help="Annotated notes for measuring during the training; never used for it.",
    ),
    click.option(
        "--lists",
        type=_FOLDER,
        required=True,
        help="Folder with gazetteers/ and medical/, to resample values.",
    ),
    click.option(
        "--negatives", type=_FOLDER, multiple=True, help=".jsonl.gz of clinical texts; screened, then learnt as clean."
    ),
    click.option(
        "--prose",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Marked prose (`deid-export corpus mark-prose`) in which to insert people, other people in each pass. Its "
        "screened sentences are learnt as clean, too.",
    ),
)
@cli_options.section(
    cli_options.OUTPUT,
    click.option(
        "-o", "--out", type=click.Path(path_type=Path), required=True, help="Folder for the models and checkpoints."
    ),
)
@cli_options.section(
    "Model",
    click.option("--base", help="BERT or MPNet by Hub name or folder. Default: MiniLM-L6-H384 of the package."),
    click.option(
        "--layers", type=click.IntRange(min=1), help="Keep this many layers of the base model, from the lowest on."
    ),
    click.option(
        "--coded-pieces",
        is_flag=True,
        help="Keep the base's piece embeddings as product codes, a quarter of their int8 size, and do not train them.",
    ),
    click.option(
        "--shared-layers", type=int, default=5, show_default=True, help="Layers that all heads share: more are faster."
    ),
    click.option(
        "--start", type=_FOLDER, help="joint.pt of an earlier training to continue, for instance with your own notes."
    ),
    click.option(
        "--teacher",
        type=_FOLDER,
        help="joint.pt of a larger model, whose answers count as much as the annotations in the joint phase.",
    ),
    click.option(
        "--dropout",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.1,
        show_default=True,
        help="Of hidden states.",
    ),
)
@cli_options.section(
    "Training",
    click.option(
        "--joint-tokens",
        type=int,
        default=11_000_000,
        show_default=True,
        help="Tokens of the joint phase.",
    ),
    click.option(
        "--head-tokens", type=int, default=2_500_000, show_default=True, help="Tokens of the phase of separate heads."
    ),
    click.option(
        "--learning-rate",
        type=float,
        default=3e-4,
        show_default=True,
        help="Joint phase; if too high, the model forgets.",
    ),
    click.option(
        "--batch-tokens",
        type=int,
        default=2048,
        show_default=True,
        help="Tokens of one step; fewer suit a large base and few tokens in total.",
    ),
    click.option("--seed", type=int, default=17, show_default=True),
)
@cli_options.section(
    "What the windows show",
    click.option(
        "--resampled",
        type=click.FloatRange(0, 1),
        default=1.0,
        show_default=True,
        help="Share of notes shown with fresh values in a pass; 0 learns the corpus unchanged.",
    ),
    click.option(
        "--prose-share",
        type=click.FloatRange(0, 0.7),
        default=0.35,
        show_default=True,
        help="Share of the windows with such prose; more finds more people in sparse text, but learns less "
        "from the notes.",
    ),
    click.option(
        "--contrast-share",
        type=click.FloatRange(0, 0.5),
        default=0.0,
        show_default=True,
        help="Share of the windows with identifiers beside clinical facts of the same form, such as 3/14 "
        "nodes and 3/14.",
    ),
    click.option(
        "--negative-share",
        type=click.FloatRange(0, 0.7),
        default=0.24,
        show_default=True,
        help="Share of the windows with clean text; less finds more identifiers and more false positives.",
    ),
    click.option(
        "--wrapped",
        type=click.FloatRange(0, 1),
        default=0.1,
        show_default=True,
        help="Share of notes shown hard-wrapped.",
    ),
    click.option(
        "--names-recased",
        type=click.FloatRange(0, 1),
        default=0.1,
        show_default=True,
        help="Share of notes whose names are shown in lower case or in capitals.",
    ),
)
@cli_options.section(
    cli_options.SPEED,
    click.option("--threads", type=int, default=2, show_default=True),
)
def train(out: Path, **options: Any) -> None:
    """Fine-tune the shared encoder and the heads; run it again to continue after an interruption."""
    from deid_export.model.mpnet import is_mpnet
    from deid_export.model.tagger import packaged_base
    from deid_export.train.training import train as run
    from deid_runtime.text.windows import WordEncoder

    options["base"] = options["base"] or packaged_base()
    data, settings, stream = _data(**options), *_settings(options)
    # All models of a repository share one tokenizer, so an MPNet does not use its own.
    tokenizer = Path(packaged_base() if is_mpnet(settings.base) else settings.base) / "tokenizer.json"
    click.echo(run(data, WordEncoder.from_file(tokenizer), settings, stream, out))


def _settings(options: dict[str, Any]) -> "tuple[TrainSettings, StreamSettings]":
    from deid_export.train.batches import StreamSettings
    from deid_export.train.training import TrainSettings

    stream = {to: options[name] for name, to in _STREAM.items()}
    if not options["prose"]:
        stream["prose_share"] = 0.0
    return TrainSettings(**{name: options[name] for name in _TRAIN}), StreamSettings(**stream)


def _data(
    *,
    notes: tuple[Path, ...],
    dev: tuple[Path, ...],
    lists: Path,
    negatives: tuple[Path, ...],
    prose: Path | None,
    **_: object,
) -> "Data":
    from deid_export.data.gazetteers import load_gazetteers
    from deid_export.data.negatives import screened, screened_sentences
    from deid_export.data.substitution.prose import read_marked
    from deid_export.train.training import Data
    from deid_runtime.annotations.read import read_annotated

    gazetteers = load_gazetteers(lists)
    documents = read_marked(prose) if prose else []
    return Data(
        read_annotated(notes),
        screened_sentences(negatives, gazetteers) + screened((each.text for each in documents), gazetteers),
        gazetteers,
        read_annotated(dev) if dev else [],
        prose=documents,
    )
