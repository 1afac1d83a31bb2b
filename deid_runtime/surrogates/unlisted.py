"""Names in no list: find the listed name that one may misspell, and the pool that its letters suggest.

Both depend only on the letters and the lists, so an unlisted name has the same surrogate in every note.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.lists import names

if TYPE_CHECKING:  # a numpy import at module level would slow down the --help of the command line
    import numpy as np
    from numpy.typing import NDArray

_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz"
_LEAST_SWAPPED_CHARS: Final = 4
_LEAST_MISSPELT_CHARS: Final = 6  # a shorter name is one letter away from too many other names
_COMMON: Final = frozenset({"nicknamed", "english", "spanish"})
_SMOOTHING: Final = 0.3
_LETTER_CHOICES: Final = 1000  # approximate number of different first or last letters of names, for smoothing


@lru_cache(maxsize=4096)
def nearest(form: str) -> str:
    """Return the listed name that ``form``, a normal form, most likely misspells, or an empty string.

    Tries in this order: two neighbouring letters swapped, one letter too many, one missing, one wrong. The first letter
    is never changed.
    """
    if not form.isascii() or not form.isalpha():
        return ""
    for slips in _slips(form):
        found = slips & _known()
        if found:
            return min(found, key=lambda slip: (_rarity(slip), slip))
    return ""


@cache
def _known() -> frozenset[str]:
    return frozenset(names().given) | frozenset(names().family)


def _rarity(form: str) -> bool:
    listed = names().listed(form)
    return listed is None or listed.culture not in _COMMON


def _slips(form: str) -> Iterator[set[str]]:
    """Yield, for each kind of misspelling, the set of names that one correction of that kind makes from ``form``."""
    inner = range(1, len(form))
    if len(form) >= _LEAST_SWAPPED_CHARS:
        yield {form[:i] + form[i + 1] + form[i] + form[i + 2 :] for i in inner if i + 1 < len(form)}
    if len(form) >= _LEAST_MISSPELT_CHARS:
        yield {form[:i] + form[i + 1 :] for i in inner}
        heads = [(form[:i], i) for i in inner]
        yield {f"{head}{char}{form[i:]}" for head, i in (*heads, (form, len(form))) for char in _ALPHABET}
        yield {f"{head}{char}{form[i + 1 :]}" for head, i in heads for char in _ALPHABET}


@dataclass(frozen=True, slots=True)
class _Letters:
    """What the first and last letters of a name say about its pool: the log probabilities of a naive Bayes model."""

    keys: tuple[tuple[str, str], ...]  # of the pools, descending: argmax takes the greatest key of equal scores
    unmatched: "NDArray[np.float64]"  # (pools,): the score of a name with no feature in the pool
    features: Mapping[str, slice]  # first or last letters -> their slice of the two arrays below
    pools: "NDArray[np.intp]"  # indices of the pools in which the feature occurs
    gains: "NDArray[np.float64]"  # what the feature adds to the score of each of these pools


def _features(form: str) -> tuple[str, ...]:
    return f"^{form[:2]}", f"^{form[:3]}", f"{form[-2:]}$", f"{form[-3:]}$", f"{form[-4:]}$"


@cache
def _letters() -> _Letters:
    import numpy as np

    counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
    keys: list[tuple[str, str]] = []
    unmatched = []
    for key, pool in sorted(names().pools.items(), reverse=True):
        forms = [form for form in map(normal_form, pool) if form.isascii()]
        if forms and key[0] != "nicknamed" and not key[1].startswith("-"):
            for form in forms:
                for feature in _features(form):
                    counts[feature][len(keys)] += 1
            keys.append(key)
            choices = len(forms) + _SMOOTHING * _LETTER_CHOICES
            unmatched.append(math.log(len(forms)) - len(_features("")) * math.log(choices))
    features = {}
    pools: list[int] = []
    gains: list[float] = []
    for feature, of_pools in counts.items():
        features[feature] = slice(len(pools), len(pools) + len(of_pools))
        pools += of_pools
        gains += [math.log((count + _SMOOTHING) / _SMOOTHING) for count in of_pools.values()]
    return _Letters(tuple(keys), np.array(unmatched), features, np.array(pools), np.array(gains))


@cache
def _barred(sex: str) -> "NDArray[np.float64]":
    """Return float64 (pools,): minus infinity for pools not of ``sex``, else 0; all 0 when ``sex`` is empty."""
    import numpy as np

    return np.array([0.0 if not sex or key[1] == sex else -math.inf for key in _letters().keys])


@lru_cache(maxsize=4096)
def likely_pool(form: str, sex: str = "") -> tuple[str, ...]:
    """Return the pool of names that ``form`` resembles most: given names of ``sex``, or any names when it is empty.

    Uses naive Bayes on the first and last letters, over the cultures and sexes of the lists.
    """
    letters = _letters()
    scores = letters.unmatched + _barred(sex)
    for feature in _features(form):
        stretch = letters.features.get(feature)
        if stretch is not None:
            scores[letters.pools[stretch]] += letters.gains[stretch]  # each pool occurs once in the slice
    return names().pools[letters.keys[int(scores.argmax())]]
