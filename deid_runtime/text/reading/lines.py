"""Find the line ends of hard-wrapped paragraphs, so that detectors read the paragraph as running text.

A line end is read as a space when it is inside a wrapped paragraph. There are three kinds of evidence:

1. **A wrap column.** A program that wraps text at column ``w`` puts as many words as fit on a line. So the first word
   of the next line did not fit: ``length <= w < length + 1 + len(first word)``. When most long lines of a text, or all
   lines of a block, agree on one ``w``, each agreeing line is joined with the next line.
2. **An open end.** A long enough line that ends with *the*, *of* or *by* continues on the next line. So does a line
   that ends with *Dr.*
3. **A sentence.** A long line without a closing mark continues when the next line begins in lower case. This does not
   apply when other lines of the text also begin in lower case. The longest line of a text continues when the next line
   ends the sentence.

When a hyphen at a line end splits a word, the hyphen is removed together with the line end.

List items, labels (``Allergies: ...``), table rows and blank lines always begin a new paragraph.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Final

from deid_runtime.text.reading.edits import Edit

#: Range of wrap columns. Narrower text is more often a list or an address.
_NARROWEST: Final = 45
_WIDEST: Final = 140
_LEAST_LINES: Final = 3  # lines that must agree on a column; one fewer is enough when all long lines agree
_LONGEST_ENDING: Final = 8
_SLACK: Final = 1  # columns by which programs differ: some count the space at the end
_SURE_LINES: Final = 4  # agreeing lines that are enough even without full sentences; fewer lines must be prose
_LONG_LINE: Final = 55  # columns of a line that may continue without a closing mark
_OPEN_LINE: Final = 40  # columns before an open end; a shorter line may be a label of a form
_LONGEST_INDENT: Final = 24

# A bullet always starts an item. `3. ` and `B. ` start an item or continue a sentence, depending on the line before.
_BULLET: Final = re.compile(r"[-*+•·▪●◦‣>#=~_|\[{<]|[^\w\s]{2}")
_NUMBERED: Final = re.compile(r"\(?(?:\d{1,3}[.)\]:]|[A-Za-z][.)])(?:\s|$)")
_LABEL: Final = re.compile(r"[A-Za-z][^:.?!\n]{0,40}:(?:\s|$)")
_TABLE: Final = re.compile(r"\S(?:\t| {3,})\S|\|")
_CLOSED: Final = ".!?:;"
_SENTENCE_ENDS: Final = ".!?"
_FIRST: Final = re.compile(r"\S+")
_OPEN_WORD: Final = re.compile(r"(?<![^\W_])(?:the|an|and|of|by|with|his|her|their|my|our)$", re.IGNORECASE)
_OPEN_TITLE: Final = re.compile(r"(?<![^\W_])(?:(?:[Dd]rs?|[Mm]rs?|[Mm]s|[Pp]rof)\.|Dr|Mrs?|Ms|Prof)$")
_NAME_LIKE: Final = re.compile(
    r"[^\W\d_][^\W\d_'\u2019.-]*(?!.*(?:, ?[A-Z]{2}\b|\d{5}))"
)  # not a town below a street that ends with `Dr`
#: Function words of full sentences, which telegraphic style omits.
_PROSE_WORD: Final = re.compile(
    r"(?<![^\W_])(?:the|an?|of|was|were|is|are|has|have|had|she|he|they|his|her|that|which|who|with|and|to|will|in|for|"
    r"from|on|as|but|this)"
    r"(?![^\W_])",
    re.IGNORECASE,
)
_PROSE_WORDS: Final = 2  # function words that make a line prose
_BEFORE_HYPHEN: Final = re.compile(r"[^\W\d_]{2,}-$")
_COMPOUND: Final = re.compile(r"[^\W_]-[^\W_]+-$")  # `65-year-`: the hyphen is part of the word
_LETTERS: Final = re.compile(r"[^\W\d_]{2,}")
_BROKEN_LINE: Final = 40  # columns of a line whose final hyphen splits a word without other evidence of wrapped text
_BROKEN_WORDS: Final = 3  # from this many split words on, short lines and numbers with a hyphen are also joined


@dataclass(frozen=True, slots=True)
class _Line:
    """One line. ``body`` is its text without white space at both ends; ``[start, end)`` are its offsets in the text.

    ``length`` counts the columns of the indent and the body.
    """

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


#: The index of a line, the line, and the next line.
_Pair = tuple[int, _Line, _Line]


def read_lines(text: str) -> list[Edit]:
    """Return the edits that join the wrapped lines of ``text`` and the words that are split between lines."""
    if "\n" not in text:
        return []
    lines = list(_lines(text))
    joined = _joined(lines)
    if any(line.indent and line.body for line in lines):
        # Some programs count the indent as part of the line width, others do not. Try both.
        joined |= _joined([replace(line, indent=0) for line in lines])
    return [_join(lines[at], lines[at + 1]) for at in sorted(joined)]


def _joined(lines: Sequence[_Line]) -> set[int]:
    """Return the indices of the lines that continue on the next line."""
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
    """Yield blocks: the pairs of neighbouring lines of each run of lines without a blank line."""
    block: list[_Pair] = []
    for pair in pairs:
        if block and block[-1][0] + 1 != pair[0]:
            yield block
            block = []
        block.append(pair)
    if block:
        yield block


def _may_wrap(left: _Line, right: _Line) -> bool:
    """Return whether two neighbouring lines can belong to one paragraph by their form."""
    return not (
        left.is_table
        or right.is_table
        or _BULLET.match(right.body)
        or right.indent > _LONGEST_INDENT
        or (_NUMBERED.match(right.body) and left.body[-1] in _CLOSED)
        or (_LABEL.match(right.body) and left.body[-1] in _CLOSED)
    )


def _room(left: _Line, right: _Line) -> tuple[int, int]:
    """Return the half-open range of wrap columns that explain the line end between ``left`` and ``right``."""
    first = _FIRST.match(right.body)
    size = len(first[0]) if first else 0
    return left.length, left.length + size + (left.body[-1] != "-")


def _column(lines: Sequence[_Line], pairs: Sequence[tuple[_Line, _Line]]) -> int:
    """Return the column at which most long lines of a text are wrapped, or 0 when there is none."""
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
    """Return whether no line of several words in a block is longer than ``column`` plus :data:`_SLACK`."""
    lines = [block[0][1], *(right for _, _, right in block)]
    return all(line.length <= column + _SLACK or " " not in line.body for line in lines)


def _block_column(block: Sequence[tuple[_Line, _Line]]) -> int:
    """Return the column at which all lines of a block except the last are wrapped, or 0 when there is none."""
    if len(block) < 2 or not all(_may_wrap(*pair) for pair in block):
        return 0
    rooms = [_room(*pair) for pair in block]
    low = max(max(room[0] for room in rooms), block[-1][1].length)
    is_wrapped = _NARROWEST <= low <= _WIDEST and all(low < high + _SLACK for _, high in rooms)
    return low if is_wrapped and (len(block) >= _SURE_LINES or _are_prose([left for left, _ in block])) else 0


def _goes_on(left: _Line, right: _Line, columns: Sequence[int], *, is_cased: bool, longest: int) -> bool:
    """Return whether a paragraph continues from ``left`` to ``right``. ``columns`` are possible wrap columns, or 0."""
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
    """Return whether a line is part of a full sentence: it has enough function words."""
    return sum(1 for _ in islice(_PROSE_WORD.finditer(line.body), _PROSE_WORDS)) == _PROSE_WORDS


def _are_prose(lines: Sequence[_Line]) -> bool:
    """Return whether at least half of the lines are prose."""
    return 2 * sum(map(_is_prose, lines)) >= len(lines)


def _is_open(line: _Line) -> bool:
    """Return whether a line is long and has no closing mark."""
    return line.length >= _LONG_LINE and line.body[-1] not in _CLOSED


def _is_cased(lines: Sequence[_Line]) -> bool:
    """Return whether no line begins in lower case, except lines that may continue the line before."""
    return (
        not any(right.body[:1].islower() for left, right in pairwise(lines) if not (left.body and _is_open(left)))
        and not lines[0].body[:1].islower()
    )


def _is_heading(left: _Line, right: _Line) -> bool:
    """Return whether ``right`` is a line in capitals below a line that is not in capitals."""
    return right.body.isupper() and len(right.body) > 3 and not left.body.isupper() and " " in left.body


def _breaks_word(left: _Line, right: _Line) -> bool:
    """Return whether the final hyphen of ``left`` splits a word, judged by the case of the letters around it."""
    if left.body[-1] != "-" or left.is_table or right.is_table:
        return False
    before, behind = _BEFORE_HYPHEN.search(left.body, max(0, len(left.body) - 40)), _LETTERS.match(right.body)
    if before is None or behind is None:
        return False
    return behind[0].islower() if before[0][-2].islower() else before[0].isupper() and behind[0].isupper()


def _has_hyphen(left: _Line, right: _Line) -> bool:
    """Return whether a hyphen at the end of ``left`` is between letters or digits."""
    return left.body[-1] == "-" and left.body[-2:-1].isalnum() and right.body[0].isalnum()


def _join(left: _Line, right: _Line) -> Edit:
    """Return the edit that joins two lines, and joins a word that a hyphen splits between them."""
    if left.body[-1] != "-":
        return Edit(left.end, right.start, " ")
    if _breaks_word(left, right) and not (_COMPOUND.search(left.body, max(0, len(left.body) - 40))):
        return Edit(left.end - 1, right.start, "")
    return Edit(left.end, right.start, "" if _has_hyphen(left, right) else " ")
