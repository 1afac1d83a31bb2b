"""Drop weak pattern spans that the models deny.

A weak pattern matches by form alone: ``3/7`` may be a date or three days, ``10-12`` a date or a dose. Its span is kept
if the models have not read its words. It is dropped when the models have read its words, every head denies them
(:data:`DENIED_BELOW`), and no other detector found anything there.

A bare match has only the form, without a supporting word beside it
(:data:`deid_runtime.detectors.patterns.rows.BARE_SCORE`). If the models have read its words, it is kept only if a
model or another detector found something there.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from deid_runtime.detectors.patterns.rows import BARE_SCORE
from deid_runtime.spans import Sentence, Span, covered

#: A word is denied when every head scores it lower. Measured on the words of T18 to T32 that only weak patterns found:
#: 127 wrong words and 6 right words were denied. The models were not trained on those notes.
DENIED_BELOW: Final = 0.03

#: Source of a word that the models neither found nor denied. It is not an identifier: it only keeps weak pattern spans.
TRACE: Final = "model:trace"

#: Sources of spans that match by form alone, and of spans of which the rules for people are uncertain.
_WEAK: Final = (("pattern:weak",), ("rule:people:weak",))


def settle_doubts(found: Sequence[Span], from_models: Sequence[Span], read: Sequence[Sentence]) -> list[Span]:
    """Return ``found`` and ``from_models`` without traces and without the weak spans that the models deny.

    ``found`` are the spans of all detectors except the models, ``from_models`` the spans and traces of the models, and
    ``read`` the sentences that the models have read.
    """
    weak = [span for span in found if span.sources in _WEAK]
    spans = [span for span in from_models if TRACE not in span.sources]
    if not weak:
        return [*found, *spans]
    others = [span for span in found if span.sources not in _WEAK]
    backed = covered([*from_models, *others])
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
