"""``deid audit sample`` and ``deid audit bound``: estimate how much may have leaked from notes that people read."""

from pathlib import Path

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import reported


@cloup.command()
@cloup.argument("notes", metavar="NOTES...", nargs=-1, required=True, type=cli_options.EXISTING)
@cli_options.section(
    cli_options.INPUT,
    click.option("--format", help="Format of all NOTES. Default: from the file names."),
    click.option("--id-column", default="id", show_default=True, help="Column with the id of a note."),
    click.option("--text-column", default="text", show_default=True, help="Column with the text."),
    click.option("--patient-column", default="patient", show_default=True, help="Column with the id of the patient."),
    click.option("--type-column", default="type", show_default=True, help="Column with the note type."),
)
@cli_options.section(
    cli_options.OUTPUT,
    click.option(
        "-o", "--out", type=cli_options.PATH, required=True, help="New folder for the sample, which only you may open."
    ),
)
@cli_options.section(
    "Sample",
    cli_options.counted(
        "--draws",
        300,
        "Draws of a patient. 300 without a leak prove that at most 1 % of the notes hold one. Fewer prove less.",
    ),
    cli_options.counted(
        "--notes-per-patient",
        1,
        "Notes to read per drawn patient. More notes show whether a leak repeats, but prove little more than one.",
    ),
    click.option(
        "--confidence",
        type=click.FloatRange(0.5, 1, max_open=True),
        default=0.95,
        show_default=True,
        help="Confidence of the bound. Choose it before anyone reads.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        help="Seed of the draws. Default: a random one. It is stored with the sample, so that anyone can repeat the "
        "draw.",
    ),
)
@reported
def sample(
    notes: tuple[Path, ...],
    out: Path,
    draws: int,
    notes_per_patient: int,
    confidence: float,
    seed: int | None,
    format: str | None,  # noqa: A002 - the name of the option
    id_column: str,
    text_column: str,
    patient_column: str,
    type_column: str,
) -> None:
    """Draw de-identified NOTES for a blind review, and show what a clean sample would prove.

    NOTES are the whole output of `deid run`. Patients are drawn at random within each note type. People then read the
    drawn notes without any suggestion and mark what was left; `deid audit bound` computes the bound from the marks.
    """
    from secrets import randbits

    from deid_runtime.audit.leak_bound import require_scipy, tell_beforehand
    from deid_runtime.audit.sample import draw_sample, read_release, write_sample
    from deid_runtime.formats.records import ReadOptions

    require_scipy()
    options = ReadOptions(
        id_column=id_column, text_column=text_column, patient_column=patient_column, type_column=type_column
    )
    release = read_release(notes, options, format)
    drawn = draw_sample(
        release,
        draws=draws,
        notes_per_patient=notes_per_patient,
        seed=randbits(32) if seed is None else seed,
        confidence=confidence,
    )
    write_sample(out, drawn, release)
    click.echo("\n".join(tell_beforehand(drawn)))
    click.echo(f"the notes to read and the design are in {out}", err=True)


@cloup.command()
@cloup.argument("folder", metavar="SAMPLE", type=cli_options.FOLDER)
@click.option(
    "--review",
    type=cli_options.FILE,
    multiple=True,
    required=True,
    help="File of marks, as the blind review writes it; may be repeated, for one file per reader.",
)
@cli_options.flag("--json", "Print JSON instead of sentences.")
@reported
def bound(folder: Path, review: tuple[Path, ...], json: bool) -> None:
    """Compute an upper bound on the notes that hold a leak, by group and note type, from marks of readers in SAMPLE.

    SAMPLE is the folder that `deid audit sample` wrote. Notes that no reader read completely count as leaks.
    """
    from dataclasses import asdict
    from json import dumps

    from deid_runtime.audit.blind_review import read_reviews
    from deid_runtime.audit.leak_bound import bound_leaks, require_scipy, tell_bounds
    from deid_runtime.audit.sample import read_sample

    require_scipy()
    drawn, notes = read_sample(folder)
    found = bound_leaks(drawn, notes, read_reviews(review, notes))
    if json:
        design = {"seed": drawn.seed, "draws": len(drawn.draws), "notes_per_patient": drawn.notes_per_patient}
        click.echo(dumps({"sample": design, **asdict(found), "sentences": tell_bounds(found)}, indent=2))
    else:
        click.echo("\n".join(tell_bounds(found)))
