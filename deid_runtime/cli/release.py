"""``deid check`` and ``deid bundle``: search de-identified notes again, and document what a run did."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import ExitCode, reported
from deid_runtime.errors import SettingsError
from deid_runtime.run.outcomes import Gate

if TYPE_CHECKING:
    from deid_runtime.release.checking import ReleaseVerdicts

_OUT = cloup.argument("out", metavar="OUT", type=cli_options.EXISTING)
_INPUTS = cloup.argument("inputs", metavar="IN...", nargs=-1, required=True, type=cli_options.EXISTING)
_SIGNER = click.option(
    "--signing-key", type=cli_options.FILE, required=True, help="Private key, from `deid key signing-pair`."
)


def release_options(command: Any) -> Any:
    """Add the options of the gate and of the bundle to ``deid run``."""
    return cli_options.section(
        "Release",
        cli_options.chosen(
            "--gate",
            Gate,
            "none",
            "Search each de-identified note again with the models of the profile full, patterns and records, as "
            "`deid check` does. Put notes into quarantine if they still have an identifier (fail), or if "
            "anything at all is found (review). The run takes two to three times as long.",
        ),
        click.option(
            "--bundle",
            type=cli_options.PATH,
            help="New folder for a signed bundle of this run, as `deid bundle make` writes it. Needs --signing-key.",
        ),
        click.option(
            "--signing-key", type=cli_options.FILE, help="Private key for --bundle, from `deid key signing-pair`."
        ),
    )(command)


def check_bundle(bundle: Path | None, signing_key: Path | None) -> None:
    """Raise SettingsError, before hours of work, when a bundle could not be written."""
    if (bundle is None) != (signing_key is None):
        raise SettingsError("a bundle needs a new folder and a key to sign it; give both --bundle and --signing-key")
    if bundle is not None and os.path.lexists(bundle):
        raise SettingsError(f"{bundle}: already exists, and a bundle is never overwritten; choose another name")


def write_bundle(
    bundle: Path | None, signing_key: Path | None, inputs: tuple[Path, ...], out: Path, key: bytes | None
) -> None:
    """Write the bundle of a finished run, if one is wanted. ``key`` is None for a random key that is discarded."""
    from deid_runtime.release.bundle import make_bundle

    if bundle is not None and signing_key is not None:
        make_bundle(bundle, inputs, out, signing_key=signing_key, key=key, look=None)


def _run_inputs(command: Any) -> Any:
    """Add the options that repeat the inputs of a run to a command."""
    return cli_options.section(
        "As for the run",
        click.option("--key", type=cli_options.FILE, help="The key of the run. Required to repeat the run."),
        cli_options.allow_shared_key(),
        click.option("--patients", type=cli_options.FILE, help="The patient records of the run."),
        click.option("--given-date-shifts", type=cli_options.FILE, help="The table of date shifts of the run."),
        click.option("--id-column", default="id", show_default=True, help="Column with the note id."),
        click.option("--text-column", default="text", show_default=True, help="Column with the text."),
        click.option("--patient-column", default="patient", show_default=True, help="Column with the patient id."),
        cli_options.models(),
        cli_options.site_lists(),
    )(command)


@cloup.command()
@_OUT
@_INPUTS
@_run_inputs
@cli_options.section(
    cli_options.OUTPUT,
    click.option(
        "-o",
        "--details",
        type=cli_options.PATH,
        help="Write the verdict on each note, by its original id and without text, to this new file, which only you "
        "may read.",
    ),
    cli_options.flag("--gate", "Also exit with code 1 when notes need review, not only when notes fail."),
    cli_options.flag("--json", "Print JSON."),
)
@reported
def check(out: Path, inputs: tuple[Path, ...], details: Path | None, gate: bool, json: bool, **options: Any) -> None:
    """Search the output of a run again with a second set of detectors; print PASS, REVIEW or FAIL for each note.

    OUT is the output of `deid run`, IN its input. The run is repeated with its key and the settings of its run report;
    then the models of the profile full, patterns and the patients' records read the de-identified text. FAIL: an
    identifier is certainly left. REVIEW: the models found something that a person must check.

    Exit codes: 0 for success; 1 when notes fail, and with --gate when notes need review; 2 when the run cannot be
    repeated.
    """
    summary = _look(out, inputs, details, **options)
    click.echo(_as_json(summary) if json else _in_words(summary))
    verdict = summary.verdict.value
    if verdict == "FAIL" or (gate and verdict == "REVIEW"):
        click.echo(f"deid: {verdict}: do not release {out}", err=True)
        raise SystemExit(ExitCode.HELD_BACK)


@cloup.group("bundle")
def bundle_group() -> None:
    """Document what a run did: digests, settings, counts and verdicts, signed and without text."""


@bundle_group.command()
@cloup.argument("folder", metavar="FOLDER", type=cli_options.PATH)
@_OUT
@_INPUTS
@_SIGNER
@_run_inputs
@cli_options.flag("--look-again", "Also search every note again, as `deid check` does; needs --key.")
@reported
def make(
    folder: Path, out: Path, inputs: tuple[Path, ...], signing_key: Path, look_again: bool, **options: Any
) -> None:
    """Write the bundle of the run that wrote OUT from IN into the new FOLDER.

    FOLDER/report.html is for people, bundle.json for programs; bundle.json.sig is its signature (Ed25519). Needs
    the extra [signing].
    """
    from deid_runtime.release.bundle import make_bundle
    from deid_runtime.surrogates import load_key

    look = _look(out, inputs, None, **options).to_json() if look_again else None
    shared = options["allow_shared_key"]
    key = load_key(options["key"], allow_shared=shared) if options["key"] else None
    make_bundle(folder, inputs, out, signing_key=signing_key, key=key, look=look, allow_shared_key=shared)
    click.echo(f"{folder}: bundle of {out}", err=True)


@bundle_group.command("verify")
@cloup.argument("folder", metavar="FOLDER", type=cli_options.FOLDER)
@click.option("--signer", type=cli_options.FILE, required=True, help="Public key of the person who made the bundle.")
@click.option("--out", type=cli_options.EXISTING, help="Also compare this output.")
@click.option("--inputs", type=cli_options.EXISTING, multiple=True, help="Also compare these inputs.")
@reported
def verify_(folder: Path, signer: Path, out: Path | None, inputs: tuple[Path, ...]) -> None:
    """Check the signature of a bundle, and that its page, and OUT and the inputs if given, belong to the run.

    Exit codes: 0 when everything agrees with the bundle, 1 when something differs, 2 when FOLDER is not a bundle.
    """
    from deid_runtime.release.bundle import verify_bundle

    differences = verify_bundle(folder, signer, out=out, inputs=inputs)
    for difference in differences:
        click.echo(difference)
    if differences:
        raise SystemExit(ExitCode.HELD_BACK)
    click.echo(f"{folder}: the signature is valid and nothing has changed")


def _look(out: Path, inputs: tuple[Path, ...], details: Path | None, **options: Any) -> "ReleaseVerdicts":
    from deid_runtime.formats.records import ReadOptions
    from deid_runtime.records.patients import read_patients
    from deid_runtime.release.checking import ReleaseVerdicts, look_at_run
    from deid_runtime.settings import Settings
    from deid_runtime.surrogates import load_key
    from deid_runtime.system.owner_only import write_owner_only

    if options["key"] is None:
        raise SettingsError("a run can be repeated only with its --key; a run without one used a random key")
    rows: list[str] = []
    summary = ReleaseVerdicts()
    given = Settings(**{name: options[name] for name in _GIVEN})
    read = ReadOptions(
        id_column=options["id_column"], text_column=options["text_column"], patient_column=options["patient_column"]
    )
    key = load_key(options["key"], allow_shared=options["allow_shared_key"])
    records = read_patients(options["patients"]) if options["patients"] else {}
    for looked in look_at_run(inputs, out, given=given, read=read, key=key, records=records):
        if isinstance(looked, ReleaseVerdicts):
            summary = looked
        elif details is not None:
            rows.append(json.dumps(looked.to_json(), ensure_ascii=False) + "\n")
    if details is not None:
        write_owner_only(details, rows, what="verdicts by note id")
    return summary


_GIVEN = ("models", "models_key", "trust_models", "inclusion", "templates", "given_date_shifts")


def _as_json(summary: "ReleaseVerdicts") -> str:
    return json.dumps(summary.to_json(), indent=2)


def _in_words(summary: "ReleaseVerdicts") -> str:
    lines = [f"{verdict}: {count:,} notes" for verdict, count in sorted(summary.verdicts.items())]
    lines += [f"  {count:,} times: {reason}" for reason, count in sorted(summary.reasons.items())]
    if summary.held_back:
        lines.append(f"not released: {summary.held_back:,} notes")
    if summary.missing:
        lines.append(f"FAIL: {summary.missing:,} released notes that are not in the inputs")
    return "\n".join(lines)
