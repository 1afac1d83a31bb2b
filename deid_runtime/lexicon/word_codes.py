"""What is known of a word: how often it is a given name, a family name, a place, and how ordinary it is as a word.

Two packaged lists, read once, when the first text comes: ``names.txt.xz`` and ``vocabulary.txt.xz`` under
``deid_runtime/data/lexicon`` (``python -m deid_export.data.name_lists`` writes them). Each line is a number, a tab and
the words it holds for; the number is the sum of the constants below. Words stand there as :func:`word_key` returns
them.
"""

import lzma
from functools import lru_cache
from importlib.resources import files
from typing import Final

from deid_runtime.lexicon.name_cues import fold

#: How common a given name is, 1 to 3 (rare, usual, among the commonest); 0 for a word that is none.
GIVEN: Final = 0b11
#: The same of a family name.
FAMILY: Final = 0b1100
FAMILY_SHIFT: Final = 2
#: A town, state or country.
PLACE: Final = 0b1_0000
#: How ordinary a word is: 0 in no vocabulary, 1 rare, 2 usual in English, medicine or as a drug, 3 among the commonest.
WORD: Final = 0b110_0000
WORD_SHIFT: Final = 5
#: The name of a disease, sign, device or germ, or a brand.
EPONYM: Final = 0b1000_0000

_LETTERS: Final = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h"}
    | dict.fromkeys("'’‘-‐‑`", "")
)


def word_key(word: str) -> str:
    """Return ``word`` as the lists hold it: folded, without apostrophes and hyphens (``O'Brien``: ``obrien``)."""
    folded = fold(word)
    return folded if folded.isascii() and folded.isalpha() else folded.translate(_LETTERS)


@lru_cache(maxsize=1)
def load_lexicon() -> dict[str, int]:
    """Return key to the sum of what is known of a word; words that are in no list are not in it."""
    codes = _read("names.txt.xz")
    for code, words in _lines("vocabulary.txt.xz"):
        for word in words:
            codes[word] = codes.get(word, 0) | code
    return codes


def _read(name: str) -> dict[str, int]:
    codes: dict[str, int] = {}
    for code, words in _lines(name):
        codes.update(dict.fromkeys(words, code))
    return codes


def _lines(name: str) -> list[tuple[int, list[str]]]:
    packed = (files("deid_runtime") / "data" / "lexicon" / name).read_bytes()
    rows = (line.partition("\t") for line in lzma.decompress(packed).decode("utf-8").splitlines())
    return [(int(code), words.split()) for code, _, words in rows]
