"""Measures in characters, as other systems publish them: identifying characters found, other characters redacted.

Identifying characters are those in gold spans that are not white space; redacted characters are those in found spans.
There are two figures, each with and without ages under 90, which Safe Harbor allows and many sets do not mark:

- *identifying characters found*: the share of the identifying characters that are redacted, whatever their label;
- *other characters redacted*: the share of the characters outside all gold spans that are redacted.

Without ages under 90, the characters of these ages are excluded from both: they are neither identifying nor other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deid_runtime.annotations.note import AnnotatedNote, require_inside
from deid_runtime.evaluation.ages import age_years
from deid_runtime.evaluation.tokens import is_visible, ratio
from deid_runtime.labels import group_of
from deid_runtime.spans import Span


@dataclass(frozen=True, slots=True)
class CharacterCounts:
    """Characters that are not white space: in gold spans and outside them, and how many of each were redacted."""

    identifying: int
    found: int
    other: int
    redacted: int

    @property
    def found_share(self) -> float | None:
        """The share of the identifying characters that were found."""
        return ratio(self.found, self.identifying)

    @property
    def redacted_share(self) -> float | None:
        """The share of the other characters that were redacted."""
        return ratio(self.redacted, self.other)


def count_characters(
    gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]], *, ages_under_90: bool = True
) -> CharacterCounts:
    """Count the characters of all notes; ``ages_under_90``: whether these ages count as identifying.

    Raises InputError when a found span ends after the end of its text.
    """
    totals = np.zeros(4, np.int64)
    for note in gold:
        spans = found.get(note.id, ())
        require_inside(note.id, note.text, spans, "found")
        visible = is_visible(note.text)
        identifying, redacted, young = (np.zeros_like(visible) for _ in range(3))
        for span in spans:
            redacted[span.start : span.end] = True
        for span in note.spans:
            is_left_out = not ages_under_90 and _is_under_90(note.text, span)
            (young if is_left_out else identifying)[span.start : span.end] = True
        inside, outside = visible & identifying, visible & ~identifying & ~young
        totals += [inside.sum(), (inside & redacted).sum(), outside.sum(), (outside & redacted).sum()]
    return CharacterCounts(*totals.tolist())


def _is_under_90(text: str, span: Span) -> bool:
    if span.label != "AGE":
        return False
    return group_of("AGE", age_years=age_years(text[span.start : span.end])) != "A"
