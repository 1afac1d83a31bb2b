"""Unlisted names: find the listed name that one may misspell, or a name of the culture that its letters suggest.

Both depend only on the letters and the lists, so an unlisted name has the same surrogate in every note.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Final

from deid_runtime.surrogates.forms import misspell, normal_form
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.name_pools import names
from deid_runtime.system.word_caches import cached_by_word

if TYPE_CHECKING:  # a numpy import at module level would slow down the --help of the command line
    import numpy as np
    from numpy.typing import NDArray

_LEAST_SWAPPED_CHARS: Final = 4
_LEAST_MISSPELT_CHARS: Final = 6  # a shorter name is one letter away from too many other names
#: Lowest level of a name that other kinds of misspelling may have turned into an unlisted name. With long lists, nearly
#: every name is one letter away from some rare name, so only frequent names are worth a guess.
_LEAST_SWAPPED_LEVEL: Final = 4
_LEAST_DOUBLED_LEVEL: Final = 5
_LEAST_SHORT_LEVEL: Final = 7  # of a name of four or five letters
_POOL_SAMPLE: Final = 1500  # names of a pool, the most frequent ones, in which letters are counted
_SMOOTHING: Final = 0.3
_LETTER_CHOICES: Final = 1000  # approximate number of different first or last letters of names, for smoothing


@cached_by_word(4096)
def nearest(form: str) -> str:
    """Return the frequent name that ``form``, the normal form of an unlisted name, misspells, or an empty string.

    Tries in this order: two neighbouring letters swapped, a letter wrongly doubled or not doubled, one letter too many
    or missing. The first letter is never changed.
    """
    if not form.isascii() or not form.isalpha():
        return ""
    for least, slips in _slips(form):
        found = [(level, slip) for slip, level in names().levels(slips).items() if level >= least]
        if found:
            return max(found)[1]
    return _with_another_length(form) if len(form) > _LEAST_MISSPELT_CHARS else ""


def _with_another_length(form: str) -> str:
    """Return the most frequent name that has one letter more or less than ``form``, not the first one, or nothing."""
    frequent = names().frequent
    shorter = (form[:i] + form[i + 1 :] for i in range(1, len(form)))
    found = [(frequent[name], name) for name in shorter if name in frequent]
    found.append(_longer().get(form, (0, "")))
    return max(found)[1]


@cache
def _longer() -> dict[str, tuple[int, str]]:
    """Return what is left of a frequent name without one of its letters, not the first -> level and name.

    Of several such names, the last one by level and spelling counts.
    """
    found: dict[str, tuple[int, str]] = {}
    for name, level in names().frequent.items():
        if name.isascii() and name.isalpha():
            for place in range(1, len(name)):
                left = name[:place] + name[place + 1 :]
                found[left] = max(found.get(left, (0, "")), (level, name))
    return found


def _slips(form: str) -> Iterator[tuple[int, set[str]]]:
    """Yield, for swapped and doubled letters, the least level of a name and what one correction makes from ``form``.

    A wrong letter is not evidence: it usually turns one name into another (Yolande, Yolanda).
    """
    size = len(form)
    inner = range(1, size)
    if size >= _LEAST_SWAPPED_CHARS:
        swapped = {form[:i] + form[i + 1] + form[i] + form[i + 2 :] for i in inner if i + 1 < size}
        yield _LEAST_SWAPPED_LEVEL if size >= _LEAST_MISSPELT_CHARS else _LEAST_SHORT_LEVEL, swapped
    if size >= _LEAST_MISSPELT_CHARS:
        yield (
            _LEAST_DOUBLED_LEVEL,
            {
                *(form[:i] + form[i + 1 :] for i in inner if form[i] == form[i - 1]),
                *(form[:i] + form[i - 1] + form[i:] for i in range(1, size + 1)),
            },
        )


@dataclass(frozen=True, slots=True)
class _Letters:
    """The pool of a name by its first and last letters: the log probabilities of a naive Bayes model."""

    keys: tuple[tuple[str, str], ...]  # of the pools, descending: argmax takes the greatest key of equal scores
    unmatched: "NDArray[np.float64]"  # (pools,): the score of a name with no feature in the pool
    features: Mapping[str, slice]  # first or last letters -> their slice of the two arrays below
    pools: "NDArray[np.intp]"  # indices of the pools in which the feature occurs
    gains: "NDArray[np.float64]"  # the contribution of the feature to the score of each of these pools


def _form(name: str) -> str:
    """Return the normal form of a listed name. Nearly all are plain, and these are not worth a place in a cache."""
    return name.lower() if name.isascii() and name.isalpha() else normal_form(name)


def _features(form: str) -> tuple[str, ...]:
    return f"^{form[:2]}", f"^{form[:3]}", f"{form[-2:]}$", f"{form[-3:]}$", f"{form[-4:]}$"


@cache
def _letters() -> _Letters:
    import numpy as np

    numbers: dict[str, int] = {}  # feature -> its number
    # A row for each feature of a pool: number of the feature, the pool, how many of its names have the feature.
    rows: tuple[list[int], list[int], list[int]] = ([], [], [])
    keys: list[tuple[str, str]] = []
    unmatched = []
    for key, pool in sorted(names().pools.items(), reverse=True):
        forms = [form for form in map(_form, pool[:_POOL_SAMPLE]) if form.isascii()]
        if forms and not key[1].startswith("-"):
            counts = Counter(chain.from_iterable(map(_features, forms)))
            rows[0].extend([numbers.setdefault(feature, len(numbers)) for feature in counts])
            rows[1].extend([len(keys)] * len(counts))
            rows[2].extend(counts.values())
            keys.append(key)
            choices = len(forms) + _SMOOTHING * _LETTER_CHOICES
            unmatched.append(math.log(len(forms) * _bearers(key)) - len(_features("")) * math.log(choices))
    feature, pools, count = map(np.array, rows)
    by_feature = np.argsort(feature, kind="stable")
    ends = np.cumsum(np.bincount(feature, minlength=len(numbers))).tolist()
    gain = np.array([math.log((times + _SMOOTHING) / _SMOOTHING) for times in range(_POOL_SAMPLE + 1)])
    return _Letters(
        tuple(keys),
        np.array(unmatched),
        dict(zip(numbers, map(slice, [0, *ends[:-1]], ends), strict=True)),
        pools[by_feature],
        gain[count[by_feature]],
    )


def _bearers(key: tuple[str, str]) -> int:
    """Return how many people, up to a factor, have a name of the pool: a level is a power of two."""
    return sum(len(band.names) << band.level for band in names().bands[key])


@cache
def _barred(sex: str) -> "NDArray[np.float64]":
    """Return float64 (pools,): minus infinity for pools not of ``sex``, else 0; all 0 when ``sex`` is empty."""
    import numpy as np

    return np.array([0.0 if not sex or key[1] == sex else -math.inf for key in _letters().keys])


@cached_by_word(4096)
def likely_key(form: str, sex: str = "") -> tuple[str, str]:
    """Return the (culture, sex) whose names ``form`` resembles most, a key of :attr:`Names.pools`.

    Only given names of ``sex`` count, or any names when it is empty. Uses naive Bayes on the first and last letters.
    The prior is how many people have a name of the pool, so that letters of many cultures mean the largest of them.
    """
    letters = _letters()
    scores = letters.unmatched + _barred(sex)
    for feature in _features(form):
        stretch = letters.features.get(feature)
        if stretch is not None:
            scores[letters.pools[stretch]] += letters.gains[stretch]  # each pool occurs once in the slice
    return letters.keys[int(scores.argmax())]


def draw(keyed: Keyed, key: tuple[str, str], purpose: str, value: str) -> str:
    """Return a name of ``key`` for ``value``: a band by its size and the frequency of its names, then one of its names.

    An unlisted name is not among the most frequent ones. So a band weighs as much as its names times the square root
    of how frequent they are: frequent names are drawn more often than rare ones, but no name is drawn for many
    originals.
    """
    bands = names().bands[key]
    weights = [len(band.names) << band.level for band in bands]
    number = keyed.number(f"{purpose}/band", value) % sum(weights)
    for band, last in zip(bands, accumulate(weights), strict=True):
        if number < last:
            return keyed.pick(band.names, purpose, value)
    raise AssertionError("the weights of the bands add up to more than their sum")


def same_slip(right: str, wrong: str, name: str, number: int) -> str:
    """Return ``name`` misspelt as ``wrong`` misspells ``right`` (normal forms one slip apart), at a similar place.

    ``number`` chooses among places where the slip would change ``name``. Return ``name`` with another slip when there
    is no such place.
    """
    at = next((i for i, (one, other) in enumerate(zip(right, wrong, strict=False)) if one != other), len(right) - 1)
    places = sorted(
        (i for i in range(1, len(name) - 1) if name[i].isalpha() and name[i + 1].isalpha()),
        key=lambda i: (abs(i * len(right) - at * len(name)), i),
    )
    if len(wrong) > len(right):
        made = [name[: i + 1] + name[i].lower() + name[i + 1 :] for i in places if name[i] != name[i + 1]]
    elif len(wrong) < len(right):
        made = [name[:i] + name[i + 1 :] for i in places]
    elif sorted(wrong) == sorted(right):
        made = [name[:i] + name[i + 1] + name[i] + name[i + 2 :] for i in places if name[i] != name[i + 1]]
    else:
        made = [name[:i] + _other_letter(name[i]) + name[i + 1 :] for i in places]
    return made[number % len(made)] if made else misspell(name, number)


def _other_letter(char: str) -> str:
    vowels = "aeiou"
    if char in vowels:
        return vowels[(vowels.index(char) + 1) % len(vowels)]
    return {"c": "k", "s": "z", "t": "d", "m": "n", "n": "m", "b": "p", "v": "w", "y": "i", "k": "c"}.get(char, "e")


def is_one_slip(left: str, right: str) -> bool:
    """Return whether one insertion, deletion, replacement or swap of neighbours turns ``left`` into ``right``.

    Always false when one of them has fewer than 4 characters.
    """
    if min(len(left), len(right)) < 4 or abs(len(left) - len(right)) > 1 or left == right:
        return False
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    if len(left) == len(right):
        rest_left, rest_right = left[start:], right[start:]
        swapped = rest_left[1:2] + rest_left[:1] + rest_left[2:]
        return rest_left[1:] == rest_right[1:] or swapped == rest_right
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    return longer[start + 1 :] == shorter[start:]
