"""Score an attack: how many planted leaks it finds, how many guesses are right, and what random guesses would find."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from deid_runtime.audit.attack import Guesses
from deid_runtime.audit.plant import Released
from deid_runtime.evaluation.significance import Interval, bootstrap
from deid_runtime.evaluation.tokens import ratio

_RESAMPLES: Final = 1_000
_DRAWS: Final = 2_000
_CELLS: Final = 4_000_000  # of one batch of draws: limits memory
_LEVEL: Final = 0.95

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Chance:
    """The result of the same number of random guesses: mean precision, and mean and 95 % range of the leaks found."""

    tokens: int  # number of tokens to guess among
    precision: float | None
    leaks_found: float
    leaks_found_range: tuple[float, float]


@dataclass(frozen=True)
class AttackScore:
    """The score of one attack. Guesses are tokens. A leak is a span; it is found when one of its tokens is guessed.

    Intervals are 95 %, by bootstrap over patients. ``chance`` guesses among all tokens that the attacker chooses among.
    ``chance_by_look`` guesses only among those that begin with a capital or a digit. ``lift`` is the precision divided
    by that of ``chance``. ``labels`` maps a label to (leaks, leaks found).
    """

    notes: int
    patients: int
    surrogates: int
    leaks: int
    leak_values: int
    guesses: int
    right: int
    precision: float | None
    precision_interval: Interval | None
    leaks_found: int
    found: float | None
    found_interval: Interval | None
    values_found: int
    chance: Chance
    chance_by_look: Chance
    lift: float | None
    labels: dict[str, tuple[int, int]]

    def to_json(self) -> dict[str, object]:
        """Return the score as JSON values."""
        return asdict(self)


def score(released: Sequence[Released], guesses: Sequence[Guesses], *, seed: int = 0) -> AttackScore:
    """Score the guesses in each note. The same seed gives the same intervals and the same random guesses."""
    patients = [note.patient for note in released]
    by_token = np.array([_token_counts(made) for made in guesses], np.int64).reshape(-1, 3)
    found = [_found(note, made) for note, made in zip(released, guesses, strict=True)]
    by_leak = np.array([[sum(row), 0, len(row) - sum(row)] for row in found], np.int64).reshape(-1, 3)
    right, wrong, _ = by_token.sum(0).tolist()
    leaks_found, _, leaks_missed = by_leak.sum(0).tolist()
    chance = _chance(guesses, right + wrong, by_look=False, seed=seed)
    precision = ratio(right, right + wrong)
    told = [
        (note.patient or note.id, value, span.label, is_found)
        for note, row in zip(released, found, strict=True)
        for span, value, is_found in zip(note.leaks, note.leak_values, row, strict=True)
    ]
    planted = Counter(label for _, _, label, _ in told)
    exposed = Counter(label for _, _, label, is_found in told if is_found)
    return AttackScore(
        notes=len(released),
        patients=len({note.patient or note.id for note in released}),
        surrogates=sum(len(note.surrogates) for note in released),
        leaks=leaks_found + leaks_missed,
        leak_values=len({(patient, value) for patient, value, _, _ in told}),
        guesses=right + wrong,
        right=right,
        precision=precision,
        precision_interval=_interval(by_token, patients, "precision", seed),
        leaks_found=leaks_found,
        found=ratio(leaks_found, leaks_found + leaks_missed),
        found_interval=_interval(by_leak, patients, "recall", seed),
        values_found=len({(patient, value) for patient, value, _, is_found in told if is_found}),
        chance=chance,
        chance_by_look=_chance(guesses, right + wrong, by_look=True, seed=seed),
        lift=ratio(precision, chance.precision) if precision is not None and chance.precision else None,
        labels={label: (planted[label], exposed[label]) for label in sorted(planted)},
    )


def _token_counts(made: Guesses) -> tuple[int, int, int]:
    """Return numbers of tokens: guesses that are leaks, guesses that are not, and leaks that are not guessed."""
    is_leak = made.leak >= 0
    right, wrong = int((made.guessed & is_leak).sum()), int((made.guessed & ~is_leak).sum())
    return right, wrong, int(is_leak.sum()) - right


def _found(note: Released, made: Guesses) -> list[bool]:
    exposed = set(made.leak[made.guessed].tolist())
    return [place in exposed for place in range(len(note.leaks))]


def _interval(counts: IntArray, patients: Sequence[str], measure: str, seed: int) -> Interval | None:
    return bootstrap(counts, patients, resamples=_RESAMPLES, seed=seed).get(measure)


def _chance(guesses: Sequence[Guesses], count: int, *, by_look: bool, seed: int) -> Chance:
    """Return what ``count`` random guesses find; with fewer tokens than guesses, all tokens are guessed."""
    places: list[int] = []  # leak number of each leaked token, counted over all notes
    before = population = 0
    for made in guesses:
        among = made.may_be & made.looks_like if by_look else made.may_be
        population += int(among.sum())
        places += (made.leak[among & (made.leak >= 0)] + before).tolist()
        before += int(made.leak.max(initial=-1)) + 1
    leak_of = np.unique(np.array(places, np.int64), return_inverse=True)[1]
    drawn = _leaks_drawn(leak_of, population, min(count, population), seed)
    low, high = np.quantile(drawn, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]).tolist()
    return Chance(population, ratio(len(places), population), float(drawn.mean()), (low, high))


def _leaks_drawn(leak_of: IntArray, population: int, count: int, seed: int) -> IntArray:
    """Return int64 (draws,): the number of leaks with a token among ``count`` of ``population`` drawn tokens.

    ``leak_of`` has the leak of each leaked token. The number of leaked tokens drawn has a hypergeometric distribution;
    all choices of tokens are equally likely.
    """
    if not len(leak_of):
        return np.zeros(1, np.int64)
    generator = np.random.default_rng(seed)
    hits = generator.hypergeometric(len(leak_of), population - len(leak_of), count, _DRAWS)
    step = max(1, _CELLS // len(leak_of))
    found = []
    for first in range(0, _DRAWS, step):
        some = hits[first : first + step]
        ranks = generator.random((len(some), len(leak_of))).argsort(1).argsort(1)
        exposed = np.zeros((len(some), int(leak_of.max()) + 1), np.bool_)
        rows, tokens = np.nonzero(ranks < some[:, None])
        exposed[rows, leak_of[tokens]] = True
        found.append(exposed.sum(1))
    return np.concatenate(found)
