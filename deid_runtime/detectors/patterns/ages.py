"""Ages of persons: the number only. Gestational ages, hours and days of life, durations and thresholds are not ages."""

import re
from collections.abc import Mapping
from typing import Final

from deid_runtime.detectors.patterns.context import context_of
from deid_runtime.detectors.patterns.rows import Check
from deid_runtime.lexicon.calendar_words import MONTH_NAMES, SHORT_MONTHS, WEEKDAY_NAMES, weekday_words
from deid_runtime.lexicon.tables import listed_words
from deid_runtime.lexicon.vocabulary import kin

#: Words for relatives; a number in brackets after such a word and a name is an age.
KIN_WORDS: Final = frozenset(kin("age"))


def _is_no_threshold(match: re.Match[str]) -> bool:
    """Return whether the age is not a threshold, such as ``age > 65`` or ``over 50 years old``."""
    start = match.start("value")
    before = match.string[max(0, start - 12) : start]
    return re.search(r"[<>≤≥][=]?[ ]?$|(?i:\b(?:over|under|above|below|than|least)[ ]$)", before) is None


def _is_human(value: str) -> bool:
    return not value.isdigit() or (value[0] != "0" and 1 <= int(value) <= 115)


def _is_human_age(match: re.Match[str]) -> bool:
    return _is_human(match["value"])


def _is_age_from_eight(match: re.Match[str]) -> bool:
    """Return whether the age is 8 or more: in a family history, ``d 2`` may be days, but ``d 58`` is an age."""
    return _is_human(match["value"]) and int(match["value"]) >= 8


def _is_labelled(match: re.Match[str]) -> bool:
    return _is_human(match["value"]) and context_of(match).two not in (
        "bone age",
        "gestational age",
        "mental age",
        "by age",
        "to age",
        "at age",
    )


# --- number and sex ------------------------------------------------------------------------------------------------

#: Words around ``6F`` or ``36 F`` that make it a French size or a temperature.
_SIZE_WORDS: Final = frozenset(listed_words("pattern_context", "size"))
_SIZE_AFTER: Final = re.compile(
    r"[ ]?(?i:sheath|glidesheath|bougie|chest|tube|catheter|cath|pigtail|introducer|guide|foley|sutures?|silk|drain|"
    r"w/o glove|CT\b)|[ ]\d"
)


def _is_sexed(match: re.Match[str]) -> bool:
    """Return whether ``67M`` is an age: no word around it makes it a size, a code or a temperature."""
    value = match["value"]
    context = context_of(match)
    if (
        not _is_human(value)
        or context.last in _SIZE_WORDS
        or (context.ends_in("#.<>=+") and context.before[-1] == context.mark)
    ):
        return False
    if re.fullmatch(r"x\d?", context.last):
        return False
    if (
        len(value) == 1
        and context.last not in ("pt", "hpi", "cc", "id")
        and not context.is_at_line_start
        and match["sex"] in "MF"
        and match["gap"]
    ):
        return False
    return _SIZE_AFTER.match(context.after[len(match[0]) - len(value) :]) is None


# --- in sentences --------------------------------------------------------------------------------------------------

_NOT_NAMES: Final = frozenset(listed_words("pattern_context", "not-name")) | {
    *MONTH_NAMES,
    *SHORT_MONTHS,
    "sept",
    *WEEKDAY_NAMES,
    *weekday_words("short"),
}


def _is_after_name(match: re.Match[str]) -> bool:
    return _is_human(match["value"]) and match["name"].lower() not in _NOT_NAMES and not match["name"].isupper()


def _is_life_event(match: re.Match[str]) -> bool:
    """Return whether ``at 58`` is an age beside a relative, a person or an event: not ``positive at 40``."""
    value = match["value"]
    if not _is_human(value) or (value.isdigit() and int(value) < 4):
        return False
    start = match.start("value")
    clause = match.string[max(0, start - 60) : start].rpartition("\n")[2]
    words = {word.strip(".,;:()").lower() for word in clause.split()[-9:]}
    if _WEEKS_AFTER.match(match.string, match.end("value")) is not None:
        return False
    return not words.isdisjoint(_LIFE_WORDS) and words.isdisjoint(_MEASURE_WORDS)


#: Behind a number that counts weeks: "38 and 3 sevenths", "38 and 3/7".
_WEEKS_AFTER: Final = re.compile(r"[ ](?:and[ ])?\d(?:/7|[ ]sevenths)")
_LIFE_WORDS: Final = KIN_WORDS | frozenset(listed_words("pattern_context", "life"))
_MEASURE_WORDS: Final = frozenset(listed_words("pattern_context", "measure"))


def _is_turning(match: re.Match[str]) -> bool:
    return _is_human(match["value"]) and match["value"].lower() not in ("one", "two", "three")


def _is_predicate(match: re.Match[str]) -> bool:
    """Return whether the predicate is an age: ``he is 63.``, ``Billie is 92, here since``."""
    return _is_human(match["value"]) and (not match["value"].isdigit() or int(match["value"]) >= 3)


#: Checks by their name in the table.
CHECKS: Final[Mapping[str, Check]] = {
    "is_age_from_eight": _is_age_from_eight,
    "is_after_name": _is_after_name,
    "is_human_age": _is_human_age,
    "is_labelled": _is_labelled,
    "is_life_event": _is_life_event,
    "is_no_threshold": _is_no_threshold,
    "is_predicate": _is_predicate,
    "is_sexed": _is_sexed,
    "is_turning": _is_turning,
}
