"""Plain words: a word of the vocabulary that is in no list of names is rarely a person.

Models that find people in any case sometimes mistake a rare medical word (``jejunum``, ``photic``) for a person. Names
that are also words (``hope``, ``young``) are in the lists of names, so this module does not affect them.
"""

import re
from typing import Final

from deid_runtime.detectors.clinical.terms import is_introduced
from deid_runtime.labels import HEADS
from deid_runtime.lexicon.word_codes import FAMILY, GIVEN, PLACE, WORD, load_lexicon, word_key
from deid_runtime.spans import Span

_LABELS: Final = frozenset(HEADS["name"])
_NAME: Final = GIVEN | FAMILY | PLACE
_WORD: Final = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS: Final = 4  # shorter words may be initials or abbreviations, which can be names
#: A model with at least this score is trusted; the second holds for a capital within a sentence, which suggests a name.
_SURE_OF_LOWER: Final = 0.95
_SURE_OF_CAPITAL: Final = 0.6
_SENTENCE_START: Final = re.compile(r"(?:\A|[.!?:;\n\u2022*-])[\s\"'(]*\Z")
_BEFORE_CHARS: Final = 6


def is_plain(text: str, span: Span) -> bool:
    """Return whether a person span has only plain words, a low score, and no title, credential or label beside it."""
    if span.label not in _LABELS:
        return False
    words = _WORD.findall(text, span.start, span.end)
    if not words or min(map(len, words)) < _LEAST_LETTERS:
        return False
    lexicon = load_lexicon()
    codes = [lexicon.get(word_key(word), 0) for word in words]
    if any(code & _NAME or not code & WORD for code in codes):
        return False
    is_lower = (
        words[0].islower()
        or all(map(str.isupper, words))
        or _SENTENCE_START.search(text, max(0, span.start - _BEFORE_CHARS), span.start)
    )
    if span.score >= (_SURE_OF_LOWER if is_lower else _SURE_OF_CAPITAL):
        return False
    return not is_introduced(text, span)
