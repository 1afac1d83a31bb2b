"""Names that are in no list: the listed name that one may be a misspelling of, and the pool its letters suggest.

Both depend on the letters and the lists alone, so that an odd name has the same stand-in in every note.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.lists import names

_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz"
_LEAST_SWAPPED_CHARS: Final = 4
_LEAST_MISSPELT_CHARS: Final = 6  # a shorter name is one letter away from too many others
_COMMON: Final = frozenset({"nicknamed", "english", "spanish"})
_SMOOTHING: Final = 0.3
_LETTER_CHOICES: Final = 1000  # about how many beginnings or endings of names there are, for the smoothing


@lru_cache(maxsize=4096)
def nearest(form: str) -> str:
    """Return the listed name that ``form``, a normal form, is most likely a misspelling of, or an empty string.

    One swap of neighbours, one letter too many, too few or wrong, in this order; never the first letter.
    """
    if not form.isascii() or not form.isalpha():
        return ""
    known = names()
    for slips in _slips(form):
        found = {slip for slip in slips if slip in known.given or slip in known.family}
        if found:
            return min(found, key=lambda slip: (_rarity(slip), slip))
    return ""


def _rarity(form: str) -> bool:
    listed = names().listed(form)
    return listed is None or listed.culture not in _COMMON


def _slips(form: str) -> Iterator[set[str]]:
    """Yield what one slip of each kind makes of ``form``."""
    inner = range(1, len(form))
    if len(form) >= _LEAST_SWAPPED_CHARS:
        yield {form[:i] + form[i + 1] + form[i] + form[i + 2 :] for i in inner if i + 1 < len(form)}
    if len(form) >= _LEAST_MISSPELT_CHARS:
        yield {form[:i] + form[i + 1 :] for i in inner}
        yield {form[:i] + char + form[i:] for i in (*inner, len(form)) for char in _ALPHABET}
        yield {form[:i] + char + form[i + 1 :] for i in inner for char in _ALPHABET}


@dataclass(frozen=True, slots=True)
class _Letters:
    """How often each beginning and ending occurs in each pool."""

    sizes: Mapping[tuple[str, str], int]
    counts: Mapping[str, Mapping[tuple[str, str], int]]


def _features(form: str) -> tuple[str, ...]:
    return f"^{form[:2]}", f"^{form[:3]}", f"{form[-2:]}$", f"{form[-3:]}$", f"{form[-4:]}$"


@cache
def _letters() -> _Letters:
    counts: dict[str, Counter[tuple[str, str]]] = {}
    sizes: dict[tuple[str, str], int] = {}
    for key, pool in names().pools.items():
        forms = [form for form in map(normal_form, pool) if form.isascii()]
        if forms and key[0] != "nicknamed" and not key[1].startswith("-"):
            sizes[key] = len(forms)
            for form in forms:
                for feature in _features(form):
                    counts.setdefault(feature, Counter())[key] += 1
    return _Letters(sizes, counts)


@cache
def _unmatched_scores(sex: str) -> Mapping[tuple[str, str], float]:
    """Return the score of each pool of ``sex`` for a name none of whose features occurs in it."""
    return {
        key: math.log(size) - len(_features("")) * math.log(size + _SMOOTHING * _LETTER_CHOICES)
        for key, size in _letters().sizes.items()
        if not sex or key[1] == sex
    }


@lru_cache(maxsize=4096)
def likely_pool(form: str, sex: str = "") -> tuple[str, ...]:
    """Return the names among which ``form`` would look at home: given names of ``sex`` if that is told, else any.

    Naive Bayes on the first and last letters, over the cultures and sexes of the lists.
    """
    counts = _letters().counts
    scores = dict(_unmatched_scores(sex))
    for feature in _features(form):
        for key, count in counts.get(feature, {}).items():
            if key in scores:
                scores[key] += math.log((count + _SMOOTHING) / _SMOOTHING)
    return names().pools[max(scores, key=lambda key: (scores[key], key))]
