"""New names for names in no list that are words, or two words in one: Mossy, Peanut, Brightwater, Grayhorse.

They get other words that names are made of, so that they look as much like words as the originals: Badger, Flintbrook.
"""

from functools import cache
from itertools import product
from typing import Final

from deid_runtime.lexicon.word_codes import WORD, WORD_SHIFT, load_lexicon
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.lists import phrases
from deid_runtime.surrogates.name_pools import names
from deid_runtime.system.word_caches import cached_by_word

_LEAST_CHARS: Final = 4
_LEAST_HALF_CHARS: Final = 3  # of the first word of two; the second has at least four
_USUAL: Final = 2
_LONGEST_HALF_CHARS: Final = 6  # of the words of a new name


def word_name(keyed: Keyed, form: str, attempt: int) -> str:
    """Return the surrogate of ``form``, the normal form of a name in no list; empty if it is not made of words.

    A word gets another word. Two words in one get two others, which together are in no list either.
    """
    if len(form) >= _LEAST_CHARS and _degree(form):
        words = [word for word in phrases().firsts if normal_form(word) != form]
        return words[(keyed.number("word as name", form) + attempt) % len(words)]
    if _is_compound(form):
        return keyed.pick(_compounds(), f"words as name/{attempt}", form)
    return ""


def _degree(form: str) -> int:
    """Return how usual a word is: 0 for no word, 1 for a rare one, 2 and 3."""
    return (load_lexicon().get(form, 0) & WORD) >> WORD_SHIFT


@cached_by_word(4096)
def _is_compound(form: str) -> bool:
    places = range(_LEAST_HALF_CHARS, len(form) - _LEAST_CHARS + 1)
    return any(_degree(form[:place]) >= _USUAL and _degree(form[place:]) >= _USUAL for place in places)


@cache
def _compounds() -> tuple[str, ...]:
    """Return the names of two words that are in no list and no words themselves."""
    firsts, lasts = (
        [word for word in words if word.isalpha() and len(word) <= _LONGEST_HALF_CHARS]
        for words in (phrases().firsts, phrases().features)
    )
    made = (first + last.lower() for first, last in product(firsts, lasts) if first != last)
    return tuple(name for name in made if not _degree(name.lower()) and names().listed(name.lower()) is None)
