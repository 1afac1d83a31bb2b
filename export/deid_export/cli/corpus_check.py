"""``deid-export corpus-check``: do annotated notes keep to their format?"""

import sys
from pathlib import Path

import click

_EXISTING = click.Path(exists=True, path_type=Path)


@click.command("corpus-check")
@click.argument("notes", metavar="NOTES...", nargs=-1, required=True, type=_EXISTING)
@click.option(
    "--doubts",
    is_flag=True,
    help="List the doubts too, one a line: places that are often right and worth a second look, such as a name that "
    "stands unmarked elsewhere, or one value under two labels.",
)
def corpus_check(notes: tuple[Path, ...], doubts: bool) -> None:
    """Check annotated NOTES before they are trained on: headers, tags, span borders, ids, values left unmarked.

    Give all parts of a corpus at once, so that ids used twice and notes that are in two parts are found. Places are
    file, line and column; no text is shown. Exit code 1 when there is a problem, 0 when there are at most doubts.
    """
    from deid_export.data.corpus_check import check_corpus

    checked = check_corpus(notes)
    for finding in checked.findings:
        if finding.is_problem or doubts:
            click.echo(finding)
    click.echo(
        f"{checked.notes:,} notes of {checked.patients:,} patients, {checked.words:,} words, {checked.spans:,} spans: "
        f"{len(checked.problems):,} problems, {sum(checked.doubts.values()):,} doubts"
    )
    for rule, count in checked.doubts.most_common():
        click.echo(f"  {rule}: {count:,}")
    if checked.problems:
        sys.exit(1)
