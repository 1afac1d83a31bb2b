"""Hard-wrapped paragraphs read as running text: which line ends part nothing.

A line end is read as a space when the lines are those of a wrapped paragraph. Three things tell:

1. **A wrap column.** Whoever wraps text at column ``w`` puts on a line all words that fit. So the first word of the
   next line did not fit: ``length <= w < length + 1 + len(first word)``. Where most long lines of a text, or all of a
   block, agree on one ``w``, those that do are joined with their next lines.
2. **An open end.** A line of some length that ends with *the*, *of* or *by* goes on, and one that ends with *Dr.*
3. **A sentence.** A long line without a closing mark goes on where the next begins with a small letter, unless other
   lines of the text do so too. The longest line of a text goes on where the next closes the sentence.

A hyphen at a line end that parts a word is dropped with the line end.

List items, labels (``Allergies: ...``), table rows and blank lines begin something new, whatever the lengths.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Final

from deid_runtime.text.reading.edits import Edit

#: Columns at which text is wrapped. Narrower ones are lists and addresses more often.
_NARROWEST: Final = 45
_WIDEST: Final = 140
_LEAST_LINES: Final = 3  # that agree on a column; where all long lines do, one fewer is enough
_LONGEST_ENDING: Final = 8
_SLACK: Final = 1  # columns by which programs differ: some count the space at the end
_SURE_LINES: Final = 4  # that agree on a column, which telegrams are believed for too; fewer must be sentences
_LONG_LINE: Final = 55  # that goes on without a closing mark
_OPEN_LINE: Final = 40  # characters before an open end, or it may be a label of a form
_LONGEST_INDENT: Final = 24

# Always the start of an item: bullets. An item or a part of a sentence, as the line before says: `3. ` and `B. `.
_BULLET: Final = re.compile(r"[-*+•·▪●◦‣>#=~_|\[{<]|[^\w\s]{2}")
_NUMBERED: Final = re.compile(r"\(?(?:\d{1,3}[.)\]:]|[A-Za-z][.)])(?:\s|$)")
_LABEL: Final = re.compile(r"[A-Za-z][^:.?!\n]{0,40}:(?:\s|$)")
_TABLE: Final = re.compile(r"\S(?:\t| {3,})\S|\|")
_CLOSED: Final = ".!?:;"
_SENTENCE_ENDS: Final = ".!?"
_FIRST: Final = re.compile(r"\S+")
_OPEN_WORD: Final = re.compile(r"(?<![^\W_])(?:the|an|and|of|by|with|his|her|their|my|our)$", re.IGNORECASE)
_OPEN_TITLE: Final = re.compile(r"(?<![^\W_])(?:(?:[Dd]rs?|[Mm]rs?|[Mm]s|[Pp]rof)\.|Dr|Mrs?|Ms|Prof)$")
_NAME_LIKE: Final = re.compile(r"[^\W\d_][^\W\d_'\u2019.-]*(?!.*(?:, ?[A-Z]{2}\b|\d{5}))")  # no town below a `Drive`
#: Words that sentences are made of, and telegrams leave out.
_PROSE_WORD: Final = re.compile(
    r"(?<![^\W_])(?:the|an?|of|was|were|is|are|has|have|had|she|he|they|his|her|that|which|who|with|and|to|will|in|for|"
    r"from|on|as|but|this)"
    r"(?![^\W_])",
    re.IGNORECASE,
)
_PROSE_WORDS: Final = 2  # in a line of a sentence
_BEFORE_HYPHEN: Final = re.compile(r"[^\W\d_]{2,}-$")
_COMPOUND: Final = re.compile(r"[^\W_]-[^\W_]+-$")  # `65-year-`: the hyphen is its own
_LETTERS: Final = re.compile(r"[^\W\d_]{2,}")
_BROKEN_LINE: Final = 40  # characters before a hyphen that parts a word though nothing else shows a wrapped text
_BROKEN_WORDS: Final = 3  # words parted, by which others are believed on short lines too, and numbers


@dataclass(frozen=True, slots=True)
class _Line:
    """One line: its visible text and where that stands; ``end`` is also its last column, as offsets of the line."""

    body: str = field(repr=False)
    start: int  # offset in the text
    indent: int
    is_table: bool

    @property
    def end(self) -> int:
        return self.start + len(self.body)

    @property
    def length(self) -> int:
        return self.indent + len(self.body)


#: A line and the one behind it, with the index of the first.
_Pair = tuple[int, _Line, _Line]


def read_lines(text: str) -> list[Edit]:
    """Return the edits that join the wrapped lines of ``text``, and the words that they break."""
    if "\n" not in text:
        return []
    lines = list(_lines(text))
    joined = _joined(lines)
    if any(line.indent and line.body for line in lines):
        # Some programs count the indent to the width of a line, some put it before when the line is made.
        joined |= _joined([replace(line, indent=0) for line in lines])
    return [_join(lines[at], lines[at + 1]) for at in sorted(joined)]


def _joined(lines: Sequence[_Line]) -> set[int]:
    """Return the indices of the lines that the next line goes on."""
    pairs = [(at, lines[at], lines[at + 1]) for at in range(len(lines) - 1) if lines[at].body and lines[at + 1].body]
    column = _column(lines, [(left, right) for _, left, right in pairs if _may_wrap(left, right)])
    is_cased = _is_cased(lines)
    longest = max(line.length for line in lines if " " in line.body or line is lines[0])
    are_broken = sum(_breaks_word(left, right) for _, left, right in pairs) >= _BROKEN_WORDS
    joined: set[int] = set()
    for block in _blocks(pairs):
        columns = _block_column([(left, right) for _, left, right in block]), column if _fits(block, column) else 0
        for at, left, right in block:
            is_broken = (
                _has_hyphen(left, right) if are_broken else left.length >= _BROKEN_LINE and _breaks_word(left, right)
            )
            if is_broken or _goes_on(left, right, columns, is_cased=is_cased, longest=longest):
                joined.add(at)
    return joined


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for raw in text.split("\n"):
        body = raw.strip(" \t\r")
        indent = len(raw) - len(raw.lstrip(" \t"))
        yield _Line(body, start + indent, indent, _TABLE.search(body) is not None)
        start += len(raw) + 1


def _blocks(pairs: Sequence[_Pair]) -> Iterator[list[_Pair]]:
    """Yield the pairs of neighbouring lines of each run of lines without a blank one."""
    block: list[_Pair] = []
    for pair in pairs:
        if block and block[-1][0] + 1 != pair[0]:
            yield block
            block = []
        block.append(pair)
    if block:
        yield block


def _may_wrap(left: _Line, right: _Line) -> bool:
    """Say whether the form of two neighbouring lines lets them be one paragraph."""
    return not (
        left.is_table
        or right.is_table
        or _BULLET.match(right.body)
        or right.indent > _LONGEST_INDENT
        or (_NUMBERED.match(right.body) and left.body[-1] in _CLOSED)
        or (_LABEL.match(right.body) and left.body[-1] in _CLOSED)
    )


def _room(left: _Line, right: _Line) -> tuple[int, int]:
    """Return the half-open range of columns at which the end of ``left`` may be a wrap."""
    first = _FIRST.match(right.body)
    size = len(first[0]) if first else 0
    return left.length, left.length + size + (left.body[-1] != "-")


def _column(lines: Sequence[_Line], pairs: Sequence[tuple[_Line, _Line]]) -> int:
    """Return the column at which most long lines of a text are wrapped, 0 where there is none."""
    long = [pair for pair in pairs if _NARROWEST <= pair[0].length <= _WIDEST]
    if len(long) < _LEAST_LINES - 1:
        return 0
    changes = [0] * (_WIDEST + 2)
    for left, right in long:
        low, high = _room(left, right)
        changes[low] += 1
        changes[min(high, _WIDEST + 1)] -= 1
    best = agreed = count = 0
    for column, change in enumerate(changes):
        count += change
        if count > agreed:
            best, agreed = column, count
    longer = sum(line.length > best + _SLACK and " " in line.body for line in lines)
    is_enough = agreed >= _LEAST_LINES or agreed == len(long)
    is_wrapped = is_enough and 2 * agreed >= len(long) and 3 * longer <= agreed
    if not is_wrapped:
        return 0
    agreeing = [left for left, right in long if left.length <= best < _room(left, right)[1]]
    is_sure = agreed >= _SURE_LINES and 4 * agreed >= 3 * len(long)
    return best if is_sure or _are_prose(agreeing) else 0


def _fits(block: Sequence[_Pair], column: int) -> bool:
    """Say whether no line of a block is longer than ``column``."""
    lines = [block[0][1], *(right for _, _, right in block)]
    return all(line.length <= column + _SLACK or " " not in line.body for line in lines)


def _block_column(block: Sequence[tuple[_Line, _Line]]) -> int:
    """Return the column at which all lines of a block but its last are wrapped, 0 where there is none."""
    if len(block) < 2 or not all(_may_wrap(*pair) for pair in block):
        return 0
    rooms = [_room(*pair) for pair in block]
    low = max(max(room[0] for room in rooms), block[-1][1].length)
    is_wrapped = _NARROWEST <= low <= _WIDEST and all(low < high + _SLACK for _, high in rooms)
    return low if is_wrapped and (len(block) >= _SURE_LINES or _are_prose([left for left, _ in block])) else 0


def _goes_on(left: _Line, right: _Line, columns: Sequence[int], *, is_cased: bool, longest: int) -> bool:
    """Say whether a paragraph goes on from ``left`` to ``right``; ``columns`` are those that may be theirs, or 0."""
    if not _may_wrap(left, right):
        return False
    low, high = _room(left, right)
    is_wrapped = any(column and low <= column + _SLACK and column < high + _SLACK for column in columns)
    if is_wrapped and not _is_heading(left, right):
        return True
    if _LABEL.match(right.body):
        return False
    ending = max(0, len(left.body) - _LONGEST_ENDING)
    if _OPEN_TITLE.search(left.body, ending):
        return _NAME_LIKE.match(right.body) is not None
    if left.length >= _OPEN_LINE and _OPEN_WORD.search(left.body, ending):
        return True
    if not _is_open(left) or not _is_prose(left) or not (" " in right.body or right.body[-1] in _SENTENCE_ENDS):
        return False
    if right.body[0].islower():
        return is_cased
    is_full = longest < high + _SLACK and left.length <= _WIDEST and left.body[-1].isalpha()
    return is_full and right.body[-1] in _SENTENCE_ENDS and not _is_heading(left, right)


def _is_prose(line: _Line) -> bool:
    """Say whether a line is part of a sentence with all its words."""
    return sum(1 for _ in islice(_PROSE_WORD.finditer(line.body), _PROSE_WORDS)) == _PROSE_WORDS


def _are_prose(lines: Sequence[_Line]) -> bool:
    """Say whether half of some lines are parts of sentences."""
    return 2 * sum(map(_is_prose, lines)) >= len(lines)


def _is_open(line: _Line) -> bool:
    """Say whether a line is long and has no closing mark."""
    return line.length >= _LONG_LINE and line.body[-1] not in _CLOSED


def _is_cased(lines: Sequence[_Line]) -> bool:
    """Say whether the lines of a text begin with capitals, those aside that may go on with the one before."""
    return (
        not any(right.body[:1].islower() for left, right in pairwise(lines) if not (left.body and _is_open(left)))
        and not lines[0].body[:1].islower()
    )


def _is_heading(left: _Line, right: _Line) -> bool:
    """Say whether ``right`` is a line of capitals below one of small letters."""
    return right.body.isupper() and len(right.body) > 3 and not left.body.isupper() and " " in left.body


def _breaks_word(left: _Line, right: _Line) -> bool:
    """Say whether the hyphen that ``left`` ends with parts a word, as its letters say."""
    if left.body[-1] != "-" or left.is_table or right.is_table:
        return False
    before, behind = _BEFORE_HYPHEN.search(left.body, max(0, len(left.body) - 40)), _LETTERS.match(right.body)
    if before is None or behind is None:
        return False
    return behind[0].islower() if before[0][-2].islower() else before[0].isupper() and behind[0].isupper()


def _has_hyphen(left: _Line, right: _Line) -> bool:
    """Say whether a hyphen at the end of ``left`` stands between letters or digits."""
    return left.body[-1] == "-" and left.body[-2:-1].isalnum() and right.body[0].isalnum()


def _join(left: _Line, right: _Line) -> Edit:
    """Return the edit that joins two lines, and a word that a hyphen parts between them."""
    if left.body[-1] != "-":
        return Edit(left.end, right.start, " ")
    if _breaks_word(left, right) and not (_COMPOUND.search(left.body, max(0, len(left.body) - 40))):
        return Edit(left.end - 1, right.start, "")
    return Edit(left.end, right.start, "" if _has_hyphen(left, right) else " ")
