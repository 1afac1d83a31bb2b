"""Kinds of errors: the common properties of missed and wrong tokens, described without any text.

Tokens are those of :mod:`deid_runtime.evaluation.tokens`. A gold token is *missed* or not. A found token is *wrong*
when it is gold of no label. Each token has a :class:`Kind`: its label and its values of the aspects below. Tokens
without error are counted too, because "30 of 45 initials missed" says more than "30 initials missed". The label and the
span of a token are those of the first span that touches it.

``shape``
    ``initial``, ``Title``, ``lower``, ``UPPER``, ``mixed``, ``uncased``; ``1 digit`` to ``4 digits``, ``5-6 digits``,
    ``7+ digits``; ``code``: letters and digits joined within the span (``kbw12``, ``29th``).
``span`` of a gold token
    how much of its gold span was found: ``found whole``, ``found in part``, ``found in part as another label``,
    ``nothing found``.
``span`` of a found token
    ``in a gold span``, ``sticks out of a gold span`` (another token of the found span is gold), ``no gold in it``.
``elsewhere`` of a gold token
    the same value among the other gold tokens of the patient: ``found in the note``, ``found in the patient``,
    ``missed each time``, ``nowhere else``.
``elsewhere`` of a found token
    the same value among the other tokens of the patient: ``gold in the note``, ``gold in the patient``, ``found again``
    (never gold), ``nowhere else``.
``line``
    ``alone`` (no letter or digit outside the span in the line), ``after a label`` (a colon, ``=`` or ``#`` before the
    span), ``table`` (two or more gaps as between columns), ``running text``.
``part`` of the note, by its lines that are not blank
    ``short note`` (under 12 lines), ``first lines`` (5), ``last lines`` (5), ``body``.
``length`` of the line
    ``1-20``, ``21-80``, ``81-200``, ``over 200`` code points.

The value of a token is the token without letter case. For a short token (letters under 3, digits under 4), it is the
whole span. A note without a patient counts as a patient of its own.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from deid_runtime.annotations.note import AnnotatedNote, require_inside
from deid_runtime.evaluation.tokens import TOKEN, label_tokens, ratio, token_offsets
from deid_runtime.spans import Span

_Key = TypeVar("_Key", bound=Hashable)

#: The source of a found span without sources.
NO_SOURCE: Final = "not said"

#: ("gold", value) for a gold token, ("hit", value) for a gold token that was found, ("found", value) for a found token.
_Value = tuple[str, str]

_SHORT_NOTE_LINES: Final = 12
_EDGE_LINES: Final = 5
_LINE: Final = re.compile(r"[^\r\n]+")
_LABEL_ENDS: Final = (":", "=", "#")
_OPENING: Final = " \t\"'“‘(["  # characters allowed between a label and its value
_LABEL_REACH_CHARS: Final = 24
_COLUMN_GAP: Final = re.compile(r"(?<=\S)(?: *\t\s*| {3,}| *\| *)(?=\S)")
_LENGTHS: Final = ((20, "1-20"), (80, "21-80"), (200, "81-200"))
_DIGITS: Final = {1: "1 digit", 2: "2 digits", 3: "3 digits", 4: "4 digits", 5: "5-6 digits", 6: "5-6 digits"}


@dataclass(frozen=True, slots=True)
class Kind:
    """The label and the aspects of one token, see the module; ``source`` is empty for gold tokens. Contains no text."""

    label: str
    source: str
    shape: str
    span: str
    elsewhere: str
    line: str
    part: str
    length: str

    def __str__(self) -> str:
        return " | ".join(filter(None, (getattr(self, name) for name in self.__slots__)))


ASPECTS: Final[tuple[str, ...]] = tuple(name for name in Kind.__slots__ if name != "label")


@dataclass(frozen=True, slots=True)
class Judged:
    """One gold or found token ``[start, end)`` of the note with that index, and the span that decides its kind."""

    note: int
    start: int
    end: int
    span: Span
    is_error: bool
    kind: Kind


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of errors and the number of tokens."""

    errors: int
    tokens: int

    @property
    def share(self) -> float | None:
        """The share of the tokens that are errors."""
        return ratio(self.errors, self.tokens)


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """The errors among gold tokens, or among found tokens.

    ``aspects`` maps an aspect to its values with their tallies, most errors first. ``kinds`` maps each kind to its
    number of errors, most frequent first.
    """

    total: Tally
    aspects: Mapping[str, Mapping[str, Tally]]
    kinds: Mapping[Kind, int]


@dataclass(frozen=True, slots=True)
class Errors:
    """All errors by kind. ``relabelled`` counts gold tokens found as another label by ``"GOLD as FOUND"``."""

    missed: ErrorTable
    wrong: ErrorTable
    relabelled: Mapping[str, int]


def count_errors(gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]]) -> Errors:
    """Count the errors by kind. In a note without found spans, all tokens are missed.

    Raises InputError when a found span ends after the end of its text.
    """
    of_gold, of_found = judge_tokens(gold, found)
    relabelled: Counter[str] = Counter()
    claimed = {(token.note, token.start): token.kind.label for token in of_found}
    for token in of_gold:
        label = claimed.get((token.note, token.start))
        if label is not None and label != token.kind.label:
            relabelled[f"{token.kind.label} as {label}"] += 1
    return Errors(_tabulate(of_gold), _tabulate(of_found), dict(_most_frequent_first(relabelled)))


def judge_tokens(
    gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]]
) -> tuple[list[Judged], list[Judged]]:
    """Return the gold tokens and the found tokens of all notes, in order, each with its kind.

    Raises InputError when a found span ends after the end of its text.
    """
    notes = [_Note(note, sorted(found.get(note.id, ()))) for note in gold]
    by_patient: defaultdict[Hashable, list[int]] = defaultdict(list)
    for number, note in enumerate(gold):
        by_patient[("patient", note.patient) if note.patient else ("note", number)].append(number)
    gold_rows: list[list[Judged]] = [[] for _ in gold]
    found_rows: list[list[Judged]] = [[] for _ in gold]
    for numbers in by_patient.values():
        seen: Counter[_Value] = Counter()
        for number in numbers:
            seen.update(notes[number].values)
        for number in numbers:
            gold_rows[number] = list(notes[number].judge_gold(number, seen))
            found_rows[number] = list(notes[number].judge_found(number, seen))
    return [token for row in gold_rows for token in row], [token for row in found_rows for token in row]


def is_telling(token: str) -> bool:
    """Return whether a token is long enough to be specific: three letters or four digits."""
    return len(token) >= (4 if token[0].isdigit() else 3)


def _tabulate(tokens: Sequence[Judged]) -> ErrorTable:
    of_all: Counter[Kind] = Counter(token.kind for token in tokens)
    errors: Counter[Kind] = Counter(token.kind for token in tokens if token.is_error)
    aspects: dict[str, dict[str, Tally]] = {}
    for aspect in ASPECTS:
        all_of, errors_of = Counter[str](), Counter[str]()
        for kind, count in of_all.items():
            all_of[getattr(kind, aspect)] += count
        for kind, count in errors.items():
            errors_of[getattr(kind, aspect)] += count
        tallies = {value: Tally(errors_of[value], count) for value, count in all_of.items() if value}
        if tallies:
            aspects[aspect] = dict(sorted(tallies.items(), key=lambda item: (-item[1].errors, item[0])))
    return ErrorTable(Tally(errors.total(), of_all.total()), aspects, dict(_most_frequent_first(errors)))


def _most_frequent_first(counts: Counter[_Key]) -> list[tuple[_Key, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))


def _values_of(words: Sequence[str], owners: Sequence[int]) -> list[str]:
    """Return the value of each token in its span, whose index is in ``owners``; empty for tokens without a span."""
    wholes: defaultdict[int, list[str]] = defaultdict(list)
    for word, owner in zip(words, owners, strict=True):
        if owner >= 0:
            wholes[owner].append(word)
    return [
        "" if owner < 0 else word if is_telling(word) else " ".join(wholes[owner])
        for word, owner in zip(words, owners, strict=True)
    ]


class _Note:
    """The tokens, lines and values of one note."""

    def __init__(self, note: AnnotatedNote, found: Sequence[Span]) -> None:
        require_inside(note.id, note.text, found, "found")
        self._text = note.text
        self._gold, self._found = note.spans, found
        offsets = token_offsets(note.text)
        self._offsets: list[tuple[int, int]] = [(start, end) for start, end in offsets.tolist()]
        # For each token: the index of its span, -1 for none.
        self._gold_of: list[int] = label_tokens(offsets, note.spans, range(len(note.spans))).tolist()
        self._found_of: list[int] = label_tokens(offsets, found, range(len(found))).tolist()
        words = [self._text[start:end].casefold() for start, end in self._offsets]
        self._gold_values, self._found_values = _values_of(words, self._gold_of), _values_of(words, self._found_of)
        self._lines = [match.span() for match in _LINE.finditer(note.text) if not match[0].isspace()]
        self._is_table: dict[int, bool] = {}  # line -> whether it is a table, computed on demand
        self._places: dict[tuple[int, int, int], str] = {}  # line, start and end of a span -> its place in the line
        self._line_starts = [start for start, _ in self._lines]
        self.values: Counter[_Value] = Counter()
        for gold_value, found_value in zip(self._gold_values, self._found_values, strict=True):
            if gold_value:
                self.values["gold", gold_value] += 1
                self.values["hit", gold_value] += bool(found_value)
            if found_value:
                self.values["found", found_value] += 1

    def judge_gold(self, number: int, seen: Counter[_Value]) -> Iterator[Judged]:
        """Yield the gold tokens, in order. ``seen`` counts the values of all notes of the patient."""
        found_labels: list[set[str]] = [set() for _ in self._gold]
        missed = [0] * len(self._gold)
        for gold, found in zip(self._gold_of, self._found_of, strict=True):
            if gold >= 0 and found >= 0:
                found_labels[gold].add(self._found[found].label)
            elif gold >= 0:
                missed[gold] += 1
        for at, (gold, found) in enumerate(zip(self._gold_of, self._found_of, strict=True)):
            if gold < 0:
                continue
            span, labels, value, is_found = self._gold[gold], found_labels[gold], self._gold_values[at], found >= 0
            if not labels:
                extent = "nothing found"
            elif not missed[gold]:
                extent = "found whole"
            else:
                extent = "found in part" if span.label in labels else "found in part as another label"
            if self.values["hit", value] > is_found:
                elsewhere = "found in the note"
            elif seen["hit", value] > is_found:
                elsewhere = "found in the patient"
            else:
                elsewhere = "missed each time" if seen["gold", value] > 1 else "nowhere else"
            yield self._judged(number, at, span, is_error=not is_found, source="", extent=extent, elsewhere=elsewhere)

    def judge_found(self, number: int, seen: Counter[_Value]) -> Iterator[Judged]:
        """Yield the found tokens, in order. ``seen`` counts the values of all notes of the patient."""
        touching = {found for gold, found in zip(self._gold_of, self._found_of, strict=True) if gold >= 0}
        for at, (gold, found) in enumerate(zip(self._gold_of, self._found_of, strict=True)):
            if found < 0:
                continue
            span, value = self._found[found], self._found_values[at]
            if gold >= 0:
                extent = "in a gold span"
            else:
                extent = "sticks out of a gold span" if found in touching else "no gold in it"
            is_itself = self._gold_values[at] == value  # do not count the token itself as another gold token
            if self.values["gold", value] > is_itself:
                elsewhere = "gold in the note"
            elif seen["gold", value] > is_itself:
                elsewhere = "gold in the patient"
            else:
                elsewhere = "found again" if seen["found", value] > 1 else "nowhere else"
            source = " + ".join(span.sources) or NO_SOURCE
            yield self._judged(number, at, span, is_error=gold < 0, source=source, extent=extent, elsewhere=elsewhere)

    def _judged(
        self, number: int, at: int, span: Span, *, is_error: bool, source: str, extent: str, elsewhere: str
    ) -> Judged:
        start, end = self._offsets[at]
        row = bisect_right(self._line_starts, start) - 1
        line_start, line_end = self._lines[row]
        kind = Kind(
            label=span.label,
            source=source,
            shape=_shape(self._text, start, end, span),
            span=extent,
            elsewhere=elsewhere,
            line=self._place_of(row, span),
            part=_part_of_note(row, len(self._lines)),
            length=next((name for most, name in _LENGTHS if line_end - line_start <= most), "over 200"),
        )
        return Judged(number, start, end, span, is_error, kind)

    def _place_of(self, row: int, span: Span) -> str:
        key = row, span.start, span.end
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._place_in_line(row, span)
        return place

    def _place_in_line(self, row: int, span: Span) -> str:
        line_start, line_end = self._lines[row]
        start, end = max(span.start, line_start), min(span.end, line_end)
        if not TOKEN.search(self._text, line_start, start) and not TOKEN.search(self._text, end, line_end):
            return "alone"
        before = self._text[max(line_start, start - _LABEL_REACH_CHARS) : start]
        if before.rstrip(_OPENING).endswith(_LABEL_ENDS):
            return "after a label"
        if row not in self._is_table:
            self._is_table[row] = len(_COLUMN_GAP.findall(self._text, line_start, line_end)) > 1
        return "table" if self._is_table[row] else "running text"


def _shape(text: str, start: int, end: int, span: Span) -> str:
    if (start > span.start and text[start - 1].isalnum()) or (end < span.end and text[end].isalnum()):
        return "code"
    token = text[start:end]
    if token[0].isdigit():
        return _DIGITS.get(len(token), "7+ digits")
    if token.isupper():
        return "initial" if len(token) == 1 else "UPPER"
    if token.islower():
        return "lower"
    if token == token.capitalize():
        return "Title" if token[0].isupper() else "uncased"
    return "mixed"


def _part_of_note(row: int, rows: int) -> str:
    if rows < _SHORT_NOTE_LINES:
        return "short note"
    if row < _EDGE_LINES:
        return "first lines"
    return "last lines" if row >= rows - _EDGE_LINES else "body"
