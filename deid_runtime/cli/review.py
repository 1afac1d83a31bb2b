"""``deid review`` and ``deid demo``: local pages to correct spans, to read notes blind, and to try the program."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import ExitCode, reported
from deid_runtime.errors import SettingsError
from deid_runtime.system.extras import install_extra

if TYPE_CHECKING:
    from deid_runtime.formats.records import ReadOptions
    from deid_runtime.pipeline.processing import Pipeline
    from deid_runtime.review.schema import Reviewable
    from deid_runtime.spans import Note, Span

_BATCH_NOTES = 32
_REVIEWER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_PORT = click.IntRange(0, 65_535)

_PROJECT = cloup.argument("project", metavar="PROJECT", type=cli_options.FILE)


@cloup.group()
def review() -> None:
    """Correct found spans, or read de-identified notes blind, on a page that only this machine can open.

    A project is one file that only you can read. It contains CLINICAL TEXT: keep it where the notes may be.
    """


@review.command()
@cloup.argument("project", metavar="PROJECT", type=cli_options.PATH)
@cloup.argument("inputs", metavar="NOTES...", nargs=-1, required=True, type=cli_options.EXISTING)
@cli_options.section(
    cli_options.INPUT,
    click.option("--found", type=cli_options.EXISTING, help="Output of `deid detect`. Default: search the notes."),
    cli_options.flag("--blind", "NOTES are de-identified: show no marks, so that people count what was left."),
    click.option("--format", help="Read every input in this format, independent of its suffix. Default: by suffix."),
    click.option("--id-column", default="id", show_default=True, help="Column with the note id; ids must be unique."),
    click.option("--text-column", default="text", show_default=True, help="Column with the text."),
    click.option("--patient-column", default="patient", show_default=True, help="Column with the patient id."),
    click.option("--type-column", default="type", show_default=True, help="Column with the note type."),
)
@cli_options.section(
    cli_options.FINDING,
    cli_options.models(),
    cli_options.profile("fast or full: which models search the notes."),
)
@cli_options.section(
    cli_options.SURROGATES,
    click.option(
        "--key",
        type=cli_options.FILE,
        help="Key file for the de-identified text beside the original. Default: a random key, which is discarded.",
    ),
    cli_options.allow_shared_key(),
)
@cli_options.section(
    "Review",
    click.option(
        "--second-share",
        type=click.FloatRange(0, 1),
        default=0.0,
        show_default=True,
        help="Share of the notes that two people read. A larger share measures agreement more precisely and takes "
        "longer.",
    ),
)
@reported
def create(project: Path, inputs: tuple[Path, ...], **options: Any) -> None:
    """Make a review project from notes.

    Without --found, the notes are searched and de-identified, so the page can show both texts side by side. Notes that
    cannot be processed are named on stderr; then the exit code is 1.
    """
    from deid_runtime.formats.records import ReadOptions
    from deid_runtime.review.schema import create_project

    if options["blind"] and options["found"] is not None:
        raise SettingsError("--blind shows no marks, so --found has no effect; omit one of them")
    read = ReadOptions(
        id_column=options["id_column"],
        text_column=options["text_column"],
        patient_column=options["patient_column"],
        type_column=options["type_column"],
    )
    refused: list[tuple[str, str]] = []
    notes = _reviewables(inputs, read, refused, **options)
    count = create_project(
        project, notes, mode="blind" if options["blind"] else "correct", second_share=options["second_share"]
    )
    click.echo(f"{project}: {count:,} notes; it contains CLINICAL TEXT; keep it in the secure zone", err=True)
    for note_id, reason in refused[:20]:
        click.echo(f"deid: note {note_id}: not in the project: {reason}", err=True)
    if refused:
        click.echo(f"deid: {len(refused):,} notes are not in the project", err=True)
        raise SystemExit(ExitCode.HELD_BACK)


@review.command("open")
@_PROJECT
@click.option(
    "--reviewer",
    multiple=True,
    default=("reviewer",),
    show_default=True,
    help="Name of a reviewer; may be repeated, for one link each. Decisions are kept by this name.",
)
@cli_options.flag("--adjudicate", "Settle the notes where two reviewers differ.")
@click.option("--port", type=_PORT, default=0, show_default=True, help="Port on this machine; 0: a free one.")
@reported
def open_(project: Path, reviewer: tuple[str, ...], adjudicate: bool, port: int) -> None:
    """Open a project: print a link for each reviewer and serve the page until Ctrl-C.

    Each link works once, in a browser on this machine. For a new link, start the command again.
    """
    _require_pages()
    from deid_runtime.review.access import Door
    from deid_runtime.review.app import review_app
    from deid_runtime.review.project import ReviewProject
    from deid_runtime.review.schema import ADJUDICATOR
    from deid_runtime.review.serve import listen, serve

    for name in reviewer:
        if not _REVIEWER.fullmatch(name) or name == ADJUDICATOR:
            raise SettingsError(f"reviewer {name!r}: expected letters, digits, _ . -, and not {ADJUDICATOR!r}")
    ReviewProject(project).close()  # fail before a link is printed
    with listen(port) as opened:
        door = Door(opened.getsockname()[1])
        for name in (ADJUDICATOR,) if adjudicate else reviewer:
            click.echo(f"{name}: {door.link(name)}")
        click.echo("deid: open the link in a browser on this machine; Ctrl-C stops the server", err=True)
        serve(review_app(project, door), opened)


@review.command()
@_PROJECT
@click.option("-o", "--out", type=cli_options.PATH, required=True, help="New JSON Lines file, which only you may read.")
@click.option(
    "--reviewer", default="", help="Only the decisions of this reviewer. Default: the settled decisions of all."
)
@reported
def export(project: Path, out: Path, reviewer: str) -> None:
    """Write the notes that were read whole: annotated notes, or the marks of a blind review.

    Annotated notes are for `deid evaluate --gold` and the commands of `deid-export`. Marks contain no text and are for
    `deid audit bound`. A note on which reviewers differ is omitted until it is settled; then the exit code is 1.
    """
    from deid_runtime.review.export import export_gold, export_marks
    from deid_runtime.review.project import ReviewProject

    with ReviewProject(project) as opened:
        if opened.mode == "blind":
            click.echo(f"{out}: {export_marks(opened, out, reviewer):,} decisions", err=True)
            return
        counts = export_gold(opened, out, reviewer)
    click.echo(f"{out}: {counts.written:,} notes read whole, {counts.empty:,} with nothing marked", err=True)
    if counts.unsettled:
        click.echo(
            f"deid: {counts.unsettled:,} notes omitted, because reviewers differ; settle them with `deid review open "
            "--adjudicate`, or choose one with --reviewer",
            err=True,
        )
        raise SystemExit(ExitCode.HELD_BACK)


@cloup.command()
@cli_options.section(
    cli_options.FINDING, cli_options.models(), cli_options.profile("fast or full: which models search the note.")
)
@click.option("--port", type=_PORT, default=0, show_default=True, help="Port on this machine; 0: a free one.")
@reported
def demo(port: int, **options: Any) -> None:
    """Try the program on a page: paste a note, see what is found and why, and the de-identified text.

    The page opens only on this machine. Nothing is stored or logged.
    """
    _require_pages()
    from deid_runtime.review.access import Door
    from deid_runtime.review.demo import demo_app
    from deid_runtime.review.serve import listen, serve

    with listen(port) as opened, _pipeline(None, allow_shared_key=False, **options) as pipeline:
        door = Door(opened.getsockname()[1])
        click.echo(door.link("you"))
        click.echo("deid: open the link in a browser on this machine; Ctrl-C stops the server", err=True)
        serve(demo_app(pipeline, door), opened)


def _require_pages() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise SettingsError(f"the pages need {error.name}; {install_extra('review')}") from None


def _pipeline(
    key: Path | None, *, allow_shared_key: bool, models: Path | None, models_key: Path | None, **options: Any
) -> "Pipeline":
    from deid_runtime.pipeline.loading import load_pipeline
    from deid_runtime.settings import Settings
    from deid_runtime.surrogates import load_key, new_key

    settings = Settings(
        models=models, models_key=models_key, trust_models=options["trust_models"], profile=options["profile"]
    )
    secret = load_key(key, allow_shared=allow_shared_key) if key else new_key()
    return load_pipeline(settings, key=secret, records={})


def _reviewables(
    inputs: tuple[Path, ...], read: "ReadOptions", refused: list[tuple[str, str]], **options: Any
) -> "Iterator[Reviewable]":
    """Yield the notes of ``inputs`` with their found spans; add those that cannot be processed to ``refused``."""
    from deid_runtime.annotations.found import read_found
    from deid_runtime.review.schema import Reviewable

    if options["blind"]:
        for batch in _batches(inputs, read, refused, options["format"]):
            yield from (Reviewable(replace(note, text=""), released=note.text) for note in batch)
    elif options["found"] is not None:
        found = read_found(options["found"])
        for batch in _batches(inputs, read, refused, options["format"]):
            for note in batch:
                if note.id in found:
                    yield _with_found(note, found[note.id])
                else:
                    refused.append((note.id, "not in the file of --found"))
    else:
        with _pipeline(
            options["key"],
            allow_shared_key=options["allow_shared_key"],
            models=options["models"],
            models_key=options["models_key"],
            trust_models=options["trust_models"],
            profile=options["profile"],
        ) as pipeline:
            for batch in _batches(inputs, read, refused, options["format"]):
                yield from _searched(pipeline, batch, refused)


def _searched(pipeline: "Pipeline", notes: "list[Note]", refused: list[tuple[str, str]]) -> "Iterator[Reviewable]":
    from deid_runtime.pipeline.outcomes import Quarantined
    from deid_runtime.review.schema import Reviewable

    for note, outcome in zip(notes, pipeline.deidentify(notes), strict=True):
        if isinstance(outcome, Quarantined):
            refused.append((outcome.note_id, outcome.reason))
        else:
            yield Reviewable(note, outcome.spans, outcome.text, outcome.replacements)


def _with_found(note: "Note", spans: "list[Span]") -> "Reviewable":
    from deid_runtime.review.project import checked_spans
    from deid_runtime.review.schema import Reviewable

    return Reviewable(note, tuple(checked_spans(note.text, spans)))


def _batches(
    inputs: tuple[Path, ...], read: "ReadOptions", refused: list[tuple[str, str]], format_name: str | None
) -> "Iterator[list[Note]]":
    from deid_runtime.formats.records import Meter, Unreadable
    from deid_runtime.formats.sources import find_inputs
    from deid_runtime.run.batches import make_batches

    found, _ = find_inputs(inputs, format_name)
    for batch in make_batches(found, read, Meter(), _BATCH_NOTES):
        refused += [(item.id, item.reason) for _, item in batch.entries if isinstance(item, Unreadable)]
        yield list(batch.notes)
