"""``deid evaluate tune``: propose thresholds from annotated notes and write them to a configuration file."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import ExitCode, reported
from deid_runtime.labels import HEADS, LABELS

if TYPE_CHECKING:
    from deid_runtime.annotations.note import AnnotatedNote
    from deid_runtime.evaluation.tuning import Measured
    from deid_runtime.settings import Settings
    from deid_runtime.spans import Span

_NOTES_AT_A_TIME = 32


def _label_recalls(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Parse ``LABEL=SHARE`` strings. Raises click.BadParameter for an invalid one."""
    parsed = {}
    for value in values:
        label, _, number = value.partition("=")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if label not in LABELS or not 0 < share <= 1:
            raise click.BadParameter(f"{value!r}: expected LABEL=SHARE, a label such as PATIENT and a number up to 1")
        parsed[label] = share
    return parsed


@cloup.command()
@cli_options.section(
    cli_options.INPUT,
    click.option(
        "--gold",
        type=cli_options.EXISTING,
        required=True,
        help="Annotated notes that no model was trained on, in the formats of `deid evaluate`. Give a few hundred; "
        "with fewer, the choice is unreliable.",
    ),
)
@cli_options.section(
    cli_options.OUTPUT,
    click.option(
        "-o",
        "--out",
        type=cli_options.PATH,
        help="New configuration file (TOML) for `deid run --config`. Default: only print the proposal.",
    ),
    cli_options.flag("--overwrite", "Replace the file of --out if it exists."),
)
@cli_options.section(
    "What to reach",
    click.option(
        "--recall",
        type=click.FloatRange(0, 1, min_open=True),
        default=0.99,
        show_default=True,
        help="Share of the identifying words to find. Higher finds more and changes more clinical text.",
    ),
    click.option(
        "--label-recall",
        multiple=True,
        callback=_label_recalls,
        metavar="LABEL=SHARE",
        help="Share to find for one label, such as PATIENT=0.998; may be repeated.",
    ),
    click.option(
        "--cost-of-miss",
        type=click.FloatRange(0, min_open=True),
        help="Instead of a recall: how many wrongly removed words one missed word is worth, for instance 50.",
    ),
)
@cli_options.section(
    cli_options.FINDING,
    cli_options.profile("Models that vote. Thresholds belong to one profile, which the file names."),
    cli_options.models(),
    cli_options.site_lists(),
)
@reported
def tune(gold: Path, out: Path | None, overwrite: bool, **options: Any) -> None:
    """Propose thresholds of the model heads from annotated notes, and write them to a file for --config.

    Searches the notes with low thresholds, chooses thresholds, and searches again with these. The figures of the second
    search are the actual result of the thresholds on these notes. Exit code 1 when the wanted recall is not reached.
    """
    from deid_runtime.annotations.read import read_gold
    from deid_runtime.evaluation.breakdown import patients_of
    from deid_runtime.evaluation.report_files import require_free, write_whole
    from deid_runtime.evaluation.token_table import tabulate
    from deid_runtime.evaluation.tuning import CANDIDATES, Wanted, config_text, propose
    from deid_runtime.settings import Settings

    if out is not None:
        require_free([out], overwrite=overwrite)
    settings = Settings(
        profile=options["profile"],
        models=options["models"],
        models_key=options["models_key"],
        trust_models=options["trust_models"],
        inclusion=options["inclusion"],
        templates=options["templates"],
    )
    wanted = Wanted(options["recall"], options["label_recall"], options["cost_of_miss"])
    notes = read_gold(gold)
    loose = _search(notes, settings, dict.fromkeys(HEADS, CANDIDATES[0]))
    proposal = propose(tabulate(notes, loose), patients_of(notes), wanted)
    measured, is_reached = _measure(notes, _search(notes, settings, proposal.thresholds), wanted)
    lines = [
        f"thresholds: {', '.join(f'{head}={value:g}' for head, value in proposal.thresholds.items())}",
        f"on these notes: {_scores_text(measured)}",
    ]
    if proposal.elsewhere is not None:
        lines.append(f"on halves of the notes that were not used for the choice: {_scores_text(proposal.elsewhere)}")
    click.echo("\n".join(lines))
    if out is not None:
        patients = len({note.patient for note in notes if note.patient})
        comments = [f"Proposed by `deid evaluate tune` from {len(notes):,} notes of {patients:,} patients.", *lines[1:]]
        write_whole(out, config_text(proposal, options["profile"], comments))
        click.echo(f"written to {out}; use it with: deid run --config {out}", err=True)
    if not is_reached:
        click.echo(
            "deid: WARNING: no thresholds reach the wanted recall on these notes; those above miss the fewest words. "
            "Rules and lists (`deid run --patients`, --templates) or heads trained on your notes can find more",
            err=True,
        )
        sys.exit(ExitCode.HELD_BACK)


def _search(
    notes: "Sequence[AnnotatedNote]", settings: "Settings", thresholds: "dict[str, float] | Any"
) -> "dict[str, list[Span]]":
    """Return the found spans of every note by id; none for a note that the pipeline holds back."""
    from dataclasses import replace

    from deid_runtime.pipeline.loading import load_pipeline
    from deid_runtime.pipeline.outcomes import Quarantined
    from deid_runtime.spans import Note

    found: dict[str, list[Span]] = {}
    with load_pipeline(replace(settings, thresholds=thresholds), key=None, records={}) as pipeline:
        for first in range(0, len(notes), _NOTES_AT_A_TIME):
            batch = [Note(each.id, each.text) for each in notes[first : first + _NOTES_AT_A_TIME]]
            for outcome in pipeline.detect(batch):
                found[outcome.note_id] = [] if isinstance(outcome, Quarantined) else list(outcome.spans)
    return {note.id: found.get(note.id, []) for note in notes}


def _measure(notes: "Sequence[AnnotatedNote]", found: "dict[str, list[Span]]", wanted: Any) -> "tuple[Measured, bool]":
    """Return the result of the proposed thresholds, and whether it reaches what was wanted."""
    from deid_runtime.evaluation.token_table import tabulate
    from deid_runtime.evaluation.tuning import Measured

    table = tabulate(notes, found)
    missed = table.is_gold & ~table.is_found
    measured = Measured(int(table.is_gold.sum()), int(missed.sum()), int(table.is_wrong.sum()))
    if wanted.cost_of_miss is not None:
        return measured, True
    labels = table.gold_label()
    is_reached = (measured.recall or 0.0) >= wanted.recall and all(
        (table.is_found & (labels == LABELS.index(label))).sum() >= share * (labels == LABELS.index(label)).sum()
        for label, share in wanted.label_recall.items()
    )
    return measured, is_reached


def _scores_text(measured: "Measured") -> str:
    recall, precision = (0.0 if value is None else value for value in (measured.recall, measured.precision))
    return (
        f"recall {recall:.4f}, precision {precision:.4f} ({measured.missed:,} of {measured.gold:,} words missed, "
        f"{measured.wrong:,} wrong)"
    )
