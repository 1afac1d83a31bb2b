"""The years that a date names, whatever its format: for Safe Harbor, and for dates that would tell an age over 89."""

import re
from typing import Final

from deid_runtime.dates.calendar_words import MONTH_OF
from deid_runtime.dates.parts import (
    LONGEST_DATE_CHARS,
    NUMERIC,
    TOKEN,
    DateStyle,
    full_year,
    numbers_of,
    roles_of,
)
from deid_runtime.dates.shifting import RANGE, TIME, repair_digits
from deid_runtime.dates.spoken import spoken_years
from deid_runtime.dates.terse import COMPACT, QUARTER, WEEK, YEARS, compact_parts, years_of

_DECADE: Final = re.compile(
    r"(?<!\w)(?P<start>(?:18|19|20|21)\d0)['’]?s(?!\w)|(?<!\w)['’]?(?P<short>\d0)['’]?s(?!\w)", re.I
)


def stated_years(value: str, style: DateStyle) -> tuple[int, ...]:
    """Return the years that ``value`` names, in order, two-digit ones in full; empty for a date without one.

    Decades, which are no years, are left out.
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
    year_at, _, _ = roles_of(tokens, lowered, named)
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
