"""``deid-export corpus-card``: count a corpus, and keep its data card true."""

from pathlib import Path

import click

_EXISTING = click.Path(exists=True, path_type=Path)


@click.command("corpus-card")
@click.argument("notes", metavar="NOTES...", nargs=-1, required=True, type=_EXISTING)
@click.option(
    "--update",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="README to write the tables into, between its marks; the rest of it stays as it is. Default: print them.",
)
def corpus_card(notes: tuple[Path, ...], update: Path | None) -> None:
    """Count annotated NOTES: size, batches, labels, kinds of notes, findings of corpus-check.

    Each of NOTES is one part of the corpus, such as train and dev, and gets a column.
    """
    from deid_export.cli.errors import errors_in_one_line
    from deid_export.data.corpus_card import MARK, card_tables
    from deid_export.data.marked_tables import with_tables

    with errors_in_one_line():
        tables = card_tables(notes)
        if update is None:
            click.echo("\n\n".join(tables.values()))
        else:
            update.write_text(with_tables(update.read_text(encoding="utf-8"), tables, MARK), encoding="utf-8")
