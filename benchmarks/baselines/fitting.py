"""What training shares among the neural baselines: a budget, a falling learning rate, early stopping."""

import copy
import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeVar

import torch
from torch import Tensor, nn

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import SourceError
from deid_runtime.evaluation.tokens import Score, token_binary
from deid_runtime.spans import Detector

_log = logging.getLogger(__name__)
_LEAST_RATE: Final = 0.01  # share of the learning rate left at the end of the budget
_Batch = TypeVar("_Batch")


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """How long and how fast to learn; the budget ends with whichever of ``tokens`` and ``minutes`` is spent first.

    Only a budget in tokens gives the same model every time.
    """

    tokens: int
    learning_rate: float
    minutes: float | None = None
    warm_up: float = 0.0  # share of the budget
    clip_norm: float = 5.0
    patience: int = 10  # passes over the notes without a better score on the held-out ones


@dataclass(frozen=True)
class Pass:
    """One pass over the training notes: what was seen until its end, and precision, recall and F1 on held-out notes."""

    tokens: int
    seconds: float
    loss: float
    precision: float
    recall: float
    f1: float


def split_patients(
    notes: Sequence[AnnotatedNote], *, share: float, seed: int
) -> tuple[list[AnnotatedNote], list[AnnotatedNote]]:
    """Return the notes to learn from and those of a ``share`` of the patients, at least one, to hold out.

    A note without patient stands for itself. Raises SourceError when no note is left to learn from.
    """
    keys = [note.patient or f"\0{note.id}" for note in notes]
    patients = sorted(set(keys))
    random.Random(seed).shuffle(patients)
    held_out = set(patients[: max(1, round(share * len(patients)))])
    split: tuple[list[AnnotatedNote], list[AnnotatedNote]] = [], []
    for key, note in zip(keys, notes, strict=True):
        split[key in held_out].append(note)
    if not split[0]:
        raise SourceError(f"{len(notes)} notes of {len(patients)} patients leave none to learn from; annotate more")
    return split


def score_detector(detector: Detector, notes: Sequence[AnnotatedNote]) -> Score:
    """Return the token-binary score of group C."""
    rows = detector([note.text for note in notes])
    return token_binary(notes, {note.id: row for note, row in zip(notes, rows, strict=True)})["C"]


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches_of_pass: Callable[[int], Iterator[tuple[_Batch, int]]],
    loss_of: Callable[[_Batch], Tensor],
    detector: Detector,
    held_out: Sequence[AnnotatedNote],
    settings: FitSettings,
) -> list[Pass]:
    """Train ``model`` in place and leave the weights of the pass that scored best on ``held_out``.

    ``batches_of_pass`` yields each batch of a pass with the tokens it counts for. A pass that the budget cuts short is
    scored as well. The learning rate rises over the warm-up and falls linearly to a hundredth.
    """
    begun = time.perf_counter()
    history: list[Pass] = []
    best = copy.deepcopy(model.state_dict())
    best_pass = -1
    seen, done = 0, 0.0
    for number in count():
        model.train()
        losses: list[float] = []
        for batch, tokens in batches_of_pass(number):
            seconds = time.perf_counter() - begun
            done = max(seen / settings.tokens, seconds / (60 * settings.minutes) if settings.minutes else 0.0)
            if done >= 1:
                break
            rising = done / settings.warm_up if settings.warm_up else 1.0
            falling = (1 - done) / (1 - settings.warm_up)
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * max(_LEAST_RATE, min(1.0, rising, falling))
            loss = loss_of(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(float(loss.detach()))
            seen += tokens
        model.eval()
        score = score_detector(detector, held_out)
        passed = Pass(
            seen,
            round(time.perf_counter() - begun, 1),
            round(sum(losses) / max(1, len(losses)), 5),
            *(round(value or 0.0, 4) for value in (score.precision, score.recall, score.f1)),
        )
        history.append(passed)
        _log.info("pass %d: %s", number, passed)
        if best_pass < 0 or passed.f1 > history[best_pass].f1:
            best, best_pass = copy.deepcopy(model.state_dict()), number
        if done >= 1 or seen >= settings.tokens or number - best_pass >= settings.patience:
            break
    model.load_state_dict(best)
    return history
