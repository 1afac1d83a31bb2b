"""Ages: kept below 90, grouped as "90 or over" from there on, in figures or words as they were.

HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(C): all ages over 89 in one category.
"""

import re
from typing import Final

from deid_runtime.surrogates.calendar_words import DECADE_WORDS, NUMBER_WORDS, ORDINAL_WORDS
from deid_runtime.surrogates.forms import case_like

_OLDEST_KEPT: Final = 89
_LONGEST_AGE_CHARS: Final = 60
_FIGURES: Final = re.compile(r"(?<![\d.])(\d+)(?:[.,]\d+)?(st|nd|rd|th|['’]?s)?", re.I)
_WORDS: Final = re.compile(r"[^\W\d_]+")
#: What makes a number of something other than years, right after the span.
_SMALLER_UNIT: Final = re.compile(r"[\s-]*(?:months?|mos?|weeks?|wks?|days?|hours?|hrs?|h|d|w|m)\b", re.I)
_GLUE: Final = frozenset({"and", "a", "half", "quarter", "hundred", "about", "years", "year", "old", "yo", "y", "o"})


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


def replace_age(value: str, after: str) -> str | None:
    """Return ``value`` or its form of 90 and over; ``after`` is the text that follows it. None when it is no age."""
    if len(value) > _LONGEST_AGE_CHARS:
        return None
    figures = _FIGURES.search(value)
    words = [
        word for word in _WORDS.findall(value.lower()) if figures is None or word not in ("st", "nd", "rd", "th", "s")
    ]
    if figures:
        if len(_FIGURES.findall(value)) > 2 or any(word not in _GLUE and word not in _UNITS for word in words):
            return None
        number = int(figures[1])
        ages = [int(found[0]) for found in _FIGURES.findall(value)]
        if max(ages) <= _OLDEST_KEPT or _SMALLER_UNIT.match(after):
            return value
        if max(ages) > 130:
            return None
        number = next(age for age in ages if age > _OLDEST_KEPT)
        found = next(match for match in _FIGURES.finditer(value) if int(match[1]) == number)
        ending = (found[2] or "").lower()
        stand_in = "90th or later" if ending in ("st", "nd", "rd", "th") else "90s or older" if ending else "90+"
        return value[: found.start()] + case_like(stand_in, value if ending else "x") + value[found.end() :]
    in_words = _number_in_words(words)
    if in_words is None:
        return None
    if in_words <= _OLDEST_KEPT or _SMALLER_UNIT.match(after):
        return value
    last = words[-1]
    if last in DECADE_WORDS:
        stand_in = "nineties or older"
    elif last in ORDINAL_WORDS or last == "hundredth":
        stand_in = "ninetieth or later"
    else:
        stand_in = "ninety or older"
    return case_like(stand_in.capitalize() if value[:1].isupper() else stand_in, value)


_UNITS: Final = frozenset("months month mo mos weeks week wk wks days day d w m yrs yr hours hrs".split())
