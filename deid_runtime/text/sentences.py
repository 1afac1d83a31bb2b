"""Split a note into sentences that cover it without gap or overlap.

In notes, most sentences end at line ends, as list items and table rows do; fewer end at a full stop.
"""

import re
from typing import Final

from deid_runtime.lexicon.tables import listed_words
from deid_runtime.lexicon.vocabulary import alternation, titles, unit_words
from deid_runtime.spans import Sentence

# A sentence ends after a line break. It also ends after closing punctuation before white space and a capital, digit or
# opening bracket. Extra cuts cost little, because windows join sentences again, so the list of abbreviations is short.
_END: Final = re.compile(r"[\r\n]\s*+|(?<=[.!?])[\"')\]]{0,2}[ \t]++(?=[^\W_a-z]|[(\[\"'])")
_ABBREVIATION: Final = re.compile(
    rf"(?:\b(?:{alternation((*titles('no-end'), *unit_words('no-end'), *listed_words('abbreviations', 'no-end')))})|"
    r"(?:^|[\s.(])[^\W\d_]|^\s*\d{1,3})\.$",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[Sentence]:
    """Return sentences whose ``[start, end)`` cover ``text`` exactly, without gap or overlap.

    The white space after a sentence belongs to it. A text of only white space is one sentence; an empty text has none.
    """
    sentences: list[Sentence] = []
    start = 0
    lead = len(text) - len(text.lstrip())
    for match in _END.finditer(text):
        end = match.end()
        if end <= lead:
            continue  # leading white space belongs to the first sentence, all other to the sentence before it
        before = match.start()
        is_line_end = match[0][0] in "\r\n"
        # The full stop of a title, initial or list number does not end a sentence.
        if not is_line_end and _ABBREVIATION.search(text[max(start, before - 8) : before]):
            continue
        sentences.append(Sentence(start, end))
        start = end
    if start < len(text):
        if sentences and not text[start:].strip():
            sentences[-1] = Sentence(sentences[-1].start, len(text))
        else:
            sentences.append(Sentence(start, len(text)))
    return sentences
