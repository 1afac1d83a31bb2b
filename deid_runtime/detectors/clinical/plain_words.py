"""Plain words: a word of the vocabulary, or of clinical form, that is in no list of names is rarely a person.

Models that find people in any case sometimes mistake a rare medical word (``jejunum``, ``photic``) for a person. Names
that are also words (``hope``, ``young``) are in the lists of names, so this module does not affect them. In lower case,
a word that is only a rare name (``labrum``, ``thrush``) counts as a word.
"""

import re
from typing import Final

from deid_runtime.detectors.clinical.terms import is_introduced
from deid_runtime.labels import HEADS
from deid_runtime.lexicon.clinical_forms import has_clinical_form
from deid_runtime.lexicon.word_codes import (
    EPONYM,
    FAMILY,
    FAMILY_SHIFT,
    GIVEN,
    PLACE,
    WORD,
    WORD_SHIFT,
    load_lexicon,
    word_key,
)
from deid_runtime.spans import Span

_LABELS: Final = frozenset(HEADS["name"])
_NAME: Final = GIVEN | FAMILY | PLACE
_WORD: Final = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS: Final = 4  # shorter words may be initials or abbreviations, which can be names
#: A model with at least this score is trusted; the second applies to a capital within a sentence, which suggests a
#: name.
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
    keys = [word_key(word) for word in words]
    may_be_rare_name = words[0].islower()
    if not all(_is_word(key, lexicon.get(key, 0), may_be_rare_name) for key in keys):
        return False
    is_no_cue = (  # the case of the first letter is not evidence of a name
        words[0].islower()
        or all(map(str.isupper, words))
        or all(lexicon.get(key, 0) & EPONYM for key in keys)  # brands have capitals too
        or _SENTENCE_START.search(text, max(0, span.start - _BEFORE_CHARS), span.start)
    )
    if span.score >= (_SURE_OF_LOWER if is_no_cue else _SURE_OF_CAPITAL):
        return False
    return not is_introduced(text, span)


def _is_word(key: str, code: int, may_be_rare_name: bool) -> bool:
    """Return whether a word is in the vocabulary or has a clinical form, and is not a name, or only a rare one."""
    if code & _NAME:
        is_rare = not code & PLACE and code & GIVEN < 2 and code & FAMILY < 2 << FAMILY_SHIFT
        return may_be_rare_name and is_rare and code & WORD >= 2 << WORD_SHIFT
    return bool(code & (WORD | EPONYM)) or has_clinical_form(key)
