"""Distinguish a misspelt word from a new one: ``statess`` is near a listed word, ``xochitl`` is not."""

from typing import Final

from deid_runtime.lexicon.word_codes import WORD, load_lexicon
from deid_runtime.system.word_caches import cached_by_word

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_ENDINGS: Final = (
    "s",
    "es",
    "ed",
    "d",
    "ing",
    "ly",
    "er",
    "ness",
    "al",
    "ic",
    "ation",
    "able",
    "less",
    "like",
    "itis",
    "emia",
    "osis",
)
_BEGINNINGS: Final = (
    "un",
    "non",
    "re",
    "pre",
    "post",
    "anti",
    "sub",
    "over",
    "under",
    "hyper",
    "hypo",
    "micro",
    "multi",
    "pseudo",
)
_LONGEST: Final = 20


@cached_by_word(10_000)
def is_like_a_word(key: str) -> bool:
    """Return whether a key in no list is a form, a compound or a misspelling (by one letter) of a common word."""
    if len(key) > _LONGEST:
        return True
    lexicon = load_lexicon()
    if any(key.endswith(ending) and _is_usual(lexicon.get(key[: -len(ending)], 0)) for ending in _ENDINGS):
        return True
    if any(key.startswith(prefix) and _is_usual(lexicon.get(key[len(prefix) :], 0)) for prefix in _BEGINNINGS):
        return True
    if any(
        _is_usual(lexicon.get(key[:at], 0)) and _is_usual(lexicon.get(key[at:], 0)) for at in range(3, len(key) - 2)
    ):
        return True
    return len(key) > 4 and any(_is_usual(lexicon.get(each, 0)) for each in _neighbours(key))


def _is_usual(code: int) -> bool:
    return code & WORD >= 2 << 5


def _neighbours(key: str) -> set[str]:
    """Return all strings at one edit from ``key``: a letter removed, added or changed, or two neighbours swapped."""
    cuts = [(key[:at], key[at:]) for at in range(len(key) + 1)]
    return {
        *(left + right[1:] for left, right in cuts if right),
        *(left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1),
        *(left + letter + right[1:] for left, right in cuts if right for letter in _LETTERS),
        *(left + letter + right for left, right in cuts for letter in _LETTERS),
    }
