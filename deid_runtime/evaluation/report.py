"""All measures of one run against gold, as a record and as JSON. Contains no note text."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.evaluation.characters import CharacterCounts, count_characters
from deid_runtime.evaluation.entities import EntityScore, score_entities
from deid_runtime.evaluation.errors import Errors, count_errors
from deid_runtime.evaluation.significance import Interval, bootstrap
from deid_runtime.evaluation.tokens import CHARACTER, CLASSES, GROUPS, OVER_89, Counts, Score, count_tokens, ratio
from deid_runtime.labels import LABELS
from deid_runtime.spans import Span
from deid_runtime.system.shown_ids import shown_id

_NAMED_IDS: Final = 5  # ids listed in an error message before "and ... more"
#: Properties of the records in this module that are written to JSON with their fields.
_RATIOS: Final = (
    "precision",
    "recall",
    "f1",
    "share",
    "share_without_miss",
    "missed_per_1000_notes",
    "found_share",
    "redacted_share",
    "recall_change",
)


@dataclass(frozen=True, slots=True)
class GroupScore:
    """Token-binary score of one group, its 95 % intervals by measure name, and the same score in characters."""

    tokens: Score
    intervals: Mapping[str, Interval]
    characters: Score


@dataclass(frozen=True, slots=True)
class LabelScore:
    """The token counts of one label. A gold token is found whatever its found label; precision is by found label.

    ``gold`` and ``gold_found`` count the tokens that are gold of this label, and those of them that were found.
    ``found`` and ``found_gold`` count the tokens found as this label, and those of them that are gold of any label.
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
    """Group C in the notes of one type (Murugadoss et al., Table 6)."""

    notes: int
    notes_without_miss: int
    tokens: Score

    @property
    def share_without_miss(self) -> float | None:
        """The share of the notes in which no token was missed."""
        return ratio(self.notes_without_miss, self.notes)

    @property
    def missed_per_1000_notes(self) -> float | None:
        """The number of missed tokens per 1,000 notes of this type."""
        return ratio(1_000 * self.tokens.false_negatives, self.notes)


@dataclass(frozen=True, slots=True)
class Report:
    """Scores of found spans against gold. The modules of this package explain each figure.

    ``misses_per_note`` maps a group to (missed tokens in a note -> number of notes), as Murugadoss et al., Table 5.
    ``errors`` counts missed and wrong tokens by kind. All figures include ``quarantined`` notes, with nothing found in
    them. No figure includes ``not_in_gold`` notes. ``overlapping_gold`` counts gold spans that begin inside another: a
    token then has the label of the first. ``characters`` and ``characters_without_young_ages``: see the module of the
    same name.
    """

    notes: int
    patients: int
    quarantined: int
    not_in_gold: int
    overlapping_gold: int
    groups: Mapping[str, GroupScore]
    labels: Mapping[str, LabelScore]
    entities: Mapping[str, EntityScore]
    characters: CharacterCounts
    characters_without_young_ages: CharacterCounts
    misses_per_note: Mapping[str, Mapping[int, int]]
    note_types: Mapping[str, TypeScore]
    errors: Errors

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON values, with ratios; a ratio is null when its denominator is 0."""
        return {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


def evaluate(
    gold: Sequence[AnnotatedNote],
    found: Mapping[str, Sequence[Span]],
    *,
    quarantined: Collection[str] = (),
    bootstrap_resamples: int = 1_000,
    seed: int = 0,
) -> Report:
    """Score found spans, by note id, against gold notes.

    A gold note that is missing from ``found`` raises InputError, because a score would hide the loss. Exception: a note
    in ``quarantined`` was held back on purpose, and counts as a note in which nothing was found. Found notes that are
    not in gold are only counted, so that gold can be a sample of a run.

    Also raises InputError when a span ends after the end of its text.
    """
    held_back = require_rows(gold, found, quarantined)
    tokens, characters = count_tokens(gold, found), count_tokens(gold, found, token=CHARACTER)
    patients = [note.patient for note in gold]
    types = np.array([note.type for note in gold], dtype=np.str_)
    return Report(
        notes=len(gold),
        patients=len({patient for patient in patients if patient}),
        quarantined=len(held_back),
        not_in_gold=len(found.keys() - {note.id for note in gold}),
        overlapping_gold=_count_overlapping(gold),
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
        characters=count_characters(gold, found),
        characters_without_young_ages=count_characters(gold, found, ages_under_90=False),
        misses_per_note={
            group: dict(sorted(Counter(tokens.by_note(group)[:, 2].tolist()).items())) for group in GROUPS
        },
        note_types={name: _score_type(tokens.rows(types == name)) for name in sorted(set(types.tolist()))},
        errors=count_errors(gold, found),
    )


def require_rows(
    gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]], quarantined: Collection[str] = ()
) -> set[str]:
    """Return the ids of the gold notes that were held back.

    Raise InputError when any other gold note has no found row.
    """
    held = frozenset(quarantined)
    held_back = {note.id for note in gold if note.id not in found and {note.id, shown_id(note.id)} & held}
    missing = [note.id for note in gold if note.id not in found and note.id not in held_back]
    if missing:
        more = f" and {len(missing) - _NAMED_IDS} more" if len(missing) > _NAMED_IDS else ""
        raise InputError(
            f"{len(missing)} of {len(gold)} gold notes have no row among the found spans: "
            f"{', '.join(map(shown_id, missing[:_NAMED_IDS]))}{more}; expected one per note, with an empty "
            "list where nothing was found, or the note's id in the quarantine",
            stage="evaluate",
        )
    return held_back


def _count_overlapping(gold: Sequence[AnnotatedNote]) -> int:
    """Return how many gold spans share a character with the furthest-reaching span before them."""
    overlapping = 0
    for note in gold:
        end = 0
        for span in sorted(note.spans):
            overlapping += span.start < end
            end = max(end, span.end)
    return overlapping


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


def plain(value: object) -> object:
    """Convert records to dicts of JSON values, with the ratios from their properties."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        ratios = {name: plain(getattr(value, name)) for name in _RATIOS if hasattr(value, name)}
        return fields | ratios
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return round(value, 6)
    return value
