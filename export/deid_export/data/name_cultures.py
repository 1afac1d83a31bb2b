"""Infer the naming culture of a name from its letters: one character model for each culture.

Census lists do not give a culture. The model of a culture gives the probability of each next letter after up to three
letters (Witten and Bell, "The zero-frequency problem", 1991: interpolated estimates). The culture with the highest
posterior probability wins.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_ORDER = 3  # letters before the predicted one
_LETTERS = 30  # about as many letters as follow an unknown context


class CultureModel:
    """Character models of several cultures. Names are normal forms: lower case, letters only."""

    def __init__(self, named: Iterable[tuple[str, str]], priors: Mapping[str, float]) -> None:
        """Train on (normal form, culture). ``priors`` are weights of cultures; one that it lacks has the weight 1."""
        rows = sorted(set(named))
        self.cultures = sorted({culture for _, culture in rows})
        self._place = {culture: place for place, culture in enumerate(self.cultures)}
        self._prior = np.log(np.array([priors.get(culture, 1.0) for culture in self.cultures]))
        self._counts: defaultdict[str, Counter[tuple[int, str]]] = defaultdict(Counter)
        for form, culture in rows:
            text = "^" * _ORDER + form + "$"
            for at in range(_ORDER, len(text)):
                for size in range(_ORDER + 1):
                    self._counts[text[at - size : at]][self._place[culture], text[at]] += 1
        self.letter = lru_cache(maxsize=200_000)(self._letter)

    def _letter(self, before: str, letter: str) -> NDArray[np.float64]:
        """Return float64 (cultures,): the probability of ``letter`` after ``before`` in each culture."""
        shorter = self.letter(before[1:], letter) if before else np.full(len(self.cultures), 1 / _LETTERS)
        seen, of_letter, kinds = (np.zeros(len(self.cultures)) for _ in range(3))
        for (place, following), count in self._counts.get(before, {}).items():
            seen[place] += count
            kinds[place] += 1
            if following == letter:
                of_letter[place] = count
        return (of_letter + kinds * shorter + 1e-9) / (seen + kinds + 1e-9 / shorter)

    def scores(self, form: str) -> NDArray[np.float64]:
        """Return float64 (cultures,): the log posterior of each culture, up to a constant."""
        text = "^" * _ORDER + form + "$"
        total = self._prior.copy()
        for at in range(_ORDER, len(text)):
            total += np.log(self.letter(text[at - _ORDER : at], text[at]))
        return np.asarray(total, dtype=np.float64)

    def likely(self, form: str, among: Collection[str] = ()) -> str:
        """Return the most likely culture of ``form``; with ``among``, only one of these."""
        scores = self.scores(form)
        if among:
            barred = [place for place, culture in enumerate(self.cultures) if culture not in among]
            scores[barred] = -np.inf
        return self.cultures[int(scores.argmax())]

    def lead(self, form: str) -> float:
        """Return by how much the best culture scores above the second one (nats)."""
        second, first = np.sort(self.scores(form))[-2:]
        return float(first - second)

    def margin(self, form: str, first: Collection[str], second: Collection[str]) -> float:
        """Return by how much the best culture of ``first`` scores above the best one of ``second`` (nats)."""
        scores = dict(zip(self.cultures, self.scores(form), strict=True))
        best_of = [max((scores[one] for one in some if one in scores), default=-1e9) for some in (first, second)]
        return float(best_of[0] - best_of[1])
