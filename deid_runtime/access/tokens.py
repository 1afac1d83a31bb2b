"""Tokens: random secrets that clients present. A service keeps only their digests.

A token is ``deid_ID_SECRET``. ``ID``, 12 hexadecimal digits, identifies the entry, also in logs. ``SECRET`` is 256
random bits in base32. A digest of so many random bits cannot be inverted by guessing, so one SHA-256 is enough; a slow
hash, which passwords need, would only let anyone overload the service.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Final

_ID_BYTES: Final = 6
_SECRET_BYTES: Final = 32
_TOKEN: Final = re.compile(r"deid_([0-9a-f]{12})_[a-z2-7]{52}", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)

#: The form of a header with a token (RFC 6750).
_BEARER: Final = re.compile(r"bearer +(\S+)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token. ``text`` is shown once, and only its user keeps it. ``sha256`` goes into the access file."""

    id: str
    text: str = field(repr=False)
    sha256: str = field(repr=False)


def new_token() -> NewToken:
    """Return a new random token."""
    token_id = secrets.token_hex(_ID_BYTES)
    secret = base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode("ascii").rstrip("=").lower()
    text = f"deid_{token_id}_{secret}"
    return NewToken(token_id, text, digest_of(text))


def digest_of(token: str) -> str:
    """Return the digest of a token, 64 hexadecimal digits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def id_of(token: str) -> str | None:
    """Return the id of a token; None when the text does not have the form of a token."""
    found = _TOKEN.fullmatch(token)
    return found[1] if found else None


def token_of_header(value: str) -> str | None:
    """Return the token of an authorisation header ``Bearer TOKEN``; None for any other value."""
    found = _BEARER.fullmatch(value.strip(" \t"))
    return found[1] if found else None


def is_digest(text: object) -> bool:
    """Return whether ``text`` has the form of a digest."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def has_digest(token: str, sha256: str) -> bool:
    """Return whether ``token`` has this digest, in a time that does not depend on the digest."""
    return hmac.compare_digest(digest_of(token), sha256)
