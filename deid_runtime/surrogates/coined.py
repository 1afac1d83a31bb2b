"""New names that sound like those of a culture, for names that stand in no list.

If a name in no list got a listed one, a name in no list would be a real one that was missed, and everybody who has the
lists could see it. So it gets a name in no list, too: letters are drawn from a Markov chain over the names of its
likely culture, three letters at a time (Shannon 1948, section 3, over letters).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final

from deid_runtime.lexicon.word_codes import load_lexicon
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.unlisted import nearest

_ORDER: Final = 3  # letters that decide the next one
_SAMPLE: Final = 3000  # names of a pool, the most frequent ones, that the chain is made of
_LEAST_SAMPLE: Final = 200  # a smaller pool would give its own names back
_TRIES: Final = 40
_CHOICE_BYTES: Final = 48  # more than all letters of a name use up
_START, _END = "^", "$"
#: How much longer or shorter than the original a new name may be.
_LENGTH_SLACK: Final = 2
_LEAST_CHARS: Final = 4

#: The last letters -> the letters that may follow, and the running sums of their counts.
_Chain = Mapping[str, tuple[str, tuple[int, ...]]]


@lru_cache(maxsize=64)
def _chain(key: tuple[str, str]) -> _Chain:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name in names().pools[key][:_SAMPLE]:
        form = normal_form(name)
        if form.isascii() and form.isalpha():
            letters = _START * _ORDER + form + _END
            for at in range(_ORDER, len(letters)):
                counts[letters[at - _ORDER : at]][letters[at]] += 1
    return {
        before: ("".join(sorted(following)), tuple(accumulate(following[each] for each in sorted(following))))
        for before, following in counts.items()
    }


@cache
def _is_large(key: tuple[str, str]) -> bool:
    return len(names().pools[key]) >= _LEAST_SAMPLE


def coin(keyed: Keyed, key: tuple[str, str], form: str, attempt: int) -> str:
    """Return a new name like those of the pool ``key`` for the unlisted name ``form``; empty when none is good enough.

    The name is in no list, no word of the vocabulary and no misspelling of a frequent name. It is about as long as
    ``form``, and ends with the same letter ``a`` or not, which in many cultures tells the sex.
    """
    if not _is_large(key):
        return ""
    for turn in range(_TRIES):
        made = _drawn(keyed, key, form, f"coined/{attempt}/{turn}")
        if _fits(made, form):
            return made.capitalize()
    return ""


def _drawn(keyed: Keyed, key: tuple[str, str], form: str, purpose: str) -> str:
    chain = _chain(key)
    number = int.from_bytes(keyed.stream(_CHOICE_BYTES, purpose, form), "big")
    made = ""
    before = _START * _ORDER
    while len(made) <= len(form) + _LENGTH_SLACK:
        letters, sums = chain[before]
        number, rest = divmod(number, sums[-1])
        letter = next(each for each, last in zip(letters, sums, strict=True) if rest < last)
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
