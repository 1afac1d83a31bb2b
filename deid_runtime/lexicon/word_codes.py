"""Word codes: how common a word is as a given or family name, whether it is a place, and how ordinary it is.

The rules for people read the codes, and the models read them as word classes (:func:`word_class`).

The codes come from two packaged lists, ``names.txt.xz`` and ``vocabulary.txt.xz`` in ``deid_runtime/data/lexicon``
(``python -m deid_export.data.name_lists`` writes them). They are read once, at the first text. Each line has a code, a
tab and the words with this code. The code is the sum of the constants below. The words have the form that
:func:`word_key` returns.
"""

import lzma
from functools import lru_cache
from importlib.resources import files
from typing import Final

from deid_runtime.lexicon.name_cues import fold

#: Bits for how common a given name is: 1 rare, 2 usual, 3 among the most common; 0 for a word that is not one.
GIVEN: Final = 0b11
#: The same for a family name.
FAMILY: Final = 0b1100
FAMILY_SHIFT: Final = 2
#: Bit for a town, state or country.
PLACE: Final = 0b1_0000
#: Bits for how ordinary a word is: 0 in no vocabulary, 1 rare, 2 usual in English, in medicine or as a drug, 3 among
#: the most common.
WORD: Final = 0b110_0000
WORD_SHIFT: Final = 5
#: Bit for the name of a disease, sign, device or germ, or a brand.
EPONYM: Final = 0b1000_0000

#: The word class of a word that is in no list.
UNLISTED: Final = 0
#: Word classes: 4 degrees of a word, 3 of a given and 3 of a family name, place or not, eponym or not.
CLASS_COUNT: Final = 4 * 3 * 3 * 2 * 2

_LETTERS: Final = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h"}
    | dict.fromkeys("'’‘-‐‑`", "")
)


def word_key(word: str) -> str:
    """Return ``word`` in the form of the lists: folded, without apostrophes and hyphens (``O'Brien``: ``obrien``)."""
    folded = fold(word)
    return folded if folded.isascii() and folded.isalpha() else folded.translate(_LETTERS)


@lru_cache(maxsize=1)
def load_lexicon() -> dict[str, int]:
    """Return word key to code. Words that are in no list are missing."""
    codes = _read("names.txt.xz")
    for code, words in _lines("vocabulary.txt.xz"):
        for word in words:
            codes[word] = codes.get(word, 0) | code
    return codes


def word_class(word: str) -> int:
    """Return what the lists say about a word, for the models: at least 0, below :data:`CLASS_COUNT`.

    Usual names and the most common ones are one degree. A word with digits or punctuation is :data:`UNLISTED`.
    """
    code = load_lexicon().get(word_key(word), 0)
    given, family = min(code & GIVEN, 2), min((code & FAMILY) >> FAMILY_SHIFT, 2)
    degrees = (((code & WORD) >> WORD_SHIFT) * 3 + given) * 3 + family
    return degrees * 4 + (2 if code & PLACE else 0) + (1 if code & EPONYM else 0)


def _read(name: str) -> dict[str, int]:
    codes: dict[str, int] = {}
    for code, words in _lines(name):
        codes.update(dict.fromkeys(words, code))
    return codes


def _lines(name: str) -> list[tuple[int, list[str]]]:
    packed = (files("deid_runtime") / "data" / "lexicon" / name).read_bytes()
    rows = (line.partition("\t") for line in lzma.decompress(packed).decode("utf-8").splitlines())
    return [(int(code), words.split()) for code, _, words in rows]
