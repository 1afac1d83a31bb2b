"""Street addresses, post boxes, postal codes, and places inside buildings: rooms, beds, wards, floors."""

import re
from collections.abc import Mapping
from typing import Final

from deid_runtime.detectors.patterns.context import context_of
from deid_runtime.detectors.patterns.rows import Check, Grade
from deid_runtime.detectors.patterns.words import US_STATES, either
from deid_runtime.lexicon.calendar_words import SHORT_MONTHS
from deid_runtime.lexicon.states import states
from deid_runtime.lexicon.tables import listed_words
from deid_runtime.lexicon.vocabulary import street_kinds

# --- streets -------------------------------------------------------------------------------------------------------

#: Suffixes that end a street name, whatever comes before them.
SUFFIXES: Final = street_kinds("suffix")
#: Suffixes that may also be part of the name before another suffix ("Spring Hill Road"), or a common word.
SOFT_SUFFIXES: Final = street_kinds("soft")
#: Suffixes that make a name a street without a house number.
SURE_SUFFIXES: Final = street_kinds("sure")
#: Suffixes that make it a street only after "on", "off", "near".
LIKELY_SUFFIXES: Final = street_kinds("likely")


def _is_street(match: re.Match[str]) -> bool:
    """Return whether it is a house number, a name and a suffix; not ``36F CT``, ``28 Fr CT`` or ``20 SQ``."""
    words = match["name"].split()
    suffix = match["suffix"].rstrip(".")
    if not words or any(word.rstrip(".").lower() in _NOT_IN_STREET for word in words):
        return False
    if suffix in ("CT", "SQ", "PT", "DR", "ST", "HWY", "PL", "PASS") and not match["name"].isupper():
        return False
    return any(len(word) > 2 or word[0].isdigit() for word in words)


_NOT_IN_STREET: Final = frozenset(listed_words("pattern_context", "not-in-street")) | {*SHORT_MONTHS, "sept"}


def _is_lower_street(match: re.Match[str]) -> bool:
    return all(word not in _NOT_IN_STREET and len(word) > 1 for word in match["name"].split())


_STREET_PREPOSITIONS: Final = frozenset("on off near along at to from of by down up".split())


def _is_street_name(match: re.Match[str]) -> bool:
    return match["first"].lower() not in (
        "the",
        "on",
        "at",
        "in",
        "from",
        "near",
        "off",
        "dr",
        "mr",
        "mrs",
        "ms",
        "same",
    )


def _is_likely_street_name(match: re.Match[str]) -> bool:
    """Return whether a street follows a preposition: ``on Packard St``; not ``to Grace Dr Lopez`` (a name follows)."""
    context = context_of(match)
    if not _is_street_name(match) or context.last not in _STREET_PREPOSITIONS:
        return False
    return match["value"].endswith("Drive") or re.match(r"\.?[ ][A-Z][a-z]", context.after) is None


def _is_street_ordinal(match: re.Match[str]) -> bool:
    """Return whether ``E 29th`` is a street, not a ward of that name."""
    return context_of(match).last not in ("alden", "ward", "floor")


# --- postal codes --------------------------------------------------------------------------------------------------

_STATE_CODES: Final = "|".join(US_STATES)
_STATE_NAMES: Final = either(US_STATES.values())
#: State abbreviations with only a final full stop (Ala, Mass), and three others: Me, Penna, Tex.
_STATE_SHORT: Final = either(
    {*(state.short[:-1] for state in states() if state.short.count(".") == 1), "Me", "Penna", "Tex"}
)
_STATE_BEFORE: Final = re.compile(
    rf"(?:\b(?:{_STATE_CODES})|\b[A-Z]\.[ ]?[A-Z]\.|\b(?:{_STATE_NAMES})|\b(?i:{_STATE_NAMES})|\b(?:{_STATE_SHORT})"
    rf"\.?|\b(?:{_STATE_CODES.title()}))[ ,.|:]{{1,5}}"
    r"(?:ZIP:?[ ]?)?$"
)
_STREET_BEFORE: Final = re.compile(
    rf"(?:\d[\w\- ]{{0,40}}\b(?i:{either(SUFFIXES + SOFT_SUFFIXES)}|"
    r"box[ ]\d+)\b[^\n]{0,36}?,?[ ]{1,2}[A-Z][A-Za-z.'\- ]{2,22},?[ ]{1,2})$"
)


def _is_zip(match: re.Match[str]) -> bool:
    """Return whether five digits follow a state, or a ZIP code of nine digits follows any word."""
    text, start = match.string, match.start("value")
    before = text[max(0, start - 28) : start]
    if _STATE_BEFORE.search(before):
        return True
    return len(match["value"]) == 10 and re.search(r"[A-Za-z][ ,]{1,2}$", before) is not None


def _is_zip_after_town(match: re.Match[str]) -> bool:
    start = match.start("value")
    return not _is_zip(match) and _STREET_BEFORE.search(match.string[max(0, start - 110) : start]) is not None


#: State names that are as often persons, towns or rivers: sure only after a town and a comma, or before a postal code.
_AMBIGUOUS_STATES: Final = frozenset(state.name for state in states("ambiguous"))
#: State codes that are also credentials, words or abbreviations: they need a postal code after them.
_CREDENTIAL_CODES: Final = frozenset(state.code for state in states("word"))


def _grade_state(match: re.Match[str]) -> Grade:
    value = match["value"].title()
    context = context_of(match)
    in_address = context.before.endswith(", ") or re.match(r"[ ,]{1,3}\d{5}(?!\d)", context.after) is not None
    if value in _AMBIGUOUS_STATES and not in_address:
        return (
            Grade.PROBABLE
            if context.last in ("in", "from", "to") and not re.match(r"[ ][A-Z]", context.after)
            else Grade.NO
        )
    return Grade.SURE


def _is_state_code(match: re.Match[str]) -> bool:
    """Return whether a state code follows a town (``Kasson, MN``); an ambiguous code needs a postal code after it."""
    if re.match(r"\.?[ ,]{1,3}\d{5}(?!\d)", match.string[match.end("value") : match.end("value") + 10]):
        return True
    before = match.string[max(0, match.start() - 20) : match.start()]
    return (
        match["value"] not in _CREDENTIAL_CODES
        and match[0].startswith(",")
        and re.search(r"[A-Z][a-z]+$", before) is not None
    )


def _has_letter_behind(match: re.Match[str]) -> bool:
    """Return whether it is a postal code such as ``D02 X285``; four digits after a space may be anything."""
    return any(char.isalpha() for char in match["value"][4:])


# --- inside buildings ----------------------------------------------------------------------------------------------


def _is_room(match: re.Match[str]) -> bool:
    """Return whether it is a room with a number.

    Not ``or 2 tabs``, ``OR 1230`` (time), ``POD 4`` (day), ``bed 0255``, ``OR x2`` (twice), ``bed 0`` (none),
    ``beach chair 60`` (degrees).
    """
    word, number = match["word"], match["number"]
    if number == "0" or re.fullmatch(r"x\d", number) is not None:
        return False
    if word.lower() == "chair" and match.string[: match.start()].lower().endswith("beach "):
        return False
    if word.lower() in ("or", "pod") and word not in ("OR", "Pod", "pod"):
        return False
    if re.fullmatch(r"(?:[01]\d|2[0-3])[0-5]\d", number) is not None and (number[0] == "0" or word == "OR"):
        return False
    return word != "OR" or len(number) <= 2


_ROAD_WORDS: Final = frozenset(
    "on via off along take took down up at to from of past near onto over east west north south between cross".split()
)


def _is_highway(match: re.Match[str]) -> bool:
    """Return whether it is a road: alone, ``SR 84`` is a rhythm, ``I-131`` an isotope, ``US 30`` a probe."""
    if match["sure"]:
        return True
    context = context_of(match)
    return (
        context.last in _ROAD_WORDS
        or re.match(r"[ ](?:exit|near|at|east|west|north|south|eb|wb|nb|sb|mp|mile|&|and)\b", context.after.lower())
        is not None
    )


#: Checks by their name in the table.
CHECKS: Final[Mapping[str, Check]] = {
    "grade_state": _grade_state,
    "has_letter_behind": _has_letter_behind,
    "is_highway": _is_highway,
    "is_likely_street_name": _is_likely_street_name,
    "is_lower_street": _is_lower_street,
    "is_room": _is_room,
    "is_state_code": _is_state_code,
    "is_street": _is_street,
    "is_street_name": _is_street_name,
    "is_street_ordinal": _is_street_ordinal,
    "is_zip": _is_zip,
    "is_zip_after_town": _is_zip_after_town,
}
