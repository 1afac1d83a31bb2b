"""Edits of a text, and the map of offsets between the text before and after them.

All offsets are half-open code points. Edits are sorted and disjoint, and each replaces at least one character.
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
    """The offsets of each edit of one pass, in the old and in the new text.

    ``starts`` and ``ends`` are offsets of the old text, ``new_starts`` and ``new_ends`` of the new text.
    When an edit keeps the length, old and new characters correspond one to one. In any other edit, every new character
    comes from the whole old stretch.
    """

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    new_starts: tuple[int, ...]
    new_ends: tuple[int, ...]

    def origin(self, at: int) -> tuple[int, int]:
        """Return the half-open stretch of the old text that the character at the new offset ``at`` comes from."""
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
        """Return the first new offset whose origin (:meth:`origin`) ends after the old ``offset``."""
        edit = bisect_right(self.starts, offset) - 1
        if edit < 0:
            return offset
        start, end, new_start, new_end = self.starts[edit], self.ends[edit], self.new_starts[edit], self.new_ends[edit]
        if offset >= end:
            return new_end + offset - end
        return new_start + offset - start if end - start == new_end - new_start else new_start

    def last_before(self, offset: int) -> int:
        """Return the new offset after the last character whose origin starts before the old ``offset``."""
        edit = bisect_left(self.starts, offset) - 1
        if edit < 0:
            return offset
        start, end, new_start, new_end = self.starts[edit], self.ends[edit], self.new_starts[edit], self.new_ends[edit]
        if offset >= end:
            return new_end + offset - end
        return new_start + offset - start if end - start == new_end - new_start else new_end


def apply_edits(text: str, edits: Sequence[Edit]) -> tuple[str, Layer]:
    """Return ``text`` after ``edits``, and the map of offsets between old and new text."""
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
