"""Dates in one piece: ``20190304``, ``Q3 2023``, ``2023-2024``, ``2019-W12`` and ``the 80s``."""

import re
from calendar import monthrange
from datetime import date, timedelta
from typing import Final

from deid_runtime.dates.calendar_words import (
    DECADE_WORDS,
)
from deid_runtime.dates.parts import (
    DateStyle,
    full_year,
    shift_day,
    year_like,
)
from deid_runtime.lexicon.letter_case import case_like

WEEK: Final = re.compile(r"(\d{4})(-?W)(\d{2})", re.I)
COMPACT: Final = re.compile(r"\d{8}|\d{6}")
QUARTER: Final = re.compile(
    r"(?:(?P<before>[1-4])(?=Q))?(?P<mark>Q)(?(before)|(?P<after>[1-4]))(?P<gap>\s?(?:of\s)?['’]?)(?P<year>\d{4}|\d{2})?",
    re.I,
)
YEARS: Final = re.compile(r"((?:18|19|20|21)\d{2}|['’]\d{2})(\s?[-–/]\s?)((?:18|19|20|21)\d{2}|['’]?\d{2})")


def compact_parts(value: str, style: DateStyle) -> tuple[str, int, int, int] | None:
    """Return (order, year, month, day) of six or eight digits in the first order that makes them a date, or None.

    The orders are ``mmddyyyy``, ``yyyymmdd``, ``ddmmyyyy`` and ``mmddyy``, ``ddmmyy``, ``yymmdd``.
    """
    orders = ("mdY", "Ymd", "dmY") if len(value) == 8 else ("mdy", "dmy", "ymd")
    for order in orders:
        parts: dict[str, int] = {}
        place = 0
        for kind in order:
            size = 4 if kind == "Y" else 2
            parts[kind.lower()] = int(value[place : place + size])
            place += size
        year = parts["y"] if len(value) == 8 else full_year(parts["y"], style.year)
        month, day = parts["m"], parts["d"]
        if 1800 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]:
            return order, year, month, day
    return None


def move_compact(value: str, offset: int, style: DateStyle) -> str:
    """Move a date of six or eight digits; raises ValueError when they are none."""
    found = compact_parts(value, style)
    if found is None:
        raise ValueError
    order, year, month, day = found
    year, month, day = shift_day(year, month, day, offset)
    new = {"Y": f"{year:04}", "y": f"{year % 100:02}", "m": f"{month:02}", "d": f"{day:02}"}
    return "".join(new[kind] for kind in order)


def move_quarter(found: re.Match[str], offset: int, style: DateStyle) -> str:
    """Move ``Q3 2023`` or ``3Q23`` from the middle of the quarter."""
    digits = found["year"]
    year = style.year if not digits else int(digits) if len(digits) == 4 else full_year(int(digits), style.year)
    moved = date(year, 3 * int(found["after"] or found["before"]) - 1, 15) + timedelta(days=offset)
    number = (moved.month + 2) // 3
    written = f"{number}{found['mark']}" if found["before"] else f"{found['mark']}{number}"
    return written + found["gap"] + (year_like(moved.year, digits) if digits else "")


def years_of(found: re.Match[str], style: DateStyle) -> tuple[int, int] | None:
    """Return the years of ``2023-2024``, ``2019-20`` or ``'18-'19``; None for a month, as in ``2019-11``."""
    first, second = (text.strip("'’") for text in (found[1], found[3]))
    if len(second) == 2 and found[1][0].isdecimal() and (int(second) <= 12 or int(second) != (int(first) + 1) % 100):
        return None
    start = int(first) if len(first) == 4 else full_year(int(first), style.year)
    return start, int(second) if len(second) == 4 else start + (int(second) - start) % 100


def move_years(years: tuple[int, int], found: re.Match[str], offset: int) -> str:
    """Move each year of a pair from its middle; ``found`` is the match of ``YEARS``."""
    written = []
    for year, text in zip(years, (found[1], found[3]), strict=True):
        digits = text.lstrip("'’")
        moved = (date(year, 7, 2) + timedelta(days=offset)).year
        written.append(text[: len(text) - len(digits)] + year_like(moved, digits))
    return found[2].join(written)


def move_decade(token: str, offset: int, style: DateStyle) -> str:
    """Move ``1980s``, ``the '60s`` or ``fifties`` from its middle."""
    lower = token.lower()
    if lower in DECADE_WORDS:
        start = full_year(DECADE_WORDS[lower], style.year)
    else:
        digits = lower.strip("'’s")
        start = int(digits) if len(digits) == 4 else full_year(int(digits), style.year)
    moved = (date(start + 5, 1, 1) + timedelta(days=offset)).year // 10 * 10
    if lower in DECADE_WORDS:
        word = next((w for w, number in DECADE_WORDS.items() if number == moved % 100), lower)
        return case_like(word.capitalize() if token[0].isupper() else word, token)
    digits = token.strip("'’sS")
    return token.replace(digits, year_like(moved, digits))
