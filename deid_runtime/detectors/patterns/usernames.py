"""Usernames and signing codes of staff: after a label, beside words of signing, or after the name of their initials.

Some usernames match by form alone:

- a family name between a letter and digits (``kpham22``);
- names or roles joined by an underscore (``rn_okeefe``);
- names or roles joined by a full stop, with digits after them (``nadia.bel03``).
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from deid_runtime.detectors.patterns.rows import Check
from deid_runtime.lexicon.name_cues import fold, is_family_name, is_ordinary
from deid_runtime.lexicon.tables import listed_words

_DRUG_LIKE: Final = re.compile(
    r"(?i)(?:vit|cd|hla|il|ca|ppsv|pcv|covid|spo|hba|fio|po|pco|peg|q|post|day|pod|week|month|year|hour|grade|stage|step|"
    r"phase|level|type|dose|cycle|visit|room|unit|score)[-_]?\d+c?"
)


def _is_code(match: re.Match[str]) -> bool:
    return not _DRUG_LIKE.fullmatch(match["value"])


_NAME_WORD: Final = re.compile(r"[^\W\d_][^\W\d_'’.-]*(?:['’-][^\W\d_]+)*\.?")
_NAME_BEFORE: Final = 60  # characters; a code follows a name and its credentials: "Corey Anstruther, MD (PGY 2) ca118"


def _are_initials(match: re.Match[str]) -> bool:
    """Return whether the letters are the initials of two adjacent words before, on the same line."""
    if not _is_code(match):
        return False
    text, start = match.string, match.start("value")
    line = text[max(0, start - _NAME_BEFORE) : start].rpartition("\n")[2]
    letters = match["letters"].upper()
    words = list(_NAME_WORD.finditer(line))
    return any(
        first.group()[0] == letters[0]
        and last.group()[0] == letters[-1]
        and not line[first.end() : last.start()].strip()
        and max(len(first.group()), len(last.group())) > 2
        for first, last in pairwise(words)
    )


def _holds_family_name(match: re.Match[str]) -> bool:
    return is_family_name(match["name"]) and not is_ordinary(match["letters"])


#: Parts of field names in exports and forms: ``session_id``, ``coll_dt``.
_FIELD_PARTS: Final = frozenset(listed_words("pattern_context", "field"))


def _is_no_field(match: re.Match[str]) -> bool:
    return _FIELD_PARTS.isdisjoint(re.split(r"[\W\d_]+", match["value"]))


#: What tells a handle from a word: a digit, an underscore, a capital behind a small letter.
_IN_HANDLE: Final = re.compile(r"[\d_]|[a-z][A-Z]")


def _is_new_word(match: re.Match[str]) -> bool:
    return not is_ordinary(fold(match["value"]))


def _is_handle(match: re.Match[str]) -> bool:
    """Return whether the value is made like a handle; a full stop may also join two sentences: ``pt.says``."""
    parts = match["value"].split(".")
    return _IN_HANDLE.search(match["value"]) is not None or (
        len(parts) > 1 and not all(is_ordinary(fold(part)) for part in parts)
    )


#: Checks by their name in the table.
CHECKS: Final[Mapping[str, Check]] = {
    "are_initials": _are_initials,
    "holds_family_name": _holds_family_name,
    "is_code": _is_code,
    "is_handle": _is_handle,
    "is_new_word": _is_new_word,
    "is_no_field": _is_no_field,
}
