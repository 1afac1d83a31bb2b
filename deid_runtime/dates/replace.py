"""Replace dates by dates shifted by the patient's date shift, in the same format.

Dates that are known to the day, and holidays, move by exactly the date shift, so intervals between them stay the same.
Coarser dates move by whole periods. Lone weekdays move by the date shift modulo seven, which agrees with the dates.
Dates that do not exist stay invalid in the same way.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from deid_runtime.dates.calendar import settle
from deid_runtime.dates.parse import parse_date
from deid_runtime.dates.parts import DateParts, DateStyle
from deid_runtime.dates.render import render
from deid_runtime.dates.shift import shift

_CENTURY: Final = 100


def read_dates(values: Sequence[str], style: DateStyle, years: Sequence[Sequence[int]] = ()) -> list[DateParts | None]:
    """Return the parts of each date of a note, in the order of the text; None for what cannot be read as a date.

    Years and months that a date leaves out come from the other dates. ``years`` are the years of each date, which
    decide the century of years of two figures.
    """
    parts = {value: parse_date(value, style) for value in dict.fromkeys(values)}
    dates = [parts[value] for value in values]
    for place, named in enumerate(years):
        date = dates[place]
        if date is None or date.year is None or not date.has_year or date.year in named:
            continue
        for year in (date.year + _CENTURY, date.year - _CENTURY):
            if year in named:
                dates[place] = replace(date, year=year)
    return settle(dates, style)


def moved_date(parts: DateParts, days: int) -> str | None:
    """Return the text of a date moved by ``days`` days, in its own format, or None outside the calendar."""
    try:
        return render(shift(parts, days))
    except (ValueError, OverflowError):
        return None
