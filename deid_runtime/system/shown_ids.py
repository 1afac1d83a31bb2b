"""The form of note and patient ids in the quarantine and in errors.

When columns are mixed up, the id of a note can be its first line. So an id that looks like text appears as its digest.
``printf %s "$id" | sha256sum`` computes the digest of an id, and the position in the input shows where it is.
"""

import re
from hashlib import sha256
from typing import Final

#: Longest id that appears unchanged: the length of a SHA-256 in hexadecimal digits.
LONGEST_ID_CHARS: Final = 64
_DIGEST_DIGITS: Final = 16
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def looks_like_text(value: str) -> bool:
    """Return whether an id could be a part of a note.

    Such an id is longer than :data:`LONGEST_ID_CHARS`, or has white space or unprintable characters, or has several
    words of two letters or more and no digit.
    """
    if len(value) > LONGEST_ID_CHARS or not value.isprintable() or any(map(str.isspace, value)):
        return True
    return not any(map(str.isdigit, value)) and len(_WORD.findall(value)) > 1


def shown_id(value: str) -> str:
    """Return ``value``, or ``sha256:`` and the first 16 hexadecimal digits of its digest when it looks like text."""
    if not looks_like_text(value):
        return value
    return f"sha256:{sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGEST_DIGITS]}"
