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
        "Take the surrogates of a note from all notes of its patient, so that all agree: initials follow a name, "
        "abbreviations a facility, that only another note has in full. The notes of a patient must stand together in "
        "the input, as when it is sorted by patient; several files count as one, in the order given, those of a folder "
        "by name. Notes of a patient who comes again after others, or has more than "
        f"{PATIENT_RECORDS:,} notes or {PATIENT_CHARS:,} characters, are held back. A note held back adds nothing to "
        "the others: once it is mended, run all notes of its patient again. Patients with many notes take memory. "
        "Default: note by note, in any order.",
    ),
    click.option(
        "--crosswalk",
        type=cli_options.PATH,
        help="Also write which surrogate stands for which original to this file, encrypted to --crosswalk-key. "
        "`deid crosswalk read` reads it. Whoever has it and the private key has the originals. Needs the extra "
        "[crosswalk].",
    ),
    click.option(
        "--crosswalk-key",
        multiple=True,
        metavar="PUBLIC",
        help="Public key for --crosswalk: a .pub file from `deid key pair`, or the key itself. May be repeated; "
        "each of the private keys reads it all.",
    ),
)


def rewriting_options(of: str = "") -> Callable[[_Command], _Command]:
    """Return the options that set how identifiers are replaced. The help of some begins with ``of``."""
    return cli_options.together(
        cli_options.operator(
            f"{of}surrogate: a plausible surrogate, so that what was missed hides among them. tag: [PATIENT] and the "
            "like. redact: a mask. With tag and redact whatever was missed can be seen to be real."
        ),
        cli_options.date_shift(of),
        click.option(
            "--offsets",
            type=cli_options.FILE,
            help="Table of days by patient (.jsonl, .jsonl.gz, .csv, .parquet; columns patient and days) to move "
            "dates by, in place of --date-shift, so that notes agree with tables shifted before. Notes of "
            "patients that are not in it are held back. Whoever has it can undo the shift.",
        ),
        cli_options.chosen(
            "--dates",
            Dates,
            "shift",
            f"{of}shift: dates move, intervals hold. year: only the year stays, [DATE] where there is none, and years"
            " of 90 years ago and more become 'YEAR or earlier': intervals are lost, and a full date that was "
            "missed stands out.",
        ),
        cli_options.flag(
            "--safe-harbor",
            f"{of}Keep of each identifier no more than HIPAA Safe Harbor, 45 CFR 164.514(b)(2), lets stay: years, "
            "ages to 89, ZIP to three digits, states and countries as they are; all else as --operator says. Ids"
            " are always replaced. What was missed is still there: the rule asks for no knowledge of that.",
        ),
    )


def check_safe_harbor(
    *,
    safe_harbor: bool,
    allow_unreadable_forms: bool,
    keep_ids: bool = False,
    keep_column_unchecked: tuple[str, ...] = (),
) -> None:
    """Raise SettingsError for options that Safe Harbor forbids: they leave identifiers in the text or beside it."""
    if safe_harbor and allow_unreadable_forms:
        raise SettingsError(
            "--allow-unreadable-forms serves notes whose identifiers are missed, which Safe Harbor does not allow; "
            "leave one out"
        )
    if safe_harbor and keep_ids:
        raise SettingsError("--keep-ids keeps note and patient ids, which Safe Harbor does not allow; leave one out")
    if safe_harbor and keep_column_unchecked:
        raise SettingsError(
            "--keep-column-unchecked passes columns on that nobody has looked at, which Safe Harbor does not allow; "
            "leave one out"
        )


def crosswalk_options(crosswalk: Path | None, crosswalk_key: tuple[str, ...]) -> dict[str, Any]:
    """Read and check the public keys; return the crosswalk fields of ``RunOptions``."""
    from deid_runtime.run.crosswalk import public_key

    return {"crosswalk": crosswalk, "crosswalk_keys": tuple(map(public_key, crosswalk_key))}


def warn_of_patients(counts: "Counts") -> None:
    """Warn when ``--whole-patients`` had no effect, or when notes were held back."""
    if counts.read and not counts.with_patient:
        click.echo(
            "deid: WARNING: no note has a patient id, so --whole-patients changed nothing; is --patient-column right?",
            err=True,
        )
    apart = counts.quarantined[PATIENTS_STAGE]
    if apart:
        click.echo(
            f"deid: WARNING: {apart:,} notes were held back because the notes of their patient do not stand together "
            "or are too many; sort the input by patient",
            err=True,
        )
    if counts.quarantined.total() > apart:
        click.echo(
            "deid: NOTICE: the surrogates of a patient are taken from those notes that could be searched; once the "
            "others are mended, run all notes of their patients again",
            err=True,
        )
