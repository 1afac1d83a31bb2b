"""Ages: keep ages below 90 and group the others as "90 or over", in figures or words as written.

HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(C): all ages over 89 are in one category.
"""

import re
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.lexicon.numbers import DECADE_WORDS, NUMBER_WORDS, ORDINAL_WORDS

_OLDEST_KEPT: Final = 89
_OLDEST_KNOWN: Final = 130
_LONGEST_AGE_CHARS: Final = 60
_FIGURES: Final = re.compile(r"(?<![\d.])(\d+)(?:[.,]\d+|[½¼¾⅓⅔])?(st|nd|rd|th|['’]?s)?", re.I)
_WORDS: Final = re.compile(r"[^\W\d_]+")
#: Units directly after a number, on the same line, which show that it is not an age in years. Single letters do not
#: count: ``92 M`` is a man, and ``95 w/`` and ``91 h/o`` continue with a finding. The heart rate of ``94 HR 88``, the
#: state of ``93 MO 63101`` and ``92 Day 3`` do not count either.
_SMALLER_UNIT: Final = re.compile(
    r"[ \t-]*(?:(?i:months|mos|weeks|wks|days|hours|hrs)\b"
    r"|(?:(?i:month|week|wk|day|hour)|[Mm]o|[Hh]r)\b(?!\.?[ \t]*[:#]?[ \t]*\d))"
)
_GLUE: Final = frozenset(
    """and a half quarter hundred about years year old yo y o f m yrs yr age aged early mid late in the her his their
    over under nearly almost around approximately approx or to plus
    ½ ¼ ¾ ⅓ ⅔""".split()
)


#: Words before an age at which something happens: a form with "+" or "or older" would not be English after them.
_TURNED: Final = re.compile(
    r"\b(?:turn(?:s|ed|ing)?|hit(?:s|ting)?|(?:will|would|[’']ll|to|going to) be|becom(?:es?|ing)|became)\s+$", re.I
)
_UNITS: Final = frozenset("months month mo mos weeks week wk wks days day d w m yrs yr hours hrs".split())


def _number_in_words(words: list[str]) -> int | None:
    total = 0
    seen = False
    for word in words:
        if word in ("hundred", "hundredth"):
            total, seen = max(total, 1) * 100, True
        elif word in NUMBER_WORDS or word in ORDINAL_WORDS or word in DECADE_WORDS:
            total += NUMBER_WORDS.get(word) or ORDINAL_WORDS.get(word) or DECADE_WORDS.get(word) or 0
            seen = True
        elif word not in _GLUE:
            return None
    return total if seen else None


def stated_ages(value: str, after: str) -> tuple[int, ...]:
    """Return the ages in years that ``value`` contains. ``after`` is the text that follows it."""
    value = value[:_LONGEST_AGE_CHARS]
    if _FIGURES.search(value):
        found = [
            int(match[1]) for match in _FIGURES.finditer(value) if not _SMALLER_UNIT.match(value[match.end() :] + after)
        ]
    else:
        in_words = _number_in_words(_WORDS.findall(value.lower()))
        found = [] if in_words is None or _SMALLER_UNIT.match(after) else [in_words]
    return tuple(age for age in found if age <= _OLDEST_KNOWN)


#: What is left of an age when its years are a value of their own: *ninety-four* | *and three quarters*.
_FRACTION: Final = re.compile(
    r"[ \t]*(?:(?:and|&)[ \t]+)?(?:an?[ \t]+)?(?:half|quarter|(?:three|two)[ -]quarters|[½¼¾])", re.I
)
#: A decade of the calendar, not of a life: *here since the 90s*. But *in the 90s* may be either.
_DECADE_BEFORE: Final = re.compile(
    r"\b(?:since|during|until|till|from|of)[ \t]+the[ \t]+(?:(?:early|mid|late)[ \t-]+)?['’]?$", re.I
)


def replace_age(value: str, after: str, before: str = "") -> str | None:
    """Return ``value`` with ages over 89 grouped; None when it is not an age.

    ``before`` and ``after`` are the texts around it: people do not "turn 90+", but "90-something".
    """
    if len(value) > _LONGEST_AGE_CHARS:
        return None
    if _FRACTION.fullmatch(value) or _DECADE_BEFORE.search(before):
        return value
    figures = _FIGURES.search(value)
    words = [
        word for word in _WORDS.findall(value.lower()) if figures is None or word not in ("st", "nd", "rd", "th", "s")
    ]
    if figures:
        if len(_FIGURES.findall(value)) > 2 or any(word not in _GLUE and word not in _UNITS for word in words):
            return None
        numbers = [int(match[1]) for match in _FIGURES.finditer(value)]
        if max(numbers) <= _OLDEST_KEPT:
            return value
        if max(numbers) > _OLDEST_KNOWN:
            return None
        is_turned = _TURNED.search(before) is not None
        return _FIGURES.sub(lambda match: _grouped(match, after, is_turned=is_turned), value)
    in_words = _number_in_words(words)
    if in_words is None:
        return None
    if in_words <= _OLDEST_KEPT or _SMALLER_UNIT.match(after):
        return value
    last = words[-1]
    if last in DECADE_WORDS:
        word_surrogate = "nineties or older"
    elif last in ORDINAL_WORDS or last == "hundredth":
        word_surrogate = "ninetieth or later"
    else:
        word_surrogate = "ninety-something" if _TURNED.search(before) else "ninety or older"
    return case_like(word_surrogate.capitalize() if value[:1].isupper() else word_surrogate, value)


def _grouped(match: re.Match[str], after: str, *, is_turned: bool) -> str:
    """Return one age in figures, grouped when it is 90 or over."""
    if int(match[1]) <= _OLDEST_KEPT or _SMALLER_UNIT.match(match.string[match.end() :] + after):
        return match[0]
    ending = match[2] or ""
    if not ending:
        return "90-something" if is_turned else "90+"
    return case_like("90s or older" if ending.lower().endswith("s") else "90th or later", ending)
