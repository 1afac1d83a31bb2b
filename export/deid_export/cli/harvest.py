"""``deid-export adapt harvest``: write review files from notes."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
import cloup

from deid_export.cli.config import config_option
from deid_export.cli.reports import tell_notes
from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import ExitCode
from deid_runtime.settings import Engine, Profile

if TYPE_CHECKING:
    from deid_export.adapt.harvest.candidates import Candidate
    from deid_export.adapt.harvest.collect import Harvest, HarvestSettings
    from deid_export.adapt.harvest.sources import Pass
    from deid_runtime.pipeline.processing import Pipeline
    from deid_runtime.settings import Settings

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_EXISTING = click.Path(exists=True, path_type=Path)

INCLUSION_FILE = "inclusion.review.jsonl"
TEMPLATES_FILE = "templates.review.jsonl"
SUMMARY_FILE = "harvest.json"


@cloup.command()
@click.argument("inputs", metavar="IN...", nargs=-1, required=True, type=_EXISTING)
@config_option
@cli_options.section(
    cli_options.INPUT,
    click.option(
        "--gold",
        is_flag=True,
        help="The notes have annotations: a column `spans`, i2b2 2014 XML, brat, or tagged text. Default: what the "
        "current ensemble finds counts as identifier; what it always misses then looks clean.",
    ),
    click.option(
        "--found",
        type=_FILE,
        help="Output of `deid detect` for exactly these inputs, instead of detecting here on one core.",
    ),
    click.option(
        "--format", "format_name", help="Read every input in this format, independent of its suffix. Not with --gold."
    ),
    click.option("--id-column", default="id", show_default=True),
    click.option("--text-column", default="text", show_default=True),
    click.option(
        "--patient-column",
        default="patient",
        show_default=True,
        help="Without patients, every note counts as one, and a sentence of one patient with many notes counts as "
        "frequent.",
    ),
)
@cli_options.section(
    cli_options.OUTPUT,
    click.option(
        "-o",
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        required=True,
        help=f"Folder for {INCLUSION_FILE}, {TEMPLATES_FILE}, which contain sentences of the notes, and "
        f"{SUMMARY_FILE}.",
    ),
    click.option(
        "--update",
        is_flag=True,
        help="Replace the review files in --out; lines with a decision keep it.",
    ),
)
@cli_options.section(
    "Candidates",
    click.option(
        "--terms",
        type=_FILE,
        multiple=True,
        help="List of disease or drug terms, one per line, .txt or .txt.gz; may be repeated. Frequent sentences with "
        "such a term are kept in addition to the most frequent ones.",
    ),
    click.option(
        "--min-patients",
        type=click.IntRange(min=2),
        default=10,
        show_default=True,
        help="Lines of fewer patients are not written. Rare sentences may identify: a small number shows them to the "
        "reviewer and, if accepted, leaves them in every output.",
    ),
    click.option(
        "--top",
        type=click.IntRange(min=1),
        default=2_000,
        show_default=True,
        help="Largest number of candidates of each kind.",
    ),
    click.option(
        "--agreement",
        type=click.FloatRange(0.9, 1.0),
        default=1.0,
        show_default=True,
        help="Share of a candidate's sentences that must agree with it. Below 1, identifiers marked in the rest "
        "would stay in the text: only for unreliable marks, with every line read.",
    ),
    click.option(
        "--tracked",
        type=click.IntRange(min=1_000),
        default=1_000_000,
        show_default=True,
        help="Sentences counted at a time; about 120 bytes each. With too few, rarer candidates are missed; the "
        "summary shows from which number of patients.",
    ),
)
@cli_options.section(
    cli_options.FINDING,
    click.option(
        "--patients", type=_FILE, help="Structured patient records, as for `deid run`; used when this command detects."
    ),
    click.option(
        "--inclusion",
        type=_FILE,
        help="Current inclusion list, whose sentences are skipped. Default: that of the package.",
    ),
    click.option("--templates", type=_FILE, help="Present templates, as --inclusion."),
    click.option("--models", type=_EXISTING, help="Folder with other models. Default: those of the package."),
    click.option("--profile", type=click.Choice(get_args(Profile)), default="full", show_default=True),
    click.option("--engine", type=click.Choice(get_args(Engine)), default="auto", show_default=True),
    click.option(
        "--no-models",
        is_flag=True,
        help="Check the candidates only with patterns. Needs --gold or --found, which show where the names are.",
    ),
)
def harvest(inputs: tuple[Path, ...], out: Path, **options: Any) -> None:
    """Collect candidates for the inclusion list and the templates from notes, for `deid-export adapt review`.

    Nothing is used until a person has accepted it, line by line. Notes that cannot be used are named on stderr; then
    the exit code is 1.
    """
    if options["gold"] and options["found"]:
        raise click.UsageError("--gold and --found both give the identifiers; give only one of them")
    if options["no_models"] and not (options["gold"] or options["found"]):
        raise click.UsageError("--no-models needs --gold or --found; patterns alone do not find names")
    left_out = _harvest(inputs, out, **options)
    if left_out:
        raise SystemExit(ExitCode.HELD_BACK)


def _harvest(inputs: Sequence[Path], out: Path, *, update: bool, **options: Any) -> int:
    """Harvest, and return the number of notes that could not be used."""
    from deid_export.adapt.harvest.collect import HarvestSettings, harvest, screen_with
    from deid_export.adapt.harvest.terms import read_terms
    from deid_runtime.detectors.inclusion import load_inclusion
    from deid_runtime.detectors.patterns import find_patterns
    from deid_runtime.detectors.templates import load_templates
    from deid_runtime.pipeline.loading import load_pipeline
    from deid_runtime.records.patients import read_patients

    earlier = {name: _earlier(out / name, is_update=update) for name in (INCLUSION_FILE, TEMPLATES_FILE)}
    wanted = HarvestSettings(**{name: options[name] for name in ("min_patients", "top", "agreement", "tracked")})
    records = read_patients(options["patients"]) if options["patients"] else {}
    left_out: dict[str, str] = {}
    with ExitStack() as resources:
        pipeline = resources.enter_context(load_pipeline(_pipeline_settings(**options), key=None, records=records))
        marked_by, notes = _marked_notes(inputs, pipeline, resources, left_out, **options)
        result = harvest(
            notes,
            inclusion=load_inclusion(options["inclusion"], screen=find_patterns),
            templates=load_templates(options["templates"]),
            screen=screen_with(pipeline),
            terms=read_terms(options["terms"]),
            settings=wanted,
        )
        made = {"identifiers": marked_by, "notes_left_out": len(left_out), "pipeline": pipeline.describe()}
        _write(out, result, earlier, wanted, made)
    _report(result, out)
    tell_notes(sorted(left_out.items()), "could not be used")
    return len(left_out)


def _pipeline_settings(
    *,
    models: Path | None,
    no_models: bool,
    profile: Profile,
    engine: Engine,
    inclusion: Path | None,
    templates: Path | None,
    **_: object,
) -> "Settings":
    from deid_runtime.settings import Settings

    return Settings(
        models=models,
        trust_models=True,  # no note is released on the basis of these spans
        use_models=not no_models,
        profile=profile,
        engine=engine,
        inclusion=inclusion,
        templates=templates,
    )


def _marked_notes(
    inputs: Sequence[Path],
    pipeline: "Pipeline",
    resources: ExitStack,
    left_out: dict[str, str],
    *,
    gold: bool,
    found: Path | None,
    format_name: str | None,
    **options: Any,
) -> "tuple[str, Pass]":
    """Return the source of the identifiers, and a pass over the notes."""
    from deid_export.adapt.harvest.sources import DetectedNotes, annotated, found_before, plain_notes
    from deid_runtime.formats.records import ReadOptions

    read = ReadOptions(**{name: options[name] for name in ("id_column", "text_column", "patient_column")})
    if gold:
        return "annotation", annotated(inputs, read, left_out=left_out)
    plain = plain_notes(inputs, read, format_name, left_out=left_out)
    if found:
        return "found before", found_before(plain, found, left_out=left_out)
    return "detected", resources.enter_context(DetectedNotes(plain, pipeline, left_out=left_out))


def _earlier(path: Path, *, is_update: bool) -> "list[Candidate]":
    from deid_export.adapt.harvest.candidates import read_review

    if not path.exists():
        return []
    if not is_update:
        raise click.UsageError(f"{path} exists and may have decisions; give --update to keep them, or another --out")
    return read_review(path)


def _write(
    out: Path,
    result: "Harvest",
    earlier: "dict[str, list[Candidate]]",
    settings: "HarvestSettings",
    made: dict[str, object],
) -> None:
    import json
    from dataclasses import asdict

    from deid_export.adapt.harvest.candidates import with_decisions, write_private, write_review

    out.mkdir(parents=True, exist_ok=True)
    for name, candidates in ((INCLUSION_FILE, result.inclusion), (TEMPLATES_FILE, result.templates)):
        write_review(out / name, with_decisions(candidates, earlier[name]))
    summary = {
        **made,
        "settings": asdict(settings),
        "counts": dict(result.counts),
        "dropped": dict(result.dropped),
        "complete_from_patients": result.complete_from_patients,
        "candidates": {"inclusion": len(result.inclusion), "templates": len(result.templates)},
    }
    write_private(out / SUMMARY_FILE, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")


def _report(result: "Harvest", out: Path) -> None:
    """Print the result and its warnings on stderr."""
    counts = result.counts
    click.echo(
        f"{counts['sentences']:,} sentences of {counts['patients']:,} patients: {len(result.inclusion):,} candidates "
        f"for the inclusion list, {len(result.templates):,} for the templates; now: deid-export adapt review "
        f"{out / INCLUSION_FILE}",
        err=True,
    )
    if counts["notes_without_patient"]:
        click.echo(
            f"WARNING: {counts['notes_without_patient']:,} of {counts['notes']:,} notes have no patient and count as "
            "one each: a line may be frequent because one person's notes repeat it. Check --patient-column.",
            err=True,
        )
    if result.complete_from_patients:
        click.echo(
            f"WARNING: the memory limit was reached: lines of fewer than {result.complete_from_patients:,} patients "
            "may be missing; give a larger --tracked",
            err=True,
        )
