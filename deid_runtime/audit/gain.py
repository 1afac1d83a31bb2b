"""Measure how much better than chance an attacker is, with an interval, and whether a release passes the gate.

The gain is the precision of the attacker divided by that of a random guesser who marks as many words among the same
words: (right guesses / guesses) / (leaked words / all words). 1 is chance. Its interval is by bootstrap over patients:
words of one patient are not independent.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from deid_runtime.audit.attack import Guesses
from deid_runtime.audit.plant import Released
from deid_runtime.evaluation.significance import Interval
from deid_runtime.evaluation.tokens import label_tokens, token_offsets

#: ``pass``: the whole interval is at most the gain allowed. ``fail``: the gain is more. ``not shown``: neither, because
#: the interval is too wide, or there is no guess or no leak.
GainVerdict = Literal["pass", "fail", "not shown"]

#: The default of the gain that is allowed.
MAX_GAIN: Final = 1.2
_RESAMPLES: Final = 2_000
_LEVEL: Final = 0.95
_CELLS: Final = 8_000_000  # of one batch of resamples (resamples x patients): limits memory

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gain:
    """Counts of words over all draws of leaks, and the gain; None where it is undefined. The interval is 95 %."""

    draws: int
    patients: int
    words: int
    leaked: int
    guesses: int
    right: int
    precision: float | None
    chance: float | None
    gain: float | None
    interval: Interval | None

    def verdict(self, max_gain: float) -> GainVerdict:
        """Return whether the attacker stays within ``max_gain``. Without proof it is not ``pass``."""
        if self.gain is None or self.interval is None:
            return "not shown"
        if self.gain > max_gain:
            return "fail"
        return "pass" if self.interval.high <= max_gain else "not shown"

    def to_json(self) -> dict[str, object]:
        """Return the gain as JSON values."""
        return asdict(self)


def measure_gain(draws: Sequence[tuple[Sequence[Released], Sequence[Guesses]]], *, seed: int = 0) -> Gain:
    """Return the gain over all ``draws``, releases of the same notes with different leaks and the guesses in each.

    The same seed gives the same interval. ``draws`` must not be empty.
    """
    names = [note.patient or f"\0{note.id}" for note in draws[0][0]]
    members = np.unique(names, return_inverse=True)[1]
    counts = np.zeros((int(members.max(initial=-1)) + 1, 4), np.int64)
    for _, guesses in draws:
        np.add.at(counts, members, np.array([_counts(made) for made in guesses], np.int64).reshape(-1, 4))
    right, guessed, leaked, words = counts.sum(0).tolist()
    return Gain(
        draws=len(draws),
        patients=len(counts),
        words=words,
        leaked=leaked,
        guesses=guessed,
        right=right,
        precision=right / guessed if guessed else None,
        chance=leaked / words if words else None,
        gain=right * words / (guessed * leaked) if guessed and leaked else None,
        interval=_interval(counts, seed),
    )


def within(released: Sequence[Released], guesses: Sequence[Guesses], labels: Collection[str]) -> list[Guesses]:
    """Return only the guesses among words of marks with one of ``labels``, as if there were no other words."""
    rows = []
    for note, made in zip(released, guesses, strict=True):
        marks = sorted(span for span in (*note.surrogates, *note.leaks))
        is_wanted = [int(span.label in labels) for span in marks]
        inside = label_tokens(token_offsets(note.text), marks, is_wanted) == 1
        rows.append(replace(made, may_be=made.may_be & inside, guessed=made.guessed & inside))
    return rows


def _counts(made: Guesses) -> tuple[int, int, int, int]:
    """Return numbers of tokens: right guesses, guesses, leaked and all, of those that the attacker chooses among."""
    is_leak, guessed = (made.leak >= 0) & made.may_be, made.guessed & made.may_be
    return int((guessed & is_leak).sum()), int(guessed.sum()), int(is_leak.sum()), int(made.may_be.sum())


def _interval(counts: IntArray, seed: int) -> Interval | None:
    """Return the percentile interval of the gain over patients drawn with replacement; ``counts`` is (patients, 4)."""
    size = len(counts)
    if size < 2:
        return None
    generator = np.random.default_rng(seed)
    step = max(1, _CELLS // size)
    gains = []
    for first in range(0, _RESAMPLES, step):
        drawn = generator.multinomial(size, np.full(size, 1 / size), size=min(step, _RESAMPLES - first))
        right, guessed, leaked, words = (drawn.astype(np.float64) @ counts.astype(np.float64)).T
        with np.errstate(invalid="ignore", divide="ignore"):
            gains.append(right * words / (guessed * leaked))
    values: FloatArray = np.concatenate(gains)
    known = values[np.isfinite(values)]
    # Resamples without a guess or a leak have no gain; if there are many of them, the interval would be too narrow.
    if len(known) < _LEVEL * len(values):
        return None
    low, high = np.quantile(known, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]).tolist()
    return Interval(low, high)
