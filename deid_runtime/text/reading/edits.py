"""Edits of a text, and the map of offsets between the text before and after them.

All offsets are half-open code points. Edits are sorted and disjoint, none is empty before.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Edit(NamedTuple):
    """Replace ``[start, end)`` of a text by ``instead``, which may be empty; ``start < end``."""

    start: int
    end: int
    instead: str


@dataclass(frozen=True, slots=True)
class Layer:
    """Where each edit of one pass lies, before it (``starts``, ``ends``) and after it (``new_starts``, ``new_ends``).

    Inside an edit that keeps the length, characters answer each other one to one; inside any other, every new
    character comes from the whole of the old stretch.
    """

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    new_starts: tuple[int, ...]
    new_ends: tuple[int, ...]

    def origin(self, at: int) -> tuple[int, int]:
        """Return the stretch before the edits that the character ``at`` comes from."""
        edit = bisect_right(self.new_starts, at) - 1
        if edit < 0:
            return at, at + 1
        start, end, new_start, new_end = self.starts[edit], self.ends[edit], self.new_starts[edit], self.new_ends[edit]
        if at >= new_end:
            return end + at - new_end, end + at - new_end + 1
        if end - start == new_end - new_start:
            return start + at - new_start, start + at - new_start + 1
        return start, end

    def first_from(self, offset: int) -> int:
        """Return the first new offset whose character comes from something that ends behind ``offset``."""
        edit = bisect_right(self.starts, offset) - 1
        if edit < 0:
            return offset
        start, end, new_start, new_end = self.starts[edit], self.ends[edit], self.new_starts[edit], self.new_ends[edit]
        if offset >= end:
            return new_end + offset - end
        return new_start + offset - start if end - start == new_end - new_start else new_start

    def last_before(self, offset: int) -> int:
        """Return the new offset behind the last character that comes from something that starts before ``offset``."""
        edit = bisect_left(self.starts, offset) - 1
        if edit < 0:
            return offset
        start, end, new_start, new_end = self.starts[edit], self.ends[edit], self.new_starts[edit], self.new_ends[edit]
        if offset >= end:
            return new_end + offset - end
        return new_start + offset - start if end - start == new_end - new_start else new_end


def apply_edits(text: str, edits: Sequence[Edit]) -> tuple[str, Layer]:
    """Return ``text`` after ``edits``, and the map between the two."""
    pieces: list[str] = []
    new_starts: list[int] = []
    new_ends: list[int] = []
    read = written = 0
    for start, end, instead in edits:
        pieces += text[read:start], instead
        new_start = written + start - read
        written = new_start + len(instead)
        new_starts.append(new_start)
        new_ends.append(written)
        read = end
    pieces.append(text[read:])
    layer = Layer(
        tuple(edit.start for edit in edits), tuple(edit.end for edit in edits), tuple(new_starts), tuple(new_ends)
    )
    return "".join(pieces), layer
