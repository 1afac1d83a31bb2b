"""The age that an AGE span states. It decides between group A (over 89) and group C."""

import re
from typing import Final

from deid_runtime.lexicon.numbers import DECADE_WORDS, NUMBER_WORDS

_VALUES: Final[dict[str, int]] = {
    **NUMBER_WORDS,
    # A decade counts as its first year: "nineties" is over 89, and "eighties" is not.
    **DECADE_WORDS,
    "fourty": 40,
    "ninty": 90,
}
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")


def age_years(text: str) -> float | None:
    """Return the largest number in the text of an AGE span, or None when it has none.

    Reads ``67``, ``90s``, ``3.5``, ``ninety-two``, ``a hundred and one`` and ranges (``88-92`` is 92, because Safe
    Harbor hides the highest possible age). Units are ignored: ages in months are small numbers.
    """
    best: float | None = None
    words: float | None = None  # value of the current run of number words
    for match in _NUMBER.finditer(text.casefold()):
        token = match[0]
        if token[0].isdecimal():
            value, words = float(token), None
        elif token == "hundred":
            value = words = 100.0 * (words if words else 1.0)
        elif token in _VALUES:
            # "ninety two" is a sum, but "eighty ninety" is two numbers.
            step = _VALUES[token]
            joins = words is not None and words % (100 if step >= 10 else 10) == 0
            value = words = (words or 0.0) + step if joins else float(step)
        else:
            if token not in ("and", "a"):
                words = None
            continue
        best = value if best is None else max(best, value)
    return best
