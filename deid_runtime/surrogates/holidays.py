"""Holidays: the nearest other one to where a holiday moves."""

import re
import unicodedata
from datetime import timedelta
from typing import Final

from deid_runtime.surrogates.calendar_words import (
    HOLIDAY,
    HOLIDAY_OF,
    HOLIDAYS,
    Holiday,
)
from deid_runtime.surrogates.date_parts import (
    DateStyle,
)
from deid_runtime.surrogates.forms import case_like


def is_holiday_word(word: str) -> bool:
    """Say whether a word in lower case is part of the name of a holiday."""
    return word in _HOLIDAY_WORDS


_HOLIDAY_WORDS: Final = frozenset(
    word.lower().replace("’", "'")
    for holiday in HOLIDAYS
    for word in re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", holiday.name)
) | frozenset({"st"})


def move_holiday(text: str, offset: int, style: DateStyle, year: int | None) -> tuple[str, int | None]:
    """Return ``text`` with the first holiday in it replaced by the nearest one to where it moves, and that one's
    year.
    """
    plain, places = plain_letters(text)
    found = HOLIDAY.search(plain)
    if not found:
        return text, None
    holiday = HOLIDAY_OF[found[0]]
    nearest, new_year = _nearest_holiday(holiday, year or style.year, offset)
    start, end = places[found.start()], places[found.end() - 1] + 1
    if text[:start].lower().endswith("the "):
        start -= 4
    if end < len(text) and text[end] == ".":
        end += 1
    name = nearest.name if end - start <= 4 and text[start:end].isupper() else case_like(nearest.name, text[start:end])
    return text[:start] + name + text[end:], new_year


def plain_letters(text: str) -> tuple[str, list[int]]:
    """Return ``text`` in lower case without accents, apostrophes and full stops, and where each character came from."""
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char not in "'’.":
            chars.append(unicodedata.normalize("NFKD", char.lower())[:1])
            places.append(place)
    return "".join(chars), places


def _nearest_holiday(holiday: Holiday, year: int, offset: int) -> tuple[Holiday, int]:
    target = holiday.on(year) + timedelta(days=offset)
    best = min(
        (abs((other.on(y) - target).days), other.name, y)
        for other in HOLIDAYS
        if other.name and other is not holiday
        for y in (target.year - 1, target.year, target.year + 1)
    )
    return next(other for other in HOLIDAYS if other.name == best[1]), best[2]
