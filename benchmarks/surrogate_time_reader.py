"""Read dates in plain forms, to check surrogates of dates. Shares no code with what makes them.

Read are full dates (``3/4/2019``, ``3/4/19``, ``2019-03-04``, ``4 Mar 2019``, ``March 4, 2019``), the same without a
year, days alone (``the 3rd``), months and years, weekdays, weekdays beside one of these, some holidays, and two of
these with a hyphen or ``to`` between them. Other languages, times and damaged text are not read.
"""

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY: Final = r"(?P<weekday>mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)(?:day|nesday|sday|rday|urday)?"
_HOLIDAYS: Final = {
    "christmas": (12, 25),
    "christmas day": (12, 25),
    "christmas eve": (12, 24),
    "new year's day": (1, 1),
    "new year's eve": (12, 31),
    "halloween": (10, 31),
    "valentine's day": (2, 14),
}
_FIGURES: Final = re.compile(
    r"(?P<a>\d{1,2})(?:(?P<mark>[/.-])(?=\d{1,2}(?P=mark)\d)|/)(?P<b>\d{1,2})(?:[/.-](?P<year>\d{4}|\d{2}))?"
)
_PAIR: Final = re.compile(r"(?P<a>\d{1,2})[/.-](?P<b>\d{1,2})(?!\d)")
_FORMS: Final = tuple(
    (kind, re.compile(pattern, re.I))
    for kind, pattern in (
        ("day", r"(?P<year>\d{4})-(?P<m>\d{2})-(?P<day>\d{2})"),
        ("day", rf"(?P<day>\d{{1,2}})[ -]{_MONTH}[ -](?P<year>\d{{4}})"),
        ("day", rf"{_MONTH} (?P<day>\d{{1,2}}),? (?P<year>\d{{4}})"),
        ("day of year", rf"(?P<day>\d{{1,2}})[ -]{_MONTH}"),
        ("day of year", rf"{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?"),
        ("day of month", r"(?:the )?(?P<day>\d{1,2})(?:st|nd|rd|th)"),
        ("month", rf"{_MONTH} (?P<year>\d{{4}})"),
        ("month", r"(?P<m>0?[1-9]|1[0-2])/(?P<year>\d{4})"),
        ("year", r"(?P<year>(?:19|20)\d{2})"),
    )
)
_SHORT_YEARS: Final = 100
_YEARS_AHEAD: Final = 15
_NO_YEAR: Final = 2025  # the latest year of a note without a year of four figures
_LONE_WEEKDAY: Final = re.compile(rf"{_WEEKDAY}\.?s?", re.I)
_BESIDE: Final = re.compile(rf"{_WEEKDAY}\.?,? (?P<rest>.+)", re.I)
_RANGE: Final = re.compile(r"(?P<first>.+?)(?:-| - | to )(?P<second>.+)")


@dataclass(frozen=True)
class Mention:
    """What one date names. ``kind`` is ``day``, ``day of year``, ``day of month``, ``month``, ``year`` or ``weekday``.

    ``place`` is 0 and 1 for the dates of a range, -1 otherwise. ``weekday`` is 0 for Monday.
    """

    kind: str
    year: int | None = field(default=None, repr=False)
    month: int | None = field(default=None, repr=False)
    number: int | None = field(default=None, repr=False)  # of the day in its month
    weekday: int | None = field(default=None, repr=False)
    place: int = -1

    @property
    def day(self) -> date:
        """The day of a full date."""
        return date(self.year or 0, self.month or 0, self.number or 0)

    def days_in(self, first: date, last: date) -> list[date]:
        """Return the days from ``first`` to ``last`` that a date without its year or month can be."""
        return [
            day
            for step in range((last - first).days + 1)
            if (day := first + timedelta(days=step)).day == self.number and self.month in (None, day.month)
        ]

    def months(self) -> int:
        """Return the month or year as a number that grows by one each month, or each year."""
        return (self.year or 0) if self.kind == "year" else 12 * (self.year or 0) + (self.month or 0)

    def period(self) -> tuple[date, date]:
        """Return the first and last day of a month or year."""
        year, month = self.year or 0, self.month
        if month is None:
            return date(year, 1, 1), date(year, 12, 31)
        return date(year, month, 1), date(year, month, monthrange(year, month)[1])

    def as_text(self) -> str:
        """Return what is named, in one form."""
        return f"{self.year}-{self.month}-{self.number}"


def is_day_first(values: Sequence[str], *, usual: bool | None = False, dob: str = "") -> bool | None:
    """Return whether figures of a note have the day first; None when that is not told.

    Days over 12 tell it, unless both orders occur. Else weekdays beside full dates do, and dates that are the date of
    birth ``dob`` (``1931-03-12``) in one order; else it is ``usual``.
    """
    found = [match for value in values if (match := _PAIR.match(value))]
    first, second = any(int(each["a"]) > 12 for each in found), any(int(each["b"]) > 12 for each in found)
    if first or second:
        return None if first and second else first
    votes = sum(_fits(value, True, dob) - _fits(value, False, dob) for value in values)
    return votes > 0 if votes else usual


def _fits(value: str, day_first: bool, dob: str) -> bool:
    """Return whether a full date agrees in this order with the weekday beside it or with the date of birth."""
    read = _read(value.strip(), day_first)
    if read is None or read.kind != "day" or (read.year or 0) < _SHORT_YEARS:
        return False
    return read.day.weekday() == read.weekday if read.weekday is not None else read.day.isoformat() == dob


def latest_year(values: Sequence[str]) -> int:
    """Return the latest year of four figures among dates, from 1990 on."""
    years = (int(year) for value in values for year in re.findall(r"(?<!\d)(?:199|20[0-4])\d(?!\d)", value))
    return max(years, default=_NO_YEAR)


def names_year(value: str) -> bool:
    """Return whether a date has a year of four figures, or three parts."""
    return re.search(r"(?<!\d)(?:19|20)\d\d|\d\s?[/.-]\s?\w+\s?[/.-]\s?\d|\d{6}|['’]\d\d", value) is not None


def read_mentions(value: str, day_first: bool | None, latest: int, original: Sequence[Mention] = ()) -> list[Mention]:
    """Return what ``value`` names: nothing, one date, or the two of a range.

    A year of two figures is at most ``latest``, and not read when it may be up to 15 years later; in a surrogate, it is
    the one closest to its ``original``.
    """
    text = value.strip()
    one = _read(text, day_first)
    read = [] if one is None else [one]
    found = _RANGE.fullmatch(text) if one is None else None
    if found is not None:
        both = [_read(found["first"], day_first), _read(found["second"], day_first)]
        if all(each is not None and each.kind in ("day", "day of year") for each in both):
            read = [replace(each, place=place) for place, each in enumerate(both) if each is not None]
    for place, each in enumerate(read):
        if each.year is not None and each.year < _SHORT_YEARS:
            year = each.year + (2000 if 2000 + each.year <= latest else 1900)
            old = original[place].year if len(original) == len(read) else None
            if old is None and latest < 2000 + each.year <= latest + _YEARS_AHEAD:
                return []
            if old is not None:
                year = min((1900 + each.year, 2000 + each.year), key=lambda other: abs(other - old))
            read[place] = replace(each, year=year)
    return read


def _read(text: str, day_first: bool | None) -> Mention | None:
    lower = text.lower().replace("’", "'")
    if lower in _HOLIDAYS:
        month, number = _HOLIDAYS[lower]
        return Mention("day of year", month=month, number=number)
    if _LONE_WEEKDAY.fullmatch(text) is not None:
        return Mention("weekday", weekday=_WEEKDAYS.index(lower[:3]))
    beside = _BESIDE.fullmatch(text)
    if beside is not None:
        dated = _read(beside["rest"], day_first)
        return None if dated is None else replace(dated, weekday=_WEEKDAYS.index(lower[:3]))
    figures = _FIGURES.fullmatch(text)
    if figures is not None and day_first is not None:
        first, second = int(figures["a"]), int(figures["b"])
        month, number = (second, first) if day_first else (first, second)
        year = figures["year"]
        return _existing(Mention("day" if year else "day of year", int(year) if year else None, month, number))
    for kind, pattern in _FORMS:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        groups = found.groupdict()
        named = groups.get("month")
        month_number = _MONTHS.index(named[:3].lower()) + 1 if named else int(groups["m"]) if groups.get("m") else None
        year_number = int(groups["year"]) if groups.get("year") else None
        return _existing(Mention(kind, year_number, month_number, int(groups["day"]) if groups.get("day") else None))
    return None


def _existing(mention: Mention) -> Mention | None:
    """Return ``mention`` if there is such a date."""
    try:
        year = mention.year or 2000
        date(2000 + year if year < _SHORT_YEARS else year, mention.month or 1, mention.number or 1)
    except ValueError:
        return None
    return mention
