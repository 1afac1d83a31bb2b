"""``deid-export corpus``: check, count and convert annotated notes, and mark public prose."""

from pathlib import Path
from typing import Literal

import click

from deid_export.adapt.forms import FORMS
from deid_runtime.cli.exits import ExitCode

_EXISTING = click.Path(exists=True, path_type=Path)


@click.command("check")
@click.argument("notes", metavar="NOTES...", nargs=-1, required=True, type=_EXISTING)
@click.option(
    "--doubts",
    is_flag=True,
    help="Also list the doubts, one per line: places that are often right but worth a check, such as a name that "
    "is unmarked elsewhere, or one value with two labels.",
)
def check(notes: tuple[Path, ...], doubts: bool) -> None:
    """Check annotated NOTES before training: headers, tags, span borders, ids, values left unmarked.

    Give all parts of a corpus at once, so that repeated ids and notes in two parts are found. Places are
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
        raise SystemExit(ExitCode.HELD_BACK)


@click.command("card")
@click.argument("notes", metavar="NOTES...", nargs=-1, required=True, type=_EXISTING)
@click.option(
    "--update",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="README into which to write the tables, between its marks; the rest is not changed. Default: print them.",
)
def card(notes: tuple[Path, ...], update: Path | None) -> None:
    """Count annotated NOTES: size, batches, labels, kinds of notes, findings of `corpus check`.

    Each of NOTES is one part of the corpus, such as train and dev, and gets a column.
    """
    from deid_export.data.corpus_card import MARK, card_tables
    from deid_export.data.marked_tables import with_tables

    tables = card_tables(notes)
    if update is None:
        click.echo("\n\n".join(tables.values()))
    else:
        update.write_text(with_tables(update.read_text(encoding="utf-8"), tables, MARK), encoding="utf-8")


@click.command("convert")
@click.argument("notes", metavar="NOTES...", nargs=-1, required=True, type=_EXISTING)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="New folder to write.")
@click.option(
    "--form",
    type=click.Choice(FORMS),
    default="jsonl",
    show_default=True,
    help="jsonl: one file, for `deid evaluate --gold` and the benchmarks; brat: .txt with .ann; i2b2: XML of 2014.",
)
@click.option(
    "--patients",
    type=click.Path(dir_okay=False, path_type=Path),
    help="JSON Lines file for the structured records of tagged files, for `deid run --patients`.",
)
def convert(notes: tuple[Path, ...], out: Path, form: str, patients: Path | None) -> None:
    """Write annotated NOTES, as tagged text, JSON Lines, i2b2 XML or brat, into the folder OUT in another form."""
    from deid_export.adapt.annotations import give_out
    from deid_runtime.annotations.read import read_annotated, read_records
    from deid_runtime.formats.jsonl import dump_line
    from deid_runtime.spans import Note

    read = read_annotated(notes)
    refused = give_out(out, form, [(Note(n.id, n.text, n.patient, n.type), n.spans) for n in read])
    if patients is not None:
        records = read_records(notes).values()
        patients.write_bytes(b"".join(dump_line({"id": record.id, **record.fields}) for record in records))
    for note in refused:
        click.echo(f"left out {note.id}: {note.reason}", err=True)
    click.echo(f"{len(read) - len(refused):,} notes in {out}")
    if refused:
        raise SystemExit(ExitCode.HELD_BACK)


@click.command("mark-prose")
@click.argument("texts", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--models", type=_EXISTING, help="Models for the marking. Default: those of the package.")
@click.option("--half", type=click.Choice(["train", "test"]), default="train", show_default=True)
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="JSON Lines to write."
)
def mark_prose(texts: tuple[Path, ...], models: Path | None, half: Literal["train", "test"], out: Path) -> None:
    """Mark the identifiers in public TEXTS (.jsonl.gz), and write one half of them for `train --prose`.

    Halves are chosen by a digest of each text. The test half is only for the outside check.
    """
    from deid_export.data.substitution.marking import mark

    count = mark(texts, out, models=models, half=half)
    click.echo(f"{out}: {count} documents")
