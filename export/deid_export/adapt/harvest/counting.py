"""Count more keys than fit into memory: find the frequent keys and the number of distinct patients of each."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

_HASHES: Final = 2**64


def digest(text: str) -> int:
    """Return a 64-bit hash of ``text`` that is the same in every process."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class FrequentKeys:
    """Find the keys that occur with many patients, with at most ``capacity`` keys in memory.

    The method is Space-Saving (Metwally et al. 2005), applied to changes of patient. Every key has an upper bound of
    its number of distinct patients. The bound is never too small. It is too large when patients alternate or when the
    key was dropped in between. So no key with more than :attr:`floor` patients is missing; a second pass counts the
    remaining keys exactly.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: dict[int, int] = {}  # key -> bound << 64 | the last patient
        #: The largest bound of a dropped key; 0 while no key was dropped.
        self.floor = 0

    def add(self, key: int, patient: int) -> None:
        """Count ``key`` for ``patient``; both are digests."""
        entry = self._entries.get(key)
        if entry is None:
            if len(self._entries) >= self._capacity:
                self._drop_half()
            self._entries[key] = (self.floor + 1) << 64 | patient
        elif entry % _HASHES != patient:
            self._entries[key] = ((entry >> 64) + 1) << 64 | patient

    def _drop_half(self) -> None:
        bounds = sorted(entry >> 64 for entry in self._entries.values())
        self.floor = bounds[len(bounds) // 2]
        self._entries = {key: entry for key, entry in self._entries.items() if entry >> 64 > self.floor}

    def most_frequent(self, least: int, limit: int) -> tuple[set[int], int]:
        """Return at most ``limit`` keys with a bound of ``least`` or more, largest first, and their floor.

        Every key with more patients than that floor, and at least ``least``, is among them.
        """
        bounds = sorted(
            ((entry >> 64, key) for key, entry in self._entries.items() if entry >> 64 >= least), reverse=True
        )
        dropped = bounds[limit][0] if len(bounds) > limit else 0
        return {key for _, key in bounds[:limit]}, max(self.floor, dropped)


class DistinctCount:
    """Count distinct digests: exactly up to :data:`CAP`, beyond that within about 6 %, in 2 kB.

    Keeps the smallest digests. The value of the CAP-th one shows how densely the digests fill their range (Bar-Yossef
    et al. 2002).
    """

    CAP: Final = 256
    __slots__ = ("_is_full", "_least")

    def __init__(self) -> None:
        self._least = array("Q")
        self._is_full = False

    def add(self, value: int) -> None:
        """Count a digest; adding the same one again changes nothing."""
        at = bisect_left(self._least, value)
        if at < len(self._least) and self._least[at] == value:
            return
        if len(self._least) < self.CAP:
            self._least.insert(at, value)
            return
        self._is_full = True
        if at < self.CAP:
            self._least.insert(at, value)
            self._least.pop()

    def __len__(self) -> int:
        if not self._is_full:
            return len(self._least)
        return round((self.CAP - 1) * _HASHES / max(1, self._least[-1]))

    @property
    def is_exact(self) -> bool:
        """Return whether ``len()`` is an exact count and not an estimate."""
        return not self._is_full

    def __iter__(self) -> Iterator[int]:
        return iter(self._least)


class Tally:
    """Occurrences, notes and patients of one thing; all occurrences of one note must be added before the next note."""

    __slots__ = ("_note", "notes", "occurrences", "patients")

    def __init__(self) -> None:
        self.occurrences = 0
        self.notes = 0
        self.patients = DistinctCount()
        self._note = -1

    def add(self, note: int, patient: int) -> None:
        """Count one occurrence in the note with number ``note``."""
        self.occurrences += 1
        if note != self._note:
            self._note = note
            self.notes += 1
            self.patients.add(patient)
