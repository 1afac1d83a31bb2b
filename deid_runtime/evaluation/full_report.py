"""Everything that the report page shows, as one record and as JSON: the scores of ``report.py`` and their breakdowns.

Contains no note text, except for ``errors``, which only ``--show-text`` fills and which is not in the JSON.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.breakdown import (
    LabelIntervals,
    NoteErrors,
    SourceRow,
    Totals,
    by_note,
    by_source,
    confusion,
    label_intervals,
    patients_of,
    totals,
)
from deid_runtime.evaluation.forms import AlteredForm, FormRow, by_written_form
from deid_runtime.evaluation.plain_words import plain_sentences
from deid_runtime.evaluation.report import Report, evaluate, plain, require_rows
from deid_runtime.evaluation.review import ErrorInContext
from deid_runtime.evaluation.significance import SHUFFLES, Difference, compare_groups
from deid_runtime.evaluation.threshold_table import ThresholdRow, threshold_tables
from deid_runtime.evaluation.token_table import tabulate
from deid_runtime.spans import Span
from deid_runtime.system.shown_ids import shown_id


@dataclass(frozen=True, slots=True)
class Against:
    """A second system on the same notes: its outcome, and the differences to the first by group and measure."""

    outcome: Totals
    differences: Mapping[str, Mapping[str, Difference]]
    shuffles: int


@dataclass(frozen=True, slots=True)
class FullReport:
    """The parts of the report page. The modules of this package explain each figure.

    ``confusion`` maps gold label to found label to tokens, with ``""`` for no label. ``thresholds`` is by head.
    ``errors`` has note text and is empty unless ``--show-text`` is given.
    """

    scores: Report
    outcome: Totals
    label_intervals: Mapping[str, LabelIntervals]
    confusion: Mapping[str, Mapping[str, int]]
    sources: Sequence[SourceRow]
    notes: Sequence[NoteErrors]
    thresholds: Mapping[str, Sequence[ThresholdRow]]
    forms: Sequence[FormRow]
    altered: Sequence[AlteredForm]
    against: Against | None = None
    errors: Sequence[ErrorInContext] = field(default=(), repr=False)
    shows_text: bool = False

    @property
    def sentences(self) -> list[str]:
        """The report in three plain sentences."""
        return plain_sentences(self.outcome)

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON values without note text; ids that could be note text are digests."""
        parts = {
            part.name: plain(getattr(self, part.name))
            for part in dataclasses.fields(self)
            if part.name not in ("scores", "notes", "errors", "shows_text", "against")
        }
        against = self.against and {
            "outcome": plain(self.against.outcome),
            "differences": plain(self.against.differences),
            "shuffles": self.against.shuffles,
        }
        notes = [{**dataclasses.asdict(note), "id": shown_id(note.id)} for note in self.notes]
        return {
            "sentences": self.sentences, "scores": self.scores.to_json(), **parts, "notes": notes, "against": against,
        }  # fmt: skip


def full_report(
    gold: Sequence[AnnotatedNote],
    found: Mapping[str, Sequence[Span]],
    *,
    quarantined: Collection[str] = (),
    altered: Sequence[AlteredForm] = (),
    against: Against | None = None,
    errors: Sequence[ErrorInContext] | None = None,
    bootstrap_resamples: int = 1_000,
) -> FullReport:
    """Score found spans against gold notes and break the scores down.

    Raises InputError like :func:`deid_runtime.evaluation.report.evaluate`.
    """
    scores = evaluate(gold, found, quarantined=quarantined, bootstrap_resamples=bootstrap_resamples)
    table = tabulate(gold, found)
    patients = patients_of(gold)
    return FullReport(
        scores=scores,
        outcome=totals(table),
        label_intervals=label_intervals(table, patients),
        confusion=confusion(table),
        sources=by_source(table),
        notes=by_note(gold, table),
        thresholds=threshold_tables(table),
        forms=by_written_form(gold, table, patients),
        altered=altered,
        against=against,
        errors=errors or (),
        shows_text=errors is not None,
    )


def compare_with(
    gold: Sequence[AnnotatedNote],
    found: Mapping[str, Sequence[Span]],
    second: Mapping[str, Sequence[Span]],
    *,
    quarantined: Collection[str] = (),
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> Against:
    """Score a second system on the same notes, and test whether the two differ.

    ``quarantined`` has the held-back notes of the second.
    Raises InputError when a gold note has no row in ``second`` and is not in its quarantine.
    """
    require_rows(gold, second, quarantined)
    return Against(
        outcome=totals(tabulate(gold, second)),
        differences=compare_groups(gold, found, second, shuffles=shuffles, seed=seed),
        shuffles=shuffles,
    )
