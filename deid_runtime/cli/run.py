"""``deid run`` and ``deid detect``: parse options, build settings, call one function."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.config import config_option
from deid_runtime.cli.exits import reported
from deid_runtime.cli.job_options import job_options, memory_option
from deid_runtime.cli.logs import log_format_option
from deid_runtime.cli.release import check_bundle, release_options, write_bundle
from deid_runtime.cli.remote import server_options, server_settings
from deid_runtime.cli.run_end import conclude
from deid_runtime.cli.surrogates import (
    check_safe_harbor,
    crosswalk_options,
    rewriting_options,
    run_surrogate_options,
    warn_of_patients,
)
from deid_runtime.cli.watching import run_watching_options, watched
from deid_runtime.run.kept_columns import FEW_VALUES, LONGEST_VALUE_CHARS, MOST_VALUES, NOTES_PER_VALUE
from deid_runtime.run.outcomes import Gate
from deid_runtime.run.progress import Mode
from deid_runtime.settings import Dates, Engine, Operator, Precision, Profile, Recall, Settings, WindowBorders
from deid_runtime.system.cores import cores
from deid_runtime.system.json_logs import is_json

if TYPE_CHECKING:
    from deid_runtime.run.job import RunOptions

_FORMATS = ("jsonl", "csv", "parquet", "database", "txt", "i2b2", "brat")

_INPUTS = cloup.argument("inputs", metavar="IN...", nargs=-1, required=True, type=cli_options.EXISTING)

_INPUT_OPTIONS = cli_options.section(
    cli_options.INPUT,
    click.option(
        "--format",
        type=click.Choice(_FORMATS),
        help="Format of every input, independent of its suffix. With a wrong format all notes go to quarantine, or "
        "markup is read as text. Default: by suffix.",
    ),
    click.option("--id-column", default="id", show_default=True, help="Column with the note id; ids must be unique."),
    click.option("--text-column", default="text", show_default=True, help="Column with the text to search."),
    click.option(
        "--patient-column",
        default="patient",
        show_default=True,
        help="Column with the patient id. Without it every note is a separate patient: the same person gets different "
        "surrogates in each note, each note has another date shift, and --patients has no effect.",
    ),
    click.option(
        "--patients",
        type=cli_options.FILE,
        help="Table of structured patient records (.jsonl, .jsonl.gz, .csv, .parquet): column id and any of given, "
        "family, dob, mrn, phone, street ... These values are found in that patient's notes, also in other forms. "
        "Every worker keeps the table in memory, about 2 kB per patient.",
    ),
)

_FINDING_OPTIONS = cli_options.section(
    cli_options.FINDING,
    cli_options.models(),
    cli_options.flag(
        "--no-models",
        "Use only patterns, lists and records. Fast, but NOT SAFE: most names are missed.",
        off="--use-models",
    ),
    cli_options.profile(
        "fast: one version of each model head. full: also a second version, in a larger model; finds more, and takes "
        "about twice as long."
    ),
    cli_options.recall(),
    cli_options.threshold(),
    cli_options.site_lists(),
    cli_options.allow_unreadable_forms(),
)

_SPEED_OPTIONS = cli_options.section(
    cli_options.SPEED,
    cli_options.counted(
        "--workers",
        cores,
        "Processes that search notes; one more process reads and writes. Each has its own models and patient "
        "records. With more workers than cores the run is slower; without enough memory workers are killed. A worker "
        "that crashes or hangs is replaced, and its notes are processed again. The output is the same for any number.",
        shown="cores available",
    ),
    cli_options.counted(
        "--batch-size",
        32,
        "Notes that a worker gets at a time. Fewer than 8 waste time, thousands waste memory. The output is the same "
        "for any number.",
    ),
    memory_option,
    cli_options.engine(
        "Inference engine. Engines round differently: to compare runs byte for byte, use the same engine. auto chooses "
        "the faster one for this processor; the run report names it."
    ),
    cli_options.precision(),
    cli_options.repeated_text(),
)

_OVERWRITE = cli_options.flag(
    "--overwrite", "Replace an earlier output, its run report and quarantine when the new output is complete."
)
_QUIET = cli_options.flag("--quiet", "No progress and no summary on stderr; warnings and errors remain.")


@cloup.command()
@_INPUTS
@_INPUT_OPTIONS
@cli_options.section(
    cli_options.OUTPUT,
    click.option(
        "-o",
        "--out",
        type=cli_options.PATH,
        required=True,
        help="Output: a file if the input is a single file, otherwise a folder. OUT.manifest.json and "
        "OUT.quarantine.jsonl are written to the same folder.",
    ),
    _OVERWRITE,
    cli_options.flag(
        "--keep-ids",
        "Keep note and patient ids, and file names made from them. Anyone who has access to the source can identify "
        "people by these ids.",
    ),
    click.option(
        "--type-column",
        metavar="NAME",
        help="Keep the column with the note type, as --keep-column does. Default: it is dropped.",
    ),
    click.option(
        "--keep-column",
        multiple=True,
        metavar="NAME",
        help="Keep this column of categories; may be repeated. Tables are then read twice. It is an error if the "
        f"column has more than {MOST_VALUES} values, or more than {FEW_VALUES} and one for fewer than "
        f"{NOTES_PER_VALUE} notes. A note is held back if its value has digits, more than {LONGEST_VALUE_CHARS} "
        "characters, or an identifier. Other columns are dropped.",
    ),
    click.option(
        "--keep-column-unchecked",
        multiple=True,
        metavar="NAME",
        help="Keep this column unchanged; may be repeated. For measurements and similar values. It is NOT searched: "
        "identifiers in it are written to the output.",
    ),
    _QUIET,
)
@_FINDING_OPTIONS
@cli_options.section(
    cli_options.SURROGATES,
    click.option(
        "--key",
        type=cli_options.FILE,
        help="Key file, from `deid key new`. The same key gives the same surrogates in every run. Anyone who has it "
        "can test which surrogate belongs to a guessed name. Default: a random key, deleted after the run.",
    ),
    cli_options.allow_shared_key(),
    rewriting_options(),
    run_surrogate_options,
)
@release_options
@server_options
@_SPEED_OPTIONS
@job_options
@run_watching_options
@config_option
@log_format_option
@reported
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

    IN is one or more files or folders of .jsonl, .jsonl.gz, .csv, .parquet, .txt or i2b2 2014 .xml, or a
    .database.toml that names a table of PostgreSQL or SQLite. OUT has the format of the input; that of a database table
    is the format of OUT's suffix, or Parquet. It contains the de-identified text, pseudonyms in place of ids, and
    only those other columns that are kept.

    OUT is written completely or not at all. Notes that could not be processed are listed in OUT.quarantine.jsonl with
    their original ids and a reason; then the exit code is 1. OUT.manifest.json describes the run and has the
    digests of the output, which `deid verify OUT` compares.

    Exit codes: 0 for success; 1 when notes were held back; 2 for wrong use and input; 3 for a failure of deid; 128
    plus the number of the signal that stopped the run: 129 SIGHUP, 130 Ctrl-C, 131 SIGQUIT, 143 SIGTERM. No output
    is written when the code is 2 or higher.

    During the run, the process holds the lock .OUT.lock and writes to .OUT.job and .OUT.partial-*, which only you can
    open. A large run is divided into shards. When it is stopped, .OUT.job keeps the finished shards, and --resume
    continues the run; `deid jobs status OUT` shows them. The next run removes all other files of a killed run.
    """
    from deid_runtime.run.job import deidentify_files

    secret = _secret(key, allow_shared=options["allow_shared_key"])
    check_safe_harbor(keep_ids=keep_ids, keep_column_unchecked=keep_column_unchecked, **options)
    settings = _settings(
        operator=operator, date_shift_days=date_shift, date_shift_whole_weeks=date_shift_weeks, **options
    )
    check_bundle(options["bundle"], options["signing_key"])
    run_options = replace(
        _run_options(keep_ids=keep_ids, keep_column_unchecked=keep_column_unchecked, **options),
        can_resume=key is not None,  # a random key is lost when this process ends
        **crosswalk_options(crosswalk, crosswalk_key),
    )
    records = _records(patients)
    summary = watched(
        "run",
        run_options,
        lambda chosen: deidentify_files(inputs, out, settings, chosen, key=secret, records=records),
        **options,
    )
    write_bundle(options["bundle"], options["signing_key"], inputs, out, secret if key else None)
    if options["whole_patients"]:
        warn_of_patients(summary.counts)
    conclude(summary, "written", has_records=patients is not None, quiet=options["quiet"])


def _secret(key: Path | None, *, allow_shared: bool) -> bytes:
    """Return the key in the file ``key``; without one, warn and return a random key."""
    from deid_runtime.surrogates import load_key, new_key

    if key is not None:
        return load_key(key, allow_shared=allow_shared)
    click.echo(
        "deid: no --key: a random key is used and not stored, so no other run will give the same surrogates", err=True
    )
    return new_key()


@cloup.command()
@_INPUTS
@_INPUT_OPTIONS
@cli_options.section(
    cli_options.OUTPUT,
    click.option(
        "-o", "--out", type=cli_options.PATH, required=True, help="JSON Lines file to write, one object per note."
    ),
    _OVERWRITE,
    _QUIET,
)
@_FINDING_OPTIONS
@server_options
@_SPEED_OPTIONS
@job_options
@run_watching_options
@cli_options.allow_shared_key()
@config_option
@log_format_option
@reported
def detect(inputs: tuple[Path, ...], out: Path, patients: Path | None, **options: Any) -> None:
    """Find identifiers without replacing them.

    Writes {"id", "spans": [{"start", "end", "label", "score", "sources"}]} for each note: the original ids, half-open
    offsets in code points of the original text, but no text. Exit codes are those of `deid run`.
    """
    from deid_runtime.run.job import detect_files

    settings = _settings(**options)
    records = _records(patients)
    summary = watched(
        "detect",
        _run_options(**options),
        lambda chosen: detect_files(inputs, out, settings, chosen, records=records),
        **options,
    )
    conclude(summary, "searched", has_records=patients is not None, quiet=options["quiet"])


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
    given_date_shifts: Path | None = None,
    dates: Dates = "shift",
    safe_harbor: bool = False,
    allow_unreadable_forms: bool = False,
    window_borders: WindowBorders = "packed",
    window_cache: int = 64,
    **others: Any,
) -> Settings:
    if no_models:
        click.echo("deid: WARNING: --no-models: most names and places will be MISSED; not for real notes", err=True)
    if allow_unreadable_forms:
        click.echo("deid: WARNING: --allow-unreadable-forms: identifiers in unreadable forms will be MISSED", err=True)
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
        given_date_shifts=given_date_shifts,
        dates=dates,
        safe_harbor=safe_harbor,
        hold_back_unreadable=not allow_unreadable_forms,
        window_borders=window_borders,
        window_cache_bytes=window_cache * 2**20,
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
    resume: bool,
    restart: bool,
    shard_chars: int,
    progress: Mode,
    memory: int | None,
    gate: Gate = "none",
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
        in_process=False,  # a worker process can be replaced when it crashes or hangs
        batch_size=batch_size,
        gate=gate,
        whole_patients=whole_patients,
        keep_ids=keep_ids,
        overwrite=overwrite,
        quiet=quiet,
        progress="json" if progress == "auto" and is_json() else progress,
        resume=resume,
        restart=restart,
        shard_chars=shard_chars,
        memory_mb=memory,
    )


def _records(patients: Path | None) -> Any:
    from deid_runtime.records.patients import read_patients

    return read_patients(patients) if patients else {}
