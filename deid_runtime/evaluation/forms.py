"""Measure whether the result depends on how notes are written: recall by written form, and scores of altered notes.

The *written form* of a gold span is its case and whether it contains a line end:

``Title Case``, ``lower case``, ``CAPITALS``, ``other case``
    every word begins with its only capital; no capital; only capitals; anything else. Spans without cased
    letters are ``numbers only`` or ``letters without case``.
``over a line end``
    the span contains a line end, whatever its case.

:func:`rewritten` makes *altered notes*: the same notes in lower case, in capitals, or hard-wrapped. Offsets and length
of the text stay the same, so the gold spans are also valid for them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.evaluation.intervals import share_interval
from deid_runtime.evaluation.layout import recased, wrapped
from deid_runtime.evaluation.significance import Interval
from deid_runtime.evaluation.token_table import TokenTable
from deid_runtime.evaluation.tokens import IntArray, Score, ratio, token_binary
from deid_runtime.spans import Span

#: Columns of a hard-wrapped note.
WRAP_COLUMNS: Final = 60
OVER_A_LINE_END: Final = "over a line end"
#: The written forms, in the order of the tables.
WRITTEN_FORMS: Final = (
    "Title Case", "lower case", "CAPITALS", "other case", "letters without case", "numbers only", OVER_A_LINE_END,
)  # fmt: skip

#: End of the name of the file with the found spans of altered notes; ``lower.found.jsonl`` belongs to ``lower.jsonl``.
FOUND_SUFFIX: Final = ".found.jsonl"

_WORD: Final = re.compile(r"[^\W\d_]+")
_LINE_ENDS: Final = re.compile(r"[\r\n]")


@dataclass(frozen=True, slots=True)
class FormRow:
    """The gold tokens in spans of one written form: all, missed, recall and its interval."""

    form: str
    gold: int
    missed: int
    recall: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class AlteredForm:
    """Group C on the same notes in another form: the score, and the score on the unaltered notes with the same ids."""

    form: str
    notes: int
    altered: Score
    unaltered: Score

    @property
    def recall_change(self) -> float | None:
        """The recall on the altered notes minus the recall on the unaltered ones."""
        if self.altered.recall is None or self.unaltered.recall is None:
            return None
        return self.altered.recall - self.unaltered.recall


def written_form(value: str) -> str:
    """Return the case form of a value, one of :data:`WRITTEN_FORMS` except the last."""
    words = [match[0] for match in _WORD.finditer(value)]
    if not words:
        return "numbers only"
    letters = "".join(words)
    if letters.lower() == letters.upper():
        return "letters without case"
    if letters == letters.lower():
        return "lower case"
    # One or two initials, as in "J", count as title case.
    if all(word[0] == word[0].upper() and word[1:] == word[1:].lower() for word in words):
        return "Title Case"
    return "CAPITALS" if letters == letters.upper() else "other case"


def by_written_form(notes: Sequence[AnnotatedNote], table: TokenTable, patients: IntArray) -> list[FormRow]:
    """Return recall by written form of the gold spans, without forms that no span has. ``patients``: see breakdown."""
    cases: list[int] = []
    broken: list[bool] = []
    for note in notes:
        for span in note.spans:
            value = note.text[span.start : span.end]
            cases.append(WRITTEN_FORMS.index(written_form(value)))
            broken.append(bool(_LINE_ENDS.search(value.strip())))
    case_of = np.append(np.array(cases, np.int64), -1)[table.gold]
    is_broken = np.append(np.array(broken, np.bool_), False)[table.gold]
    of_patient, size = patients[table.note], int(patients.max()) + 1 if len(patients) else 0
    rows = []
    for number, form in enumerate(WRITTEN_FORMS):
        chosen = is_broken if form == OVER_A_LINE_END else case_of == number
        total = int(chosen.sum())
        if total:
            hits = chosen & table.is_found
            interval = share_interval(
                np.bincount(of_patient[hits], minlength=size), np.bincount(of_patient[chosen], minlength=size)
            )
            found = int(hits.sum())
            rows.append(FormRow(form, total, total - found, ratio(found, total), interval))
    return rows


def compare_form(
    form: str,
    gold: Sequence[AnnotatedNote],
    found: Mapping[str, Sequence[Span]],
    altered_gold: Sequence[AnnotatedNote],
    altered_found: Mapping[str, Sequence[Span]],
) -> AlteredForm:
    """Score altered notes and the unaltered notes with the same ids.

    Raises InputError when an altered note has no unaltered one, or has no row among its found spans.
    """
    known = {note.id: note for note in gold}
    lost = [note.id for note in altered_gold if note.id not in known or note.id not in altered_found]
    if lost or not altered_gold:
        raise InputError(
            f"form {form}: {len(lost)} of {len(altered_gold)} altered notes have no gold note with the same id or no "
            "row among their found spans; expected the same notes in another form, as `deid evaluate forms` writes "
            "them",
            stage="evaluate",
        )
    same = [known[note.id] for note in altered_gold]
    return AlteredForm(form, len(same), token_binary(altered_gold, altered_found)["C"], token_binary(same, found)["C"])


def rewritten(note: AnnotatedNote, form: str) -> AnnotatedNote:
    """Return a note in another form, one of :data:`ALTERATIONS`, with the same offsets."""
    return replace(note, text=ALTERATIONS[form](note.text))


#: Form of altered notes -> how a text is written in it.
ALTERATIONS: Final[Mapping[str, Callable[[str], str]]] = {
    "lower": lambda text: recased(text, str.lower),
    "capitals": lambda text: recased(text, str.upper),
    "wrapped": lambda text: wrapped(text, WRAP_COLUMNS),
}
