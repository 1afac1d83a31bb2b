"""Join words and numbers that are written with gaps between their characters, when the form is certain.

These forms are certain:

- words in title case (``J o h n``, ``J.o.h.n``);
- rows of capitals or of lower-case letters with spaces;
- digits in the form of a telephone number, a date or a social security number.

These forms stay unchanged: rows of digits that count up (a pain scale), rows of one letter (a grid of answers), and
rows with hyphens. People write spelled names with hyphens, and the models know this form.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from deid_runtime.text.reading.edits import Edit

# Gates: fast patterns that match every text in which a pattern below matches.
_LETTERS_GATE: Final = re.compile(r"[ ._~*·/-][^\W\d_][ ._~*·/-][^\W\d_](?![^\W_])")
_DIGITS_GATE: Final = re.compile(r"\d [-/.() ]{0,4}\d [-/.() ]{0,4}\d")

_TITLE: Final = re.compile(r"(?<![^\W_])[A-ZÀ-ÖØ-Þ](?: [a-zß-öø-ÿ](?![^\W_])){2,}")
_MARKED: Final = re.compile(r"(?<![^\W_])[A-ZÀ-ÖØ-Þ]([._~*·/-])[a-zß-öø-ÿ](?:\1[a-zß-öø-ÿ](?![^\W_])){2,}")
_CAPITALS: Final = re.compile(r"(?<![^\W_])[A-ZÀ-ÖØ-Þ](?: [A-ZÀ-ÖØ-Þ](?![^\W_])){3,}")
_SMALL: Final = re.compile(r"(?<![^\W_])[a-zß-öø-ÿ](?: [a-zß-öø-ÿ](?![^\W_])){3,}")
_LETTER_ROWS: Final = (_TITLE, _MARKED, _CAPITALS, _SMALL)

_DIGIT_ROW: Final = re.compile(r"(?<![^\W_])(?<!\d[ .])\d(?: (?:[-/.()] ?){0,2}\d| ?[-/.] ?\d){4,24}(?![^\W_])(?! ?\d)")
#: Numbers in the form that they have without gaps.
_NUMBER: Final = re.compile(
    r"(?:1[-. ]?)?\(?\d{3}\)?[-. ]?\d{3}[-. ]\d{4}|\d{3}[-.]\d{4}|1?[2-9]\d{2}[2-9]\d{6}|\d{3}-\d{2}-\d{4}"
    r"|\d{1,2}([-/.])\d{1,2}\1\d{2}(?:\d{2})?|\d{4}([-/.])\d{2}\2\d{2}|\d{12,24}"
)
_GAP: Final = re.compile(" +")
_BETWEEN_WORDS: Final = range(2, 5)  # spaces between two words whose letters are one space apart
#: Single letters and digits with one space between them.
_RUN: Final = re.compile(r"(?<![^\W_])[^\W_](?: [^\W_](?![^\W_]))+")
_MANY: Final = 3  # from this number of spelled words on, the whole text counts as spelled
_LEAST_DIGITS: Final = 3  # different digits; a row with only two different digits is a score sheet
_LONGEST_WORD: Final = 12  # a longer row is several words, and their ends are unknown


def read_spelled(text: str) -> list[Edit]:
    """Return the edits that remove the gaps from spelled words and numbers of ``text``.

    When many words are spelled with spaces, the whole text counts as spelled, and short rows are joined too. If the
    ends of words are then unknown, or if many words are spelled with other marks, return no edits: such a note must be
    quarantined (:mod:`deid_runtime.text.legibility`).
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
    """Return whether the letters of a row spell one word.

    A row with fewer than three different letters is a grid of answers, and a row in alphabetical order is a list.
    """
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
