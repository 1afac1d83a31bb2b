"""Distinguish the words for the kind of a place from the words that are its name."""

import re
from collections.abc import Sequence
from typing import Final

from deid_runtime.lexicon.numbers import ORDINAL_WORDS
from deid_runtime.lexicon.tables import words_for
from deid_runtime.lexicon.vocabulary import street_kinds, unit_words

_SPECIALTY: Final = re.compile(
    r"(?:olog(?:y|ic|ical|ists?)|iatr(?:y|ics|ists?|icians?)|therap(?:y|ies|ists?)|pathy|dont(?:ics|ists?)|dentists?|"
    r"surge(?:ry|ons?)|internists?|genomics|genetics|hygien(?:e|ists?)|scop(?:y|ic)|graphics|optometry|opticians|rx|"
    r"anesthesi\w*|rehabilitation|healthcare|homecare|smiles|scans?)$",
    re.I,
)
_ROADS: Final = frozenset(street_kinds("surrogate"))
_COMPASS: Final = frozenset({"ne", "nw", "se", "sw"})
_NUMBERED_ROADS: Final = frozenset(
    """county state us interstate federal old township parish ranch farm forest rural star hwy highway route road rd fm
    cr sr""".split()
)
_ROYAL: Final = frozenset({"royal", "queens", "kings"})
#: Words that are a kind of facility by themselves; a name comes before them.
HEADS: Final = frozenset(words_for("generic_words", "facility"))
#: Parts of a building, identified by the number after them.
_UNITS: Final = frozenset(unit_words("part"))
_CHURCH: Final = ["C", " ", "of", " ", "E"]
SKIPPED: Final = frozenset({"of", "the", "and", "at", "for"})  # words that abbreviations omit


def is_royal(tokens: Sequence[str], index: int, kept: frozenset[str]) -> bool:
    """Return whether a word is the Royal of ``Royal Infirmary``, or the first of three (``Royal Wessex Hospital``)."""
    if index == 0 and tokens[0].lower() == "royal" and sum(token[0].isalpha() for token in tokens) > 2:
        return True
    if not 0 < index < len(tokens) - 2 or tokens[index].lower() not in _ROYAL:
        return False
    return tokens[index + 1] == " " and tokens[index + 2].lower() in kept


def tells(token: str) -> bool:
    """Return whether a token is a word or a number, and no space or mark."""
    return token[0].isalnum()


def _is_numbered(tokens: Sequence[str], index: int) -> bool:
    return (
        tokens[index + 1 : index + 2] == [" "]
        and tokens[index + 2 : index + 3] != []
        and tokens[index + 2][0].isdecimal()
    )


def _letters(token: str) -> str:
    """Return a word without its apostrophe, or an empty string for a number or a mark."""
    bare = token.replace("'", "").replace("’", "")
    return bare if bare.isalpha() else ""


def name_of_kind_words(kind: str, tokens: Sequence[str], is_telling: Sequence[bool]) -> int | None:
    """Return the index of the word that is the name, when all other words are words of kind; otherwise None.

    It is Park in ``123 Park Ave`` and Mercy in ``Mercy Clinic 12``. ``Troop 82`` and ``Ward 3`` have none.
    """
    least = 1 if kind == "street" else 2
    if any(told and len(_letters(token)) >= least for token, told in zip(tokens, is_telling, strict=True)):
        return None
    if kind == "street":
        return _street_name(tokens)
    if kind == "place":
        return None
    kinds = SKIPPED | HEADS | _UNITS
    words = [i for i, token in enumerate(tokens) if token.isalpha() and len(token) > 2 and token.lower() not in kinds]
    return next((i for i in words if not _is_numbered(tokens, i)), None)


def _street_name(tokens: Sequence[str]) -> int | None:
    """Return the index of the word of a street kind that is used as a name (Park in ``123 Park Ave``), or None.

    ``County Rd 12`` and ``State Hwy 7`` have a number as their name.
    """
    words = [
        i for i, token in enumerate(tokens) if token.isalpha() and len(token) > 1 and token.lower() not in _COMPASS
    ]
    types = [at for at, i in enumerate(words) if tokens[i].lower() in _ROADS]
    if not types and words and "&" in tokens:  # Main & 5th
        return words[0]
    if not types or types[-1] == 0:
        return None
    last = words[types[-1]]
    behind = next((token for token in tokens[last + 1 :] if token[0].isalnum()), "")
    if behind[:1].isdecimal() and tokens[words[0]].lower() in _NUMBERED_ROADS:
        return None
    return words[0]


def stays(token: str, kept: frozenset[str], kind: str) -> bool:
    """Return whether a word of a place name of this ``kind`` is kept; ``kept`` are words in lower case."""
    if not token[0].isalpha():
        return False
    lower = token.lower().replace("’", "'")
    if len(token) == 1:
        # A single letter is a ward, a flat or an initial, so it is replaced. Only compass points of streets are kept.
        return kind == "street" and (lower in "nsew" or token in "PO")
    if kind in ("facility", "organization") and _SPECIALTY.search(lower):
        return True
    return lower in kept and (lower not in ORDINAL_WORDS or kind in ("facility", "organization"))


def is_church_letter(tokens: Sequence[str], index: int) -> bool:
    """Return whether a letter is the C or the E of ``C of E``."""
    if tokens[index] not in ("C", "E"):
        return False
    return tokens[index : index + 5] == _CHURCH or (index > 3 and tokens[index - 4 : index + 1] == _CHURCH)


def is_road_letter(tokens: Sequence[str], index: int) -> bool:
    """Return whether a letter is the I of ``I-84`` or the E of ``I-84 E``."""
    around = (tokens[index - 2 : index], tokens[index + 1 : index + 3])
    if tokens[index] == "I":
        return len(around[1]) == 2 and around[1][0] in "- " and around[1][1][0].isdecimal()
    return tokens[index] in "NSEW" and len(around[0]) == 2 and around[0][0][0].isdecimal() and around[0][1] == " "
