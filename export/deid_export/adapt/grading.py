"""Grade one version of a head on the dev split, and choose the versions that serve.

A version is graded alone, on every word of the dev split. A word is *gold* when a span with a label of the head touches
it, and *found* when its score reaches the threshold. A found word with a gold label of another head counts neither for
nor against the version, because the ensemble is a union and must find that word anyway. A found word without any gold
label is wrong.

The merit of a version is its F-beta with beta 2, at the threshold where it is highest. Recall weighs four times as much
as precision. The best two versions serve. Diversity only decides ties: when two versions have the same merit to
:data:`DIGITS` digits, the one that shares fewer errors with the best version is chosen beside it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deid_export.adapt.registry import SERVED, Version
from deid_runtime.models.engines import TokenScores
from deid_runtime.models.tagger import combine

BETA: Final = 2.0
DIGITS: Final = 4
THRESHOLDS: Final = (0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.04)
#: Values of :attr:`HeadWords.gold`.
NONE, OWN, OTHER = 0, 1, 2


@dataclass(frozen=True, eq=False)
class HeadWords:
    """The dev words of one head: ``scores`` float16 1 - P(O); ``gold`` uint8, NONE, OWN or OTHER."""

    scores: NDArray[np.float16]
    gold: NDArray[np.uint8]

    def found(self, threshold: float) -> NDArray[np.bool_]:
        """Return bool (words,), true for words found at ``threshold``."""
        above: NDArray[np.bool_] = self.scores.astype(np.float32) >= threshold
        return above

    def errors(self, threshold: float) -> NDArray[np.bool_]:
        """Return bool (words,), true for words missed or wrong at ``threshold``."""
        found = self.found(threshold)
        wrong: NDArray[np.bool_] = np.where(self.gold == OWN, ~found, found & (self.gold == NONE))
        return wrong


@dataclass(frozen=True, slots=True)
class Reached:
    """Precision, recall and merit of a head at one threshold."""

    threshold: float
    precision: float
    recall: float
    merit: float


def f_beta(precision: float, recall: float, beta: float = BETA) -> float:
    """Return the F-beta score: recall weighs ``beta`` squared times as much as precision; 0 when both are 0."""
    below = beta * beta * precision + recall
    return (1 + beta * beta) * precision * recall / below if below else 0.0


def reached(words: HeadWords, threshold: float) -> Reached:
    """Return precision, recall and merit of a head at ``threshold``."""
    found = words.found(threshold)
    hits = int((found & (words.gold == OWN)).sum())
    wrong = int((found & (words.gold == NONE)).sum())
    precision, recall = hits / max(1, hits + wrong), hits / max(1, int((words.gold == OWN).sum()))
    return Reached(threshold, precision, recall, f_beta(precision, recall))


def best_threshold(words: HeadWords) -> Reached:
    """Return the figures at the best threshold of :data:`THRESHOLDS`; among equals, the highest threshold."""
    return max((reached(words, threshold) for threshold in THRESHOLDS), key=lambda found: found.merit)


def combined(several: Sequence[HeadWords]) -> HeadWords:
    """Return the words of one head with the scores of its versions combined as they serve."""
    answers = [
        TokenScores(np.zeros(len(words.scores), dtype=np.uint8), words.scores.astype(np.float32)) for words in several
    ]
    return HeadWords(combine(answers).scores.astype(np.float16), several[0].gold)


def pick(versions: Sequence[Version], words_of: Callable[[Version], HeadWords]) -> tuple[str, ...]:
    """Return the names of the best versions of one head, at most :data:`SERVED`, best first.

    All versions are graded on the same dev notes. Between equal versions, the older one ranks first.
    """
    ranked = sorted(versions, key=lambda version: -_merit(version))  # stable sort: oldest first among equals
    taken = ranked[:1]
    while len(taken) < min(SERVED, len(ranked)):
        rest = [version for version in ranked if version not in taken]
        ties = [version for version in rest if _merit(version) == _merit(rest[0])]
        taken.append(min(ties, key=lambda version: _shared_errors(version, taken, words_of)) if ties[1:] else rest[0])
    return tuple(version.name for version in taken)


def _merit(version: Version) -> float:
    assert version.grade is not None
    return round(version.grade.merit, DIGITS)


def _shared_errors(version: Version, taken: Sequence[Version], words_of: Callable[[Version], HeadWords]) -> int:
    """Return the number of words that this version and all ``taken`` versions get wrong."""
    common: NDArray[np.bool_] | None = None
    for each in (version, *taken):
        assert each.grade is not None
        errors = words_of(each).errors(each.grade.threshold)
        common = errors if common is None else common & errors
    return 0 if common is None else int(common.sum())


def write_words(path: Path, words: HeadWords) -> None:
    """Write the scores of one version for :func:`read_words`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial.npz")
    np.savez_compressed(temporary, scores=words.scores, gold=words.gold)
    temporary.replace(path)


def read_words(path: Path) -> HeadWords:
    """Read a file of :func:`write_words`."""
    with np.load(path) as stored:
        return HeadWords(stored["scores"], stored["gold"])
