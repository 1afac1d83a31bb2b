"""Move the only date of a note, as the surrogates do."""

from deid_runtime.dates.parts import DateStyle
from deid_runtime.dates.replace import moved_date, read_dates


def replace_date(value: str, days: int, style: DateStyle) -> str | None:
    """Return ``value`` moved by ``days`` days, or None when it cannot be read as a date."""
    [parts] = read_dates([value], style)
    return None if parts is None else moved_date(parts, days)
