"""Guess the leaks in de-identified notes, with a tagger trained on notes of other patients of the same release.

There are two attackers, with different knowledge:

``insider``  knows which spans are surrogates, as the de-identifying organisation does. It learns the surrogates and
             guesses that other spans that the tagger finds are leaks. Nobody outside can do this: use it to audit your
             own release.
``parrot``   is Carrell's attacker and has only the text. It marks and learns everything that looks like an identifier,
             surrogate or not. It guesses that the marks which the tagger does not find again are leaks. (Here the marks
             are perfect.) It succeeds when the detector missed what no tagger would learn to find.
"""

import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from deid_runtime.audit.crf import CrfSettings, load, train
from deid_runtime.audit.plant import Released
from deid_runtime.errors import SourceError
from deid_runtime.evaluation.tokens import label_tokens, token_offsets
from deid_runtime.labels import HEAD_OF, HEADS
from deid_runtime.spans import Span

Attacker = Literal["insider", "parrot"]
BoolArray = npt.NDArray[np.bool_]

#: Label -> the first label of its class.
_LABEL_OF: Final = {label: HEADS[head][0] for label, head in HEAD_OF.items()}


@dataclass(frozen=True, kw_only=True)
class AttackSettings:
    """How an attacker works. Cross-fitted: the tagger that attacks a note saw no note of its patient."""

    attacker: Attacker = "insider"
    folds: int = 2
    iterations: int = 60  # of the CRF; with fewer it finds fewer leaks
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Guesses:
    """The guesses in one note by token, which is a run of letters or of digits: bool (tokens,) each.

    The attacker chooses among the tokens ``may_be`` and chose the tokens ``guessed``. Tokens in ``looks_like`` begin
    with a capital or a digit. ``leak`` is int64 (tokens,): the index of the token's leak in the note's leaks, -1 for
    none.
    """

    may_be: BoolArray
    guessed: BoolArray
    looks_like: BoolArray
    leak: npt.NDArray[np.int64]


def attack(released: Sequence[Released], settings: AttackSettings) -> list[Guesses]:
    """Return the guesses in each note, in order.

    Raises SourceError when there are fewer patients than folds, or no spans to learn from.
    """
    found = _cross_fit(released, settings)
    return [_guesses(note, spans, settings.attacker) for note, spans in zip(released, found, strict=True)]


def candidates(note: Released, guesses: Guesses) -> list[tuple[int, int]]:
    """Return the half-open offsets of the guesses of a note; adjacent guessed tokens on one line are joined."""
    offsets = token_offsets(note.text)
    stretches: list[tuple[int, int]] = []
    last = -2
    for token in np.flatnonzero(guesses.guessed).tolist():
        start, end = offsets[token].tolist()
        if token == last + 1 and "\n" not in note.text[stretches[-1][1] : start]:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
        last = token
    return stretches


def fold_of_patients(patients: Sequence[str], folds: int, seed: int) -> list[int]:
    """Return the fold of each note by its patient, from 0. The seed shuffles the patients.

    Raises SourceError when there are fewer patients than folds.
    """
    order = sorted(set(patients))
    if len(order) < folds:
        raise SourceError(
            f"{len(order)} patients for {folds} folds; an attack needs at least one patient for each fold"
        )
    random.Random(f"{seed}-folds").shuffle(order)
    fold_of = {patient: place % folds for place, patient in enumerate(order)}
    return [fold_of[patient] for patient in patients]


def _cross_fit(released: Sequence[Released], settings: AttackSettings) -> list[list[Span]]:
    """Return the spans that taggers trained on the notes of other patients find in each note."""
    folds = fold_of_patients([note.patient or f"\0{note.id}" for note in released], settings.folds, settings.seed)
    found: list[list[Span]] = [[] for _ in released]
    for fold in range(settings.folds):
        learnt = [_learnt(note, settings.attacker) for note, own in zip(released, folds, strict=True) if own != fold]
        if not any(spans for _, spans in learnt):
            raise SourceError("the notes have no surrogate to learn from; expected the spans of the new text")
        attacked = [place for place, own in enumerate(folds) if own == fold]
        # The model contains words of the notes: keep it in a temporary folder that only its owner can read.
        with tempfile.TemporaryDirectory() as folder:
            train(learnt, CrfSettings(iterations=settings.iterations), Path(folder))
            rows = load(Path(folder))([released[place].text for place in attacked])
        for place, row in zip(attacked, rows, strict=True):
            found[place] = row
    return found


def _learnt(note: Released, attacker: Attacker) -> tuple[str, list[Span]]:
    """Return a training text with its spans. One label per entity class is enough, and 20 times faster to learn."""
    return note.text, [Span(span.start, span.end, _LABEL_OF[span.label]) for span in _marks(note, attacker)]


def _marks(note: Released, attacker: Attacker) -> tuple[Span, ...]:
    return note.surrogates if attacker == "insider" else tuple(sorted((*note.surrogates, *note.leaks)))


def _guesses(note: Released, found: Sequence[Span], attacker: Attacker) -> Guesses:
    offsets = token_offsets(note.text)

    def touched(spans: Sequence[Span]) -> BoolArray:
        is_touched: BoolArray = label_tokens(offsets, spans, [0] * len(spans)) >= 0
        return is_touched

    is_found, marked = touched(found), touched(_marks(note, attacker))
    may_be = ~marked if attacker == "insider" else marked
    looks_like = np.array([_looks_like(note.text[start]) for start, _ in offsets.tolist()], np.bool_)
    leak = label_tokens(offsets, note.leaks, range(len(note.leaks)))
    return Guesses(may_be, may_be & (is_found if attacker == "insider" else ~is_found), looks_like, leak)


def _looks_like(character: str) -> bool:
    return character.isupper() or character.isdigit()
