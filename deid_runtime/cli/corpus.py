"""``deid corpus``: make a corpus that can be shared from annotated notes."""

import sys
from pathlib import Path

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import ExitCode, reported
from deid_runtime.resynthesis.forms import FORMS


@cloup.group()
def corpus() -> None:
    """Work with annotated notes."""


@corpus.command()
@cloup.argument("notes", metavar="NOTES...", nargs=-1, required=True, type=cli_options.EXISTING)
@cli_options.section(
    cli_options.OUTPUT,
    click.option(
        "-o",
        "--out",
        type=cli_options.PATH,
        required=True,
        help="Folder for the new corpus. OUT.manifest.json with the checks is written beside it.",
    ),
    click.option(
        "--format",
        "format",
        type=click.Choice(FORMS),
        default="jsonl",
        show_default=True,
        help="jsonl: one file, for any note. tagged: one file per patient, spans in <LABEL> tags, with the patient's "
        "record. i2b2: XML of 2014, numbered. brat: .txt with .ann, without the patient of a note.",
    ),
    cli_options.flag("--overwrite", "Replace an earlier output once the new one is complete."),
    cli_options.flag("--keep-ids", "Keep note and patient ids. They identify people to anyone who knows them."),
    cli_options.flag("--json", "Print the checks as JSON instead of a table."),
)
@cli_options.section(
    cli_options.SURROGATES,
    click.option(
        "--key",
        type=cli_options.FILE,
        help="Key file, from `deid key new`. Anyone who has it can test which surrogate belongs to a guessed name, so "
        "omit it for a corpus to share. Default: a random key, which is discarded.",
    ),
    cli_options.allow_shared_key(),
    cli_options.date_shift(),
)
@cli_options.section(
    "Review",
    click.option(
        "--ordinary-words",
        type=cli_options.FILE,
        help="Words, one per line, that a person has reviewed: family names in this corpus that occur outside the "
        "spans as something else (eponyms, abbreviations). A real name on this list stays in the text where no "
        "annotator marked it.",
    ),
    click.option(
        "--review",
        type=cli_options.PATH,
        help="Write the originals that are left, with the text around them, to this new file, which only you may read.",
    ),
)
@reported
def resynthesize(
    notes: tuple[Path, ...],
    out: Path,
    format: str,  # noqa: A002 - named as the option
    key: Path | None,
    allow_shared_key: bool,
    date_shift: int,
    date_shift_weeks: bool,
    ordinary_words: Path | None,
    review: Path | None,
    keep_ids: bool,
    overwrite: bool,
    json: bool,
) -> None:
    """Make a corpus that can be shared from annotated notes.

    NOTES are files or folders of tagged .txt, .jsonl with spans, i2b2 2014 .xml or brat .ann. The value of every span
    is replaced, and the spans are moved accordingly; so are the values of patient records in tagged files. No original
    family name is left in the new corpus, no original street with its type, no original city with state and ZIP
    (Deleger et al. 2014). What is not marked cannot be replaced: the corpus is only as safe as its annotation is
    complete.

    Prints the checks. When an original is left, nothing is written and the exit code is 1: mark it in
    NOTES, or review it with --review and --ordinary-words.
    """
    from json import dumps

    from deid_runtime.resynthesis.job import CorpusOptions, resynthesize_files, write_violations
    from deid_runtime.resynthesis.report import render
    from deid_runtime.surrogates import load_key, new_key

    options = CorpusOptions(
        form=format,
        keep_ids=keep_ids,
        overwrite=overwrite,
        ordinary_words=ordinary_words,
        date_shift_days=date_shift,
        date_shift_whole_weeks=date_shift_weeks,
    )
    corpus_key = load_key(key, allow_shared=allow_shared_key) if key else new_key()
    made = resynthesize_files(notes, out, options, key=corpus_key)
    if review is not None:
        count = write_violations(review, made)
        click.secho(
            f"deid: NOTICE: {review} has {count:,} places with ORIGINAL names and note text. Keep it inside the "
            "secure zone and delete it after review.",
            err=True,
            bold=True,
        )
    # Printed after the review file is written: that file is needed even when stdout is closed.
    click.echo(dumps(made.checks.to_json(), indent=2) if json else render(made.checks), nl=json)
    if not made.checks.is_clean:
        click.echo(
            f"deid: {len(made.violations):,} originals are left, so nothing was written; see them with --review FILE, "
            "then mark them in the notes, or list words that are not names with --ordinary-words",
            err=True,
        )
        sys.exit(ExitCode.HELD_BACK)
    click.echo(f"{made.checks.notes:,} notes in {out}", err=True)
