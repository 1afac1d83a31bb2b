"""Recognise clinical words by their form: prefixes, roots and an ending of Greek or Latin (*pericardiocentesis*).

No word list has all such words. Of the public and our names of seven letters and more, one in 500 has this form
(*antonia*), so names that are in a list must be asked for first.
"""

import re
from functools import cache
from typing import Final

from deid_runtime.lexicon.tables import table
from deid_runtime.system.word_caches import cached_by_word

_SHORTEST: Final = 7  # letters; among shorter words, too many names have this form
_LONGEST: Final = 30


@cached_by_word(20_000)
def has_clinical_form(key: str) -> bool:
    """Return whether a word in the form of :func:`~deid_runtime.lexicon.word_codes.word_key` is built as a clinical
    term: up to two prefixes, one to three roots, each with or without a vowel behind, and an ending."""
    return _SHORTEST <= len(key) <= _LONGEST and _form().fullmatch(key) is not None


@cache
def _form() -> re.Pattern[str]:
    prefix, root, ending = (_any_of(kind) for kind in ("prefix", "root", "ending"))
    return re.compile(f"{prefix}{{0,2}}(?:{root}[aeiouy]?){{1,3}}{ending}s?")


def _any_of(kind: str) -> str:
    parts = {
        part for of, parts in table("clinical_word_parts", "kind", "parts") if of == kind for part in parts.split()
    }
    return f"(?:{'|'.join(sorted(parts, key=lambda part: (-len(part), part)))})"
