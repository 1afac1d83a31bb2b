"""A report as plain text, at most 100 columns wide. Contains no note text."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Final

from deid_runtime.evaluation.agreement import Agreement, strength
from deid_runtime.evaluation.errors import ASPECTS, ErrorTable, Tally
from deid_runtime.evaluation.report import Report
from deid_runtime.evaluation.significance import Difference, Interval
from deid_runtime.evaluation.tokens import ratio

_MISS_BANDS: Final = (
    ("0", 0, 0), ("1", 1, 1), ("2", 2, 2), ("3-5", 3, 5), ("6-10", 6, 10), ("over 10", 11, sys.maxsize),
)  # fmt: skip
_TYPES_SHOWN: Final = 15
_WIDTH: Final = 100
_KINDS_SHOWN: Final = 15
_SHORT_KIND: Final = ("source", "shape", "span", "line")
_VALUES_SHOWN: Final = 12  # at most, for one aspect of the errors
_RELABELLED_SHOWN: Final = 8


def render(report: Report) -> str:
    """Return the report as plain text, at most 100 columns wide, ending in a line end."""
    head = [f"{report.notes} notes of {report.patients} patients"]
    if report.quarantined:
        head.append(f"{report.quarantined} notes were quarantined; all their identifiers count as missed")
    if report.not_in_gold:
        head.append(f"{report.not_in_gold} found notes are not in the gold set and were not counted")
    if report.overlapping_gold:
        head.append(f"{report.overlapping_gold} gold spans begin inside another; a word gets the label of the first")
    tables = (
        _render_groups, _render_labels, _render_entities, _render_misses, _render_types, _render_aspects, _render_kinds,
    )  # fmt: skip
    return "\n".join(head + [line for table in tables for line in ["", *table(report)]]) + "\n"


def render_differences(differences: Mapping[str, Mapping[str, Difference]], shuffles: int) -> str:
    """Return the differences of two systems by group as plain text, ending in a line end."""
    lines = [
        f"Against the second system; p by paired approximate randomisation, {shuffles:,} shuffles",
        f"{'group':<7}{'measure':<12}{'this one':>10}{'second':>10}{'p':>9}",
    ]
    for group, measures in differences.items():
        for name, row in measures.items():
            p_value = _figure(row.p_value)
            lines.append(f"{group:<7}{name:<12}{_figure(row.first):>10}{_figure(row.second):>10}{p_value:>9}")
    return "\n".join(lines) + "\n"


def render_agreement(found: Agreement) -> str:
    """Return the agreement of two annotators as plain text, ending in a line end."""
    lines = [f"{found.notes:,} notes that both annotated, {found.tokens:,} words"]
    if found.first_alone or found.second_alone:
        lines.append(
            f"not compared: {found.first_alone:,} notes that only the first has, {found.second_alone:,} only the second"
        )
    lines += [
        f"Equal spans (label, start and end): {_figure(found.span_f1)}",
        "",
        "Cohen's kappa in words, 95 % intervals by bootstrap over patients",
        f"{'answer':<22}{'kappa':<26}{'both':>8}{'first only':>12}{'second only':>13}  agreement",
    ]
    rows = {"identifier or not": found.identifier, "label": found.label, **found.labels}
    for name, row in rows.items():
        lines.append(
            f"{name:<22}{_with_interval(row.kappa, row.interval):<26}{row.both:>8}{row.first_only:>12}"
            f"{row.second_only:>13}  {strength(row.kappa)}"
        )
    return "\n".join(lines) + "\n"


def _render_groups(report: Report) -> Iterator[str]:
    yield "Token-binary, 95 % intervals by bootstrap over patients; last column: recall in characters"
    yield f"{'group':<6}{'gold':>7}{'missed':>7}  {'precision':<24}{'recall':<24}{'F1':<8}{'chars':>8}"
    for name, group in report.groups.items():
        score = group.tokens
        precision = _with_interval(score.precision, group.intervals.get("precision"))
        recall = _with_interval(score.recall, group.intervals.get("recall"))
        yield (
            f"{name:<6}{score.true_positives + score.false_negatives:>7}{score.false_negatives:>7}"
            f"  {precision:<24}{recall:<24}{_figure(score.f1):<8}"
            f"{_figure(group.characters.recall):>8}"
        )
    # A wrong token is gold of no label, so it belongs to no group.
    wrong = max((group.tokens.false_positives for group in report.groups.values()), default=0)
    yield f"Wrong: {wrong} found tokens are gold of no label; they count against the precision of every group"


def _render_labels(report: Report) -> Iterator[str]:
    yield "Per label, in tokens: recall by gold label, precision by found label"
    yield f"{'label':<16}{'gold':>8}{'missed':>8}{'recall':>9}{'found':>8}{'wrong':>8}{'precision':>11}"
    for name, label in report.labels.items():
        yield (
            f"{name:<16}{label.gold:>8}{label.gold - label.gold_found:>8}{_figure(label.recall):>9}"
            f"{label.found:>8}{label.found - label.found_gold:>8}{_figure(label.precision):>11}"
        )


def _render_entities(report: Report) -> Iterator[str]:
    yield "Characters, as other systems publish them: identifying ones found, other ones redacted"
    for name, counts in (
        ("all ages", report.characters), ("without ages under 90", report.characters_without_young_ages)
    ):  # fmt: skip
        yield f"{name:<22}{_figure(counts.found_share):>11}{_figure(counts.redacted_share):>11}"
    yield ""
    yield "As the i2b2 2014 script counts, micro averages"
    yield f"{'measure':<22}{'precision':>11}{'recall':>9}{'F1':>9}"
    for name, entity in report.entities.items():
        micro = entity.micro
        figures = f"{_figure(micro.precision):>11}{_figure(micro.recall):>9}{_figure(micro.f1):>9}"
        yield f"{name.replace('_', ' '):<22}{figures}"


def _render_misses(report: Report) -> Iterator[str]:
    yield "Missed tokens per note: notes and their share; last column: missed tokens per 1,000 notes"
    yield f"{'group':<7}" + "".join(f"{name:>13}" for name, _, _ in _MISS_BANDS) + f"{'per 1,000':>14}"
    for name, misses in report.misses_per_note.items():
        counts = [sum(misses[missed] for missed in misses if low <= missed <= high) for _, low, high in _MISS_BANDS]
        cells = "".join(f"{count:>7}{_short(ratio(count, report.notes)):>6}" for count in counts)
        per_1000 = ratio(1_000 * sum(missed * notes for missed, notes in misses.items()), report.notes)
        yield f"{name:<7}{cells}{_one_decimal(per_1000):>14}"


def _render_types(report: Report) -> Iterator[str]:
    by_size = sorted(report.note_types.items(), key=lambda item: (-item[1].notes, item[0]))
    yield f"Per note type, group C; the {min(_TYPES_SHOWN, len(by_size))} most frequent of {len(by_size)}"
    yield (
        f"{'type':<29}{'notes':>6}{'no miss':>9}{'share':>7}{'gold':>8}{'missed':>8}{'per 1,000':>11}"
        f"{'precision':>11}{'recall':>9}"
    )
    for name, kind in by_size[:_TYPES_SHOWN]:
        score = kind.tokens
        yield (
            f"{(name or '(none)')[:28]:<29}{kind.notes:>6}{kind.notes_without_miss:>9}"
            f"{_short(kind.share_without_miss):>7}"
            f"{score.true_positives + score.false_negatives:>8}{score.false_negatives:>8}"
            f"{_one_decimal(kind.missed_per_1000_notes):>11}{_figure(score.precision):>11}{_figure(score.recall):>9}"
        )


def _render_aspects(report: Report) -> Iterator[str]:
    missed, wrong = report.errors.missed, report.errors.wrong
    yield "Errors by properties of tokens: missed among gold tokens, wrong among found tokens"
    yield f"{'aspect':<11}{'':<37}{'missed':>7}{'gold':>9}{'share':>8}{'wrong':>9}{'found':>9}{'share':>8}"
    for aspect in ASPECTS:
        of_missed, of_wrong = missed.aspects.get(aspect, {}), wrong.aspects.get(aspect, {})
        # Values with most misses first, then values that only wrong tokens have.
        for value in list(dict.fromkeys([*of_missed, *of_wrong]))[:_VALUES_SHOWN]:
            yield f"{aspect:<11}{value[:36]:<37}{_tally(of_missed.get(value))} {_tally(of_wrong.get(value))}"
    relabelled = [f"{pair} {count}" for pair, count in report.errors.relabelled.items()]
    if relabelled:
        total = sum(report.errors.relabelled.values())
        yield f"Found, but as another label, in tokens: {total}. Most frequent:"
        yield from (f"  {pair}" for pair in relabelled[:_RELABELLED_SHOWN])


def _render_kinds(report: Report) -> Iterator[str]:
    for name, table in (("missed", report.errors.missed), ("wrong", report.errors.wrong)):
        if name == "wrong":
            yield ""
        kinds = _kinds_in_short(table)
        yield f"Kinds of {name} tokens; the {min(_KINDS_SHOWN, len(kinds))} most frequent of {len(kinds)}"
        for kind, count in kinds[:_KINDS_SHOWN]:
            yield from wrap(kind, _WIDTH, initial_indent=f"{count:>6}  ", subsequent_indent=" " * 10)


def _kinds_in_short(table: ErrorTable) -> list[tuple[str, int]]:
    """Return shortened kinds, most frequent first. They use only some aspects, as most full kinds occur only once."""
    counts: Counter[str] = Counter()
    for kind, count in table.kinds.items():
        counts[" | ".join(filter(None, (kind.label, *(getattr(kind, aspect) for aspect in _SHORT_KIND))))] += count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _tally(tally: Tally | None) -> str:
    if tally is None:
        return f"{'':>7}{'':>9}{'':>8}"
    return f"{tally.errors:>7}{tally.tokens:>9}{_short(tally.share):>8}"


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _one_decimal(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _with_interval(value: float | None, interval: Interval | None) -> str:
    return f"{_figure(value)} [{interval.low:.4f}, {interval.high:.4f}]" if interval else _figure(value)
