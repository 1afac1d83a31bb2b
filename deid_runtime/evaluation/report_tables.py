"""The tables of the report page that need more than a loop over a record: bands of notes, confusion, note types."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from deid_runtime.evaluation.breakdown import NoteErrors
from deid_runtime.evaluation.full_report import FullReport
from deid_runtime.evaluation.report import Report, TypeScore
from deid_runtime.evaluation.tokens import ratio
from deid_runtime.labels import LABELS

#: Bands of missed tokens in a note: name, least, most.
MISS_BANDS: Final = (
    ("0", 0, 0), ("1", 1, 1), ("2", 2, 2), ("3 to 5", 3, 5), ("6 to 10", 6, 10), ("over 10", 11, sys.maxsize),
)  # fmt: skip
TYPES_SHOWN: Final = 50
NOTES_SHOWN: Final = 20
KINDS_SHOWN: Final = 10

#: Source of a span -> its name for readers who do not know our terms; other sources stay unchanged.
SOURCE_NAMES: Final = {
    "template": "Sentence templates",
    "pattern": "Patterns of numbers and dates",
    "pattern:weak": "Patterns, by form alone",
    "record": "The patient's record",
    "rule:people": "Rules for people",
    "rule:people:weak": "Rules for people, not sure",
    "rule:people:alone": "Rules for people, by the name alone",
    "propagation:initials": "Initials behind their name, or in a list of those present",
    "propagation": "The same name elsewhere in the note",
    "model:name": "Model head for names",
    "model:location": "Model head for places",
    "model:organization": "Model head for organizations",
    "model:age": "Model head for ages",
    "model:identifier": "Model head for dates, contacts and numbers",
}


@dataclass(frozen=True, slots=True)
class Band:
    """Notes with a number of missed words in a band, by group, and their shares."""

    name: str
    notes: dict[str, int]
    shares: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class PageTables:
    """The prepared tables of the page."""

    bands: list[Band]
    worst_notes: list[NoteErrors]
    types: list[tuple[str, TypeScore]]
    types_left_out: int
    confusion_columns: list[str]
    confusion_rows: list[tuple[str, list[int]]]
    kinds: dict[str, list[tuple[str, int]]]
    source_names: dict[str, str]


def page_tables(report: FullReport) -> PageTables:
    """Return the tables of a report."""
    types = sorted(report.scores.note_types.items(), key=lambda item: (-item[1].notes, item[0]))
    columns = [label for label in (*LABELS, "") if any(label in row for row in report.confusion.values())]
    rows = [label for label in (*LABELS, "") if label in report.confusion]
    return PageTables(
        bands=_bands(report.scores),
        worst_notes=_worst(report.notes),
        types=types[:TYPES_SHOWN],
        types_left_out=len(types[TYPES_SHOWN:]),
        confusion_columns=columns,
        confusion_rows=[(row, [report.confusion[row].get(column, 0) for column in columns]) for row in rows],
        kinds={"missed": _kinds(report, "missed"), "wrong": _kinds(report, "wrong")},
        source_names={row.source: SOURCE_NAMES.get(row.source, row.source) for row in report.sources},
    )


def _bands(scores: Report) -> list[Band]:
    bands = []
    for name, least, most in MISS_BANDS:
        notes = {
            group: sum(count for missed, count in misses.items() if least <= missed <= most)
            for group, misses in scores.misses_per_note.items()
        }
        bands.append(Band(name, notes, {group: ratio(count, scores.notes) for group, count in notes.items()}))
    return bands


def _worst(notes: Sequence[NoteErrors]) -> list[NoteErrors]:
    with_errors = [note for note in notes if note.missed or note.wrong]
    return sorted(with_errors, key=lambda note: (-note.missed, -note.wrong, note.id))[:NOTES_SHOWN]


def _kinds(report: FullReport, sort: str) -> list[tuple[str, int]]:
    """Return the most frequent kinds of missed or wrong tokens: label, shape, place in the line."""
    counts: Counter[str] = Counter()
    for kind, count in getattr(report.scores.errors, sort).kinds.items():
        counts[", ".join((kind.label, kind.shape, kind.span, kind.line))] += count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:KINDS_SHOWN]
