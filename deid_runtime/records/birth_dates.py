"""Parse the date of birth in a patient's record."""

import re
from datetime import date
from typing import Final

from deid_runtime.lexicon.calendar_words import MONTH_NAMES, SHORT_MONTHS

_LONGEST_CHARS: Final = 60
#: A time after a date, with an optional ``T`` between them and an optional time zone.
_TIME: Final = re.compile(
    r"[T ]\s*\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AP]M)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?$", re.I
)
_YEAR_FIRST: Final = re.compile(r"(\d{4})([-/.]?)(\d{1,2})\2(\d{1,2})")
_YEAR_LAST: Final = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_DAY_FIRST_WORDS: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[ -]?(?:of )?([a-z]{3,9})\.?,?[ -]?(\d{4})", re.I)
_MONTH_FIRST_WORDS: Final = re.compile(r"([a-z]{3,9})\.?[ -]?(\d{1,2})(?:st|nd|rd|th)?,?[ -](\d{4})", re.I)


def date_of_birth(written: str) -> date | None:
    """Return the date of birth in a record, or None when it is not a complete date with a four-digit year.

    Accepted forms are ``1931-02-08``, ``19310208``, ``02/08/1931``, ``8 Feb 1931`` and ``February 8, 1931``, each with
    or without a time after it. When both numbers can be the month, the first is the month. With a full stop between
    them, the second is.
    """
    text = _TIME.sub("", written.strip()[:_LONGEST_CHARS]).strip()
    try:
        if found := _YEAR_FIRST.fullmatch(text):
            is_whole = bool(found[2]) or len(text) == 8
            return date(int(found[1]), int(found[3]), int(found[4])) if is_whole else None
        if found := _YEAR_LAST.fullmatch(text):
            first, second, year = int(found[1]), int(found[3]), int(found[4])
            is_day_first = first > 12 or (found[2] == "." and second <= 12)
            return date(year, second, first) if is_day_first else date(year, first, second)
        if found := _DAY_FIRST_WORDS.fullmatch(text):
            return _named(int(found[3]), found[2], int(found[1]))
        if found := _MONTH_FIRST_WORDS.fullmatch(text):
            return _named(int(found[3]), found[1], int(found[2]))
    except ValueError:  # no such day
        return None
    return None


def _named(year: int, month: str, day: int) -> date | None:
    lower = month.lower()
    for number, (short, name) in enumerate(zip(SHORT_MONTHS, MONTH_NAMES, strict=True), 1):
        if lower == short or (len(lower) > 3 and name.startswith(lower)) or lower == "sept" == name[:4]:
            return date(year, number, day)
    return None
