"""Turn tags and scores of words into spans: a threshold on 1 - P(O) selects words, B and I tags set the bounds."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deid_runtime.models.doubts import DENIED_BELOW, TRACE
from deid_runtime.spans import Span

Scores = NDArray[np.floating[Any]]

_TRACE_LABEL: Final = "IDNUM"  # placeholder: a trace has no label
_JOINING: Final = frozenset("-'’./,@:&#()_ ")
_TRIMMED: Final = ",;:"
_ARTICLE: Final = "the"
#: A span does not include a lower-case leading article (GUIDELINES.md of the corpus): the surrogate keeps the article.
_LEADING_ARTICLE: Final = re.compile(r"the[ \t]+(?=\S)")  # not "an", which may be a name
#: The article is part of holidays and days of a month (``the Fourth of July``) and of countries (``the Gambia``).
_WITH_ARTICLE: Final = frozenset({"DATE", "COUNTRY"})
_NAMES: Final = frozenset({"PATIENT", "DOCTOR"})  # not usernames, which are one word


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

    ``starts`` and ``ends`` are the half-open code points of the words in ``text``. ``tags`` are indices into ``names``,
    which lists ``B-LABEL`` and ``I-LABEL`` (never ``O``). ``scores`` are 1 - P(O).

    - A word is found when its score reaches ``threshold``.
    - An I tag continues the previous span when the label is the same and no word lies between. One punctuation mark
      with a score below the threshold may lie between.
    - ``the`` is merged into the span that follows it, whatever its own tag. A leading lower-case ``the`` is removed,
      except from dates and countries.
    - A name continues across one line end when an I tag of its label follows. Any other span ends with its line.
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
    """Return a span with the source ``TRACE`` for every word that no head finds and that at least one does not deny.

    ``scores`` has 1 - P(O) of the words by head, ``(words,)``. See :data:`~deid_runtime.models.doubts.DENIED_BELOW`.
    """
    best = np.max([scores[head] for head in thresholds], axis=0)
    found = np.any([scores[head] >= threshold for head, threshold in thresholds.items()], axis=0)
    return [
        Span(starts[word], ends[word], _TRACE_LABEL, float(best[word]), (TRACE,))
        for word in np.flatnonzero((best >= DENIED_BELOW) & ~found).tolist()
    ]


def _parts(between: str) -> bool:
    """Return whether the text between two scored words separates them: a line end, or words of known-clean lines."""
    return "\n" in between or any(char.isalnum() for char in between)


def _is_line_end(between: str) -> bool:
    """Return whether the text between two words is one line end, with only white space around it."""
    return between.isspace() and between.count("\n") == 1


def _close(spans: list[Span], text: str, start: int, end: int, label: str, score: float, source: str) -> None:
    while start < end and text[start] in _TRIMMED:
        start += 1
    while start < end and text[end - 1] in _TRIMMED:
        end -= 1
    if label not in _WITH_ARTICLE and (article := _LEADING_ARTICLE.match(text, start, end)) is not None:
        start = article.end()
    # A span without a letter or digit identifies nobody. Neither does a lone "the", but "THE" may be a name.
    if start < end and text[start:end] != _ARTICLE and any(char.isalnum() for char in text[start:end]):
        spans.append(Span(start, end, label, min(1.0, score), (source,)))
