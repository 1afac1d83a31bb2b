"""Read what is derived from the patterns of the package from a file: parsing them all takes a second of each process.

``data/patterns/derived.tsv`` has a line for each row of the tables: a digest of its expanded pattern, the names of its
groups, and its anchor words. A pattern that somebody changed has another digest, so it is parsed and checked again.
After a change of the tables, ``python scripts/derive_patterns.py`` writes the file anew; a test compares it with them.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from itertools import groupby
from typing import Final

from deid_runtime.detectors.patterns.anchors import (
    Offsets,
    anchor_words,
    group_names,
    has_unbounded_repeat,
    may_cross_blank_line,
)

FILE: Final = "data/patterns/derived.tsv"
_DIGEST_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class Derived:
    """The names of the groups of a pattern, in their order, and its anchor words, unless its row has a place."""

    groups: tuple[str, ...]
    words: Mapping[str, Offsets] = field(repr=False)


def derive(pattern: str, *, has_place: bool) -> Derived:
    """Return what is derived from ``pattern``; ``has_place`` says whether its row has a place to try it.

    Raises re.error for a wrong pattern.
    """
    return _known().get(digest(pattern, has_place=has_place)) or _derive(pattern, has_place=has_place)


def check_bounds(pattern: str) -> None:
    """Raise ValueError for a pattern with an unbounded repeat, and for one that matches blank lines."""
    if not _known().keys().isdisjoint(digest(pattern, has_place=each) for each in (False, True)):
        return
    if has_unbounded_repeat(pattern):
        raise ValueError("the pattern has an unbounded repeat; write {0,20} for *, {1,20} for +")
    if may_cross_blank_line(pattern):
        raise ValueError("the pattern matches blank lines, but rows search the text between them; write [ \\t]")


def digest(pattern: str, *, has_place: bool) -> str:
    """Return the key of a pattern in the file, in hexadecimal figures."""
    return hashlib.blake2b(f"{has_place:d}{pattern}".encode(), digest_size=_DIGEST_BYTES).hexdigest()


def render(patterns: Iterable[tuple[str, bool]]) -> str:
    """Return the text of the file for (pattern, whether its row has a place to try it)."""
    lines = set()
    for pattern, has_place in patterns:
        one = _derive(pattern, has_place=has_place)
        placed = sorted((each.least, each.most, word) for word, each in one.words.items())
        runs = groupby(placed, key=lambda item: item[:2])
        words = ";".join(f"{least} {most} {','.join(word for _, _, word in run)}" for (least, most), run in runs)
        lines.add("\t".join((digest(pattern, has_place=has_place), ",".join(one.groups), words)) + "\n")
    return "".join(sorted(lines))


def _derive(pattern: str, *, has_place: bool) -> Derived:
    return Derived(group_names(pattern), {} if has_place else anchor_words(pattern))


@lru_cache(maxsize=1)
def _known() -> Mapping[str, Derived]:
    found = {}
    for line in files("deid_runtime").joinpath(FILE).read_text(encoding="utf-8").splitlines():
        key, groups, runs = line.split("\t")
        words: dict[str, Offsets] = {}
        for run in filter(None, runs.split(";")):
            least, most, listed = run.split(" ")
            words.update(dict.fromkeys(listed.split(","), Offsets(int(least), int(most))))
        found[key] = Derived(tuple(filter(None, groups.split(","))), words)
    return found
