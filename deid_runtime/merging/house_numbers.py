"""Find the house number before a street that was found without it, or with a part of it: ``3/40 Kotare Place``.

A model sometimes finds only the name of a street in a crowded line. Its number alone leads to the house.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from deid_runtime.spans import Span

#: A house number, also with its flat, one blank before the name of a street. A number behind a comma may be an age.
_NUMBER: Final = re.compile(r"(?<![\w/.:,+%$£€@-])(?:\d{1,4}[A-Za-z]?[/-])?\d{1,4}[A-Za-z]?[ ]$")
#: The first part of a number whose rest, ``/40``, is found.
_FLAT: Final = re.compile(r"(?<![\w/.:,+%$£€@-])\d{1,4}[A-Za-z]?$")
_LONGEST: Final = 12
#: Words before a number that is no house number: ``BP 120/80 Harley Street clinic``, ``in 2019 Harley Street``.
_MEASURED: Final = re.compile(
    r"(?i)\b(?:bp|hr|pulse|sats?|spo2|rr|temp|bm|wt|weight|score[ds]?|in|since|aged?)[ :]{1,2}$"
)
_MEASURED_CHARS: Final = 10


def find_house_numbers(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield a STREET for each of ``spans`` of ``text`` that is one and has its number, or the flat of it, before it.

    It reaches from the number to the end of the street.
    """
    for span in spans:
        if span.label != "STREET":
            continue
        first = text[span.start]
        if first.isdecimal() or (first in "/-" and not text[span.start + 1 : span.start + 2].isdecimal()):
            continue
        before = (_FLAT if first in "/-" else _NUMBER).search(text, max(0, span.start - _LONGEST), span.start)
        if before is None:
            continue
        at = before.start()
        if _MEASURED.search(text[max(0, at - _MEASURED_CHARS) : at]) is None:
            yield Span(at, span.end, "STREET", span.score, ("propagation",))
