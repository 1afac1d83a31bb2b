"""Everything that is measured of one run against gold, as a record, as JSON and as plain text. Holds no note text."""

import dataclasses
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from deid_runtime.errors import InputError
from deid_runtime.evaluation.entities import EntityScore, score_entities
from deid_runtime.evaluation.gold import GoldNote
from deid_runtime.evaluation.significance import Interval, bootstrap
from deid_runtime.evaluation.tokens import CHARACTER, CLASSES, GROUPS, OVER_89, Counts, Score, count_tokens, ratio
from deid_runtime.labels import LABELS
from deid_runtime.spans import Span

_NAMED_IDS: Final = 5  # ids listed in an error before it says how many more


@dataclass(frozen=True, slots=True)
class GroupScore:
    """Token-binary score of one group, its 95 % intervals by measure name, and the same counts in characters."""

    tokens: Score
    intervals: Mapping[str, Interval]
    characters: Score


@dataclass(frozen=True, slots=True)
class LabelScore:
    """One label in tokens. A gold token is found whatever label it was found as; precision goes by the label found.

    ``gold`` and ``gold_found`` count tokens that are gold of this label, ``found`` and ``found_gold`` tokens found as
    this label, of which the latter are gold of any label.
    """

    gold: int
    gold_found: int
    found: int
    found_gold: int

    @property
    def recall(self) -> float | None:
        """The share of the label's gold tokens that were found."""
        return ratio(self.gold_found, self.gold)

    @property
    def precision(self) -> float | None:
        """The share of the tokens found as this label that are gold of any label."""
        return ratio(self.found_gold, self.found)


@dataclass(frozen=True, slots=True)
class TypeScore:
    """Group C over the notes of one type (Murugadoss et al., Table 6)."""

    notes: int
    notes_without_miss: int
    tokens: Score


@dataclass(frozen=True, slots=True)
class Report:
    """Scores of found spans against gold. See the modules of this package for what each figure means.

    ``misses_per_note`` maps a group to (missed tokens in a note -> number of notes), as Murugadoss et al., Table 5.
    ``quarantined`` notes are in all figures, with nothing found in them; ``not_in_gold`` notes are in none.
    """

    notes: int
    patients: int
    quarantined: int
    not_in_gold: int
    groups: Mapping[str, GroupScore]
    labels: Mapping[str, LabelScore]
    entities: Mapping[str, EntityScore]
    misses_per_note: Mapping[str, Mapping[int, int]]
    note_types: Mapping[str, TypeScore]

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON values; ratios are included and are null where there is nothing to divide by."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


def evaluate(
    gold: Sequence[GoldNote],
    found: Mapping[str, Sequence[Span]],
    *,
    quarantined: Collection[str] = (),
    bootstrap_resamples: int = 1_000,
    seed: int = 0,
) -> Report:
    """Score found spans, by note id, against gold notes.

    A gold note that is missing from ``found`` was lost somewhere, and a score would hide it: InputError, unless its
    id is among ``quarantined``. Such a note was held back on purpose and counts as one in which nothing was found.
    Found notes that are not in gold are counted and otherwise left out, so that a sample of a run can be annotated.

    Raises InputError also when a span ends behind its text.
    """
    held_back = {note.id for note in gold if note.id not in found and note.id in quarantined}
    missing = [note.id for note in gold if note.id not in found and note.id not in held_back]
    if missing:
        more = f" and {len(missing) - _NAMED_IDS} more" if len(missing) > _NAMED_IDS else ""
        raise InputError(
            f"{len(missing)} of {len(gold)} gold notes have no row among the found spans: "
            f"{', '.join(missing[:_NAMED_IDS])}{more}; expected one per note, with an empty list where nothing was "
            "found, or the note's id in the quarantine",
            stage="evaluate",
        )
    tokens, characters = count_tokens(gold, found), count_tokens(gold, found, token=CHARACTER)
    patients = [note.patient for note in gold]
    types = np.array([note.type for note in gold], dtype=np.str_)
    return Report(
        notes=len(gold),
        patients=len({patient for patient in patients if patient}),
        quarantined=len(held_back),
        not_in_gold=len(found.keys() - {note.id for note in gold}),
        groups={
            group: GroupScore(
                tokens.score(group),
                bootstrap(tokens.by_note(group), patients, resamples=bootstrap_resamples, seed=seed),
                characters.score(group),
            )
            for group in GROUPS
        },
        labels=_score_labels(tokens),
        entities=score_entities(gold, found),
        misses_per_note={
            group: dict(sorted(Counter(tokens.by_note(group)[:, 2].tolist()).items())) for group in GROUPS
        },
        note_types={name: _score_type(tokens.rows(types == name)) for name in sorted(set(types.tolist()))},
    )


def _score_labels(counts: Counts) -> dict[str, LabelScore]:
    hit, missed, right, wrong = (rows.sum(0) for rows in (counts.hit, counts.missed, counts.right, counts.wrong))
    scores = {}
    for index, label in enumerate(LABELS):
        gold_rows = [index, CLASSES.index(OVER_89)] if label == "AGE" else [index]
        gold_found = int(hit[gold_rows].sum())
        scores[label] = LabelScore(
            gold=gold_found + int(missed[gold_rows].sum()),
            gold_found=gold_found,
            found=int(right[index] + wrong[index]),
            found_gold=int(right[index]),
        )
    return {label: score for label, score in scores.items() if score.gold or score.found}


def _score_type(counts: Counts) -> TypeScore:
    misses = counts.by_note("C")[:, 2]
    return TypeScore(len(misses), int((misses == 0).sum()), counts.score("C"))


def _plain(value: object) -> object:
    """Turn records into dicts of JSON values, with the ratios that their properties give."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        ratios = {name: _plain(getattr(value, name)) for name in ("precision", "recall", "f1") if hasattr(value, name)}
        return fields | ratios
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, float):
        return round(value, 6)
    return value


_MISS_BANDS: Final = (
    ("0", 0, 0), ("1", 1, 1), ("2", 2, 2), ("3-5", 3, 5), ("6-10", 6, 10), ("over 10", 11, sys.maxsize),
)  # fmt: skip
_TYPES_SHOWN: Final = 15


def render(report: Report) -> str:
    """Return the report as plain text, at most 100 columns wide, ending in a line end."""
    head = [f"{report.notes} notes of {report.patients} patients"]
    if report.quarantined:
        head.append(f"{report.quarantined} notes were quarantined; nothing left them, and all of it counts as missed")
    if report.not_in_gold:
        head.append(f"{report.not_in_gold} found notes are not in the gold set and were left out")
    tables = (_render_groups, _render_labels, _render_entities, _render_misses, _render_types)
    return "\n".join(head + [line for table in tables for line in ["", *table(report)]]) + "\n"


def _render_groups(report: Report) -> Iterator[str]:
    yield "Token-binary, 95 % intervals by bootstrap over patients; last column: recall in characters"
    yield f"{'group':<6}{'gold':>7}{'missed':>7}{'wrong':>7}  {'precision':<24}{'recall':<24}{'F1':<8}{'chars':>8}"
    for name, group in report.groups.items():
        score = group.tokens
        precision = _with_interval(score.precision, group.intervals.get("precision"))
        recall = _with_interval(score.recall, group.intervals.get("recall"))
        yield (
            f"{name:<6}{score.true_positives + score.false_negatives:>7}{score.false_negatives:>7}"
            f"{score.false_positives:>7}  {precision:<24}{recall:<24}{_figure(score.f1):<8}"
            f"{_figure(group.characters.recall):>8}"
        )


def _render_labels(report: Report) -> Iterator[str]:
    yield "Per label, in tokens: recall by gold label, precision by found label"
    yield f"{'label':<16}{'gold':>8}{'missed':>8}{'recall':>9}{'found':>8}{'wrong':>8}{'precision':>11}"
    for name, label in report.labels.items():
        yield (
            f"{name:<16}{label.gold:>8}{label.gold - label.gold_found:>8}{_figure(label.recall):>9}"
            f"{label.found:>8}{label.found - label.found_gold:>8}{_figure(label.precision):>11}"
        )


def _render_entities(report: Report) -> Iterator[str]:
    yield "As the i2b2 2014 script counts, micro averages"
    yield f"{'measure':<22}{'precision':>11}{'recall':>9}{'F1':>9}"
    for name, entity in report.entities.items():
        micro = entity.micro
        figures = f"{_figure(micro.precision):>11}{_figure(micro.recall):>9}{_figure(micro.f1):>9}"
        yield f"{name.replace('_', ' '):<22}{figures}"


def _render_misses(report: Report) -> Iterator[str]:
    yield "Missed tokens per note: share of notes"
    yield f"{'group':<8}" + "".join(f"{name:>9}" for name, _, _ in _MISS_BANDS)
    for name, misses in report.misses_per_note.items():
        counts = (sum(misses[missed] for missed in misses if low <= missed <= high) for _, low, high in _MISS_BANDS)
        yield f"{name:<8}" + "".join(f"{_figure(ratio(count, report.notes)):>9}" for count in counts)


def _render_types(report: Report) -> Iterator[str]:
    by_size = sorted(report.note_types.items(), key=lambda item: (-item[1].notes, item[0]))
    yield f"Per note type, group C; the {min(_TYPES_SHOWN, len(by_size))} most frequent of {len(by_size)}"
    yield f"{'type':<40}{'notes':>7}{'no miss':>9}{'gold':>8}{'precision':>11}{'recall':>9}"
    for name, kind in by_size[:_TYPES_SHOWN]:
        score = kind.tokens
        yield (
            f"{(name or '(none)')[:38]:<40}{kind.notes:>7}{kind.notes_without_miss:>9}"
            f"{score.true_positives + score.false_negatives:>8}{_figure(score.precision):>11}{_figure(score.recall):>9}"
        )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _with_interval(value: float | None, interval: Interval | None) -> str:
    return f"{_figure(value)} [{interval.low:.4f}, {interval.high:.4f}]" if interval else _figure(value)
