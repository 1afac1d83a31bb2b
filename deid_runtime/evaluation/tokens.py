r"""Token-binary and character counts of gold against found spans.

A token is a maximal run of letters or a maximal run of digits (``\d+|[^\W\d_]+``), so ``Age:39Sex:F`` holds ``Age``,
``39``, ``Sex``, ``F``, and ``3/14/17`` holds three tokens. A token is *gold* when a gold span touches it and *found*
when a found span touches it, whatever the labels. A gold token has the label of the first gold span that touches it.

Groups A, B, C each hold the smaller ones (Murugadoss et al., Patterns 2021, Table 1). For a group: a gold token of the
group that was found is a true positive, one that was not is a false negative, and a found token that is gold of no
label at all is a false positive. Gold tokens outside the group count neither for nor against it, so that finding more
than the group asks for costs no precision.

Example::

    text    Seen 3/14 by Dr. Lindqvist in Kasson for asthma
    gold         DDDD        NNNNNNNNN    CCCCCC             DATE (A), DOCTOR (B), CITY (A)
    found        DDDD        NNNNNNNNN               NNNNNN

    tokens  Seen 3 14 by Dr Lindqvist in Kasson for asthma
    group A   true positives 2 (3, 14), false negatives 1 (Kasson), false positives 1 (asthma): P 2/3, R 2/3
    group B   one true positive more (Lindqvist):                                              P 3/4, R 3/4

Character counts are the same thing with one token for each code point that is not white space.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from deid_runtime.annotations.note import AnnotatedNote, require_inside
from deid_runtime.evaluation.ages import age_years
from deid_runtime.labels import LABELS, group_of
from deid_runtime.spans import Span

IntArray = npt.NDArray[np.int64]

TOKEN: Final = re.compile(r"\d+|[^\W\d_]+")
CHARACTER: Final = re.compile(r"\S")

#: What gold tokens are counted by: the labels, then ages over 89, which alone among the ages are in group A.
OVER_89: Final = "AGE over 89"
CLASSES: Final[tuple[str, ...]] = (*LABELS, OVER_89)
_CLASS: Final = {name: index for index, name in enumerate(CLASSES)}

#: Group to the classes in it, as indices into :data:`CLASSES`. C holds all.
GROUPS: Final[Mapping[str, list[int]]] = {
    group: [
        index
        for index, name in enumerate(CLASSES)
        if (group_of("AGE", age_years=90) if name == OVER_89 else group_of(name)) <= group
    ]
    for group in "ABC"
}


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of true positives, false positives and false negatives; the ratios are None where nothing was counted."""

    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def precision(self) -> float | None:
        """The share of what was found that is right."""
        return ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float | None:
        """The share of what is there that was found."""
        return ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two."""
        return ratio(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)


def ratio(part: float, whole: float) -> float | None:
    """Return ``part / whole``, None for a whole of 0."""
    return part / whole if whole else None


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Token counts, one row per gold note in order.

    ``hit`` and ``missed`` are (notes, CLASSES): gold tokens by their gold class, found and not found. ``right`` and
    ``wrong`` are (notes, LABELS): found tokens by the label of the first found span that touches them, gold of any
    label and gold of none. The sums of ``hit`` and ``right`` are equal.
    """

    hit: IntArray
    missed: IntArray
    right: IntArray
    wrong: IntArray

    def rows(self, chosen: npt.NDArray[np.bool_]) -> "Counts":
        """Return the counts of the notes where ``chosen``, bool (notes,), is true."""
        return Counts(self.hit[chosen], self.missed[chosen], self.right[chosen], self.wrong[chosen])

    def by_note(self, group: str) -> IntArray:
        """Return (notes, 3): true positives, false positives, false negatives of a group for each note."""
        classes = GROUPS[group]
        return np.stack(
            [self.hit[:, classes].sum(1), self.wrong.sum(1), self.missed[:, classes].sum(1)], axis=1, dtype=np.int64
        )

    def score(self, group: str) -> Score:
        """Return the score of a group over all notes."""
        true_positives, false_positives, false_negatives = self.by_note(group).sum(0).tolist()
        return Score(true_positives, false_positives, false_negatives)


def token_binary(gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]]) -> dict[str, Score]:
    """Return the token-binary score of groups ``"A"``, ``"B"``, ``"C"``; a note without found spans is all missed."""
    counts = count_tokens(gold, found)
    return {group: counts.score(group) for group in GROUPS}


def count_tokens(
    gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]], *, token: re.Pattern[str] = TOKEN
) -> Counts:
    """Count gold against found tokens, where a token is what ``token`` matches; spans come in any order.

    Raises InputError when a found span ends behind its text.
    """
    counts = Counts(*(np.zeros((len(gold), len(names)), np.int64) for names in (CLASSES, CLASSES, LABELS, LABELS)))
    for row, note in enumerate(gold):
        spans = sorted(found.get(note.id, ()))
        require_inside(note.id, note.text, spans, "found")
        offsets = token_offsets(note.text, token)
        gold_class = label_tokens(offsets, note.spans, [_class_of(note.text, span) for span in note.spans])
        found_label = label_tokens(offsets, spans, [_CLASS[span.label] for span in spans])
        is_gold, is_found = gold_class >= 0, found_label >= 0
        for target, values in (
            (counts.hit, gold_class[is_gold & is_found]),
            (counts.missed, gold_class[is_gold & ~is_found]),
            (counts.right, found_label[is_gold & is_found]),
            (counts.wrong, found_label[~is_gold & is_found]),
        ):
            target[row] = np.bincount(values, minlength=target.shape[1])
    return counts


def token_offsets(text: str, token: re.Pattern[str] = TOKEN) -> IntArray:
    """Return int64 (tokens, 2): the half-open offsets of the tokens of a text, in order."""
    return np.array([match.span() for match in token.finditer(text)], np.int64).reshape(-1, 2)


def label_tokens(offsets: IntArray, spans: Sequence[Span], values: Sequence[int]) -> IntArray:
    """Return int64 (tokens,): the value of the first span, as ordered, that touches each token; -1 where none does."""
    labels = np.full(len(offsets), -1, np.int64)
    starts = np.array([span.start for span in spans], np.int64)
    ends = np.array([span.end for span in spans], np.int64)
    firsts = np.searchsorted(offsets[:, 1], starts, side="right").tolist()  # the first token that ends behind the start
    lasts = np.searchsorted(offsets[:, 0], ends, side="left").tolist()  # the first token that starts behind the end
    for first, last, value in reversed(list(zip(firsts, lasts, values, strict=True))):
        labels[first:last] = value
    return labels


def _class_of(text: str, span: Span) -> int:
    if span.label == "AGE":
        years = age_years(text[span.start : span.end])
        return _CLASS[OVER_89 if group_of("AGE", age_years=years) == "A" else "AGE"]
    return _CLASS[span.label]
