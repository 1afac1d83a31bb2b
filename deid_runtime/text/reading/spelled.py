"""Words and numbers written with gaps between their characters, read joined where the form is sure.

Sure are words in title case (``J o h n``, ``J.o.h.n``), rows of capitals or of small letters with spaces, and digits in
the form of a telephone number, a date or a social security number. Left are rows of digits that count up (a scale of
pain), rows of one letter (a grid of answers), and rows with hyphens: people spell names aloud so, and models know it.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from deid_runtime.text.reading.edits import Edit

# Gates, which find every text that a pattern below finds, and are faster.
_LETTERS_GATE: Final = re.compile(r"[ ._~*·/-][^\W\d_][ ._~*·/-][^\W\d_](?![^\W_])")
_DIGITS_GATE: Final = re.compile(r"\d [-/.() ]{0,4}\d [-/.() ]{0,4}\d")

_TITLE: Final = re.compile(r"(?<![^\W_])[A-ZÀ-ÖØ-Þ](?: [a-zß-öø-ÿ](?![^\W_])){2,}")
_MARKED: Final = re.compile(r"(?<![^\W_])[A-ZÀ-ÖØ-Þ]([._~*·/-])[a-zß-öø-ÿ](?:\1[a-zß-öø-ÿ](?![^\W_])){2,}")
_CAPITALS: Final = re.compile(r"(?<![^\W_])[A-ZÀ-ÖØ-Þ](?: [A-ZÀ-ÖØ-Þ](?![^\W_])){3,}")
_SMALL: Final = re.compile(r"(?<![^\W_])[a-zß-öø-ÿ](?: [a-zß-öø-ÿ](?![^\W_])){3,}")
_LETTER_ROWS: Final = (_TITLE, _MARKED, _CAPITALS, _SMALL)

_DIGIT_ROW: Final = re.compile(r"(?<![^\W_])(?<!\d[ .])\d(?: (?:[-/.()] ?){0,2}\d| ?[-/.] ?\d){4,24}(?![^\W_])(?! ?\d)")
#: Numbers as they stand once their gaps are gone.
_NUMBER: Final = re.compile(
    r"(?:1[-. ]?)?\(?\d{3}\)?[-. ]?\d{3}[-. ]\d{4}|\d{3}[-.]\d{4}|1?[2-9]\d{2}[2-9]\d{6}|\d{3}-\d{2}-\d{4}"
    r"|\d{1,2}([-/.])\d{1,2}\1\d{2}(?:\d{2})?|\d{4}([-/.])\d{2}\2\d{2}|\d{12,24}"
)
_GAP: Final = re.compile(" +")
_BETWEEN_WORDS: Final = range(2, 5)  # spaces between two words whose letters have one between them
#: Single letters and digits with a space between.
_RUN: Final = re.compile(r"(?<![^\W_])[^\W_](?: [^\W_](?![^\W_]))+")
_MANY: Final = 3  # words spelled, by which a text is known to be
_LEAST_DIGITS: Final = 3  # different ones; a row of two is a score sheet
_LONGEST_WORD: Final = 12  # a longer row is several words, and no one can say where each ends


def read_spelled(text: str) -> list[Edit]:
    """Return the edits that take the gaps out of the words and numbers of ``text`` that are spelled with them.

    Where many words are spelled with spaces, everything is taken to be, short rows too. Where it cannot be told then
    where words end, or where many are spelled with other marks, nothing is read: such a note is to be held back.
    """
    rows: list[tuple[int, int]] = []
    if _LETTERS_GATE.search(text):
        rows = sorted(match.span() for row in _LETTER_ROWS for match in row.finditer(text) if _spells(match[0][::2]))
    edits = _join_rows(text, rows) if len(rows) < _MANY else _join_all(text, rows)
    if len(rows) < _MANY and _DIGITS_GATE.search(text):
        for match in _DIGIT_ROW.finditer(text):
            edits += _join_digits(match)
    edits.sort()
    return edits


def _join_rows(text: str, rows: Sequence[tuple[int, int]]) -> list[Edit]:
    edits = [Edit(at, at + 1, "") for start, end in rows for at in range(start + 1, end, 2)]
    for (_, end), (start, _) in pairwise(rows):
        if start - end in _BETWEEN_WORDS and text[end:start].isspace():
            edits.append(Edit(end, start, " "))
    return edits


def _join_all(text: str, rows: Sequence[tuple[int, int]]) -> list[Edit]:
    runs = [match.span() for match in _RUN.finditer(text)]
    is_spaced = all(text[start + 1] == " " for start, _ in rows)
    if not is_spaced or any((end - start) // 2 >= _LONGEST_WORD for start, end in runs):
        return []
    return _join_rows(text, runs)


def _spells(letters: str) -> bool:
    """Say whether the letters of a row are those of one word: not two alone (a grid), nor in their order (a list)."""
    if len(letters) > _LONGEST_WORD:
        return False
    folded = letters.lower()
    in_order = all(ord(right) - ord(left) == 1 for left, right in pairwise(folded))
    return len(set(folded)) >= min(3, len(folded)) and not in_order


def _join_digits(row: re.Match[str]) -> Iterator[Edit]:
    value = row[0]
    closed = _GAP.sub("", value)
    digits = [int(char) for char in value if char.isdigit()]
    counts = all(right - left in (0, 1) for left, right in pairwise(digits))
    if counts or len(set(digits)) < _LEAST_DIGITS or not _NUMBER.fullmatch(closed):
        return
    for gap in _GAP.finditer(value):
        yield Edit(row.start() + gap.start(), row.start() + gap.end(), "")
