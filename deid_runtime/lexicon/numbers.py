"""Numbers as words: ``twenty-one``, ``twenty-first``, ``the twenties``."""

from typing import Final

from deid_runtime.lexicon.tables import table

_ROWS: Final = tuple(
    (int(number), cardinal, ordinal, decade)
    for number, cardinal, ordinal, decade in table("numbers", "number", "cardinal", "ordinal", "decade")
)
#: Word to number: 0 to 19 and the tens. Ordinals start at 1, decades at the twenties.
NUMBER_WORDS: Final = {cardinal: number for number, cardinal, _, _ in _ROWS}
ORDINAL_WORDS: Final = {ordinal: number for number, _, ordinal, _ in _ROWS if number}
DECADE_WORDS: Final = {decade: number for number, _, _, decade in _ROWS if decade}

#: One to nine, ten to nineteen, and the tens from twenty, in order.
ONES: Final = tuple(cardinal for number, cardinal, _, _ in _ROWS if 1 <= number <= 9)
TEENS: Final = tuple(cardinal for number, cardinal, _, _ in _ROWS if 10 <= number <= 19)
TENS: Final = tuple(cardinal for number, cardinal, _, _ in _ROWS if number >= 20)

_CARDINAL_OF: Final = {number: cardinal for cardinal, number in NUMBER_WORDS.items()}
_ORDINAL_OF: Final = {number: ordinal for number, _, ordinal, _ in _ROWS}


def cardinal(number: int, joint: str = "-") -> str:
    """Return a number from 0 to 99 in words, with ``joint`` between tens and units."""
    if number in _CARDINAL_OF:
        return _CARDINAL_OF[number]
    tens, unit = divmod(number, 10)
    return _CARDINAL_OF[10 * tens] + joint + _CARDINAL_OF[unit]


def ordinal(number: int, joint: str = "-") -> str:
    """Return a number from 1 to 99 as an ordinal in words, with ``joint`` between tens and units."""
    if number in _ORDINAL_OF:
        return _ORDINAL_OF[number]
    tens, unit = divmod(number, 10)
    return _CARDINAL_OF[10 * tens] + joint + _ORDINAL_OF[unit]


def ordinal_ending(number: int) -> str:
    """Return the ending of an ordinal in digits: ``st``, ``nd``, ``rd`` or ``th``."""
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
