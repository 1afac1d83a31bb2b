"""Rows of the pattern table, and a search that tries all rows on a note in time linear in its length.

No row scans a whole note. Each row has anchors of one type: words (``MRN``, ``March``), runs of digits, codes
(capitals, then a digit), or single characters (``@``). Runs of digits need a certain length and certain characters
after them. One pass over each type finds all anchors and tries only the rows that belong to them.

A row is tried with ``match`` at its anchor, or with ``search`` in a short stretch before it. Every pattern has bounded
repeats, so the work per anchor is bounded too. A note that still takes very long raises an error. A pattern is compiled
when its anchor first occurs.
"""

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Final

from deid_runtime.detectors.patterns.anchors import WORD, Offsets
from deid_runtime.detectors.patterns.derived import derive
from deid_runtime.errors import InputError
from deid_runtime.spans import Span
from deid_runtime.text.regexes import compiled


class Grade(enum.IntEnum):
    """How certain a check is about a match."""

    NO = 0
    BARE = 1  # reported as "pattern:weak" with BARE_SCORE: only the form matches
    PROBABLE = 2  # reported as "pattern:weak"
    SURE = 3


WEAK_SCORE: Final = 0.5
BARE_SCORE: Final = 0.3


#: Grades a match by its content and context (``match.string`` is the whole note). ``True`` keeps the strength of the
#: row.
Check = Callable[[re.Match[str]], bool | Grade]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kind of identifier.

    Groups of ``pattern`` whose names begin with ``value`` are the spans. A row is tried at a set of words, one of
    which every match contains (:func:`~deid_runtime.detectors.patterns.anchors.anchor_words`), unless one of these
    is given:

    - ``digits``: at runs of digits of these lengths, if ``first`` is empty or contains the first digit, and if the two
      characters after the run begin with ``next``;
    - ``codes``: at one to eight capitals followed by a digit, with or without a space or hyphen between;
    - ``chars``: at each of these characters.

    One of the characters ``before`` must precede the place, and ``probe`` must match at the place. With ``lookback``,
    the match may begin up to that many code points earlier, but must still reach the place. ``check`` may reject a
    match.

    ``weak`` rows report as ``"pattern:weak"``. ``labelled`` rows win over rows that match by form. Repeats in
    ``pattern`` are bounded, which may cut off a long hit; such a hit is extended over the match of ``rest`` after it.

    Raises ValueError for a row without a place to try it, and re.error for a wrong pattern.
    """

    name: str
    label: str
    pattern: str
    digits: frozenset[int] = frozenset()
    first: str = ""
    next: re.Pattern[str] | None = None
    codes: bool = False
    chars: str = ""
    before: str = ""
    probe: re.Pattern[str] | None = None
    lookback: int = 0
    check: Check | None = None
    weak: bool = False
    labelled: bool = False
    rest: re.Pattern[str] | None = None
    words: Mapping[str, Offsets] = field(init=False)
    groups: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        places = bool(self.digits) + bool(self.chars) + self.codes
        one = derive(self.pattern, has_place=places > 0)
        groups, words = tuple(name for name in one.groups if name.startswith("value")), one.words
        if not groups:
            raise ValueError("the pattern has no group for what it finds; write it as (?P<value>...)")
        if places > 1:
            raise ValueError("a row is tried at digits, codes or characters; choose only one")
        if not places and self.lookback:
            raise ValueError("the pattern shows how far before a word a match begins; omit `back`")
        if not places and not words:
            raise ValueError("no word is in every match; give the digits, codes or characters at which to try it")
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "words", words)

    @property
    def has_place(self) -> bool:
        """Whether the row says where it is tried; otherwise it is tried at words."""
        return bool(self.digits or self.chars or self.codes)


@dataclass(frozen=True, slots=True)
class Hit:
    """One match of a row."""

    row: Row
    start: int
    end: int
    weak: bool
    bare: bool = False

    def span(self) -> Span:
        """Return the hit as a span, with the source and score of its strength."""
        if self.weak:
            return Span(
                self.start, self.end, self.row.label, BARE_SCORE if self.bare else WEAK_SCORE, ("pattern:weak",)
            )
        return Span(self.start, self.end, self.row.label, 1.0, ("pattern",))


# A run of letters in mixed case, such as "ArrDt" or "SexAge", is tried as a whole and by its parts.
_PART = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[A-Z]+")
_LONGEST_MIXED_WORD = 40
_DIGITS = re.compile(r"\d+")
_LONGEST_RUN = 30  # digits; longer runs are treated as if they had this length, and are not identifiers
_CODE = re.compile(r"(?<![\w\-/.@#])[A-Z]{1,8}[ -]?(?=\d)")
_LONG_HIT = 60  # minimum characters of a hit that a bound may have cut off
_REACH = 120  # characters after the place that a row with lookback may search
_PLACES_BETWEEN_LOOKS = 256  # between checks of the time limit
_MOST_RUN_KINDS = 20_000  # maximum size of the cache of rows by digit run; then it is cleared


#: Tries one row at a place of a text.
_Try = Callable[[str, int], re.Match[str] | None]
_Tries = tuple[tuple[_Try, Row], ...]


def _try_of(row: Row, offsets: Offsets) -> _Try:
    """Return the function that tries a row at a place, with ``offsets`` code points of the match before the place.

    For most rows this is the ``match`` of the pattern itself, which saves a function call for each place.
    """
    pattern = compiled(row.pattern)
    if not (row.before or row.probe or offsets.most):
        return pattern.match

    before, probe, most, is_fixed = row.before, row.probe, offsets.most, offsets.least == offsets.most

    def attempt(text: str, place: int) -> re.Match[str] | None:
        if before and text[place - 1 : place] not in before:
            return None
        if probe is not None and probe.match(text, place) is None:
            return None
        if is_fixed:
            return pattern.match(text, place - most) if place >= most else None
        match = pattern.search(text, max(0, place - most), place + _REACH)
        while match is not None and match.end() <= place:  # ends before the place; the next may reach it
            match = pattern.search(text, match.end(), place + _REACH)
        return match

    return attempt


class Table:
    """The rows, indexed by their anchors."""

    def __init__(self, rows: Sequence[Row], *, seconds_least: float = 20.0, seconds_per_char: float = 1e-4) -> None:
        """Index the rows. A text may take ``seconds_least`` plus ``seconds_per_char`` for each character.

        Both are processor time, a hundred times what real notes take. Raises ValueError for two rows of the same name.
        """
        self._seconds_least, self._seconds_per_char = seconds_least, seconds_per_char
        names = [row.name for row in rows]
        if len(set(names)) != len(names):
            raise ValueError(f"row names must differ: {sorted({name for name in names if names.count(name) > 1})}")
        self.rows = tuple(rows)
        self._rank = {row.name: rank for rank, row in enumerate(rows)}
        self._rows_at: dict[str, list[tuple[Row, Offsets]]] = {}
        for row in rows:
            for word, offsets in row.words.items():
                self._rows_at.setdefault(word, []).append((row, offsets))
        #: The tries at each anchor word; None until the word first occurs.
        self._words: dict[str, _Tries | None] = dict.fromkeys(self._rows_at)
        self._digit_rows = tuple(row for row in rows if row.digits)
        self._run_kinds: dict[tuple[int, str, str], _Tries] = {}
        self._code_rows = tuple(row for row in rows if row.codes)
        self._chars = tuple(
            (char, tuple(row for row in rows if char in row.chars))
            for char in sorted({char for row in rows for char in row.chars})
        )

    def find(self, text: str) -> list[Span]:
        """Return the spans of one note, sorted and disjoint. Raises InputError like :meth:`hits`."""
        return [hit.span() for hit in self.hits(text)]

    def hits(self, text: str) -> list[Hit]:
        """Return the same as :meth:`find`, with the row of each hit; for tests and for measurements by row.

        Raises InputError when the search takes too much processor time for the length of the text.
        """
        found = []
        latest = thread_time() + self._seconds_least + self._seconds_per_char * len(text)
        for count, (tries, place) in enumerate(self._places(text)):
            if count % _PLACES_BETWEEN_LOOKS == 0 and thread_time() > latest:
                raise InputError(
                    f"the patterns took too long at offset {place} of {len(text)} characters; look there for a long "
                    "run of one form, and split or correct the note",
                    stage="patterns",
                )
            for attempt, row in tries:
                match = attempt(text, place)
                if match is None:
                    continue
                verdict = row.check is None or row.check(match)
                if verdict:
                    weak = row.weak or verdict is Grade.PROBABLE or verdict is Grade.BARE
                    for group in row.groups:
                        start, end = match.span(group)
                        if start < end:
                            found.append(Hit(row, start, end, weak, verdict is Grade.BARE))
        return _with_rest(text, self._choose(found))

    def _choose(self, found: Iterable[Hit]) -> list[Hit]:
        """Return disjoint hits. Of overlapping ones keep the most certain, then labelled, longest, earliest row."""

        def order(hit: Hit) -> tuple[bool, bool, int, int, int]:
            return hit.weak, not hit.row.labelled, hit.start - hit.end, self._rank[hit.row.name], hit.start

        taken: set[int] = set()  # covered code points; hits are short, so this set is small
        kept = []
        for hit in sorted(found, key=order):
            covered = range(hit.start, hit.end)
            if taken.isdisjoint(covered):
                taken.update(covered)
                kept.append(hit)
        kept.sort(key=lambda hit: hit.start)
        return kept

    def _places(self, text: str) -> Iterator[tuple[_Tries, int]]:
        words = self._words
        for word in WORD.finditer(text):
            letters = word.group()
            lower = letters.lower()
            if lower in words:
                yield words[lower] or self._tries_at(lower), word.start()
            if (
                lower != letters
                and lower[1:] != letters[1:]
                and not letters.isupper()
                and len(letters) <= _LONGEST_MIXED_WORD
            ):
                for part in _PART.finditer(letters):
                    key = part.group().lower()
                    if key in words:
                        yield words[key] or self._tries_at(key), word.start() + part.start()
        kinds = self._run_kinds
        for run in _DIGITS.finditer(text):
            start, end = run.span()
            kind = (end - start, text[start], text[end : end + 2])
            tries = kinds.get(kind)
            if tries is None:
                if len(kinds) > _MOST_RUN_KINDS:
                    kinds.clear()
                tries = kinds[kind] = self._tries_for_run(*kind)
            if tries:
                yield tries, start
        code_tries: _Tries = ()
        for code in _CODE.finditer(text):
            code_tries = code_tries or _tries_of(self._code_rows)
            yield code_tries, code.start()
        for char, rows in self._chars:
            place = text.find(char)
            tries = _tries_of(rows) if place >= 0 else ()
            while place >= 0:
                yield tries, place
                place = text.find(char, place + 1)

    def _tries_at(self, word: str) -> _Tries:
        tries = self._words[word] = tuple((_try_of(row, offsets), row) for row, offsets in self._rows_at[word])
        return tries

    def _tries_for_run(self, length: int, first: str, following: str) -> _Tries:
        return _tries_of(
            row
            for row in self._digit_rows
            if min(length, _LONGEST_RUN) in row.digits
            and (not row.first or first in row.first)
            and (row.next is None or row.next.match(following) is not None)
        )


def _tries_of(rows: Iterable[Row]) -> _Tries:
    return tuple((_try_of(row, Offsets(0, row.lookback)), row) for row in rows)


def _with_rest(text: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with long ones extended over their ``rest`` and the hits in it; each character is read once."""
    kept: list[Hit] = []
    end = 0
    for hit in hits:
        if hit.start < end:  # within the rest of an earlier hit
            if hit.end > end:
                kept[-1] = replace(kept[-1], end=hit.end)
                end = hit.end
            continue
        end = hit.end
        if hit.row.rest is not None and hit.end - hit.start >= _LONG_HIT:
            found = hit.row.rest.match(text, hit.end)
            end = found.end() if found is not None else hit.end
        kept.append(hit if end == hit.end else replace(hit, end=end))
    return kept
