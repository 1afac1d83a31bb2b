"""Measure how far two annotators agree on the same notes: Cohen's kappa in tokens, with intervals over patients.

Kappa is the agreement beyond chance, 1 for full agreement and 0 for chance agreement (Cohen 1960): ``(a - c) / (1 -
c)``, where ``a`` is the share of tokens with the same answer and ``c`` the share expected from how often each annotator
gives each answer. The answer of an annotator on a token is the label of the first span that touches it, or none. Three
kinds:

- *identifier or not*: any label against none;
- *label*: all labels and none as separate answers;
- per label: this label against everything else.

It comes with the counts that a review needs: tokens marked by both, only by the first, only by the second, and the
share of equal spans (F1 of one against the other, the same in either order), because kappa hardly falls when most
tokens are ordinary words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.evaluation.breakdown import patients_of
from deid_runtime.evaluation.significance import Interval
from deid_runtime.evaluation.tokens import IntArray, label_tokens, ratio, token_offsets
from deid_runtime.labels import LABELS
from deid_runtime.system.shown_ids import shown_id

_NONE: Final = len(LABELS)
_ANSWERS: Final = _NONE + 1
_NAMED_IDS: Final = 5

#: Names for values of kappa, from Landis and Koch (1977): lowest kappa, word.
STRENGTHS: Final = (
    (0.81, "almost perfect"), (0.61, "substantial"), (0.41, "moderate"), (0.21, "fair"), (0.0, "slight"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kappa:
    """One kappa, None when both annotators gave only one answer, with its interval and the counts of marked tokens."""

    kappa: float | None
    interval: Interval | None
    both: int
    first_only: int
    second_only: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two annotators. ``first_alone`` and ``second_alone`` count notes that only one of them read.

    ``span_f1`` is the share of spans with equal label, start and end.
    """

    notes: int
    tokens: int
    first_alone: int
    second_alone: int
    identifier: Kappa
    label: Kappa
    labels: Mapping[str, Kappa]
    span_f1: float | None


def agreement(
    first: Sequence[AnnotatedNote], second: Sequence[AnnotatedNote], *, resamples: int = 1_000, seed: int = 0
) -> Agreement:
    """Return the agreement on the notes that both annotated. The intervals are from a bootstrap over patients.

    Raises InputError when no note has the same id in both, or the two texts of a note differ.
    """
    others = {note.id: note for note in second}
    pairs = [(note, others[note.id]) for note in first if note.id in others]
    if not pairs:
        raise InputError("no note has the same id on both sides; expected two annotations of the same notes")
    differing = [note.id for note, other in pairs if note.text != other.text]
    if differing:
        more = f" and {len(differing) - _NAMED_IDS} more" if len(differing) > _NAMED_IDS else ""
        raise InputError(
            f"the texts of {len(differing)} notes differ between the annotators: "
            f"{', '.join(map(shown_id, differing[:_NAMED_IDS]))}{more}; expected annotations of the same text"
        )
    patients = patients_of([note for note, _ in pairs])
    counts = np.zeros((int(patients.max()) + 1, _ANSWERS, _ANSWERS), np.int64)
    equal = 0
    for (note, other), patient in zip(pairs, patients.tolist(), strict=True):
        offsets = token_offsets(note.text)
        np.add.at(counts[patient], (_answers(offsets, note), _answers(offsets, other)), 1)
        equal += len(_keys(note) & _keys(other))
    draws = np.random.default_rng(seed).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=resamples)
    marked = [label for index, label in enumerate(LABELS) if counts[:, index, :].any() or counts[:, :, index].any()]
    spans = sum(len(_keys(note)) + len(_keys(other)) for note, other in pairs)
    return Agreement(
        notes=len(pairs),
        tokens=int(counts.sum()),
        first_alone=len(first) - len(pairs),
        second_alone=len(second) - len(pairs),
        identifier=_kappa(_merged(counts, range(_NONE)), draws),
        label=_kappa(counts, draws),
        labels={label: _kappa(_merged(counts, [LABELS.index(label)]), draws) for label in marked},
        span_f1=ratio(2 * equal, spans),
    )


def strength(kappa: float | None) -> str:
    """Return the word of :data:`STRENGTHS` for a kappa; below 0 ``"none"``, for None ``"not defined"``."""
    if kappa is None:
        return "not defined"
    return next((word for least, word in STRENGTHS if kappa >= least), "none")


def _answers(offsets: IntArray, note: AnnotatedNote) -> IntArray:
    spans = sorted(note.spans)
    given = label_tokens(offsets, spans, [LABELS.index(span.label) for span in spans])
    return np.where(given < 0, _NONE, given)


def _keys(note: AnnotatedNote) -> set[tuple[int, int, str]]:
    return {(span.start, span.end, span.label) for span in note.spans}


def _merged(counts: IntArray, labels: Sequence[int]) -> IntArray:
    """Return int64 (patients, 2, 2): answers in ``labels`` as the first, all others as the second."""
    group = np.ones(_ANSWERS, np.int64)
    group[list(labels)] = 0
    merged = np.zeros((len(counts), 2, 2), np.int64)
    for first in (0, 1):
        for second in (0, 1):
            merged[:, first, second] = counts[:, group == first][:, :, group == second].sum((1, 2))
    return merged


def _kappa(counts: IntArray, draws: IntArray) -> Kappa:
    """Return the kappa of int64 (patients, answers, answers); the last answer is the absence of a mark."""
    whole = counts.sum(0)
    [value] = _kappas(whole[None].astype(np.float64)).tolist()
    size = counts.shape[1]
    drawn = _kappas((draws @ counts.reshape(len(counts), -1)).reshape(-1, size, size).astype(np.float64))
    known = drawn[~np.isnan(drawn)]
    interval = Interval(*np.quantile(known, [0.025, 0.975]).tolist()) if known.size and value == value else None
    return Kappa(
        kappa=None if np.isnan(value) else value,
        interval=interval,
        both=int(whole[:-1, :-1].sum()),
        first_only=int(whole[:-1, -1].sum()),
        second_only=int(whole[-1, :-1].sum()),
    )


def _kappas(tables: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return float64 (n,): the kappa of each of (n, answers, answers); NaN where chance agreement is 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = tables.sum((1, 2))
        agreed = np.trace(tables, axis1=1, axis2=2) / whole
        chance = (tables.sum(2) * tables.sum(1)).sum(1) / whole**2
        kappas: npt.NDArray[np.float64] = (agreed - chance) / (1 - chance)
    return np.where(chance < 1, kappas, np.nan)
