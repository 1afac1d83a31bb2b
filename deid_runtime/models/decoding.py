"""From the tags and scores of words to spans: a threshold on 1 - P(O) decides, B and I tags cut."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deid_runtime.models.doubts import DENIED_BELOW, TRACE
from deid_runtime.spans import Span

Scores = NDArray[np.floating[Any]]

_TRACE_LABEL: Final = "IDNUM"  # means nothing: what leaves a trace has no label
_JOINING: Final = frozenset("-'’./,@:&#()_ ")
_TRIMMED: Final = ",;:"
_ARTICLE: Final = "the"
#: An article in lower case stays outside of a span (GUIDELINES.md of the corpus): its surrogate takes the same one.
_LEADING_ARTICLE: Final = re.compile(r"the[ \t]+(?=\S)")  # "an" may be a name
#: Holidays and days of a month are written with it (``the Fourth of July``), and countries change it (``the Gambia``).
_WITH_ARTICLE: Final = frozenset({"DATE", "COUNTRY"})
_NAMES: Final = frozenset({"PATIENT", "DOCTOR"})  # not user names, which are one word


def decode_words(
    text: str,
    starts: Sequence[int],
    ends: Sequence[int],
    tags: Sequence[int],
    scores: Sequence[float],
    names: Sequence[str],
    threshold: float,
    source: str,
) -> list[Span]:
    """Return the sorted, disjoint spans of one head in one window.

    ``starts`` and ``ends`` are the words' half-open code points in ``text``; ``tags`` index ``names``, which lists
    ``B-LABEL`` and ``I-LABEL`` (never ``O``); ``scores`` are 1 - P(O). A word is found when its score reaches
    ``threshold``. An I tag continues the span before it when the label is the same and no word lies between, or one
    mark of punctuation that fell below the threshold. "The" belongs to the name right behind it, whatever it is
    tagged as itself; in lower case it stays outside of the span, but for dates and countries. A name goes on behind one
    line end when an I tag of its label says so; anything else ends with its line.
    """
    spans: list[Span] = []
    label = ""
    start = end = last = -1
    best = 0.0
    for word in [word for word, score in enumerate(scores) if score >= threshold]:
        score = scores[word]
        prefix, _, name = names[tags[word]].partition("-")
        gap = word - last - 1
        after_article = gap == 0 and end - start == len(_ARTICLE) and text[start:end].lower() == _ARTICLE
        continues = (
            label == name
            and prefix == "I"
            and (
                gap == 0 or (gap == 1 and ends[last + 1] - starts[last + 1] == 1 and text[starts[last + 1]] in _JOINING)
            )
        )
        between = text[end : starts[word]]
        is_name = continues and gap == 0 and name in _NAMES
        if (after_article or continues) and (not _parts(between) or (is_name and _is_line_end(between))):
            label = name
            end = ends[word]
            best = max(best, score)
        else:
            if label:
                _close(spans, text, start, end, label, best, source)
            label, start, end, best = name, starts[word], ends[word], score
        last = word
    if label:
        _close(spans, text, start, end, label, best, source)
    return spans


def decode_traces(
    starts: Sequence[int], ends: Sequence[int], scores: Mapping[str, Scores], thresholds: Mapping[str, float]
) -> list[Span]:
    """Return a span for every word that no head finds and not every head denies, with the source ``TRACE``.

    ``scores`` gives 1 - P(O) of the words by head, ``(words,)``.
    """
    best = np.max([scores[head] for head in thresholds], axis=0)
    found = np.any([scores[head] >= threshold for head, threshold in thresholds.items()], axis=0)
    return [
        Span(starts[word], ends[word], _TRACE_LABEL, float(best[word]), (TRACE,))
        for word in np.flatnonzero((best >= DENIED_BELOW) & ~found).tolist()
    ]


def _parts(between: str) -> bool:
    """Say whether what lies between two words that models were asked of parts them: a line, or words known already."""
    return "\n" in between or any(char.isalnum() for char in between)


def _is_line_end(between: str) -> bool:
    """Say whether what lies between two words is one line end, with blanks around it at most."""
    return between.isspace() and between.count("\n") == 1


def _close(spans: list[Span], text: str, start: int, end: int, label: str, score: float, source: str) -> None:
    while start < end and text[start] in _TRIMMED:
        start += 1
    while start < end and text[end - 1] in _TRIMMED:
        end -= 1
    if label not in _WITH_ARTICLE and (article := _LEADING_ARTICLE.match(text, start, end)) is not None:
        start = article.end()
    # A span without a letter or digit identifies nobody, nor does "the"; in capitals it may be a name.
    if start < end and text[start:end] != _ARTICLE and any(char.isalnum() for char in text[start:end]):
        spans.append(Span(start, end, label, min(1.0, score), (source,)))
