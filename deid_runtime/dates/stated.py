"""Extract what a date names, in any format: its years, decade, month or day."""

import re
from datetime import date
from typing import Final

from deid_runtime.dates.forms import (
    COMPACT,
    NUMERIC,
    QUARTER,
    RANGE,
    TIME,
    TOKEN,
    WEEK,
    YEARS,
    compact_parts,
    full_year,
    numbers_of,
    repair_digits,
    roles_of,
    years_of,
)
from deid_runtime.dates.parts import LONGEST_DATE_CHARS, DateStyle
from deid_runtime.dates.spoken import spoken_years
from deid_runtime.lexicon.calendar_words import MONTH_OF

_DECADE: Final = re.compile(
    r"(?<!\w)(?P<start>(?:18|19|20|21)\d0)['’]?s(?!\w)|(?<!\w)['’]?(?P<short>\d0)['’]?s(?!\w)", re.I
)


def stated_years(value: str, style: DateStyle) -> tuple[int, ...]:
    """Return the years that ``value`` names, in order, with four digits; empty for a date without a year.

    Decades are omitted, because they are not years.
    """
    if len(value) > LONGEST_DATE_CHARS:
        return ()
    text = TIME.sub(" ", repair_digits(value)).strip()
    if COMPACT.fullmatch(text):
        parts = compact_parts(text, style)
        return (parts[1],) if parts else ()
    years = YEARS.fullmatch(text)
    if years and (both := years_of(years, style)):
        return both
    week, quarter = WEEK.fullmatch(text), QUARTER.fullmatch(text)
    if week or quarter:
        digits = week[1] if week else quarter["year"] if quarter else None
        return () if not digits else (int(digits) if len(digits) == 4 else full_year(int(digits), style.year),)
    text = _DECADE.sub(" ", text)
    whole = _years_of_part(text, style)
    apart = [year for part in RANGE.split(text) for year in _years_of_part(part, style)]
    return tuple(whole if len(whole) >= len(apart) else apart)


def _years_of_part(part: str, style: DateStyle) -> list[int]:
    numeric = NUMERIC.search(part)
    named = any(word.lower() in MONTH_OF for word in re.findall(r"[^\W\d_]{3,}", part))
    if numeric and not named:
        year, _, _ = numbers_of(numeric, style)
        if year is not None:
            return [year]
        part = part[: numeric.start()] + " " + part[numeric.end() :]
    tokens = TOKEN.findall(part)
    lowered = [token.lower() for token in tokens]
    year_at, _, _ = roles_of(lowered, named)
    if year_at is not None:
        digits = tokens[year_at].lstrip("'’")
        return [int(digits) if len(digits) == 4 else full_year(int(digits), style.year)]
    return spoken_years(lowered, style, has_month=named)


def stated_decade(value: str, style: DateStyle) -> int | None:
    """Return the first year of the decade that ``value`` names (``1980s``, ``the '60s``), or None."""
    found = _DECADE.search(value[:LONGEST_DATE_CHARS])
    if not found:
        return None
    return int(found["start"]) if found["start"] else full_year(int(found["short"]), style.year)


def day_named(text: str, style: DateStyle) -> date | None:
    """Return the day of a date with day and month, or None. A missing year is the main year of the note."""
    found = NUMERIC.search(text)
    tokens = TOKEN.findall(text)
    lowered = [token.lower() for token in tokens]
    months = [MONTH_OF[word][1] + 1 for word in lowered if word in MONTH_OF]
    year: int | None
    month: int | None
    day: int | None
    if months:
        year_at, day_at, _ = roles_of(lowered, True)
        digits = tokens[year_at].lstrip("'’") if year_at is not None else ""
        year = None if not digits else int(digits) if len(digits) == 4 else full_year(int(digits), style.year)
        month, day = months[0], int(re.sub(r"\D", "", tokens[day_at])) if day_at is not None else None
    elif found:
        year, month, day = numbers_of(found, style)
    else:
        return None
    if month is None or day is None:
        return None
    try:
        return date(year or style.year, month, day)
    except ValueError:
        return None
