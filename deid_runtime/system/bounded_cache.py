"""Keep the most recently used values within a number of bytes, in the memory of one process only."""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Generic, NoReturn, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """The most recently used values, at most ``limit_bytes`` of them. With a limit of 0 nothing is kept.

    For keys and values with clinical text: pickling is refused, and ``repr`` shows counts only. Not thread-safe.
    A subclass gives ``kind``, the plural of what it keeps, and :meth:`size_of`.
    """

    kind = "values"

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[Key, Value] = OrderedDict()
        self.size_bytes = 0
        self._counts = {"read": 0, "from_cache": 0}

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._kept)} {self.kind}, {self.size_bytes} of {self._limit_bytes} bytes)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a cache of {self.kind} contains text of notes and must stay in its process")

    @staticmethod
    def size_of(key: Key, value: Value) -> int:
        """Return the bytes of memory of an entry."""
        raise NotImplementedError

    @property
    def is_on(self) -> bool:
        """Return whether the cache keeps anything."""
        return self._limit_bytes > 0

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many items were counted (``read``), and how many of them were repeated (``from_cache``)."""
        return dict(self._counts)

    def count(self, *, read: int, from_cache: int) -> None:
        """Count items that were read, and how many of them had a kept value or are equal to another one of the call."""
        self._counts["read"] += read
        self._counts["from_cache"] += from_cache

    def find(self, key: Key) -> Value | None:
        """Return the kept value of ``key``, or None."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def add(self, key: Key, value: Value) -> None:
        """Keep a value, and remove the least recently used ones that have no room beside it."""
        if key in self._kept:
            return
        self._kept[key] = value
        self.size_bytes += self.size_of(key, value)
        while self.size_bytes > self._limit_bytes:
            self.size_bytes -= self.size_of(*self._kept.popitem(last=False))

    def clear(self) -> None:
        """Forget all values."""
        self._kept.clear()
        self.size_bytes = 0
