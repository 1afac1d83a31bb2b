"""Find generic people and places: a role, a relative, a kind of place or a service, without a name.

Models take *the charge nurse*, *Day Surgery Unit* or *halfway house* for a person, a hospital or an employer. A span
is generic when all its words are listed (``data/lexicon/generic_words.tsv``, ``kin.tsv``) and the last word that is
not a preposition is a role or a kind of place. A name beside it makes it a part of that name (*Riverside Wound
Clinic*, *Nurse Okafor*): then the span stays.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from deid_runtime.detectors.clinical.terms import begins_sentence, is_introduced
from deid_runtime.labels import HEADS
from deid_runtime.lexicon.name_cues import fold, follows_title, is_listed_name
from deid_runtime.lexicon.tables import table, words_for
from deid_runtime.spans import Span

_PEOPLE: Final = frozenset(HEADS["name"])
_PLACES: Final = frozenset((*HEADS["organization"], "LOCATION-OTHER", "CITY"))
_WORD: Final = re.compile(r"[^\W\d_]+")
_MOST_WORDS: Final = 6
#: Last words that, with a specialty before them, are rarely the name of a place; and words that begin such names.
_UNNAMED: Final = frozenset(
    "round rounds clinic clinics unit units team teams surgery rehab rehabilitation department ward wards".split()
)
_COMMON_IN_NAMES: Final = frozenset("community family public health medical hospital center centre young burn".split())
_LEAST_LETTERS: Final = 4
#: In lower case, a shorter word is no initials: *reg*.
_LEAST_IN_LOWER: Final = 3
#: From this score on, a model is believed that an abbreviation of a role or a place, or a role that begins a sentence,
#: is a name all the same.
_SURE_OF_CODE: Final = 0.9
_ROLE_ACTS: Final = re.compile(
    r"[ ](?:consult(?:ed)?|eval(?:uation)?|recs|involved|referral|to (?:assess|eval\w{0,6}|arrange))\b"
)
#: A capitalised word that adjoins the span, with at most a preposition between: it may be the name of the place.
_NAME_BEFORE: Final = re.compile(r"([^\W\d_]+(?:['’][^\W\d_]+)?)[ ]{1,2}$")
_NAME_AFTER: Final = re.compile(r"[ ]{1,2}(?:(?:of|at|for|in)[ ](?:the[ ])?)?([^\W\d_]+)|[ ]?#?\d")
_SPECIALTY: Final = re.compile(r"(?<![^\W_])([a-z]{3,14})[ ]$")
_BEFORE_CHARS: Final = 24


def is_generic(text: str, span: Span) -> bool:
    """Return whether ``span`` is a role or a kind of place in listed words, without a name beside it."""
    if span.label not in _PEOPLE and span.label not in _PLACES:
        return False
    written = _WORD.findall(text, span.start, span.end)
    if not 0 < len(written) <= _MOST_WORDS or any(char.isdigit() for char in text[span.start : span.end]):
        return False
    if _is_abbreviation(text, span, written):
        return True
    words = [fold(word) for word in written]
    heads, rest = (_roles(), _before_role()) if span.label in _PEOPLE else (_kinds(), _before_kind())
    if _is_role_of_list(text, span):
        return True
    least = _LEAST_IN_LOWER if written[0].islower() else _LEAST_LETTERS
    if max(map(len, words)) < least or (
        len(words) == 1 and not written[0].islower() and not _is_role_at_beginning(text, span, words[0])
    ):
        return False  # "SW" may be initials, "Coach" a nickname
    if (
        words[-1] not in heads
        or (span.label in _PLACES and not _is_kind_only(written, words))
        or not all(word in heads or word in rest for word in words)
    ):
        return False
    is_word = all(map(str.islower, written)) and not any(map(is_listed_name, words))  # "per reg", "by cons"
    return not (_adjoins_name(text, span) or (is_introduced(text, span) and not is_word))


def _is_role_at_beginning(text: str, span: Span, word: str) -> bool:
    """Return whether a role that is in no list of names has its capital from its place: *Aide reports a tear*."""
    return (
        span.label in _PEOPLE
        and span.score < _SURE_OF_CODE
        and len(word) >= _LEAST_LETTERS
        and not text[span.start + 1].isupper()
        and not is_listed_name(word)
        and begins_sentence(text, span.start)
    )


def is_sure_role(written: str) -> bool:
    """Return whether ``written`` is short for a role and hardly ever initials: ``TVN``, ``NOK``."""
    return written in _sure_roles()


def _is_abbreviation(text: str, span: Span, written: Sequence[str]) -> bool:
    """Return whether ``span`` is an abbreviation that is short for a role or a kind of place and for nothing else."""
    if all(map(is_sure_role, written)):
        return not (_adjoins_name(text, span) or follows_title(text, span.start))
    return (
        text[span.start : span.end] in _abbreviations()
        and span.score < _SURE_OF_CODE
        and not (_adjoins_name(text, span) or is_introduced(text, span))
    )


def _is_role_of_list(text: str, span: Span) -> bool:
    """Return whether ``span`` is an abbreviation of a role in a list of such: ``OT, PA and SW``.

    Alone it may be initials.
    """
    value = text[span.start : span.end]
    if span.label not in _PEOPLE or value not in _short_roles():
        return False
    if _ROLE_ACTS.match(text, span.end) is not None and not is_introduced(text, span):
        return True
    specialty = _SPECIALTY.search(text, max(0, span.start - _BEFORE_CHARS), span.start)
    if specialty is not None and fold(specialty[1]) in _before_role():
        return True  # "cards NP", "ortho PA"
    behind = _role_behind().match(text, span.end)
    before = _role_before().search(text, max(0, span.start - _BEFORE_CHARS), span.start)
    return any(other is not None and other["role"] != value for other in (behind, before))


def _is_kind_only(written: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether words for a place are no name: lower case, or a specialty before *Clinic*, *Unit*, *Team*."""
    if all(map(str.islower, written)):
        return True
    return len(words) > 1 and words[-1] in _UNNAMED and _COMMON_IN_NAMES.isdisjoint(words)


def _adjoins_name(text: str, span: Span) -> bool:
    before = _NAME_BEFORE.search(text, max(0, span.start - _BEFORE_CHARS), span.start)
    if before is not None and before[1][0].isupper() and not _is_listed(before[1]):
        return True
    after = _NAME_AFTER.match(text, span.end)
    if after is None:
        return False
    return after[1] is None or (after[1][0].isupper() and not _is_listed(after[1]))


def _is_listed(word: str) -> bool:
    key = fold(word)
    return key in _kinds() or key in _before_kind() or key in _roles() or key in _before_role()


@lru_cache(maxsize=1)
def _kinds() -> frozenset[str]:
    return frozenset(words_for("generic_words", "place"))


@lru_cache(maxsize=1)
def _before_kind() -> frozenset[str]:
    return frozenset(words_for("generic_words", "before-place"))


@lru_cache(maxsize=1)
def _roles() -> frozenset[str]:
    return frozenset((*words_for("generic_words", "role"), *(row[0] for row in table("kin", "word", "uses"))))


@lru_cache(maxsize=1)
def _before_role() -> frozenset[str]:
    return frozenset(words_for("generic_words", "before-role"))


@lru_cache(maxsize=1)
def _abbreviations() -> frozenset[str]:
    uses = ("role-code", "sure-role", "place-code")
    return frozenset(word for use in uses for word in words_for("generic_words", use))


@lru_cache(maxsize=1)
def _sure_roles() -> frozenset[str]:
    return frozenset(words_for("generic_words", "sure-role"))


@lru_cache
def _short_roles() -> frozenset[str]:
    return frozenset(words_for("generic_words", "short-role"))


@lru_cache
def _role_behind() -> re.Pattern[str]:
    roles = "|".join(sorted(_short_roles()))
    return re.compile(rf"[ ]?(?:[,/&+]|and\b|or\b)[ ]?(?:and[ ])?(?P<role>{roles})(?![\w'’-])")


@lru_cache
def _role_before() -> re.Pattern[str]:
    roles = "|".join(sorted(_short_roles()))
    return re.compile(rf"(?<![\w'’-])(?P<role>{roles})[ ]?(?:[,/&+]|and|or)[ ]?(?:and[ ])?$")
