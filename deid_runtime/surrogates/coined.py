"""New names that sound like those of a culture, for names that are in no list.

If an unlisted name got a listed surrogate, every unlisted name in the output would be a missed original, and anyone
with the lists could see it. So it gets an unlisted surrogate: letters are drawn from a Markov chain over the names of
its likely culture, or the towns of its country, three letters at a time (Shannon 1948, section 3, over letters).
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from deid_runtime.lexicon.word_codes import load_lexicon
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.unlisted import nearest

_ORDER: Final = 3  # letters that decide the next one
_SAMPLE: Final = 3000  # names of a pool, the most frequent ones, from which the chain is made
_LEAST_SAMPLE: Final = 200  # from fewer names, the chain would return the names themselves
_TRIES: Final = 80
_CHOICE_BYTES: Final = 48  # more than the letters of any name use
_START: Final = "^"
_END: Final = "$"
_CHAR_BITS: Final = 8
#: How much longer or shorter than the original a new name may be.
_LENGTH_SLACK: Final = 2
_LEAST_CHARS: Final = 4


class Chain:
    """The letters that follow each run of three letters in ``forms``, and how often: normal forms of ASCII letters."""

    def __init__(self, forms: Iterable[str]) -> None:
        import numpy as np

        text = "".join(f"{_START * _ORDER}{form}{_END}" for form in forms)
        chars = np.frombuffer(text.encode("ascii"), np.uint8).astype(np.int64)
        size = max(0, len(chars) - _ORDER)
        runs = np.zeros(size, np.int64)
        is_inside = np.ones(size, np.bool_)
        for place in range(_ORDER + 1):
            each = chars[place : place + size]
            runs = runs << _CHAR_BITS | each
            if place < _ORDER:
                is_inside &= each != ord(_END)  # a run does not continue into the next name
        self._runs, self._counts = np.unique(runs[is_inside], return_counts=True)
        self._rows: dict[str, tuple[str, list[int]]] = {}

    def __bool__(self) -> bool:
        return len(self._runs) > 0

    def following(self, before: str) -> tuple[str, list[int]]:
        """Return the letters that follow three letters, ascending, and the running sums of their counts."""
        row = self._rows.get(before)
        if row is None:
            first = int.from_bytes(before.encode("ascii"), "big") << _CHAR_BITS
            low, high = self._runs.searchsorted([first, first + (1 << _CHAR_BITS)])
            letters = "".join(chr(run & 0xFF) for run in self._runs[low:high].tolist())
            row = self._rows[before] = letters, self._counts[low:high].cumsum().tolist()
        return row


def chain_of(listed: Iterable[str]) -> Chain:
    """Return the chain of the letters of ``listed`` names, all of one culture; an empty one when they are too few."""
    every = list(listed)
    if len(every) < _LEAST_SAMPLE:
        return Chain(())
    forms = (name.lower() if name.isascii() and name.isalpha() else normal_form(name) for name in every)
    return Chain(form for form in forms if form.isascii() and form.isalpha())


@lru_cache(maxsize=64)
def _chain(key: tuple[str, str]) -> Chain:
    return chain_of(names().pools[key][:_SAMPLE])


def coin(keyed: Keyed, key: tuple[str, str], form: str, attempt: int) -> str:
    """Return a new name like those of the pool ``key`` for the unlisted name ``form``; empty when none is good enough.

    The name is in no list, no word of the vocabulary and no misspelling of a frequent name. It is about as long as
    ``form``, and ends in ``a`` if ``form`` does, which in many cultures shows the sex.
    """
    return coin_like(keyed, _chain(key), form, attempt, lambda _: False)


def coin_like(keyed: Keyed, chain: Chain, form: str, attempt: int, is_listed: Callable[[str], bool]) -> str:
    """Return a new name like :func:`coin`, but from ``chain``, for whose normal form ``is_listed`` is False."""
    for turn in range(_TRIES if chain else 0):
        made = _drawn(keyed, chain, form, f"coined/{attempt}/{turn}")
        if _fits(made, form) and not is_listed(made):
            return made.capitalize()
    return ""


def _drawn(keyed: Keyed, chain: Chain, form: str, purpose: str) -> str:
    number = int.from_bytes(keyed.stream(_CHOICE_BYTES, purpose, form), "big")
    made = ""
    before = _START * _ORDER
    for _ in range(len(form) + _LENGTH_SLACK + 1):
        letters, sums = chain.following(before)
        number, rest = divmod(number, sums[-1])
        letter = letters[bisect_right(sums, rest)]
        if letter == _END:
            break
        made += letter
        before = before[1:] + letter
    return made


def _fits(made: str, form: str) -> bool:
    return (
        len(made) >= _LEAST_CHARS
        and abs(len(made) - len(form)) <= _LENGTH_SLACK
        and made.endswith("a") == form.endswith("a")
        and made not in load_lexicon()
        and names().listed(made) is None
        and not nearest(made)
    )
