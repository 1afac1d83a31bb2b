"""Rows of the clinical grammar, and a search that tries all rows on a text in time linear in its length.

As in the table of patterns, no row scans the whole text. Each row is tried only at its anchors: certain words, or the
first digit of a number. All patterns have bounded repeats, so the work per anchor is bounded.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from deid_runtime.text.regexes import compiled

#: Labels whose values are figures; a clinical value has none of these labels.
FIGURES: Final = frozenset(
    {
        "AGE", "DATE", "PHONE", "FAX", "ZIP", "SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE",
        "DEVICE", "BIOID", "IDNUM",
    }
)  # fmt: skip
#: The label of countries, and labels that models give to peoples by mistake.
ORIGINS: Final = frozenset({"COUNTRY", "STATE", "CITY", "LOCATION-OTHER", "ORGANIZATION"})

#: Labels of people, places and facilities: none of them is the name of a score, a people or a classification.
NAMES: Final = ORIGINS | {"PATIENT", "DOCTOR", "HOSPITAL"}

#: Returns False to reject a match by its context (``match.string`` is the whole text).
Check = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClinicalRow:
    """One form of a clinical value.

    The stretch is the group ``value`` of ``pattern``, or the whole match if there is no such group or the row
    ``is_whole``. Nothing in it can
    have a label in ``excludes``. The row is tried at ``words`` (lower case). With ``at_numbers`` it is tried at the
    first digit of a number that is followed by one of the characters ``after`` (``x``: any letter; empty: any
    character). In ``sure`` rows, no word before the value changes its meaning.
    """

    name: str
    kind: str
    pattern: str
    words: frozenset[str] = frozenset()
    at_numbers: bool = False
    after: str = ""
    excludes: frozenset[str] = FIGURES
    sure: bool = False
    is_whole: bool = False
    check: Check | None = None

    def __post_init__(self) -> None:
        if bool(self.words) == self.at_numbers:
            raise ValueError(f"row {self.name}: expected either words or numbers as anchors")


_LINE_CHARS: Final = 80


def line_of(match: re.Match[str]) -> str:
    """Return the line in which a match begins, at most 80 characters before and 80 behind the match."""
    before = match.string[max(0, match.start() - _LINE_CHARS) : match.start()].rpartition("\n")[2]
    return before + match[0] + match.string[match.end() : match.end() + _LINE_CHARS].partition("\n")[0]


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """A clinical value ``[start, end)`` of one text, in code points, and the labels that nothing in it can have."""

    start: int
    end: int
    kind: str
    row: str
    excludes: frozenset[str]
    sure: bool


_WORD: Final = re.compile(r"[^\W\d_]+")
_NUMBER: Final = re.compile(r"(?<![\d.,/])(?<!\d-)\d+|(?<=[^\W\d_][.,/])\d+")


#: Characters in ``after`` of some row. All other characters are treated alike, because there are many.
_KNOWN_AFTER: Final = frozenset("x /.,-–+%°×[]()")


class Grammar:
    """The rows, indexed by their anchors."""

    def __init__(self, rows: Sequence[ClinicalRow]) -> None:
        names = [row.name for row in rows]
        if len(set(names)) != len(names):
            raise ValueError(f"row names must differ: {sorted({name for name in names if names.count(name) > 1})}")
        self.rows = tuple(rows)
        self._words: dict[str, tuple[ClinicalRow, ...]] = {}
        for row in rows:
            for word in row.words:
                self._words[word] = (*self._words.get(word, ()), row)
        self._at_numbers = tuple(row for row in rows if row.at_numbers)
        self._behind_numbers: dict[str, tuple[ClinicalRow, ...]] = {}

    def find(self, text: str, start: int = 0, end: int | None = None) -> list[Stretch]:
        """Return the stretches whose anchors are in ``text[start:end]``, sorted; they may overlap."""
        found: set[Stretch] = set()
        last = len(text) if end is None else end
        for word in _WORD.finditer(text, start, last):
            rows = self._words.get(word.group().lower())
            if rows is not None:
                found.update(_tried(rows, text, word.start()))
        for number in _NUMBER.finditer(text, start, last):
            after = text[number.end() : number.end() + 1]
            found.update(_tried(self._rows_before("x" if after.isalpha() else after), text, number.start()))
        return sorted(found, key=lambda stretch: (stretch.start, stretch.end, stretch.row))

    def _rows_before(self, after: str) -> tuple[ClinicalRow, ...]:
        """Return the rows for a number that ``after`` follows; ``after`` is empty at the end of a text."""
        if after not in _KNOWN_AFTER:
            return tuple(row for row in self._at_numbers if not row.after)
        rows = self._behind_numbers.get(after)
        if rows is None:
            rows = tuple(row for row in self._at_numbers if not row.after or (after and after in row.after))
            self._behind_numbers[after] = rows
        return rows


def _tried(rows: Iterable[ClinicalRow], text: str, place: int) -> Iterable[Stretch]:
    for row in rows:
        match = compiled(row.pattern).match(text, place)
        if match is not None and (row.check is None or row.check(match)):
            start, end = match.span("value" if "value" in match.re.groupindex and not row.is_whole else 0)
            if start < end:
                yield Stretch(start, end, row.kind, row.name, row.excludes, row.sure)


class Covered:
    """Stretches of one kind, joined where they touch, for a fast containment test."""

    def __init__(self, stretches: Iterable[Stretch]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for stretch in sorted(stretches, key=lambda each: each.start):
            if self._ends and stretch.start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], stretch.end)
            else:
                self._starts.append(stretch.start)
                self._ends.append(stretch.end)

    def holds(self, start: int, end: int) -> bool:
        """Return whether one of the stretches contains ``[start, end)``."""
        at = bisect_right(self._starts, start) - 1
        return at >= 0 and end <= self._ends[at]
