"""The state or country that follows a town outside all spans: it is not replaced, so the town must stay in it."""

import re
from collections.abc import Sequence
from typing import Final

from deid_runtime.spans import Span
from deid_runtime.surrogates.areas import known_areas
from deid_runtime.surrogates.countries import known_country, own_locale

_MOST_CHARS: Final = 40  # after the town
_AFTER: Final = re.compile(r"(?:,\s{0,2}|\s?\(|\s)(?P<words>[A-Z][\w.’'-]*(?:\s[A-Z][\w.’'-]*){0,2})")
_LEAST_NAME: Final = 4  # letters; a shorter name may be any abbreviation, such as the Co of ``Falcarragh, Co Donegal``


def place_written_after(text: str, spans: Sequence[Span], index: int) -> tuple[str, str]:
    """Return the state and the country written directly after the span ``index``, each empty if there is none.

    Only text before the next span is read.
    """
    start = spans[index].end
    end = spans[index + 1].start if index + 1 < len(spans) else len(text)
    found = _AFTER.match(text[start : min(end, start + _MOST_CHARS)])
    if found is None:
        return "", ""
    words = found["words"].split()
    for size in range(len(words), 0, -1):
        name = " ".join(words[:size]).rstrip(".,;")
        if len(name) < _LEAST_NAME:
            continue
        if own_locale(name) is not None or known_country(name) is not None:
            return "", name
        if known_areas(name):
            return name, ""
    return "", ""
