"""Keyed choices: the same key and the same value always give the same choice, and nothing is stored.

All use HMAC-SHA256 (RFC 2104), on copies of two hash objects that have read the key. ``hmac.digest`` takes three times
as long, because OpenSSL 3 looks up the algorithm again, and copies of an ``hmac`` object twice as long; a note takes
hundreds of digests.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")

_ROUNDS: Final = 4
_BLOCK_BYTES: Final = 64  # of SHA-256
_INNER: Final = bytes(number ^ 0x36 for number in range(256))
_OUTER: Final = bytes(number ^ 0x5C for number in range(256))


class Keyed:
    """A source of choices that depend only on a secret and on the given values."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, secret: bytes) -> None:
        secret = secret if len(secret) <= _BLOCK_BYTES else hashlib.sha256(secret).digest()
        block = secret.ljust(_BLOCK_BYTES, b"\0")
        self._inner = hashlib.sha256(block.translate(_INNER))
        self._outer = hashlib.sha256(block.translate(_OUTER))

    def digest(self, purpose: str, value: str) -> bytes:
        """Return 32 bytes for ``value``. ``purpose`` separates kinds of choices and must not contain NUL."""
        return self._finished(self._started(f"{purpose}\0"), value.encode("utf-8", "surrogatepass"))

    def _started(self, text: str) -> "hashlib._Hash":
        inner = self._inner.copy()
        # Broken input may contain lone UTF-16 surrogates: hash them like any other character.
        inner.update(text.encode("utf-8", "surrogatepass"))
        return inner

    def _finished(self, inner: "hashlib._Hash", last: bytes) -> bytes:
        inner.update(last)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.digest()

    def derive(self, purpose: str, value: str) -> "Keyed":
        """Return a separate source for ``value``: the choices of one patient reveal nothing about those of another."""
        return Keyed(self.digest(purpose, value))

    def number(self, purpose: str, value: str) -> int:
        """Return a uniformly distributed integer in ``[0, 2**64)``."""
        return int.from_bytes(self.digest(purpose, value)[:8], "big")

    def pick(self, options: Sequence[T], purpose: str, value: str) -> T:
        """Return one of ``options``, which must not be empty."""
        return options[self.number(purpose, value) % len(options)]

    def stream(self, size: int, purpose: str, value: str) -> bytes:
        """Return ``size`` bytes, for values that need a choice for each character."""
        seed = self.digest(purpose, value)
        return seed[:size] if size <= len(seed) else hashlib.shake_256(seed).digest(size)

    def order(self, size: int, purpose: str) -> list[int]:
        """Return a keyed order of ``range(size)``. Use it for short lists."""
        stream = self.stream(4 * size, purpose, "")
        return sorted(range(size), key=lambda i: (stream[4 * i : 4 * i + 4], i))

    def permute(self, index: int, size: int, purpose: str, rounds: int = _ROUNDS) -> int:
        """Return the index to which a keyed permutation of ``range(size)`` maps ``index``.

        Distinct entries of a list get distinct surrogates, which plain hashing does not guarantee. Uses a balanced
        Feistel network on the next even power of two, applied repeatedly until the result is below ``size`` (Black and
        Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). ``size`` is at most 2**512.
        """
        half = max(1, ((size - 1).bit_length() + 1) // 2)
        mask = (1 << half) - 1
        width = max(4, (half + 7) // 8)
        started = [self._started(f"{purpose}\0{size}/{round_number}/") for round_number in range(rounds)]
        while True:
            left, right = index >> half, index & mask
            for inner in started:
                mixed = self._finished(inner.copy(), b"%d" % right)
                left, right = right, left ^ (int.from_bytes(mixed[:width], "big") & mask)
            index = left << half | right
            if index < size:
                return index
