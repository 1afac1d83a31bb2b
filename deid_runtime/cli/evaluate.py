"""``deid evaluate``: compare found spans with annotated spans; print scores, or write them as a report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.config import config_option
from deid_runtime.cli.evaluate_more import agreement, forms
from deid_runtime.cli.evaluate_tune import tune
from deid_runtime.cli.exits import reported

if TYPE_CHECKING:
    from deid_runtime.annotations.note import AnnotatedNote
    from deid_runtime.evaluation.full_report import Against
    from deid_runtime.evaluation.report import Report
    from deid_runtime.evaluation.review import ErrorInContext
    from deid_runtime.spans import Span


@cloup.group(invoke_without_command=True, subcommand_metavar="[COMMAND [ARGS]...]")
@cli_options.section(
    cli_options.INPUT,
    click.option(
        "--gold",
        type=cli_options.EXISTING,
        help="Annotated notes: .jsonl with text and spans, or a file or folder of i2b2 2014 .xml or brat .ann with "
        ".txt. Required.",
    ),
    click.option(
        "--found", type=cli_options.EXISTING, help="Output of `deid detect`, or a format of --gold. Required."
    ),
    click.option(
        "--quarantine",
        type=cli_options.FILE,
        help="Quarantine file: notes held back, which count as missed. Default: FOUND.quarantine.jsonl, if it exists. "
        "Without it, a gold note that is not in FOUND is an error.",
    ),
    click.option(
        "--against",
        type=cli_options.EXISTING,
        help="Found spans of a second system on the same notes. Tests whether the two differ by more than chance: "
        "paired approximate randomisation, 9,999 shuffles.",
    ),
    click.option(
        "--altered",
        type=cli_options.FOLDER,
        help="Folder of `deid evaluate forms`, with the output of `deid detect` on each NAME.jsonl beside it as "
        "NAME.found.jsonl. Shows how much is lost when the same notes are written in another form.",
    ),
)
@cli_options.section(
    cli_options.OUTPUT,
    click.option(
        "--report",
        type=cli_options.PATH,
        help="Write the report as one self-contained page, NAME.html, with the same figures in NAME.json and "
        "NAME.csv; print three sentences instead of the tables. Contains no note text. Needs the extra [report].",
    ),
    cli_options.flag(
        "--show-text",
        "With --report: also show the errors, with the WORDS OF THE NOTES around them. Marked identifiers are masked; "
        "wrongly removed words are not. Only you may read the page; delete it after use.",
    ),
    cli_options.flag("--overwrite", "Replace the files of --report if they exist."),
    cli_options.flag("--json", "Print JSON instead of tables."),
    click.option(
        "--errors",
        type=cli_options.PATH,
        help="Also write every error with the words around it to this new file, which only you may read. Identifiers "
        "of gold or found are masked; the rest is readable note text, which may hold identifiers that both overlooked. "
        "Review it where the notes are, and delete it afterwards.",
    ),
    click.option(
        "--context-words",
        type=click.IntRange(min=0, max=50),
        default=6,
        show_default=True,
        help="Words on each side of an error in --errors and --show-text. More words explain more, but also disclose "
        "more.",
    ),
)
@config_option
@click.pass_context
@reported
def evaluate(context: click.Context, /, gold: Path | None, found: Path | None, **options: Any) -> None:
    """Compare found spans with annotated ones; print scores and kinds of errors, without any text.

    `deid evaluate --gold GOLD --found FOUND --report report.html` writes a page to share. The commands below
    compare two annotators, choose thresholds, and write notes in other forms.
    """
    if context.invoked_subcommand is not None:
        return
    for name, value in (("--gold", gold), ("--found", found)):
        if value is None:
            raise click.UsageError(f"Missing option '{name}'.", context)
    assert gold is not None
    assert found is not None
    if options["show_text"] and options["report"] is None:
        raise click.UsageError("--show-text adds to the page; give --report FILE.html, too", context)
    _evaluate(gold, found, **options)


evaluate.section("Commands", agreement, tune, forms)


def _evaluate(
    gold: Path,
    found: Path,
    *,
    quarantine: Path | None,
    against: Path | None,
    altered: Path | None,
    report: Path | None,
    show_text: bool,
    overwrite: bool,
    json: bool,
    errors: Path | None,
    context_words: int,
) -> None:
    from json import dumps

    from deid_runtime.annotations.found import read_found
    from deid_runtime.annotations.read import read_gold
    from deid_runtime.evaluation.full_report import full_report
    from deid_runtime.evaluation.report import evaluate

    if report is not None:
        from deid_runtime.evaluation.report_page import require_libraries

        require_libraries()
    annotated, detected = read_gold(gold), read_found(found)
    held, second = _held_back(found, quarantine), _second(annotated, detected, against) if against else None
    if report is None:
        whole, scores = None, evaluate(annotated, detected, quarantined=held)
    else:
        whole = full_report(
            annotated,
            detected,
            quarantined=held,
            altered=_altered_forms(annotated, detected, altered) if altered else (),
            against=second,
            errors=_shown_errors(annotated, detected, context_words) if show_text else None,
        )
        scores = whole.scores
        _write(report, whole, {"gold": gold, "found": found, "against": against}, overwrite=overwrite)
    _warn_of_overlaps(scores)
    if errors is not None:
        _write_errors(errors, annotated, detected, context_words)
    if json:
        click.echo(dumps(_as_json(scores, second) if whole is None else whole.to_json(), indent=2))
    elif whole is not None:
        click.echo("\n".join(whole.sentences))
    else:
        _print_tables(scores, second)


def _warn_of_overlaps(scores: "Report") -> None:
    if scores.overlapping_gold:
        click.echo(
            f"deid: WARNING: {scores.overlapping_gold:,} gold spans begin inside another; a word in both gets the "
            "label of the first",
            err=True,
        )


def _print_tables(scores: "Report", second: "Against | None") -> None:
    from deid_runtime.evaluation.tables import render, render_differences

    click.echo(render(scores), nl=False)
    if second is not None:
        click.echo("\n" + render_differences(second.differences, second.shuffles), nl=False)


def _as_json(scores: Any, second: "Against | None") -> dict[str, object]:
    from deid_runtime.evaluation.report import plain

    values: dict[str, object] = scores.to_json()
    return values | ({"against": plain(second.differences)} if second is not None else {})


def _held_back(found: Path, quarantine: Path | None) -> frozenset[str]:
    from deid_runtime.run.quarantine import read_quarantine
    from deid_runtime.run.staging import quarantine_path

    beside = quarantine_path(found)
    chosen = quarantine or (beside if beside.exists() else None)
    return frozenset(read_quarantine(chosen)) if chosen else frozenset()


def _second(annotated: "Sequence[AnnotatedNote]", detected: "Mapping[str, Sequence[Span]]", against: Path) -> "Against":
    from deid_runtime.annotations.found import read_found
    from deid_runtime.evaluation.full_report import compare_with

    return compare_with(annotated, detected, read_found(against), quarantined=_held_back(against, None))


def _altered_forms(
    annotated: "Sequence[AnnotatedNote]", detected: "Mapping[str, Sequence[Span]]", folder: Path
) -> list[Any]:
    from deid_runtime.annotations.found import read_found
    from deid_runtime.annotations.read import read_gold
    from deid_runtime.errors import InputError
    from deid_runtime.evaluation.forms import FOUND_SUFFIX, compare_form

    found = sorted(folder.glob(f"*{FOUND_SUFFIX}"))
    if not found:
        raise InputError(
            f"{folder}: there is no file NAME{FOUND_SUFFIX}; expected the output of `deid detect` for each NAME.jsonl "
            "that `deid evaluate forms` wrote",
            stage="evaluate",
        )
    rows = []
    for path in found:
        form = path.name.removesuffix(FOUND_SUFFIX)
        rows.append(compare_form(form, annotated, detected, read_gold(folder / f"{form}.jsonl"), read_found(path)))
    return rows


def _write(path: Path, report: Any, inputs: Mapping[str, Path | None], *, overwrite: bool) -> None:
    from deid_runtime.evaluation.report_files import write_report
    from deid_runtime.evaluation.report_page import ReportInputs
    from deid_runtime.run.report import deid_version
    from deid_runtime.system.digests import digest_file

    digests = {
        f"{role}, {each.name}": digest_file(each).sha256
        for role, each in inputs.items()
        if each is not None and each.is_file()
    }
    written = write_report(path, report, ReportInputs(deid_version(), digests), overwrite=overwrite)
    click.echo(f"report: {', '.join(map(str, written))}", err=True)
    if report.shows_text:
        click.secho(
            f"deid: NOTICE: {path} contains WORDS OF THE NOTES. Only you may read it. Keep it inside the secure zone "
            "and delete it after review.",
            err=True,
            bold=True,
        )


def _shown_errors(
    annotated: "Sequence[AnnotatedNote]", detected: "Mapping[str, Sequence[Span]]", context_words: int
) -> "list[ErrorInContext]":
    """Return the errors for the page, wrongly removed words unmasked."""
    from deid_runtime.evaluation.review import errors_in_context

    return list(errors_in_context(annotated, detected, context_words=context_words, shows_wrong=True))


def _write_errors(
    path: Path, annotated: "Sequence[AnnotatedNote]", detected: "Mapping[str, Sequence[Span]]", context_words: int
) -> None:
    from deid_runtime.evaluation.review import errors_in_context, write_errors

    in_context = errors_in_context(annotated, detected, context_words=context_words)
    count = write_errors(path, in_context)
    click.secho(
        f"deid: NOTICE: {path} has {count:,} errors with WORDS OF THE NOTES around them, masked only where gold or "
        "found has an identifier. Keep it inside the secure zone and delete it after review.",
        err=True,
        bold=True,
    )
