"""``deid evaluate``: compare found spans with annotated spans, and print scores."""

from pathlib import Path

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.config import config_option
from deid_runtime.cli.exits import reported


@cloup.command()
@cli_options.section(
    cli_options.INPUT,
    click.option(
        "--gold",
        type=cli_options.EXISTING,
        required=True,
        help="Annotated notes: .jsonl with text and spans, or a file or folder of i2b2 2014 .xml or brat .ann with "
        ".txt.",
    ),
    click.option(
        "--found", type=cli_options.EXISTING, required=True, help="Output of `deid detect`, or a format of --gold."
    ),
    click.option(
        "--quarantine",
        type=cli_options.FILE,
        help="Notes held back, which count as missed. Default: FOUND.quarantine.jsonl, if there. Without it a gold "
        "note that is not in FOUND is an error.",
    ),
)
@cli_options.section(
    cli_options.OUTPUT,
    cli_options.flag("--json", "Print JSON instead of tables."),
    click.option(
        "--errors",
        type=cli_options.PATH,
        help="Also write every error with the words around it to this new file, which only you may read. Identifiers "
        "that gold or found has are masked; the rest is note text in clear, and what both overlooked may be among it. "
        "For review where the notes are; delete it afterwards.",
    ),
    click.option(
        "--context-words",
        type=click.IntRange(min=0, max=50),
        default=6,
        show_default=True,
        help="Words on each side of an error in --errors. More tells more, also to whoever should not know.",
    ),
)
@config_option
@reported
def evaluate(
    gold: Path, found: Path, quarantine: Path | None, json: bool, errors: Path | None, context_words: int
) -> None:
    """Compare found spans with annotated ones and print scores and kinds of errors, without any text."""
    from json import dumps

    from deid_runtime import evaluation
    from deid_runtime.run.quarantine import read_quarantine
    from deid_runtime.run.staging import quarantine_path

    beside = quarantine_path(found)
    quarantine = quarantine or (beside if beside.exists() else None)
    annotated, detected = evaluation.read_gold(gold), evaluation.read_found(found)
    report = evaluation.evaluate(
        annotated, detected, quarantined=read_quarantine(quarantine) if quarantine else frozenset()
    )
    if errors is not None:
        in_context = evaluation.errors_in_context(annotated, detected, context_words=context_words)
        count = evaluation.write_errors(errors, in_context)
        click.secho(
            f"deid: NOTICE: {errors} holds {count:,} errors with WORDS OF THE NOTES around them, masked only where "
            "gold or found has an identifier. Keep it inside the secure zone, delete it after review.",
            err=True,
            bold=True,
        )
    click.echo(dumps(report.to_json(), indent=2) if json else evaluation.render(report), nl=json)
