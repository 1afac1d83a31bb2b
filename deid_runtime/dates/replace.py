"""Replace dates by dates shifted by the patient's offset, in the same format.

Dates that are known to the day, and holidays, move by exactly the offset, so intervals between them stay the same.
Coarser dates move from the middle of their period. Lone weekdays move by the offset modulo seven, which agrees with the
dates. Dates that do not exist stay invalid in the same way.
"""

from deid_runtime.dates.parse import Hint, parse_date
from deid_runtime.dates.parts import DateStyle
from deid_runtime.dates.render import render
from deid_runtime.dates.shift import shift


def replace_date(value: str, offset: int, style: DateStyle, hint: Hint = None) -> str | None:
    """Return ``value`` moved by ``offset`` days in its own format, or None when it cannot be read as a date.

    ``hint`` is the (year, month) of the nearest earlier date in the note, for ``the 29th``.
    """
    parts = parse_date(value, style, hint)
    if parts is None:
        return None
    try:
        return render(shift(parts, offset))
    except (ValueError, OverflowError):  # a year outside the calendar
        return None
