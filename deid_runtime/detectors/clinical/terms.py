"""Clinical terms that models mistake for a person, a place or an employer: drugs, devices, tests, specialties.

The list has no word that public lists have as a family name, a given name or a place. A term beside a title, a
credential, a label or a word for kin is still a name.
"""

import re
from functools import lru_cache
from importlib.resources import files
from typing import Final

from deid_runtime.labels import HEADS
from deid_runtime.lexicon.name_cues import fold, follows_title, is_listed_name, is_staff
from deid_runtime.lexicon.vocabulary import alternation, kin
from deid_runtime.spans import Span

_WORD: Final = re.compile(r"[^\W\d_]+")
_MOST_WORDS: Final = 4
_CUE_BEFORE: Final = re.compile(
    r"(?i)(?:\b(?:patient|pt|name|named|called|attending|provider|physician|surgeon|author|signed|by|"
    r"per|dictated|cosigned|"
    r"resident|fellow|nurse|midwife|therapist|caregiver|guardian|contact|poa|hcp|proxy|neighbor|"
    r"neighbour|friend|pastor|rabbi|"
    r"lives? (?:in|at|on|with)|from|moved to|"
    r"born in|works? (?:at|for)|"
    r"employed (?:at|by)|attends|resides (?:in|at))\b[^\w\n]{0,3}|/s/[ ]?|[@][ ]?)$"
)
_KIN_BEFORE: Final = re.compile(rf"(?i)\b(?:{alternation(kin('term'))}|grand\w{{2,8}}|fianc\w{{1,3}})\b[^\w\n]{{0,3}}$")
#: Text after initials and usernames: ``EBL/ww``, ``AML:dz``.
_SIGNED_AFTER: Final = re.compile(r"[@_/-]|:\w")
_BEFORE_CHARS: Final = 28
_BEGINNING: Final = re.compile(r"(?:\A|[.!?:;\n\u2022*-])[\s\"'(]*\Z")
_BEGINNING_CHARS: Final = 8
#: From this score on, a model is trusted that a listed abbreviation is a name, or any term a place or employer.
SURE_OF_NAME: Final = 0.5
#: The same for abbreviations of three letters or more that the list does not mark as initials, too.
SURE_OF_LONG: Final = 0.8
_LONG: Final = 3
#: Behind a figure, these are nodes, walkers, masks and modes of oxygen: ``9/21 LN``, ``100 ft x2 RW``, ``10 NRB``.
_MEASURED: Final = re.compile(
    r"\d[ ](?:LNs?|SLNs?|RW|FWW|WW|SPC|NRB|NRM|NC|NP|RA|OA|FM|VM|BVM|HHFNC|HFNC|HFNP|ROS|FB|FHR|AFB|CGA|CGX|MinA|"
    r"ModA|MaxA|SBA|CGS|"
    r"WNL|TTP|OD|BD|ANA|ASMA|SMA|ANCA|RF|RPR|VDRL|TPHA|AROM|PROM|PCs?|RBCs?|FFP|PLTs?|U|AU|IU|PVCs?|PACs?|BMs?|UOP|"
    r"EBL|QD|TDS|QDS|QID|HS)$"
)
#: From this score on, a model is believed that such an abbreviation is a person.
SURE_BEHIND_FIGURE: Final = 0.9
_TERM_AFTER_SLASH: Final = re.compile(r"/([^\W\d_]{3,})")
_TERM_BEFORE_SLASH: Final = re.compile(r"([^\W\d_]{3,})/$")


def is_term(text: str, span: Span) -> bool:
    """Return whether every word of ``span`` is a clinical term, and nothing beside it shows that it is a name."""
    value = text[span.start : span.end]
    words = _WORD.findall(value)
    if not 0 < len(words) <= _MOST_WORDS or any(char.isdigit() for char in value):
        return False
    if (
        span.label in HEADS["name"]
        and span.score < SURE_BEHIND_FIGURE
        and text[max(0, span.start - 2) : max(0, span.start - 1)].isdigit()
        and _MEASURED.search(text[max(0, span.start - 10) : span.end])
    ):
        return True
    if not all(_is_listed(word) for word in words):
        return False
    if _TERM_AFTER_SLASH.match(text, span.end) is not None or _TERM_BEFORE_SLASH.search(
        text[max(0, span.start - _BEFORE_CHARS) : span.start]
    ):
        other = _TERM_AFTER_SLASH.match(text, span.end) or _TERM_BEFORE_SLASH.search(
            text[max(0, span.start - _BEFORE_CHARS) : span.start]
        )
        if other is not None and words[0] != words[0].upper() and is_term_word(other[1]):
            return True
    is_long = all(_is_short(word) and len(word) >= _LONG and word not in _initials() for word in words)
    is_town = span.label in HEADS["location"]
    least = SURE_OF_LONG if is_long or (is_town and not any(map(_is_short, words))) else SURE_OF_NAME
    if span.score >= least and (span.label not in HEADS["name"] or any(_is_short(word) for word in words)):
        return False  # an abbreviation may be initials or a hospital; a brand may be its maker or its shop
    return not is_introduced(text, span)


def is_term_word(word: str) -> bool:
    """Return whether ``word`` is a listed clinical term that is not a name."""
    return not word.isupper() and _is_listed(word)


def is_introduced(text: str, span: Span) -> bool:
    """Return whether a title, a credential, a label, a word for kin or a signature mark is beside ``span``."""
    return is_behind_kin(text, span) or is_named_by_cue(text, span)


def is_behind_kin(text: str, span: Span) -> bool:
    """Return whether a word for kin is before ``span``: *wife Marge*, but also *wife angry*."""
    return _KIN_BEFORE.search(_line_before(text, span)) is not None


def is_named_by_cue(text: str, span: Span) -> bool:
    """Return whether a title, a credential, a label or a signature mark is beside ``span``."""
    return (
        _CUE_BEFORE.search(_line_before(text, span)) is not None
        or follows_title(text, span.start)
        or is_staff(text, span.start, span.end)
        or _SIGNED_AFTER.match(text, span.end) is not None
        or text[span.start - 1 : span.start] in ("@", "_", "/", "-")
    )


def _line_before(text: str, span: Span) -> str:
    return text[max(0, span.start - _BEFORE_CHARS) : span.start].rpartition("\n")[2]


def begins_sentence(text: str, start: int) -> bool:
    """Return whether a sentence, a line or an item of a list begins at ``start``: a capital there is no evidence."""
    return _BEGINNING.search(text, max(0, start - _BEGINNING_CHARS), start) is not None


def _is_short(word: str) -> bool:
    return word.isupper() and fold(word) not in _terms()


def _is_listed(word: str) -> bool:
    terms = _terms()
    if word.isupper() and word in terms:
        return True
    folded = fold(word)
    return folded in terms and not is_listed_name(folded)


@lru_cache(maxsize=1)
def _terms() -> frozenset[str]:
    text = (files("deid_runtime") / "data" / "lexicon" / "clinical_terms.txt").read_text(encoding="utf-8")
    return frozenset(
        word.lstrip("?") for line in text.splitlines() if not line.startswith("#") for word in line.split()
    )


@lru_cache(maxsize=1)
def _initials() -> frozenset[str]:
    text = (files("deid_runtime") / "data" / "lexicon" / "clinical_terms.txt").read_text(encoding="utf-8")
    return frozenset(word[1:] for word in text.split() if word.startswith("?") and len(word) > 1)
