"""All tokens that a gold or a found span touches, as arrays: one pass over the notes for all breakdowns of a report.

Tokens are those of :mod:`deid_runtime.evaluation.tokens`. A token that several spans of one side touch belongs to the
first of them, as in :func:`~deid_runtime.evaluation.tokens.count_tokens`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from deid_runtime.annotations.note import AnnotatedNote, require_inside
from deid_runtime.evaluation.tokens import CLASSES, IntArray, class_of, label_tokens, token_offsets
from deid_runtime.labels import LABELS
from deid_runtime.spans import Span


@dataclass(frozen=True, slots=True, eq=False)
class TokenTable:
    """One row per token that a span touches, in the order of the notes.

    ``note`` is the index of the gold note. ``gold`` and ``found`` are indices into ``gold_spans`` and ``found_spans``;
    -1 where no span of that side touches the token. All are int64 (tokens,). The spans are those of all notes, in
    order. ``words`` is int64 (notes,): all tokens of each note, also those that no span touches.
    """

    note: IntArray
    gold: IntArray
    found: IntArray
    gold_spans: list[Span] = field(repr=False)
    found_spans: list[Span] = field(repr=False)
    gold_span_classes: IntArray
    words: IntArray

    @property
    def is_gold(self) -> npt.NDArray[np.bool_]:
        """Bool (tokens,): whether a gold span touches the token."""
        return self.gold >= 0

    @property
    def is_found(self) -> npt.NDArray[np.bool_]:
        """Bool (tokens,): whether a found span touches the token."""
        return self.found >= 0

    @property
    def is_wrong(self) -> npt.NDArray[np.bool_]:
        """Bool (tokens,): whether the token was found and is gold of no label."""
        return self.is_found & ~self.is_gold

    def gold_class(self) -> IntArray:
        """Return int64 (tokens,): the index into CLASSES of each gold token, -1 elsewhere."""
        return _take(self.gold_span_classes, self.gold)

    def gold_label(self) -> IntArray:
        """Return int64 (tokens,): the index into LABELS of each gold token, -1 elsewhere."""
        return _take(_label_indices(self.gold_spans), self.gold)

    def found_label(self) -> IntArray:
        """Return int64 (tokens,): the index into LABELS of each found token, -1 elsewhere."""
        return _take(_label_indices(self.found_spans), self.found)

    def of_notes(self, chosen: npt.NDArray[np.bool_]) -> "TokenTable":
        """Return the tokens of the notes for which ``chosen``, bool (notes,), is true. Note numbers stay."""
        rows = chosen[self.note]
        return replace(self, note=self.note[rows], gold=self.gold[rows], found=self.found[rows])


def tabulate(gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]]) -> TokenTable:
    """Return the tokens of all notes. In a note without found spans, nothing is found.

    Raises InputError when a found span ends after the end of its text.
    """
    gold_spans: list[Span] = []
    found_spans: list[Span] = []
    classes: list[int] = []
    rows: list[tuple[IntArray, IntArray]] = []
    words = np.zeros(len(gold), np.int64)
    for number, note in enumerate(gold):
        spans = sorted(found.get(note.id, ()))
        require_inside(note.id, note.text, spans, "found")
        offsets = token_offsets(note.text)
        words[number] = len(offsets)
        of_gold = label_tokens(offsets, note.spans, range(len(gold_spans), len(gold_spans) + len(note.spans)))
        of_found = label_tokens(offsets, spans, range(len(found_spans), len(found_spans) + len(spans)))
        touched = (of_gold >= 0) | (of_found >= 0)
        rows.append((of_gold[touched], of_found[touched]))
        gold_spans += note.spans
        found_spans += spans
        classes += [class_of(note.text, span) for span in note.spans]
    empty = np.zeros(0, np.int64)
    return TokenTable(
        note=np.repeat(np.arange(len(gold)), [len(row) for row, _ in rows]),
        gold=np.concatenate([empty, *(row for row, _ in rows)]),
        found=np.concatenate([empty, *(row for _, row in rows)]),
        gold_spans=gold_spans,
        found_spans=found_spans,
        gold_span_classes=np.array(classes, np.int64),
        words=words,
    )


def count_by(values: IntArray, size: int) -> list[int]:
    """Return how often each of ``0 .. size - 1`` occurs in ``values``."""
    counts: list[int] = np.bincount(values, minlength=size).tolist()
    return counts


def _label_indices(spans: Sequence[Span]) -> IntArray:
    index = {label: number for number, label in enumerate(LABELS)}
    return np.array([index[span.label] for span in spans], np.int64)


def _take(values: IntArray, rows: IntArray) -> IntArray:
    """Return ``values[rows]``, with -1 where ``rows`` is -1."""
    return np.append(values, -1)[rows]


#: Index of the label of each class: an age over 89 is an AGE.
LABEL_OF_CLASS: IntArray = np.array(
    [LABELS.index(name) if name in LABELS else LABELS.index("AGE") for name in CLASSES], np.int64
)
