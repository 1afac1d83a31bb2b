"""Choose thresholds of the model heads on annotated notes: for a wanted recall or cost of a miss.

The notes are searched once with thresholds so low that hardly a word is dropped; the scores of the found spans then
show the result of every higher threshold (:mod:`deid_runtime.evaluation.threshold_table` explains how exactly). All
combinations of :data:`CANDIDATES` are compared.

- *Recall*: of the combinations that reach the wanted recall, over all labels and for each label with its own
  target, the one with the fewest wrong words; if none reaches it, the one that misses the fewest.
- *Cost*: the one with the lowest sum of wrong words and of missed words times the cost of a miss.

Thresholds look too good on the notes on which they were chosen. So half of the patients are also measured with the
thresholds chosen on the other half, and vice versa.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from deid_runtime.errors import InputError
from deid_runtime.evaluation.threshold_table import decided_by
from deid_runtime.evaluation.token_table import TokenTable
from deid_runtime.evaluation.tokens import IntArray, ratio
from deid_runtime.labels import HEADS, LABELS

#: The thresholds that are tried for each head; the notes are searched with the first.
CANDIDATES: Final = (0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_SCORE_STEP: Final = 1e-9  # scores are rounded when they are written


@dataclass(frozen=True, slots=True)
class Wanted:
    """The target of the thresholds: ``recall`` over all labels and ``label_recall`` by label, or the cost of a miss.

    ``cost_of_miss`` is how many wrong words a missed word is worth; with it, the recalls are ignored.
    """

    recall: float = 0.99
    label_recall: Mapping[str, float] | None = None
    cost_of_miss: float | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """Gold, missed and wrong tokens of all labels."""

    gold: int
    missed: int
    wrong: int

    @property
    def recall(self) -> float | None:
        """The share of the gold tokens that were found."""
        return ratio(self.gold - self.missed, self.gold)

    @property
    def precision(self) -> float | None:
        """The share of the found tokens that are gold."""
        return ratio(self.gold - self.missed, self.gold - self.missed + self.wrong)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Thresholds by head. ``is_reached``: whether the expected figures reach the wanted recalls.

    ``expected`` is measured on the notes the thresholds were chosen on; ``elsewhere`` on halves that were not used
    for the choice, None with a single patient.
    """

    thresholds: Mapping[str, float]
    is_reached: bool
    expected: Measured
    elsewhere: Measured | None = None


def propose(table: TokenTable, patients: IntArray, wanted: Wanted) -> Proposal:
    """Return thresholds for found spans that were searched with the lowest of :data:`CANDIDATES`.

    ``patients`` is int64 (notes,). Heads that found nothing alone are not in the proposal.

    Raises InputError when there is no gold token, or none of a label with a target.
    """
    if not table.is_gold.any():
        raise InputError("there is no annotated identifier; choosing thresholds needs some", stage="evaluate")
    for label in wanted.label_recall or ():
        if not (table.gold_label() == LABELS.index(label)).any():
            raise InputError(f"there is no annotated {label}; a target needs notes with it", stage="evaluate")
    whole = _Search(table)
    steps, is_reached = whole.best(wanted)
    names = list(HEADS)
    thresholds = {names[head]: CANDIDATES[step] for head, step in steps.items()}
    return Proposal(thresholds, is_reached, whole.measure(steps), _elsewhere(table, patients, wanted))


def _elsewhere(table: TokenTable, patients: IntArray, wanted: Wanted) -> Measured | None:
    order = np.random.default_rng(0).permutation(int(patients.max()) + 1)
    is_first = np.isin(patients, order[: len(order) // 2])
    if is_first.all() or not is_first.any():
        return None
    totals = np.zeros(3, np.int64)
    for chosen_on in (is_first, ~is_first):
        steps, _ = _Search(table.of_notes(chosen_on)).best(wanted)
        measured = _Search(table.of_notes(~chosen_on)).measure(steps)
        totals += [measured.gold, measured.missed, measured.wrong]
    return Measured(*totals.tolist())


class _Search:
    """The counts of every threshold of every head, over the tokens of one table.

    ``right`` is int64 (heads, candidates, labels), ``wrong`` int64 (heads, candidates): the tokens that the head alone
    finds. ``base_right`` int64 (labels,) and ``base_wrong`` count the tokens that no threshold decides about.
    """

    def __init__(self, table: TokenTable) -> None:
        heads, scores = decided_by(table.found_spans)
        head = np.append(heads, -1)[table.found]
        score = np.append(scores, 1.0)[table.found] + _SCORE_STEP
        label = table.gold_label()
        self.gold = np.bincount(label[table.is_gold], minlength=len(LABELS))
        fixed = table.is_found & (head < 0)
        self.base_right = np.bincount(label[fixed & table.is_gold], minlength=len(LABELS))
        self.base_wrong = int((fixed & table.is_wrong).sum())
        self.right = np.zeros((len(HEADS), len(CANDIDATES), len(LABELS)), np.int64)
        self.wrong = np.zeros((len(HEADS), len(CANDIDATES)), np.int64)
        for number in range(len(HEADS)):
            for step, threshold in enumerate(CANDIDATES):
                stays = (head == number) & (score >= threshold)
                self.right[number, step] = np.bincount(label[stays & table.is_gold], minlength=len(LABELS))
                self.wrong[number, step] = (stays & table.is_wrong).sum()
        self.heads = [number for number in range(len(HEADS)) if self.right[number].any() or self.wrong[number].any()]

    def best(self, wanted: Wanted) -> tuple[dict[int, int], bool]:
        """Return the step of each head that decides about anything, and whether the target is reached."""
        right, wrong = (
            self._sums(self.right.sum(2), int(self.base_right.sum())),
            self._sums(self.wrong, self.base_wrong),
        )
        missed = int(self.gold.sum()) - right
        if wanted.cost_of_miss is not None:
            fits = np.ones_like(missed, np.bool_)
            # Among equal costs, the one with fewer misses.
            loss = wrong + wanted.cost_of_miss * missed + missed / (1 + self.gold.sum())
        else:
            fits = right >= wanted.recall * self.gold.sum() - _SCORE_STEP
            for label, least in (wanted.label_recall or {}).items():
                at = LABELS.index(label)
                of_label = self._sums(self.right[:, :, at], int(self.base_right[at]))
                fits &= of_label >= least * self.gold[at] - _SCORE_STEP
            is_reachable = bool(fits.any())
            loss = np.where(fits, wrong, np.inf) if is_reachable else missed + wrong / (1.0 + wrong.max())
        is_reached = bool(fits.any())
        # The last of equal ones: higher thresholds change less clinical text in other notes.
        flat = loss.reshape(-1)[::-1]
        at_best = np.unravel_index(flat.size - 1 - int(flat.argmin()), loss.shape)
        return {head: int(step) for head, step in zip(self.heads, at_best, strict=True)}, is_reached

    def measure(self, steps: Mapping[int, int]) -> Measured:
        """Return the counts with these steps; other heads as searched, with the lowest candidate."""
        chosen = [(head, steps.get(head, 0)) for head in self.heads]
        right = int(self.base_right.sum()) + sum(int(self.right[head, step].sum()) for head, step in chosen)
        wrong = self.base_wrong + sum(int(self.wrong[head, step]) for head, step in chosen)
        gold = int(self.gold.sum())
        return Measured(gold, gold - right, wrong)

    def _sums(self, counts: IntArray, base: int) -> IntArray:
        """Return int64 with an axis of candidates for each deciding head: ``base`` plus the counts of all heads."""
        total = np.array(base, np.int64)
        for head in self.heads:
            total = np.add.outer(total, counts[head])
        return total


def config_text(proposal: Proposal, profile: str, comments: Sequence[str]) -> str:
    """Return a configuration file (TOML) with the thresholds, for ``--config`` of every command that detects."""
    values = ", ".join(f"{head} = {value:g}" for head, value in proposal.thresholds.items())
    lines = [*(f"# {comment}" for comment in comments), f'profile = "{profile}"', f"threshold = {{{values}}}"]
    return "\n".join(lines) + "\n"
