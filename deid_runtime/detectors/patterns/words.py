"""Words that several rows share: months, weekdays, holidays, states, streets. Only language and geography."""

import re
from collections.abc import Iterable
from typing import Final

from deid_runtime.lexicon.calendar_words import month_words, weekday_words
from deid_runtime.lexicon.states import states

#: Month -> its number: English first, then French and Spanish as found in English notes. No trailing full stops.
MONTHS: Final = month_words("find")

WEEKDAYS: Final = weekday_words("find")

SEASONS: Final = frozenset("spring summer autumn fall winter".split())

#: A year in four digits, from 1800 on; in corpora with shifted dates, years reach into the 2200s.
YEAR: Final = r"(?:1[89]|2[0-2])\d\d"
#: A year in two digits, with or without an apostrophe.
YEAR2: Final = r"['’‘]?\d\d"

#: Two-letter codes and names of US states.
US_STATES: Final[dict[str, str]] = {state.code: state.name for state in states("find")}


def either(words: Iterable[str]) -> str:
    """Return a pattern for the longest matching word; common prefixes are tried only once."""
    branches: dict[str, list[str]] = {}
    ends_here = False
    for word in words:
        if word:
            branches.setdefault(word[0], []).append(word[1:])
        else:
            ends_here = True
    parts = [
        re.escape(char + rests[0]) if len(rests) == 1 else re.escape(char) + either(rests)
        for char, rests in sorted(branches.items())
    ]
    if not parts:
        return ""
    if len(parts) == 1 and not ends_here:
        return parts[0]
    return f"(?:{'|'.join(parts)})" + ("?" if ends_here else "")
