"""Plain words: a word of the vocabulary, or of clinical form, that is in no list of names is rarely a person.

Models that find people in any case sometimes mistake a rare medical word (``jejunum``, ``photic``) for a person. Names
that are also words (``hope``, ``young``) are in the lists of names, so this module does not affect them. In lower case,
a word that is only a rare name (``labrum``, ``thrush``) counts as a word, and a usual word behind a word for kin says
what they are or do (``wife angry``, ``son cues him``). A single such word is rarely a place (``takeaway``).
"""

import re
from typing import Final

from deid_runtime.detectors.clinical.terms import begins_sentence, is_behind_kin, is_introduced, is_named_by_cue
from deid_runtime.labels import HEADS
from deid_runtime.lexicon.clinical_forms import has_clinical_form
from deid_runtime.lexicon.name_cues import follows_title, is_function_word, is_staff
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
_PLACES: Final = frozenset((*HEADS["location"], *HEADS["organization"])) - {"ZIP"}
_NAME: Final = GIVEN | FAMILY | PLACE
_WORD: Final = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS: Final = 4  # shorter words may be initials or abbreviations, which can be names
#: A model with at least this score is trusted: on a word in lower case, a capital within a sentence, which suggests a
#: name, one word for a place, and a function word.
_SURE_OF_LOWER: Final = 0.95
_SURE_OF_CAPITAL: Final = 0.6
_SURE_OF_PLACE: Final = 0.6
_SURE_OF_FUNCTION_WORD: Final = 0.6
_SURE_OF_SHORT: Final = 0.9
#: What shows initials: the end of a line behind them; someone or something with them before them.
_SIGNED: Final = re.compile(r"[ \t]*[.)\]]?[ \t]*(?:[\r\n]|$|\d{1,2}[/:.-]\d)")
_PERSON_BEFORE: Final = re.compile(
    r"(?i)(?:\b(?:by|per|with|and|to|told|from|cc|via|paged|called|asked|seen|partner|friend)[ ]|[dws]/[bwc]?[ ]?|"
    r"[&:(\[,/@_>-][ ]?|(?:^|[\r\n])[ \t]*)$"
)
_BEFORE_CHARS: Final = 10


def is_plain(text: str, span: Span) -> bool:
    """Return whether a person span has only plain words, a low score, and no title, credential or label beside it.

    The same holds for a place or an employer of one plain word in lower case.
    """
    if span.label not in _LABELS and span.label not in _PLACES:
        return False
    words = _WORD.findall(text, span.start, span.end)
    if not words:
        return False
    lexicon = load_lexicon()
    keys = [word_key(word) for word in words]
    if span.label in _PLACES:
        return len(words) == 1 and words[0].islower() and _is_no_place(lexicon.get(keys[0], 0), text, span)
    if all(map(is_function_word, keys)) and words[0].islower() and span.score < _SURE_OF_FUNCTION_WORD:
        return not is_named_by_cue(text, span)
    if len(words) == 1 and words[0].islower() and len(words[0]) < _LEAST_LETTERS:
        return _is_short_form(lexicon.get(keys[0], 0), text, span)
    if min(map(len, words)) < _LEAST_LETTERS:
        return False
    may_be_rare_name = words[0].islower()
    if not all(_is_word(key, lexicon.get(key, 0), may_be_rare_name) for key in keys):
        return False
    is_no_cue = (  # the case of the first letter is not evidence of a name
        words[0].islower()
        or all(map(str.isupper, words))
        or all(lexicon.get(key, 0) & EPONYM for key in keys)  # brands have capitals too
        or begins_sentence(text, span.start)
    )
    if span.score >= (_SURE_OF_LOWER if is_no_cue else _SURE_OF_CAPITAL):
        return False
    if words[0].islower() and all(_is_usual(lexicon.get(key, 0)) for key in keys):
        return not is_named_by_cue(text, span)
    return not is_introduced(text, span)


def _is_short_form(code: int, text: str, span: Span) -> bool:
    """Return whether up to three small letters that no list has as a name are a short form: *pt bk from theatre*.

    Initials in small letters have a cue beside them: *w/ gh LPN*, *given by rk*, or they sign a line: *stable, kc*.
    """
    return (
        span.score < _SURE_OF_SHORT
        and not code & _NAME
        and _SIGNED.match(text, span.end) is None
        and _PERSON_BEFORE.search(text[max(0, span.start - _BEFORE_CHARS) : span.start]) is None
        and not is_behind_kin(text, span)
        and not follows_title(text, span.start)
        and not is_staff(text, span.start, span.end)
    )


def _is_usual(code: int) -> bool:
    return code & WORD >= 2 << WORD_SHIFT


def _is_no_place(code: int, text: str, span: Span) -> bool:
    """Return whether a word of the vocabulary that is in no list of names is a word here, and no place or employer."""
    return (
        span.score < _SURE_OF_PLACE
        and bool(code & WORD)
        and not code & _NAME
        and span.end - span.start >= _LEAST_LETTERS
        and not is_introduced(text, span)
    )


def _is_word(key: str, code: int, may_be_rare_name: bool) -> bool:
    """Return whether a word is in the vocabulary or has a clinical form, and is not a name, or only a rare one."""
    if code & _NAME:
        is_rare = not code & PLACE and code & GIVEN < 2 and code & FAMILY < 2 << FAMILY_SHIFT
        return may_be_rare_name and is_rare and code & WORD >= 2 << WORD_SHIFT
    return bool(code & (WORD | EPONYM)) or has_clinical_form(key)
