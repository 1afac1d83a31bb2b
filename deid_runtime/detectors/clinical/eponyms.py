"""Diseases, signs, operations and devices called after people: *Lachman +*, *Nissen, then Toupet*, *Child Pugh 9*.

An eponym is a word with :data:`deid_runtime.lexicon.word_codes.EPONYM`, or one in ``data/lexicon/named_facts.tsv``. It
is not the name of a person when the word beside it is a result, a side, a grade, another eponym or a clinical term. A
pair of names that always means a score or a syndrome (*Osgood Schlatter*) needs no such word. An eponym or a product
before one of its own words (``data/lexicon/eponym_phrases.tsv``: *Hinchey Ib*, *De Winter T waves*) is no person.
"""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

from deid_runtime.detectors.clinical.terms import is_introduced, is_term_word
from deid_runtime.labels import HEADS
from deid_runtime.lexicon.name_cues import fold
from deid_runtime.lexicon.tables import table, words_for
from deid_runtime.lexicon.word_codes import EPONYM, GIVEN, load_lexicon, word_key
from deid_runtime.spans import Span

_LABELS: Final = frozenset((*HEADS["name"], "HOSPITAL")) - {"USERNAME"}
_WORD: Final = re.compile(r"[^\W\d_]+")
_MOST_WORDS: Final = 3
#: From this score on, a model is believed.
_SURE: Final = 0.9
#: The same before a word that belongs to this very eponym.
_SURE_OF_PHRASE: Final = 0.98
_TOKEN: Final = re.compile(r"[^\W_]+(?:['’]s(?![^\W_]))?")
_AFTER_CHARS: Final = 24
_BEFORE_CHARS: Final = 28

#: Behind an eponym: a result, a side, a grade, a size, or what is done with an operation or a device.
_AFTER: Final = re.compile(
    r"[ ]?[+\u2212-](?![\w\u2212+-])|[ ](?:[+-]ve\b|(?i:neg|pos|negative|positive|equivocal|absent|elicited|tender|"
    r"sign|test|"
    r"repair|procedure|op|planned|done|excluded|in situ|drain|drains|cast|casts|splint|frame|boots?|loop|pouch|"
    r"traction|"
    r"stoma|myotomy|fundoplication|osteotomy|screws?|nail|plate|harness|walker|cup|pins?|balloon|disease|syndrome|"
    r"anomaly|"
    r"lesion|hernia|type|grade|class|gr|stage)\b|x[ ]?\d|I{1,3}\b|I?V\b|(?:R|L|B/L|bilat)\b(?!\.)|\d{1,2}(?:[+/]|[ "
    r"]?(?:Fr|mm|cm|deg)\b)|#)"
)
_BEFORE: Final = re.compile(
    r"(?i)(?:\b(?:s/p|no|neg|negative|positive|excluded|suspected|query|possible|planned)[ ]{1,2}|\?[ ]?)$"
)
_NEXT: Final = re.compile(
    r"[ ]?(?:,|/|&|\+|\band\b|\bor\b|\bvs?\b\.?|\bthen\b)[ ]?(?:then[ ])?([^\W\d_]{3,})(?:['\u2019]s)?(?![ ][A-Z])"
)
_PREVIOUS: Final = re.compile(
    r"([^\W\d_]{3,})(?:['\u2019]s)?[ ]?(?:,|/|&|\+|\band\b|\bor\b|\bvs?\b\.?|\bthen\b)[ ]?(?:then[ ])?$"
)
_PERSON_AFTER: Final = re.compile(r"[ ](?:said|says|states|reports?|called|notified|aware|is|was|has|will)\b")


def is_eponym_alone(text: str, span: Span) -> bool:
    """Return whether ``span`` is an eponym, beside a word that shows that it names a finding or a device."""
    if span.label not in _LABELS or span.score >= _SURE_OF_PHRASE:
        return False
    if is_eponym_phrase(text, span.start, span.end):
        return not is_introduced(text, span)
    if span.score >= _SURE:
        return False
    if is_eponym_pair(text, span.start, span.end):
        return not is_introduced(text, span)
    words = _WORD.findall(text, span.start, span.end)
    if "," in text[span.start : span.end] or not 0 < len(words) <= _MOST_WORDS or not all(map(_is_eponym, words)):
        return False
    if _PERSON_AFTER.match(text, span.end) is not None or is_introduced(text, span):
        return False
    if _AFTER.match(text, span.end) is not None or _is_listed(text, span):
        return True
    is_given = load_lexicon().get(word_key(words[0]), 0) & GIVEN >= 2
    return not is_given and _BEFORE.search(text, max(0, span.start - _BEFORE_CHARS), span.start) is not None


def is_eponym_pair(text: str, start: int, end: int) -> bool:
    """Return whether ``[start, end)`` is a pair of names that stands for a score, a sign or a syndrome alone."""
    if (
        not 7 <= end - start <= _BEFORE_CHARS
        or not (" " in text[start:end] or "-" in text[start:end])
        or not text[start:end].replace("-", " ").replace(" ", "").isalpha()
    ):
        return False
    return " ".join(map(fold, _WORD.findall(text, start, end))) in _pairs()


def is_eponym_phrase(text: str, start: int, end: int) -> bool:
    """Return whether ``[start, end)`` is, or is in, a listed eponym with a word that belongs to it: ``Hinchey Ib``."""
    before = [token.start() for token in _TOKEN.finditer(text, max(0, start - _BEFORE_CHARS), start)]
    return any(_is_phrase_from(text, begin, start, end) for begin in (start, *before[-_MOST_WORDS:]))


def _is_phrase_from(text: str, begin: int, start: int, end: int) -> bool:
    tokens = list(_TOKEN.finditer(text, begin, min(len(text), end + _AFTER_CHARS)))
    for count in range(min(_MOST_WORDS, len(tokens) - 1), 0, -1):
        *name, behind = tokens[: count + 1]
        gaps = (text[one.end() : other.start()] for one, other in pairwise(tokens[: count + 1]))
        if (
            end <= behind.end()
            and (begin == start or start == behind.start() or end <= name[-1].end())
            and all(gap in (" ", "-", "\n") for gap in gaps)
            and fold(behind[0]) in _phrases().get(" ".join(fold(_bare(token[0])) for token in name), ())
        ):
            return True
    return False


def _bare(word: str) -> str:
    return word[:-2] if word.endswith(("'s", "’s")) else word


def _is_listed(text: str, span: Span) -> bool:
    """Return whether a further eponym, or a clinical term, stands beside ``span`` in a list."""
    after = _NEXT.match(text, span.end)
    before = _PREVIOUS.search(text, max(0, span.start - _BEFORE_CHARS), span.start)
    return any(other is not None and (_is_eponym(other[1]) or is_term_word(other[1])) for other in (after, before))


def _is_eponym(word: str) -> bool:
    key = word_key(word)
    return key in _eponyms() or bool(load_lexicon().get(key, 0) & EPONYM)


@lru_cache(maxsize=1)
def _eponyms() -> frozenset[str]:
    return frozenset(words_for("named_facts", "eponym", "name", "uses"))


@lru_cache(maxsize=1)
def _phrases() -> dict[str, frozenset[str]]:
    rows = table("eponym_phrases", "eponym", "behind")
    return {eponym: frozenset(map(fold, behind.split())) for eponym, behind in rows}


@lru_cache(maxsize=1)
def _pairs() -> frozenset[str]:
    return frozenset(words_for("named_facts", "pair", "name", "uses"))
