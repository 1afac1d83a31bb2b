"""``deid-export adapt select`` and ``corrections``: select notes to annotate, and read the annotations back."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
import cloup

from deid_export.adapt.forms import FORMS
from deid_export.cli.config import config_option
from deid_export.cli.reports import NAMED, tell_notes
from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import ExitCode
from deid_runtime.settings import Engine, Profile

if TYPE_CHECKING:
    from deid_export.adapt.ensemble import Ensemble
    from deid_export.adapt.selection import Scored, Selected
    from deid_runtime.formats.records import ReadOptions
    from deid_runtime.formats.sources import Inputs
    from deid_runtime.pipeline.outcomes import Quarantined
    from deid_runtime.spans import Note, Span

_EXISTING = click.Path(exists=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_BATCH_NOTES = 32


@cloup.command()
@click.argument("inputs", metavar="IN...", nargs=-1, required=True, type=_EXISTING)
@config_option
@cli_options.section(
    cli_options.INPUT,
    click.option("--format", "format_name", help="Read every input in this format, independent of its suffix."),
    click.option("--id-column", default="id", show_default=True),
    click.option("--text-column", default="text", show_default=True),
    click.option("--patient-column", default="patient", show_default=True),
    click.option("--type-column", default="type", show_default=True),
)
@cli_options.section(
    cli_options.OUTPUT,
    click.option(
        "-o",
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        required=True,
        help="List to write, .jsonl: note ids with their scores, best first, no text.",
    ),
    click.option(
        "--out-notes",
        type=click.Path(path_type=Path),
        help="New folder for the selected notes with their found spans, for an annotation tool. It contains CLINICAL "
        "TEXT: keep it where the notes may be.",
    ),
    click.option(
        "--annotate-as",
        type=click.Choice(FORMS),
        default="brat",
        show_default=True,
        help="Form of the notes in that folder.",
    ),
)
@cli_options.section(
    "Selection",
    click.option("--count", type=click.IntRange(min=1), default=50, show_default=True, help="Most notes to select."),
    click.option(
        "--share",
        type=click.FloatRange(0, 1, min_open=True),
        default=1.0,
        show_default=True,
        help="Use only this share of the notes, drawn by their ids; about 100 notes take a second.",
    ),
    click.option(
        "--skip", type=_FILE, multiple=True, help="Earlier list: its notes are not selected again. May be repeated."
    ),
    click.option(
        "--near-duplicate",
        type=click.FloatRange(0, 1, min_open=True),
        default=0.5,
        show_default=True,
        help="Share of common five-word sequences from which a note counts as a copy of a selected one. 1: also select "
        "copies.",
    ),
)
@cli_options.section(
    cli_options.FINDING,
    click.option(
        "--registry",
        type=_EXISTING,
        help="Registry of `deid-export adapt iterate` whose versions to use; needs torch. Default: the "
        "exported models.",
    ),
    click.option("--models", type=_EXISTING, help="Folder with other exported models. Default: those of the package."),
    click.option(
        "--profile",
        type=click.Choice(get_args(Profile)),
        default="full",
        show_default=True,
        help="Profile of the exported models. With one version of each head, versions cannot disagree.",
    ),
    click.option("--engine", type=click.Choice(get_args(Engine)), default="auto", show_default=True),
    click.option("--inclusion", type=_FILE, help="Inclusion list in use. Default: that of the package."),
    click.option("--templates", type=_FILE, help="Templates in use. Default: those of the package."),
)
def select(inputs: tuple[Path, ...], out: Path, **options: Any) -> None:
    """Rank unannotated notes by how much models can learn from them, and write the best for annotation.

    Words count where versions of a head disagree, where rules and heads disagree, and where the vote was close; notes
    that are nearly copies of a selected one are skipped. The corrected notes are read by `deid-export adapt
    corrections`. Notes that cannot be processed are named on stderr; then the exit code is 1.
    """
    refused = _select(inputs, out, **options)
    if refused:
        raise SystemExit(ExitCode.HELD_BACK)


def _select(inputs: tuple[Path, ...], out: Path, **options: Any) -> int:
    from deid_export.adapt.ensemble import load_exported, load_registered
    from deid_export.adapt.registry import replace_file
    from deid_export.adapt.selection import select as choose
    from deid_runtime.errors import OutputError
    from deid_runtime.formats.jsonl import dump_line
    from deid_runtime.formats.records import ReadOptions
    from deid_runtime.formats.sources import find_inputs
    from deid_runtime.pipeline.outcomes import Quarantined
    from deid_runtime.settings import Settings

    if options["out_notes"] is not None and os.path.lexists(options["out_notes"]):  # fail before hours of work
        raise OutputError(f"{options['out_notes']}: already exists; choose another name for --out-notes")
    found, _ = find_inputs(inputs, options["format_name"])
    read = ReadOptions(
        id_column=options["id_column"],
        text_column=options["text_column"],
        patient_column=options["patient_column"],
        type_column=options["type_column"],
    )
    settings = Settings(
        models=options["models"],
        trust_models=True,  # no note is released on the basis of these spans
        profile=options["profile"],
        engine=options["engine"],
        inclusion=options["inclusion"],
        templates=options["templates"],
    )
    registry = options["registry"]
    skipped = _ids(options["skip"])
    scored: list[Scored] = []
    refused: list[tuple[str, str]] = []
    with load_registered(registry, settings) if registry else load_exported(settings) as ensemble:
        for outcome in _scored(found, read, ensemble, skipped, options["share"]):
            if isinstance(outcome, Quarantined):
                refused.append((outcome.note_id, outcome.reason))
            else:
                scored.append(outcome)
        chosen = choose(scored, options["count"], options["near_duplicate"])
        replace_file(out, b"".join(dump_line(_row(entry)) for entry in chosen))
        click.echo(
            f"{out}: {len(chosen)} of {len(scored)} notes, "
            f"{sum(entry.near_duplicates for entry in chosen)} near-duplicates skipped",
            err=True,
        )
        if options["out_notes"] is not None:
            refused += _give_out(options["out_notes"], options["annotate_as"], found, read, ensemble, chosen)
    tell_notes(refused, "could not be processed")
    return len(refused)


def _row(entry: "Selected") -> dict[str, object]:
    note = entry.note
    return {
        "id": note.id,
        "score": round(note.score, 4),
        "versions": round(note.versions, 4),
        "rules": round(note.rules, 4),
        "uncertainty": round(note.uncertainty, 4),
        "words": note.words,
        "near_duplicates": entry.near_duplicates,
    }


def _scored(
    found: "Inputs", read: "ReadOptions", ensemble: "Ensemble", skipped: set[str], share: float
) -> "Iterator[Scored | Quarantined]":
    from deid_export.adapt.selection import is_in_share, score_notes
    from deid_runtime.formats.records import Meter, Unreadable
    from deid_runtime.pipeline.outcomes import Quarantined
    from deid_runtime.run.batches import make_batches

    for batch in make_batches(found, read, Meter(), _BATCH_NOTES):
        for _, item in batch.entries:
            if isinstance(item, Unreadable):
                yield Quarantined(item.id, item.stage, item.reason)
        wanted = [note for note in batch.notes if note.id not in skipped and is_in_share(note.id, share)]
        yield from score_notes(ensemble, wanted)


def _give_out(
    folder: Path, form: str, found: "Inputs", read: "ReadOptions", ensemble: "Ensemble", chosen: "Sequence[Selected]"
) -> list[tuple[str, str]]:
    """Read the selected notes again, because no texts were kept in memory, and write them, best first."""
    from deid_export.adapt.annotations import give_out
    from deid_runtime.formats.records import Meter
    from deid_runtime.run.batches import make_batches

    wanted = {entry.note.id for entry in chosen}
    texts: dict[str, Note] = {}
    for batch in make_batches(found, read, Meter(), _BATCH_NOTES):
        texts.update((note.id, note) for note in batch.notes if note.id in wanted)
    notes = [texts[entry.note.id] for entry in chosen if entry.note.id in texts]
    refused = give_out(folder, form, _annotated(notes, ensemble))
    click.echo(f"{folder}: {len(notes) - len(refused)} notes as {form}; CLINICAL TEXT; keep it secure", err=True)
    return [(each.id, each.reason) for each in refused]


def _annotated(notes: "Sequence[Note]", ensemble: "Ensemble") -> "Iterator[tuple[Note, tuple[Span, ...]]]":
    from deid_runtime.pipeline.outcomes import Quarantined

    for first in range(0, len(notes), _BATCH_NOTES):
        batch = notes[first : first + _BATCH_NOTES]
        for note, seen in zip(batch, ensemble.run(batch), strict=True):
            if not isinstance(seen, Quarantined):  # it was scored before, so it can be processed
                yield note, seen.spans


def _ids(lists: Sequence[Path]) -> set[str]:
    """Return the note ids of earlier lists."""
    from deid_runtime.errors import SourceError
    from deid_runtime.formats.jsonl import read_objects
    from deid_runtime.formats.records import RECORD_LIMIT_BYTES, Meter, Source

    ids = set()
    for path in lists:
        for number, row in read_objects(Source(path, path.name, "jsonl", 0), RECORD_LIMIT_BYTES, Meter()):
            note_id = row.get("id") if isinstance(row, dict) else None
            if not isinstance(note_id, str):
                raise SourceError(
                    f"{path.name}:{number}: expected a list from `deid-export adapt select`, with one id per line"
                )
            ids.add(note_id)
    return ids


@click.command()
@click.argument("corrected", type=_EXISTING)
@click.option(
    "--originals",
    type=_FILE,
    help="originals.json of the folder that was annotated. Default: the one in CORRECTED.",
)
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Annotated notes, .jsonl."
)
@click.option("--partial", is_flag=True, help="Some notes are still being annotated: missing notes are not an error.")
def corrections(corrected: Path, originals: Path | None, out: Path, partial: bool) -> None:
    """Read the corrected annotations of notes that `deid-export adapt select --out-notes` wrote.

    CORRECTED is the folder after correction, or a file in it: JSON Lines, i2b2 2014 XML or brat. OUT is for --notes or
    --search of other commands; it contains clinical text. A note whose text was changed by even one character is
    refused with its id, as is one with overlapping spans; the exit code is then 1, as when notes are missing.
    """
    from deid_export.adapt.annotations import ORIGINALS, read_corrections, read_originals, write_corpus

    if originals is None:
        originals = (corrected if corrected.is_dir() else corrected.parent) / ORIGINALS
    found = read_corrections(corrected, read_originals(originals))
    write_corpus(out, found.notes)
    happened = ("kept", "relabelled", "added", "removed")
    click.echo("label           " + "".join(f"{name:>12}" for name in happened))
    for label in sorted({label for _, label in found.changes}):
        click.echo(f"{label:<16}" + "".join(f"{found.changes[name, label]:>12}" for name in happened))
    click.echo(f"{out}: {len(found.notes)} notes", err=True)
    tell_notes([(each.id, each.reason) for each in found.refused], "were refused", named=len(found.refused))
    if found.missing and not partial:
        shown = ", ".join(found.missing[:NAMED]) + (" ..." if len(found.missing) > NAMED else "")
        click.echo(f"{len(found.missing)} notes are missing: {shown}", err=True)
    if found.refused or (found.missing and not partial):
        raise SystemExit(ExitCode.HELD_BACK)
