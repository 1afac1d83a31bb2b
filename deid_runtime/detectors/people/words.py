"""Split a text into words with what the rules need: position, case, and how likely each word is part of a name."""

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

from deid_runtime.detectors.people.cues import CALENDAR, PARTICLES, SYLLABLES
from deid_runtime.lexicon.tables import words_for
from deid_runtime.lexicon.word_codes import (
    EPONYM,
    FAMILY,
    FAMILY_SHIFT,
    GIVEN,
    PLACE,
    WORD,
    WORD_SHIFT,
    load_lexicon,
    word_key,
)
from deid_runtime.system.word_caches import cached_by_word


class Case(IntEnum):
    """The case of a word; ``NONE`` for mixed case that no name has (``pH``)."""

    NONE = 0
    LOWER = 1
    TITLE = 2
    CAPS = 3
    INITIAL = 4


class NameGrade(IntEnum):
    """How likely a word is a part of a name."""

    NONE = 0
    UNKNOWN = 1  # in no list
    WEAK = 2  # a name, but also a word, eponym or brand
    STRONG = 3  # only a name
    INITIAL = 4
    PARTICLE = 5


class Facts(NamedTuple):
    """Facts about a word that do not depend on its position."""

    key: str
    code: int
    case: Case
    grade: NameGrade
    given: int
    family: int
    word: int


class Word(NamedTuple):
    """One word of a text, ``[start, end)`` without a possessive ``'s``."""

    start: int
    end: int
    facts: Facts
    is_possessive: bool


_WORD: Final = re.compile(r"[^\W\d_]+(?:['’‘‐‑-][^\W\d_]+)*")
_OWNER: Final = re.compile(r"['’][sS]$")
#: Contracted verbs after an apostrophe: *we've*, *how're*.
_CONTRACTION: Final = re.compile(r"['’](?:re|ve|ll|d|m|t)$", re.IGNORECASE)
_VOWEL: Final = re.compile(r"[aeiouyà-ɏḀ-ỿ]")
#: Prefixes of a name that another capital may follow.
_INNER: Final = re.compile(
    r"(?:[A-Z][a-z]?['’‘]|M[a]?c|D[aeiu]|L[aeo]|Fitz|Van|Ja|Ty|Sha|Ke|Ta|Ra|Ro|O|Al|El|Abu)[A-ZÀ-Þ][a-zà-ɏ]+$"
)
_HYPHEN: Final = re.compile("[‐‑-]")
_LONGEST: Final = 40  # characters; longer words are never names


def read_words(text: str) -> list[Word]:
    """Return the words of ``text`` in order; words that touch a digit or underscore have the grade ``NONE``."""
    words = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        written = match[0]
        owns = False
        if end - start > 2 and written[-1] in "sS" and _OWNER.search(written):
            written, end, owns = written[:-2], end - 2, True
        facts = _facts(written) if len(written) <= _LONGEST else _NOTHING
        if facts.grade and _touches_digit(text, start, match.end()):
            facts = _NOTHING
        words.append(Word(start, end, facts, owns))
    return words


def _touches_digit(text: str, start: int, end: int) -> bool:
    before, behind = text[start - 1 : start], text[end : end + 1]
    return (
        (before.isalnum() or before in ("_", "@")) or (behind.isalnum() or behind in ("_", "@"))
        if before or behind
        else False
    )


@cached_by_word(50_000)
def _facts(written: str) -> Facts:
    key = word_key(written)
    case = _case_of(written)
    code = _code_of(written, key)
    given, family, word = code & GIVEN, (code & FAMILY) >> FAMILY_SHIFT, (code & WORD) >> WORD_SHIFT
    return Facts(key, code, case, _grade_of(key, code, case, written), given, family, word)


def _case_of(written: str) -> Case:
    if len(written) == 1:
        return Case.INITIAL if written.isupper() else Case.LOWER
    if written.islower():
        return Case.LOWER
    if written.isupper():
        return Case.CAPS
    parts = _HYPHEN.split(written)
    if all(
        part and (part[0].isupper() and (part[1:].islower() or len(part) == 1 or _INNER.match(part))) for part in parts
    ):
        return Case.TITLE
    if written[0].isupper() and len(parts) > 1 and parts[0][1:].islower() and all(map(str.islower, parts[1:])):
        return Case.TITLE  # Min-jun
    return Case.NONE


def _code_of(written: str, key: str) -> int:
    """Return the lexicon code of a word. The code of an unlisted hyphenated word is derived from its parts."""
    lexicon = load_lexicon()
    code = lexicon.get(key)
    if code is not None:
        return code
    parts = [part for part in _HYPHEN.split(written) if part]
    if len(parts) < 2:
        return 0
    keys = [word_key(part) for part in parts]
    if keys[0] in PARTICLES and len(keys) == 2 and (keys[1] not in lexicon or lexicon[keys[1]] & (GIVEN | FAMILY)):
        return lexicon.get(keys[1], 0)  # Al-Masri
    if SYLLABLES.issuperset(keys) and len(set(keys)) == len(keys) and len(keys) < 4:
        usual = all(lexicon.get(each, 0) & WORD >= 2 << WORD_SHIFT for each in keys)
        return 2 if written[0].isupper() or not usual else 2 << WORD_SHIFT
    codes = [lexicon.get(word_key(part), 0) if len(part) > 1 else 2 << WORD_SHIFT for part in parts]
    named = [each for each in codes if each & (GIVEN | FAMILY)]
    if len(named) < len(codes):
        # With an unlisted part, the whole is unlisted; with a part that is a word, the whole is a word.
        return max(each & WORD for each in codes) | max(each & (EPONYM | PLACE) for each in codes)
    return (
        min(each & GIVEN for each in named)
        | min(each & FAMILY for each in named)
        | min(each & WORD for each in named)
        | max(each & EPONYM if each & FAMILY != FAMILY else 0 for each in named)
    )


def _grade_of(key: str, code: int, case: Case, written: str) -> NameGrade:
    if case is Case.NONE or _CONTRACTION.search(written):
        return NameGrade.NONE
    if case is Case.INITIAL:
        return NameGrade.INITIAL
    if key in PARTICLES and (case is Case.LOWER or not code & FAMILY):
        return NameGrade.PARTICLE
    if key in CALENDAR:
        return NameGrade.NONE
    word = (code & WORD) >> WORD_SHIFT
    best = max(code & GIVEN, (code & FAMILY) >> FAMILY_SHIFT)
    if best:
        if key in PARTICLES or code & EPONYM or word >= 2 or len(key) < 2:
            return NameGrade.WEAK
        if (word == 1 and best < (3 if case is Case.LOWER else 2)) or (best < 3 and key in _languages()):
            return NameGrade.WEAK
        return NameGrade.STRONG
    if word or code & (EPONYM | PLACE) or len(key) < 3 or not _VOWEL.search(key):
        return NameGrade.NONE
    return NameGrade.UNKNOWN


@lru_cache(maxsize=1)
def _languages() -> frozenset[str]:
    """Return the keys of languages: Aymara, Dinka."""
    return frozenset(word_key(word) for word in words_for("peoples", "language"))


_NOTHING: Final = Facts("", 0, Case.NONE, NameGrade.NONE, 0, 0, 0)
