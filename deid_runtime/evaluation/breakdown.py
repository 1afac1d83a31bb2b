"""What the report page shows beside the scores: intervals by label, confusion, sources, and notes with their errors.

All figures count tokens (:mod:`deid_runtime.evaluation.tokens`). Contains no note text.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.errors import NO_SOURCE
from deid_runtime.evaluation.intervals import share_interval
from deid_runtime.evaluation.significance import Interval
from deid_runtime.evaluation.token_table import LABEL_OF_CLASS, TokenTable, count_by
from deid_runtime.evaluation.tokens import IntArray, ratio
from deid_runtime.labels import HEADS, LABELS

#: The labels that count as a missed name: those of the head for names.
NAME_LABELS: Final = HEADS["name"]


@dataclass(frozen=True, slots=True)
class LabelIntervals:
    """The intervals of the recall and of the precision of one label (:mod:`deid_runtime.evaluation.intervals`)."""

    recall: Interval | None
    precision: Interval | None


@dataclass(frozen=True, slots=True)
class SourceRow:
    """What spans with one source found: tokens, and those that no other source found.

    ``right`` and ``wrong`` count tokens that are gold of any label and of none; ``only_right`` and ``only_wrong`` those
    whose span has no other source. ``only_share`` is the part of all gold tokens that would be missed without it.
    """

    source: str
    right: int
    wrong: int
    only_right: int
    only_wrong: int
    only_share: float | None


@dataclass(frozen=True, slots=True)
class NoteErrors:
    """The tokens of one note: gold, missed and wrong, in all groups. ``id`` can be note text and is shown digested."""

    id: str
    type: str
    gold: int
    missed: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The counts of the sentences at the top of the report.

    ``clean_notes`` have no missed token of any label; ``name_notes`` at least one missed token of a name;
    ``wrong_words`` are found tokens that identify nobody, in ``wrong_notes`` notes.
    """

    notes: int
    clean_notes: int
    name_notes: int
    missed_words: int
    gold_words: int
    wrong_words: int
    wrong_notes: int
    plain_words: int


def patients_of(notes: Sequence[AnnotatedNote]) -> IntArray:
    """Return int64 (notes,): a number for the patient of each note.

    A note without a patient counts as a separate patient.
    """
    names = [f"patient {note.patient}" if note.patient else f"note {note.id}" for note in notes]
    return np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1].reshape(-1).astype(np.int64)


def label_intervals(table: TokenTable, patients: IntArray) -> dict[str, LabelIntervals]:
    """Return the intervals of every label that is gold or found."""
    gold, found = table.gold_label(), table.found_label()
    of_patient = patients[table.note]
    rows = int(patients.max()) + 1 if len(patients) else 0
    intervals = {}
    for index, label in enumerate(LABELS):
        is_gold, is_label = gold == index, found == index
        if is_gold.any() or is_label.any():
            intervals[label] = LabelIntervals(
                share_interval(_per(of_patient, is_gold & table.is_found, rows), _per(of_patient, is_gold, rows)),
                share_interval(_per(of_patient, is_label & table.is_gold, rows), _per(of_patient, is_label, rows)),
            )
    return intervals


def confusion(table: TokenTable) -> dict[str, dict[str, int]]:
    """Return the tokens that are gold and found, by gold label and by found label.

    ``""`` means not gold or not found.
    """
    names = [*LABELS, ""]
    pairs = Counter(zip(table.gold_label().tolist(), table.found_label().tolist(), strict=True))
    rows: dict[str, dict[str, int]] = {}
    for (gold, found), count in sorted(
        pairs.items(), key=lambda pair: (pair[0][0] % len(names), pair[0][1] % len(names))
    ):
        rows.setdefault(names[gold], {})[names[found]] = count
    return rows


def by_source(table: TokenTable) -> list[SourceRow]:
    """Return what each source found, most right tokens first. A span with several sources counts for each of them."""
    rights = count_by(table.found[table.is_found & table.is_gold], len(table.found_spans))
    wrongs = count_by(table.found[table.is_wrong], len(table.found_spans))
    gold_words = int(table.is_gold.sum())
    counts: dict[str, list[int]] = {}
    for span, of_right, of_wrong in zip(table.found_spans, rights, wrongs, strict=True):
        sources = span.sources or (NO_SOURCE,)
        is_alone = len(set(sources)) == 1
        for source in dict.fromkeys(sources):
            row = counts.setdefault(source, [0, 0, 0, 0])
            row[0] += of_right
            row[1] += of_wrong
            row[2] += of_right if is_alone else 0
            row[3] += of_wrong if is_alone else 0
    rows = [
        SourceRow(source, right, wrong, only_right, only_wrong, ratio(only_right, gold_words))
        for source, (right, wrong, only_right, only_wrong) in counts.items()
    ]
    return sorted(rows, key=lambda row: (-row.right, row.source))


def by_note(notes: Sequence[AnnotatedNote], table: TokenTable) -> list[NoteErrors]:
    """Return the errors of every note, in order."""
    size = len(notes)
    gold, missed, wrong = (
        count_by(table.note[chosen], size)
        for chosen in (table.is_gold, table.is_gold & ~table.is_found, table.is_wrong)
    )
    return [NoteErrors(note.id, note.type, *row) for note, *row in zip(notes, gold, missed, wrong, strict=True)]


def totals(table: TokenTable) -> Totals:
    """Return the counts of the sentences at the top of the report."""
    missed = table.is_gold & ~table.is_found
    names = np.isin(LABEL_OF_CLASS[table.gold_class()], [LABELS.index(label) for label in NAME_LABELS])
    notes = len(table.words)
    return Totals(
        notes=notes,
        clean_notes=notes - len(np.unique(table.note[missed])),
        name_notes=len(np.unique(table.note[missed & names])),
        missed_words=int(missed.sum()),
        gold_words=int(table.is_gold.sum()),
        wrong_words=int(table.is_wrong.sum()),
        wrong_notes=len(np.unique(table.note[table.is_wrong])),
        plain_words=int(table.words.sum() - table.is_gold.sum()),
    )


def _per(of_patient: IntArray, chosen: npt.NDArray[np.bool_], size: int) -> IntArray:
    return np.bincount(of_patient[chosen], minlength=size)
