"""The options of surrogates, whole patients and the crosswalk, and the checks of their combinations."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deid_runtime.cli import options as cli_options
from deid_runtime.errors import SettingsError
from deid_runtime.run.batches import PATIENT_CHARS, PATIENT_RECORDS
from deid_runtime.settings import Dates
from deid_runtime.stages import PATIENTS_STAGE

if TYPE_CHECKING:
    from deid_runtime.run.report import Counts

_Command = TypeVar("_Command", bound=Callable[..., Any])

#: The options of whole patients and of the crosswalk, which only `deid run` has.
run_surrogate_options = cli_options.together(
    cli_options.flag(
        "--whole-patients",
        "Choose surrogates from all notes of a patient, so that they agree: initials and abbreviations fit a name or "
        "facility that only another note has in full. The notes of a patient must be consecutive in the input: sort it "
        "by patient. Several files count as one input, in the given order; files of a folder are sorted by name. "
        "Notes of a patient are held back if they are not consecutive, or if there are more than "
        f"{PATIENT_RECORDS:,} notes or {PATIENT_CHARS:,} characters. When you have corrected a note that was held "
        "back, run all notes of its patient again. Patients with many notes need more memory. "
        "Default: each note alone, in any order.",
    ),
    click.option(
        "--crosswalk",
        type=cli_options.PATH,
        help="Also write a table of originals and surrogates to this file, encrypted with --crosswalk-key. "
        "`deid crosswalk read` reads it. Anyone who has the file and the private key has the originals. Needs the "
        "extra [crosswalk].",
    ),
    click.option(
        "--crosswalk-key",
        multiple=True,
        metavar="PUBLIC",
        help="Public key for --crosswalk: a .pub file from `deid key pair`, or the key itself. May be repeated; "
        "each of the private keys can read the whole file.",
    ),
)


def rewriting_options(of: str = "") -> Callable[[_Command], _Command]:
    """Return the options that set how identifiers are replaced. The help of some begins with ``of``."""
    return cli_options.together(
        cli_options.operator(
            f"{of}surrogate: a plausible invented value; missed identifiers are hidden among such values. tag: the "
            "label, such as [PATIENT]. redact: a mask. With tag and redact, a reader sees that missed identifiers are "
            "real."
        ),
        cli_options.date_shift(of),
        click.option(
            "--given-date-shifts",
            type=cli_options.FILE,
            help="Table of date shifts (.jsonl, .jsonl.gz, .csv, .parquet; columns patient and days). It replaces "
            "--date-shift, so that notes agree with tables that were shifted earlier. Notes of patients that are not "
            "in the table are held back. Anyone who has the table can undo the shift.",
        ),
        cli_options.chosen(
            "--dates",
            Dates,
            "shift",
            f"{of}shift: dates move, intervals stay correct. year: only the year stays; a date without a year becomes "
            "[DATE]; years 90 or more years ago become 'YEAR or earlier'. With year, intervals are lost, and readers "
            "can recognize a missed full date.",
        ),
        cli_options.flag(
            "--safe-harbor",
            f"{of}Keep only what HIPAA Safe Harbor, 45 CFR 164.514(b)(2), allows: years, ages up to 89, three digits "
            "of a ZIP, states and countries. --operator sets how everything else is replaced. Ids are always replaced. "
            "Missed identifiers stay in: the rule also requires that you do not know of any.",
        ),
    )


def check_safe_harbor(
    *,
    safe_harbor: bool,
    allow_unreadable_forms: bool,
    keep_ids: bool = False,
    keep_column_unchecked: tuple[str, ...] = (),
    **_: object,
) -> None:
    """Raise SettingsError for options that Safe Harbor forbids: they leave identifiers in the text or beside it."""
    if safe_harbor and allow_unreadable_forms:
        raise SettingsError(
            "--allow-unreadable-forms processes notes whose identifiers may be missed, which Safe Harbor does not "
            "allow; omit one of the two options"
        )
    if safe_harbor and keep_ids:
        raise SettingsError(
            "--keep-ids keeps note and patient ids, which Safe Harbor does not allow; omit one of the two options"
        )
    if safe_harbor and keep_column_unchecked:
        raise SettingsError(
            "--keep-column-unchecked keeps columns that are not searched, which Safe Harbor does not allow; "
            "omit one of the two options"
        )


def crosswalk_options(crosswalk: Path | None, crosswalk_key: tuple[str, ...]) -> dict[str, Any]:
    """Read and check the public keys; return the crosswalk fields of ``RunOptions``."""
    from deid_runtime.run.crosswalk import public_key

    return {"crosswalk": crosswalk, "crosswalk_keys": tuple(map(public_key, crosswalk_key))}


def warn_of_patients(counts: "Counts") -> None:
    """Warn when ``--whole-patients`` had no effect, or when it held notes back."""
    if counts.read and not counts.with_patient:
        click.echo(
            "deid: WARNING: no note has a patient id, so --whole-patients changed nothing; check --patient-column",
            err=True,
        )
    apart = counts.quarantined[PATIENTS_STAGE]
    if apart:
        click.echo(
            f"deid: WARNING: {apart:,} notes were held back because the notes of their patient are not consecutive "
            "or too many; sort the input by patient",
            err=True,
        )
    if counts.quarantined.total() > apart:
        click.echo(
            "deid: NOTICE: surrogates were chosen without the notes that were held back; when these are corrected, run "
            "all notes of their patients again",
            err=True,
        )
