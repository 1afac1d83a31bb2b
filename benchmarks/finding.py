"""Find the spans of texts with the embedded pipeline, and give the interval of a share."""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Final

from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.spans import Note, Span

PROFILES: Final = ("fast", "full")
BATCH_NOTES: Final = 64
_Z: Final = 1.959964  # of the normal distribution, for 95 %

#: Finds the spans of texts: one row per text, sorted and disjoint.
Finder = Callable[[Sequence[str]], list[Sequence[Span]]]


def finder(pipeline: Pipeline) -> Finder:
    """Return what finds the spans of texts with ``pipeline``; it exits when a note is held back."""

    def find(texts: Sequence[str]) -> list[Sequence[Span]]:
        rows: list[Sequence[Span]] = []
        for start in range(0, len(texts), BATCH_NOTES):
            part = texts[start : start + BATCH_NOTES]
            for outcome in pipeline.detect([Note(str(number), text) for number, text in enumerate(part)]):
                if isinstance(outcome, Quarantined):
                    raise SystemExit(f"a note was quarantined in {outcome.stage}: {outcome.reason}")
                rows.append(outcome.spans)
        return rows

    return find


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Return Wilson's interval at 95 % for a share; 0 to 1 where nothing was counted."""
    if not of:
        return 0.0, 1.0
    share, weight = hits / of, _Z * _Z / of
    middle = (share + weight / 2) / (1 + weight)
    half = _Z * sqrt(share * (1 - share) / of + weight / (4 * of)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)
