r"""Token-binary and character counts of gold against found spans.

A token is a maximal run of letters or a maximal run of digits (``\d+|[^\W\d_]+``). So ``Age:39Sex:F`` has the tokens
``Age``, ``39``, ``Sex``, ``F``, and ``3/14/17`` has three tokens. A token is *gold* when a gold span touches it and
*found* when a found span touches it, whatever the labels. A gold token has the label of the first gold span that
touches it.

Of the groups A, B and C, each contains the one before it (Murugadoss et al., Patterns 2021, Table 1). For a group:

- A gold token of the group that was found is a true positive.
- A gold token of the group that was not found is a false negative.
- A found token that is gold of no label is a false positive.

Gold tokens outside the group are ignored, so a system that finds more than the group requires loses no precision.

Example::

    text    Seen 3/14 by Dr. Lindqvist in Kasson for asthma
    gold         DDDD        NNNNNNNNN    CCCCCC             DATE (A), DOCTOR (B), CITY (A)
    found        DDDD        NNNNNNNNN               NNNNNN

    tokens  Seen 3 14 by Dr Lindqvist in Kasson for asthma
    group A   true positives 2 (3, 14), false negatives 1 (Kasson), false positives 1 (asthma): P 2/3, R 2/3
    group B   one true positive more (Lindqvist):                                              P 3/4, R 3/4

Character counts are the same, with one token for each code point that is not white space.
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
#: For each code point, whether it is white space. The last element stands for all higher ones: none is white space.
_IS_WHITE_SPACE: Final = np.array([chr(code).isspace() for code in range(0x3100)], np.bool_)

#: The classes of gold tokens: the labels, and ages over 89, which are the only ages in group A.
OVER_89: Final = "AGE over 89"
CLASSES: Final[tuple[str, ...]] = (*LABELS, OVER_89)
_CLASS: Final = {name: index for index, name in enumerate(CLASSES)}

#: Group -> its classes, as indices into :data:`CLASSES`. C has all classes.
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
    """Counts of true positives, false positives and false negatives. A ratio is None when its denominator is 0."""

    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def precision(self) -> float | None:
        """The share of the found tokens that are right."""
        return ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float | None:
        """The share of the gold tokens that were found."""
        return ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        return ratio(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)


def ratio(part: float, whole: float) -> float | None:
    """Return ``part / whole``; None when ``whole`` is 0."""
    return part / whole if whole else None


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Token counts, one row per gold note, in order.

    ``hit`` and ``missed`` are int64 (notes, CLASSES): the gold tokens found and not found, by gold class. ``right`` and
    ``wrong`` are int64 (notes, LABELS): the found tokens that are gold of any label and of none. Their label is that of
    the first found span that touches them. The sums of ``hit`` and ``right`` are equal.
    """

    hit: IntArray
    missed: IntArray
    right: IntArray
    wrong: IntArray

    def rows(self, chosen: npt.NDArray[np.bool_]) -> "Counts":
        """Return the counts of the notes for which ``chosen``, bool (notes,), is true."""
        return Counts(self.hit[chosen], self.missed[chosen], self.right[chosen], self.wrong[chosen])

    def by_note(self, group: str) -> IntArray:
        """Return int64 (notes, 3): true positives, false positives and false negatives of a group in each note."""
        classes = GROUPS[group]
        return np.stack(
            [self.hit[:, classes].sum(1), self.wrong.sum(1), self.missed[:, classes].sum(1)], axis=1, dtype=np.int64
        )

    def score(self, group: str) -> Score:
        """Return the score of a group over all notes."""
        true_positives, false_positives, false_negatives = self.by_note(group).sum(0).tolist()
        return Score(true_positives, false_positives, false_negatives)


def token_binary(gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]]) -> dict[str, Score]:
    """Return the token-binary scores of groups ``"A"``, ``"B"``, ``"C"``.

    In a note without found spans, all is missed.
    """
    counts = count_tokens(gold, found)
    return {group: counts.score(group) for group in GROUPS}


def count_tokens(
    gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]], *, token: re.Pattern[str] = TOKEN
) -> Counts:
    """Count gold against found tokens. A token is a match of ``token``; spans may be in any order.

    Raises InputError when a found span ends after the end of its text.
    """
    counts = Counts(*(np.zeros((len(gold), len(names)), np.int64) for names in (CLASSES, CLASSES, LABELS, LABELS)))
    for row, note in enumerate(gold):
        spans = sorted(found.get(note.id, ()))
        require_inside(note.id, note.text, spans, "found")
        offsets = token_offsets(note.text, token)
        gold_class = label_tokens(offsets, note.spans, [class_of(note.text, span) for span in note.spans])
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
    if token is CHARACTER:  # a million matches take seconds
        starts = np.flatnonzero(is_visible(text))
        return np.stack([starts, starts + 1], axis=1)
    return np.array([match.span() for match in token.finditer(text)], np.int64).reshape(-1, 2)


def is_visible(text: str) -> npt.NDArray[np.bool_]:
    """Return bool (code points,): whether each code point of a text is not white space."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    is_white_space: npt.NDArray[np.bool_] = _IS_WHITE_SPACE[np.minimum(codes, len(_IS_WHITE_SPACE) - 1)]
    return ~is_white_space


def label_tokens(offsets: IntArray, spans: Sequence[Span], values: Sequence[int]) -> IntArray:
    """Return int64 (tokens,): the value of the first of ``spans``, as ordered, that touches each token; -1 for none."""
    labels = np.full(len(offsets), -1, np.int64)
    starts = np.array([span.start for span in spans], np.int64)
    ends = np.array([span.end for span in spans], np.int64)
    # the first token that ends after the span start
    firsts = np.searchsorted(offsets[:, 1], starts, side="right").tolist()
    # the first token that starts at or after the span end
    lasts = np.searchsorted(offsets[:, 0], ends, side="left").tolist()
    for first, last, value in reversed(list(zip(firsts, lasts, values, strict=True))):
        labels[first:last] = value
    return labels


def class_of(text: str, span: Span) -> int:
    """Return the class of a gold span, as an index into :data:`CLASSES`: its label, or an age over 89."""
    if span.label == "AGE":
        years = age_years(text[span.start : span.end])
        return _CLASS[OVER_89 if group_of("AGE", age_years=years) == "A" else "AGE"]
    return _CLASS[span.label]
