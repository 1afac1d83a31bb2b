"""``deid evaluate agreement`` compares two annotators; ``deid evaluate forms`` writes the same notes in other forms."""

from pathlib import Path

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import reported


@cloup.command()
@cloup.argument("first", type=cli_options.EXISTING)
@cloup.argument("second", type=cli_options.EXISTING)
@cli_options.flag("--json", "Print JSON instead of tables.")
@reported
def agreement(first: Path, second: Path, json: bool) -> None:
    """Measure how far two annotators agree: Cohen's kappa on the notes in both FIRST and SECOND.

    Both are annotated notes in the formats of `deid evaluate --gold`, with the same ids and the same texts. Notes that
    only one of them has are counted and omitted. Prints no text.
    """
    from json import dumps

    from deid_runtime.annotations.read import read_gold
    from deid_runtime.evaluation.agreement import agreement
    from deid_runtime.evaluation.report import plain
    from deid_runtime.evaluation.tables import render_agreement

    found = agreement(read_gold(first), read_gold(second))
    if found.first_alone or found.second_alone:
        click.echo(
            f"deid: WARNING: {found.first_alone + found.second_alone:,} notes are on one side only and were omitted",
            err=True,
        )
    click.echo(dumps(plain(found), indent=2) if json else render_agreement(found), nl=json)


@cloup.command()
@click.option(
    "--gold", type=cli_options.EXISTING, required=True, help="Annotated notes, in the formats of `deid evaluate`."
)
@click.option(
    "-o",
    "--out",
    type=cli_options.PATH,
    required=True,
    help="New folder, which only you may open: it has the NOTES with their identifiers. Delete it after use.",
)
@reported
def forms(gold: Path, out: Path) -> None:
    """Write annotated notes in other forms: lower case, capitals, hard-wrapped lines.

    The offsets of identifiers stay the same.
    Then run `deid detect NAME.jsonl -o NAME.found.jsonl` on each file, in the same folder, and give
    the folder to `deid evaluate --altered`.
    """
    from deid_runtime.annotations.jsonl import render_jsonl
    from deid_runtime.annotations.read import read_gold
    from deid_runtime.errors import OutputError
    from deid_runtime.evaluation.forms import ALTERATIONS, rewritten
    from deid_runtime.system.owner_only import write_owner_only

    notes = read_gold(gold)
    try:
        out.mkdir(mode=0o700)
    except OSError as error:
        raise OutputError(f"{out}: cannot be created ({error.strerror}); expected a new folder") from None
    for form in ALTERATIONS:
        path = out / f"{form}.jsonl"
        lines = (render_jsonl(rewritten(note, form)).decode("utf-8") for note in notes)
        write_owner_only(path, (line if line.endswith("\n") else f"{line}\n" for line in lines), what="notes")
        click.echo(path)
