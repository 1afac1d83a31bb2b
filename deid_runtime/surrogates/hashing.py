"""Keyed choices: the same key and the same value always choose the same thing, and nothing is stored.

HMAC-SHA256 throughout, on copies of one that has read the key: OpenSSL 3 looks its algorithm up anew for every one-shot
``hmac.digest``, which takes twice as long.
"""

import hashlib
import hmac
from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")

_ROUNDS: Final = 4


class Keyed:
    """A source of choices that depend on a secret and on the values named, on nothing else."""

    __slots__ = ("_keyed",)

    def __init__(self, secret: bytes) -> None:
        self._keyed = hmac.new(secret, digestmod="sha256")

    def digest(self, purpose: str, value: str) -> bytes:
        """Return 32 bytes for ``value``; ``purpose`` keeps kinds of choices apart and must hold no NUL."""
        # Lone surrogates may come from broken input: they are hashed like any other character.
        message = f"{purpose}\0{value}".encode("utf-8", "surrogatepass")
        started = self._keyed.copy()
        started.update(message)
        return started.digest()

    def derive(self, purpose: str, value: str) -> "Keyed":
        """Return a source of its own for ``value``: one patient's choices say nothing of another's."""
        return Keyed(self.digest(purpose, value))

    def number(self, purpose: str, value: str) -> int:
        """Return an even choice among 2**64 numbers."""
        return int.from_bytes(self.digest(purpose, value)[:8], "big")

    def pick(self, options: Sequence[T], purpose: str, value: str) -> T:
        """Return one of ``options``, which must not be empty."""
        return options[self.number(purpose, value) % len(options)]

    def stream(self, size: int, purpose: str, value: str) -> bytes:
        """Return ``size`` bytes, for values that need a choice per character."""
        seed = self.digest(purpose, value)
        return seed[:size] if size <= len(seed) else hashlib.shake_256(seed).digest(size)

    def order(self, size: int, purpose: str) -> list[int]:
        """Return a keyed order of ``range(size)``, for short lists."""
        stream = self.stream(4 * size, purpose, "")
        return sorted(range(size), key=lambda i: (stream[4 * i : 4 * i + 4], i))

    def permute(self, index: int, size: int, purpose: str, rounds: int = _ROUNDS) -> int:
        """Return where a keyed permutation of ``range(size)`` takes ``index``.

        Distinct entries of a list so get distinct stand-ins, which plain hashing could not promise. A balanced Feistel
        network on the next even power of two, walked until it falls inside the list (Black and Rogaway, "Ciphers with
        Arbitrary Finite Domains", 2002). ``size`` is at most 2**512.
        """
        half = max(1, ((size - 1).bit_length() + 1) // 2)
        mask = (1 << half) - 1
        width = max(4, (half + 7) // 8)
        while True:
            left, right = index >> half, index & mask
            for round_number in range(rounds):
                mixed = self.digest(purpose, f"{size}/{round_number}/{right}")
                left, right = right, left ^ (int.from_bytes(mixed[:width], "big") & mask)
            index = left << half | right
            if index < size:
                return index
