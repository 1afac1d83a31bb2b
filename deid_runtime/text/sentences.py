"""Sentences that tile a note: line ends, list items and table rows are the normal case, full stops the rarer one."""

import re
from typing import Final

from deid_runtime.spans import Sentence

# A sentence ends after a line break, or after closing punctuation that white space and a capital, digit or opening
# bracket follow. Cutting too often costs little (windows join sentences again), so the abbreviations are few.
_END: Final = re.compile(r"[\r\n]\s*+|(?<=[.!?])[\"')\]]{0,2}[ \t]++(?=[^\W_a-z]|[(\[\"'])")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:dr|mr|mrs|ms|st|mt|ft|prof|rev|fr|sr|jr|vs|no|nos|ext|tel|ph|apt|ste|rm|bldg|approx|dept|hosp|attn|pt|"
    r"fig|dx|hx|rx|tx|sgt|lt|capt|col|gen|e\.g|i\.e|a\.k\.a|u\.s)|(?:^|[\s.(])[^\W\d_]|^\s*\d{1,3})\.$",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[Sentence]:
    """Return sentences whose ``[start, end)`` tile ``text`` exactly; the white space after a sentence belongs to it.

    A text of white space alone is one sentence; the empty text has none.
    """
    sentences: list[Sentence] = []
    start = 0
    lead = len(text) - len(text.lstrip())
    for match in _END.finditer(text):
        end = match.end()
        if end <= lead:
            continue  # leading white space joins the first sentence; later ones begin behind theirs
        before = match.start()
        is_line_end = match[0][0] in "\r\n"
        # Titles, initials and list numbers carry a full stop that ends nothing.
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
