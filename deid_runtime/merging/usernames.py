"""Find usernames built from the names in a note: ``kostrowe2`` for *Katya Ostrowe*, ``OSTROWEK1``, ``dmcgriff``.

Hospitals build usernames from an initial and the family name, whole or cut off, often followed by digits.

When the note has only the family name (*Dr. Ostrowe*), any letter before the whole family name counts as the initial.
Such a username needs digits after it: without digits, ``fevers`` would match *Dr. Evers*. Short family names need
digits too: ``chart`` is not *Carol Hart*, and ``shunt`` is not *Sol Hunt*.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from deid_runtime.lexicon.name_cues import PARTICLES, fold, is_name_first, is_ordinary
from deid_runtime.spans import Span

_LABEL: Final = "USERNAME"
_BETWEEN_NAMES: Final = re.compile(r"[\s,.]+")
_HYPHENS: Final = re.compile(r"[-\u2010\u2011]")
_NO_LETTER: Final = re.compile(r"[\W\d_]+")
_FORM: Final = re.compile(r"([a-z]{4,16}|[A-Z]{4,16})(\d{0,4})")
_LONGEST: Final = 15  # letters of a family name that are used
_MOST_WORDS: Final = 6  # in one name
#: Numbers of letters of a family name: enough to count as the whole name, and the minimum with digits after it.
_AS_GOOD: Final = 5
_FEWEST: Final = 3
_FEWEST_ALONE: Final = 6  # letters, without digits
_FEWEST_FIRST: Final = 4  # letters, when the initial follows the family name
_FEWEST_BEHIND_ANY: Final = 4
_KEY: Final = 4  # letters of a prefix that rules out most words quickly


class UsernameFinder:
    """Finds the usernames that can be built from the names that ``spans`` of ``text`` mark."""

    def __init__(self, text: str, spans: Iterable[Span]) -> None:
        self._text = text
        self._score: dict[str, float] = {}  # letters of a username -> score
        self._alone: set[str] = set()  # letters that need no digits
        self._wholes: set[str] = set()  # initial and whole family name: with digits, never an ordinary word
        self._families: dict[str, float] = {}  # family names that any letter may precede, when digits follow
        scores: dict[tuple[str, ...], float] = {}
        for span in spans:
            parts = tuple(_BETWEEN_NAMES.split(text[span.start : span.end])[:_MOST_WORDS])
            scores[parts] = max(span.score, scores.get(parts, 0.0))
        for parts, score in scores.items():
            self._add(parts, score)
        self._names = {_letters(part) for parts in scores for part in parts}  # "marion" is not Mo Arion's username
        self._keys = {form[:_KEY] for form in self._score}
        self._family_keys = {family[: _KEY - 1] for family in self._families}

    def _add(self, parts: Sequence[str], score: float) -> None:
        names = [[_letters(part), *map(_letters, _HYPHENS.split(part)[1:])] for part in parts]
        for family in (name for each in names for name in each):
            if len(family) >= _FEWEST_BEHIND_ANY and (not is_ordinary(family) or is_name_first(family)):
                self._families[family] = max(score, self._families.get(family, 0.0))
        for first, *_ in names:
            if not first or (first in PARTICLES and len(first) > 1):
                continue
            for family in {name for each in names for name in each if each[0] != first}:
                if len(family) >= _FEWEST and family not in PARTICLES:
                    self._add_forms(first[0], family[:_LONGEST], score)

    def _add_forms(self, initial: str, family: str, score: float) -> None:
        for length in range(_FEWEST, len(family) + 1):
            letters = initial + family[:length]
            self._score[letters] = max(score, self._score.get(letters, 0.0))
            if length == len(family):
                self._wholes.add(letters)
            if length >= _FEWEST_ALONE:
                self._alone.add(letters)
            if length >= _FEWEST_FIRST and (length == len(family) or length >= _AS_GOOD):
                letters = family[:length] + initial
                self._score[letters] = max(score, self._score.get(letters, 0.0))

    def find(self, words: Sequence[tuple[int, int]]) -> Iterator[Span]:
        """Yield a span for each of ``words`` (half-open offsets of letters and digits) that is built from a name."""
        for start, end in words:
            key = self._text[start : start + _KEY].lower()
            if key not in self._keys and key[1:] not in self._family_keys:
                continue
            form = _FORM.fullmatch(self._text, start, end)
            if form is None:
                continue
            score = self._score_of(form[1].lower(), has_digits=bool(form[2]))
            if score is not None:
                yield Span(start, end, _LABEL, score, ("propagation",))

    def _score_of(self, letters: str, *, has_digits: bool) -> float | None:
        if letters in self._names or (is_ordinary(letters) and not (has_digits and letters in self._wholes)):
            return None
        if has_digits or letters in self._alone:
            score = self._score.get(letters)
            if score is not None:
                return score
        return self._families.get(letters[1:]) if has_digits else None


def _letters(name: str) -> str:
    return _NO_LETTER.sub("", fold(name))
