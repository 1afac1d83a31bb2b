"""``deid-export corpus-convert``: annotated notes in the form that other tools read."""

from pathlib import Path

import click

_EXISTING = click.Path(exists=True, path_type=Path)


@click.command("corpus-convert")
@click.argument("notes", metavar="NOTES...", nargs=-1, required=True, type=_EXISTING)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Folder to make; it may not exist.")
@click.option(
    "--form",
    type=click.Choice(["jsonl", "brat", "i2b2"]),
    default="jsonl",
    show_default=True,
    help="jsonl: one file, for `deid evaluate --gold` and the benchmarks; brat: .txt with .ann; i2b2: XML of 2014.",
)
@click.option(
    "--patients",
    type=click.Path(dir_okay=False, path_type=Path),
    help="JSON Lines to write the structured records of tagged files to, for `deid run --patients`.",
)
def corpus_convert(notes: tuple[Path, ...], out: Path, form: str, patients: Path | None) -> None:
    """Write annotated NOTES, as tagged text, JSON Lines, i2b2 XML or brat, into the folder OUT in another form."""
    from deid_export.adapt.annotations import give_out
    from deid_export.cli.errors import errors_in_one_line
    from deid_runtime.annotations.read import read_annotated, read_records
    from deid_runtime.formats.jsonl import dump_line
    from deid_runtime.spans import Note

    with errors_in_one_line():
        read = read_annotated(notes)
        refused = give_out(out, form, [(Note(n.id, n.text, n.patient, n.type), n.spans) for n in read])
        if patients is not None:
            records = read_records(notes).values()
            patients.write_bytes(b"".join(dump_line({"id": record.id, **record.fields}) for record in records))
    for note in refused:
        click.echo(f"left out {note.id}: {note.reason}", err=True)
    click.echo(f"{len(read) - len(refused):,} notes in {out}")
    if refused:
        raise click.exceptions.Exit(1)
