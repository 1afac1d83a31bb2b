"""The ``deid`` command: parse, build settings, call one function. Data and reports on stdout, all else on stderr.

Exit codes: 0; 1 when any note was quarantined, or `verify` finds a difference; 2 for wrong usage and for errors that
stop a run; 128 plus the number of the signal when one stops it, with nothing written: 129 SIGHUP, 130 SIGINT (Ctrl-C),
131 SIGQUIT, 143 SIGTERM. 141 (SIGPIPE) when whoever reads stdout has closed it. A closed stderr stops nothing. A signal
that comes while the finished output gets its names comes too late: the run ends as without it.
"""

# Only what --help needs is imported at the top; each command imports the rest.
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.audit import audit
from deid_runtime.cli.corpus import corpus
from deid_runtime.cli.crosswalk import crosswalk_group, key_pair
from deid_runtime.cli.exits import EXIT_QUARANTINED, ignore_stop_signals
from deid_runtime.cli.exits import reported as _reported
from deid_runtime.cli.models import models_group, signing_pair
from deid_runtime.cli.options import together
from deid_runtime.cli.remote import server_options, server_settings
from deid_runtime.cli.serve import serve
from deid_runtime.cli.surrogates import (
    check_safe_harbor,
    crosswalk_options,
    surrogate_options,
    warn_of_patients,
)
from deid_runtime.cli.verify import verify
from deid_runtime.labels import HEADS
from deid_runtime.run.kept_columns import FEW_VALUES, LONGEST_VALUE_CHARS, MOST_VALUES, NOTES_PER_VALUE
from deid_runtime.settings import Dates, Engine, Operator, Precision, Profile, Recall, Settings
from deid_runtime.system.cores import cores
from deid_runtime.system.process_privacy import keep_private

if TYPE_CHECKING:
    from deid_runtime.run.job import RunOptions, Summary

_FORMATS = ("jsonl", "csv", "parquet", "txt", "i2b2", "brat")


def _thresholds(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Turn ``HEAD=VALUE`` texts into thresholds by head."""
    return dict(_threshold(value) for value in values)


def _threshold(value: str) -> tuple[str, float]:
    head, _, number = value.partition("=")
    if head not in HEADS:
        raise click.BadParameter(f"unknown head in {value!r}; expected HEAD=VALUE with one of {', '.join(HEADS)}")
    try:
        threshold = float(number)
    except ValueError:
        threshold = -1.0
    if not 0.0 < threshold < 1.0:
        raise click.BadParameter(f"{value!r}: expected HEAD=VALUE with a number between 0 and 1")
    return head, threshold


_INPUT_OPTIONS = together(
    click.argument("inputs", metavar="IN...", nargs=-1, required=True, type=cli_options.EXISTING),
    click.option(
        "--format",
        type=click.Choice(_FORMATS),
        help="Read every input as this, whatever its suffix. A wrong one puts all notes into quarantine, or reads "
        "markup as text. Default: by suffix.",
    ),
    click.option("--id-column", default="id", show_default=True, help="Column with the note id; ids must be unique."),
    click.option("--text-column", default="text", show_default=True, help="Column with the text to search."),
    click.option(
        "--patient-column",
        default="patient",
        show_default=True,
        help="Column with the patient id. Without it every note is a patient of its own: the same person gets other "
        "stand-ins in each note, dates move by other days, and --patients finds nothing.",
    ),
    click.option(
        "--patients",
        type=cli_options.FILE,
        help="Table of structured patient records (.jsonl, .jsonl.gz, .csv, .parquet): column id and any of given, "
        "family, dob, mrn, phone, street ... What it holds is found in that patient's notes in all forms. Held in "
        "memory in every worker, about 2 kB a patient.",
    ),
)

_FINDING_OPTIONS = together(
    cli_options.models(),
    click.option(
        "--no-models",
        is_flag=True,
        help="Work with patterns, lists and records alone. Fast, and NOT SAFE: most names are missed.",
    ),
    cli_options.profile(
        "fast: one model head per kind of identifier. full: two versions of each, the second in a larger model, "
        "together; finds more, and takes about twice as long."
    ),
    cli_options.recall(),
    cli_options.engine(
        "Inference engine. Engines differ by rounding: to compare runs byte for byte, use the same one. auto takes the "
        "faster one for this processor; the manifest names it."
    ),
    cli_options.precision(),
    click.option(
        "--threshold",
        metavar="HEAD=VALUE",
        callback=_thresholds,
        multiple=True,
        help="How sure a model head must be that a word identifies somebody, 0 to 1; may be repeated. Too high and "
        f"identifiers stay in, too low and clinical words go. Heads: {', '.join(HEADS)}. Default: as trained.",
    ),
    click.option(
        "--inclusion",
        type=cli_options.FILE,
        help="List of sentences known to hold no identifier, one a line. The models are not asked of what is on it: a "
        "wrong line leaks in every note that has it. Default: the list of the package.",
    ),
    click.option(
        "--templates",
        type=cli_options.FILE,
        help="Templates of sentences with known places for identifiers. A match is final for its sentence: too wide a "
        "template hides what it does not name. Default: those of the package.",
    ),
    click.option(
        "--allow-unreadable-forms",
        is_flag=True,
        help="Also serve notes in a form that hides text from the detectors: invisible characters, HTML, wrongly "
        "decoded characters, letters with gaps between them and others. NOT SAFE: in such notes up to nine of ten "
        "identifiers are missed. Default: these notes go to quarantine, with the form and the remedy.",
    ),
)

_RUNNING_OPTIONS = together(
    cli_options.counted(
        "--workers",
        cores,
        "Processes that search notes, beside one that reads and writes. Each holds its own models and patient records: "
        "more than cores, or than memory has room for, makes it slower or gets workers killed. One that crashes or "
        "hangs is replaced, and its notes are done again. The output is the same for any number.",
        shown="cores available",
    ),
    cli_options.counted(
        "--batch-size",
        32,
        "Notes handed to a worker at a time. Under 8 wastes time, in the thousands memory. The output is the same for "
        "any number.",
    ),
    click.option(
        "--overwrite",
        is_flag=True,
        help="Replace an earlier output, its manifest and quarantine, once the new one is complete.",
    ),
    click.option("--quiet", is_flag=True, help="No progress and no summary on stderr; warnings and errors remain."),
)


def _echo_version() -> None:
    from deid_runtime.run.report import deid_version

    click.echo(f"deid {deid_version()}")


def _version_option(context: click.Context, parameter: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not context.resilient_parsing:
        _echo_version()
        context.exit()


@click.group(
    context_settings={"auto_envvar_prefix": "DEID", "help_option_names": ["-h", "--help"], "max_content_width": 120}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version_option, help="Print the version."
)
def main() -> None:
    """De-identify clinical notes: find every identifier and put a plausible stand-in in its place.

    Every option can be given as an environment variable too: DEID_RUN_KEY for `deid run --key`, and so on.
    """
    keep_private()


@main.command()
@_INPUT_OPTIONS
@click.option(
    "-o",
    "--out",
    type=cli_options.PATH,
    required=True,
    help="Where to write: a file when there is one input and it is a file, else a folder. OUT.manifest.json and "
    "OUT.quarantine.jsonl are written beside it.",
)
@click.option(
    "--key",
    type=cli_options.FILE,
    help="Key file, from `deid key new`. The same key gives the same stand-ins in every run; whoever has it can tell "
    "which stand-in belongs to a guessed name. Default: a random key, thrown away after the run.",
)
@cli_options.allow_shared_key()
@cli_options.operator(
    "surrogate: a plausible stand-in, so that what was missed hides among them. tag: [PATIENT] and the like. redact: a "
    "mask. With tag and redact whatever was missed can be seen to be real."
)
@cli_options.date_shift()
@surrogate_options
@click.option(
    "--keep-ids",
    is_flag=True,
    help="Keep note and patient ids, and file names made of them. They identify people wherever the source is known.",
)
@click.option(
    "--type-column",
    metavar="NAME",
    help="Pass the column with the note type on, as --keep-column does. Default: it is dropped.",
)
@click.option(
    "--keep-column",
    multiple=True,
    metavar="NAME",
    help="Pass this column of categories on; may be repeated. Tables are read twice for it. It is an error when it has "
    f"more than {MOST_VALUES} values, or more than {FEW_VALUES} and one for fewer than {NOTES_PER_VALUE} notes. A note "
    f"goes to quarantine when its value has digits or more than {LONGEST_VALUE_CHARS} characters, or when an "
    "identifier stands in it. Other columns are dropped.",
)
@click.option(
    "--keep-column-unchecked",
    multiple=True,
    metavar="NAME",
    help="Pass this column on as it is, whatever it holds; may be repeated. For measurements and the like. NOBODY "
    "looks for identifiers there: one that is there goes out.",
)
@_FINDING_OPTIONS
@server_options
@_RUNNING_OPTIONS
@_reported
def run(
    inputs: tuple[Path, ...],
    out: Path,
    key: Path | None,
    operator: Operator,
    date_shift: int,
    date_shift_weeks: bool,
    keep_ids: bool,
    keep_column_unchecked: tuple[str, ...],
    patients: Path | None,
    crosswalk: Path | None,
    crosswalk_key: tuple[str, ...],
    **options: Any,
) -> None:
    """De-identify notes.

    IN is one or more files or folders of .jsonl, .jsonl.gz, .csv, .parquet, .txt or i2b2 2014 .xml. OUT has the format
    of the input with the text replaced, note and patient ids as pseudonyms, and no other columns but those to keep.

    OUT appears when all of it is there, or not at all. Notes that could not be processed are listed in
    OUT.quarantine.jsonl with their original ids and a reason; then the exit code is 1. OUT.manifest.json says what the
    run did and holds digests of what it wrote, which `deid verify OUT` compares.

    Exit codes: 0; 1 when notes were quarantined; 2 for wrong usage and errors; 128 plus the number of the signal when
    one stops the run: 129 SIGHUP, 130 Ctrl-C, 131 SIGQUIT, 143 SIGTERM. With 2 and more nothing is written.

    While it works, the run holds the lock .OUT.lock and writes to .OUT.partial-*, which only you can enter. What a
    killed run left of these is removed by the next run to the same OUT.
    """
    from deid_runtime.run.job import deidentify_files
    from deid_runtime.surrogates import load_key, new_key

    if key is None:
        click.echo(
            "deid: no --key: a random one is used and forgotten, so no other run will give the same stand-ins", err=True
        )
    check_safe_harbor(
        safe_harbor=options["safe_harbor"],
        keep_ids=keep_ids,
        keep_column_unchecked=keep_column_unchecked,
        allow_unreadable_forms=options["allow_unreadable_forms"],
    )
    settings = _settings(
        operator=operator, date_shift_days=date_shift, date_shift_whole_weeks=date_shift_weeks, **options
    )
    to_crosswalk = crosswalk_options(crosswalk, crosswalk_key)
    summary = deidentify_files(
        inputs,
        out,
        settings,
        replace(
            _run_options(keep_ids=keep_ids, keep_column_unchecked=keep_column_unchecked, **options), **to_crosswalk
        ),
        key=load_key(key, allow_shared=options["allow_shared_key"]) if key else new_key(),
        records=_records(patients),
    )
    ignore_stop_signals()
    if options["whole_patients"]:
        warn_of_patients(summary.counts)
    _conclude(summary, "written", has_records=patients is not None, quiet=options["quiet"])


@main.command()
@_INPUT_OPTIONS
@click.option("-o", "--out", type=cli_options.PATH, required=True, help="JSON Lines file to write, one object a note.")
@_FINDING_OPTIONS
@server_options
@cli_options.allow_shared_key()
@_RUNNING_OPTIONS
@_reported
def detect(inputs: tuple[Path, ...], out: Path, patients: Path | None, **options: Any) -> None:
    """Find identifiers without replacing them.

    Writes {"id", "spans": [{"start", "end", "label", "score", "sources"}]} for each note: the original ids, half-open
    offsets in code points of the original text, no text. Exit codes are those of `deid run`.
    """
    from deid_runtime.run.job import detect_files

    settings = _settings(**options)
    summary = detect_files(inputs, out, settings, _run_options(**options), records=_records(patients))
    ignore_stop_signals()
    _conclude(summary, "searched", has_records=patients is not None, quiet=options["quiet"])


@main.command()
@click.option(
    "--gold",
    type=cli_options.EXISTING,
    required=True,
    help="Annotated notes: .jsonl with text and spans, or a file or folder of i2b2 2014 .xml or brat .ann with .txt.",
)
@click.option(
    "--found", type=cli_options.EXISTING, required=True, help="Output of `deid detect`, or a format of --gold."
)
@click.option(
    "--quarantine",
    type=cli_options.FILE,
    help="Notes held back, which count as missed. Default: FOUND.quarantine.jsonl, if there. Without it a gold note "
    "that is not in FOUND is an error.",
)
@click.option("--json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--errors",
    type=cli_options.PATH,
    help="Also write every error with the words around it to this new file, which only you may read. Identifiers that "
    "gold or found has are masked; the rest is note text in clear, and what both overlooked may be among it. For "
    "review where the notes are; delete it afterwards.",
)
@click.option(
    "--context-words",
    type=click.IntRange(min=0, max=50),
    default=6,
    show_default=True,
    help="Words on each side of an error in --errors. More tells more, also to whoever should not know.",
)
@_reported
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


@main.group("key")
def key_group() -> None:
    """Make keys for surrogates, crosswalks and signatures of models."""


@key_group.command("new")
@click.argument("file", type=cli_options.PATH)
@_reported
def new_key_file(file: Path) -> None:
    """Write a new random key to FILE, readable by its owner only.

    Keep it as long as further notes of the same patients may come, apart from the output. Without it, later runs give
    other stand-ins; with it, guesses at the originals can be checked.
    """
    from deid_runtime.surrogates import write_key

    write_key(file)


key_group.add_command(key_pair)
key_group.add_command(signing_pair)
main.add_command(models_group)
main.add_command(crosswalk_group)


main.add_command(corpus)
main.add_command(audit)


main.add_command(serve)
main.add_command(verify)


@main.command()
@_reported
def version() -> None:
    """Print the version."""
    _echo_version()


def _settings(
    *,
    models: Path | None,
    models_key: Path | None,
    trust_models: bool,
    no_models: bool,
    profile: Profile,
    recall: Recall,
    engine: Engine,
    precision: Precision,
    threshold: dict[str, float],
    inclusion: Path | None,
    templates: Path | None,
    operator: Operator = "surrogate",
    date_shift_days: int = 365,
    date_shift_whole_weeks: bool = False,
    offsets: Path | None = None,
    dates: Dates = "shift",
    safe_harbor: bool = False,
    allow_unreadable_forms: bool = False,
    **others: Any,
) -> Settings:
    if no_models:
        click.echo("deid: WARNING: --no-models: most names and places will be MISSED; not for real notes", err=True)
    if allow_unreadable_forms:
        click.echo(
            "deid: WARNING: --allow-unreadable-forms: identifiers in forms that hide them will be MISSED", err=True
        )
    return Settings(
        models=models,
        models_key=models_key,
        trust_models=trust_models,
        use_models=not no_models,
        server=server_settings(no_models=no_models, engine=engine, precision=precision, **others),
        profile=profile,
        recall=recall,
        engine=engine,
        precision=precision,
        thresholds=threshold,
        inclusion=inclusion,
        templates=templates,
        operator=operator,
        date_shift_days=date_shift_days,
        date_shift_whole_weeks=date_shift_whole_weeks,
        offsets=offsets,
        dates=dates,
        safe_harbor=safe_harbor,
        hold_back_unreadable=not allow_unreadable_forms,
    )


def _run_options(
    *,
    id_column: str,
    text_column: str,
    patient_column: str,
    workers: int,
    batch_size: int,
    overwrite: bool,
    quiet: bool,
    whole_patients: bool = False,
    keep_ids: bool = False,
    type_column: str | None = None,
    keep_column: tuple[str, ...] = (),
    keep_column_unchecked: tuple[str, ...] = (),
    **others: Any,
) -> "RunOptions":
    from deid_runtime.formats.records import ReadOptions
    from deid_runtime.run.job import RunOptions

    asked_for = (type_column, *keep_column)
    read = ReadOptions(
        id_column=id_column,
        text_column=text_column,
        patient_column=patient_column,
        type_column=type_column or "type",
        keep_columns=tuple(
            column for column in dict.fromkeys(asked_for) if column and column not in keep_column_unchecked
        ),
        unchecked_columns=tuple(dict.fromkeys(keep_column_unchecked)),
    )
    return RunOptions(
        read=read,
        format=others["format"],
        workers=workers,
        in_process=False,  # only a process of its own can be replaced when it crashes or hangs
        batch_size=batch_size,
        whole_patients=whole_patients,
        keep_ids=keep_ids,
        overwrite=overwrite,
        quiet=quiet,
    )


def _records(patients: Path | None) -> Any:
    from deid_runtime.records.patients import read_patients

    return read_patients(patients) if patients else {}


def _conclude(summary: "Summary", verb: Literal["written", "searched"], *, has_records: bool, quiet: bool) -> None:
    """Say what came of the run, and exit with 1 when notes were held back."""
    counts = summary.counts
    held_back = counts.quarantined.total()
    if has_records and counts.read and not counts.with_record:
        click.echo(
            "deid: WARNING: no note belongs to a patient of --patients; are --patient-column and the ids right?",
            err=True,
        )
    if summary.special_files:
        click.echo(
            f"deid: NOTICE: {summary.special_files:,} pipes, sockets or devices in the input folders were not read",
            err=True,
        )
    if not quiet:
        click.echo(f"{counts.written:,} notes {verb}, {held_back:,} quarantined; see {summary.manifest}", err=True)
    if held_back:
        click.echo(f"deid: {held_back:,} notes were held back: {summary.quarantine}", err=True)
        sys.exit(EXIT_QUARANTINED)
