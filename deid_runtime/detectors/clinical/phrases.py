"""Words that are also names, in phrases where they are words: *rose from the chair*, *drew blood*, *frank pus*.

The phrases are listed (``data/lexicon/word_phrases.tsv``). In lower case, a common word after a determiner is also a
word: *with a cane*, *no faith*.
"""

import re
from functools import lru_cache
from typing import Final

from deid_runtime.detectors.clinical.terms import begins_sentence, is_introduced
from deid_runtime.labels import HEADS
from deid_runtime.lexicon.name_cues import fold
from deid_runtime.lexicon.tables import table
from deid_runtime.lexicon.word_codes import WORD, WORD_SHIFT, load_lexicon, word_key
from deid_runtime.spans import Span

_LABELS: Final = frozenset((*HEADS["name"], *HEADS["location"], *HEADS["organization"])) - {"USERNAME"}
_PEOPLE: Final = frozenset(HEADS["name"])
_NEXT: Final = re.compile(r"[ ]([^\W\d_]+(?:[-'’][^\W\d_]+)?)")
_DETERMINER: Final = re.compile(r"(?<![^\W_])(?:a|an|the|any|some|each|every)[ ]$")
_BEFORE_CHARS: Final = 8


def is_phrase(text: str, span: Span) -> bool:
    """Return whether ``span`` is one word that is also a name, in a phrase in which it is not a name."""
    value = text[span.start : span.end]
    if span.label not in _LABELS or not value.isalpha() or is_introduced(text, span):
        return False
    after = _NEXT.match(text, span.end)
    begins = value[0].islower() or begins_sentence(text, span.start)  # else a capital is evidence of a name
    if begins and after is not None and not after[1][0].isupper() and fold(after[1]) in _behind().get(fold(value), ()):
        return True
    return (
        span.label in _PEOPLE
        and value.islower()
        and (load_lexicon().get(word_key(value), 0) & WORD) >> WORD_SHIFT >= 2
        and _DETERMINER.search(text, max(0, span.start - _BEFORE_CHARS), span.start) is not None
    )


@lru_cache(maxsize=1)
def _behind() -> dict[str, frozenset[str]]:
    return {word: frozenset(behind.split()) for word, behind in table("word_phrases", "word", "behind")}
