"""Values with line ends or gaps: make the surrogate of the joined value, then restore the layout.

``John<line end>Smith`` and ``John Smith`` are the same person and have the same surrogate. The surrogate has as many
line ends as the value, so the note keeps its lines.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from deid_runtime.spans import Note, Span
from deid_runtime.text.reading.edits import Edit, apply_edits

_BREAK: Final = re.compile(r"(\r\n?|[\n\x85\u2028\u2029]|<br\s{0,8}/?>)", re.IGNORECASE)
_BLANKS: Final = " \t"
_WORD: Final = re.compile(r"\S+")
#: A word or number spelled with gaps: letters or digits with the same mark or space between all of them.
_SPELLED: Final = re.compile(r"[^\W_](?P<gap>[ ._~*·/-])[^\W_](?:(?P=gap)[^\W_])+")
_WIDE_GAP: Final = re.compile(r" {2,4}")


def unbroken(note: Note, spans: Sequence[Span]) -> tuple[Note, list[Span]]:
    """Return ``note`` with each line end inside ``spans`` and the blanks around it as one space, and the new spans.

    ``spans`` are sorted, disjoint and inside the text.
    """
    edits = [edit for span in spans for edit in _line_ends(note.text, span)]
    if not edits:
        return note, list(spans)
    text, layer = apply_edits(note.text, edits)
    moved = [replace(span, start=layer.first_from(span.start), end=layer.last_before(span.end)) for span in spans]
    return replace(note, text=text), moved


def _line_ends(text: str, span: Span) -> list[Edit]:
    value = text[span.start : span.end]
    if "\n" not in value and "\r" not in value:
        return []
    edits: list[Edit] = []
    for match in _BREAK.finditer(value):
        start = len(value[: match.start()].rstrip(_BLANKS))
        end = len(value) - len(value[match.end() :].lstrip(_BLANKS))
        if edits and start + span.start <= edits[-1].end:  # after a blank line: extend the edit
            edits[-1] = Edit(edits[-1].start, end + span.start, " ")
        else:
            edits.append(Edit(start + span.start, end + span.start, " "))
    return edits


def written_like(made: str, value: str, written: str) -> str:
    """Return ``made``, the surrogate of ``value``, with the line ends of the value as it is ``written``.

    If ``written`` has gaps between its letters and ``value`` does not, ``made`` gets the same gaps.

    A line end stays between the same words. When the numbers of words differ, it goes to the nearest place between two
    words. It goes after a surrogate of one word.
    """
    pieces = _BREAK.split(written)
    if len(pieces) == 1:
        return made if value == written else _spelled_like(made, written)
    parts, breaks = pieces[::2], pieces[1::2]
    words = [match.span() for match in _WORD.finditer(made)]
    total = sum(len(part.split()) for part in parts)
    before = at = 0
    out: list[str] = []
    copied = 0
    for part, line_end, following in zip(parts, breaks, parts[1:], strict=False):
        before += len(part.split())
        indent = following[: len(following) - len(following.lstrip(_BLANKS))]
        # The line ends after this word, counted from 1; never before the word of the previous line end.
        nth = before if len(words) == total else (before * len(words) + total // 2) // max(total, 1)
        at = min(max(nth, at, 1), len(words))
        if at < len(words):
            out += made[copied : words[at - 1][1]] if words[at - 1][1] > copied else "", line_end, indent
            copied = max(copied, words[at][0])
        else:
            out += made[copied:], line_end
            copied = len(made)
    out.append(made[copied:])
    return "".join(out)


def _spelled_like(made: str, written: str) -> str:
    words = _WIDE_GAP.split(written)
    rows = [_SPELLED.fullmatch(word) for word in words]
    first = rows[0]
    if first is None or not all(rows):
        return made
    wide = _WIDE_GAP.search(written)
    return (wide[0] if wide else " ").join(first["gap"].join(word) for word in made.split())
