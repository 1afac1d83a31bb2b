"""Weak patterns against models: the one place where a vote of one is not enough.

A weak pattern goes by form alone: ``3/7`` may be a date or three days, ``10-12`` a date or a dose. It counts wherever
nothing has looked closer. Where models have read its words and every head denies them (:data:`DENIED_BELOW`), and no
other finder touches them, it is dropped. A bare one, which has the form and not even a word beside it
(:data:`deid_runtime.detectors.patterns.rows.BARE_SCORE`), is only a proposal: where models have read its words, one of
them must have found something there.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from deid_runtime.detectors.patterns.rows import BARE_SCORE
from deid_runtime.spans import Sentence, Span, covered

#: A word is denied that every head scores lower. Of the words on T18 to T32 that weak patterns alone had found, models
#: that had not learnt from those notes denied 127 wrong ones and 6 right ones so.
DENIED_BELOW: Final = 0.03

#: Source of what the models neither found nor denied: no identifier, only a sign that a weak pattern may stand.
TRACE: Final = "model:trace"

#: Sources of what goes by form alone, and of what people rules are not sure of.
_WEAK: Final = (("pattern:weak",), ("rule:people:weak",))


def settle_doubts(found: Sequence[Span], told: Sequence[Span], read: Sequence[Sentence]) -> list[Span]:
    """Return ``found`` and ``told`` without traces and without the weak patterns that the models deny.

    ``found`` is from all finders but the models, ``told`` from the models, with traces; ``read`` are the sentences that
    the models have read.
    """
    weak = [span for span in found if span.sources in _WEAK]
    spans = [span for span in told if TRACE not in span.sources]
    if not weak:
        return [*found, *spans]
    others = [span for span in found if span.sources not in _WEAK]
    backed = covered([*told, *others])
    seconded = covered([*spans, *others])
    seen = covered(read)
    denied = {
        span
        for span in weak
        if not _touches(seconded if span.score <= BARE_SCORE else backed, span) and _holds(seen, span)
    }
    return [*(span for span in found if span not in denied), *spans]


def _touches(stretches: Sequence[tuple[int, int]], span: Span) -> bool:
    at = bisect_right(stretches, span.end - 1, key=lambda stretch: stretch[0]) - 1
    return at >= 0 and stretches[at][1] > span.start


def _holds(stretches: Sequence[tuple[int, int]], span: Span) -> bool:
    at = bisect_right(stretches, span.start, key=lambda stretch: stretch[0]) - 1
    return at >= 0 and stretches[at][1] >= span.end
