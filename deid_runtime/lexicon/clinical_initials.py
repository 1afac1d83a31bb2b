"""Letters that look like a clinical abbreviation, so that they are hardly the initials of a person."""

import re
from functools import cache
from importlib import resources
from typing import Final

_CAPITALS: Final = re.compile(r"[A-Z]{2,4}")
_LISTS: Final = ("data/lexicon/clinical_initials.txt", "data/lexicon/clinical_terms.txt")


@cache
def clinical_initials() -> frozenset[str]:
    """Return the abbreviations of two to four letters, in lower case."""
    found: set[str] = set()
    for name in _LISTS:
        text = resources.files("deid_runtime").joinpath(name).read_text(encoding="utf-8")
        for line in text.splitlines():
            if not line.startswith("#"):
                found.update(word.lower() for word in line.split() if _CAPITALS.fullmatch(word))
    return frozenset(found)
