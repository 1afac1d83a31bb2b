"""How ids of notes and patients are written to the quarantine and to errors.

Where columns are mixed up, the id of a note may be its first line. So an id that looks like text is written as a digest
of it: ``printf %s "$id" | sha256sum`` tells which id it is, and the position in the input says where it stands.
"""

import re
from hashlib import sha256
from typing import Final

#: Longest id that is written as it is: a SHA-256 in hexadecimal digits.
LONGEST_ID_CHARS: Final = 64
_DIGEST_DIGITS: Final = 16
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def looks_like_text(value: str) -> bool:
    """Say whether an id could be a part of a note.

    That is one over :data:`LONGEST_ID_CHARS`, one with white space or characters that cannot be printed, and one of
    several words of two letters or more without any digit.
    """
    if len(value) > LONGEST_ID_CHARS or not value.isprintable() or any(map(str.isspace, value)):
        return True
    return not any(map(str.isdigit, value)) and len(_WORD.findall(value)) > 1


def shown_id(value: str) -> str:
    """Return ``value``, or ``sha256:`` and 16 hexadecimal digits when it looks like text."""
    if not looks_like_text(value):
        return value
    return f"sha256:{sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGEST_DIGITS]}"
