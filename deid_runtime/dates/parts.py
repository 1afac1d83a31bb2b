"""What the dates of a note are made of: their style, their parts, and days moved and written as the original was."""

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from deid_runtime.dates.calendar_words import MONTH_OF, MONTHS, ordinal_ending
from deid_runtime.lexicon.letter_case import case_like

LONGEST_DATE_CHARS: Final = 80
_EARLIEST_NOTE: Final = 1990  # before electronic notes
_NEWEST_SHORT_YEAR: Final = 2039  # in a note without any full year, '40 is 1940
NUMERIC: Final = re.compile(
    r"(?<![\d])(?:"
    r"(?P<y1>\d{4})(?P<s1>[-/. ])(?P<m1>\d{1,2})(?P=s1)(?P<d1>\d{1,2})"
    r"|(?P<a2>\d{1,2})(?P<s2>\s?[-/.]\s?|\s)(?P<b2>\d{1,2})(?P=s2)(?P<q2>['’]?)(?P<y2>\d{4}|\d{2})"
    r"|(?P<m3>\d{1,2})(?P<s3>[-/.])(?P<q3>['’]?)(?P<y3>(?<=['’])\d{2}|\d{4})"
    r"|(?P<y4>\d{4})(?P<s4>[-/.])(?P<m4>\d{1,2})"
    r"|(?P<a5>\d{1,2})(?P<s5>\s?[-/.]\s?|\s)(?P<b5>\d{1,2})"
    r")(?![\d])"
)
TOKEN: Final = re.compile(r"['’]?\d++(?:st|nd|rd|th|s)?(?![^\W\d_])|\d+|[^\W\d_]+(?:['’][^\W\d_]+)*|[\W_]", re.I)


@dataclass(frozen=True, slots=True)
class DateStyle:
    """What the dates of one note tell of each other: the year they are mostly in, and how they are written.

    ``year`` is taken for dates without one, ``day_first`` for ``3/4/19``, ``padded`` for ``10/12``, ``short_months``
    for ``May``, ``padded_days`` for ``10 June``, ``in_figures`` for a day that the original named without a date.
    """

    year: int
    day_first: bool = False
    padded: bool = False
    short_months: bool = False
    padded_days: bool = False
    in_figures: bool = False


def read_style(values: Iterable[str], default_year: int) -> DateStyle:
    """Return the style of the dates in ``values``; ``default_year`` where none of them has a year."""
    years: dict[int, int] = {}
    day_first = month_first = padded = bare = short = long = padded_days = in_figures = in_words = 0
    short_years: list[int] = []
    for value in values:
        value = value[:LONGEST_DATE_CHARS]
        found = NUMERIC.search(value)
        if found:
            first, second = found["a2"] or found["a5"], found["b2"] or found["b5"]
            in_figures += 1
            if first and second:
                day_first += int(first) > 12 >= int(second)
                month_first += int(second) > 12 >= int(first)
                padded += first[0] == "0" or second[0] == "0"
                bare += len(first) == 1 or len(second) == 1
            year = found["y1"] or found["y2"]
            if year and len(year) == 4:
                years[int(year)] = years.get(int(year), 0) + 1
            elif year:
                short_years.append(int(year))
            continue
        words = TOKEN.findall(value)
        month = next((w for w in words if w.lower() in MONTH_OF), "")
        in_words += bool(month)
        if month and month.lower() != "may":
            short += MONTH_OF[month.lower()][0] in (1, 2)
            long += MONTH_OF[month.lower()][0] == 0
        if month:
            padded_days += sum(
                (len(word) == 2 and word[0] == "0") - (len(word) == 1) for word in words if word.isdecimal()
            )
        for word in words:
            if month and len(words) > 3 and word.isdecimal() and len(word) == 4:
                years[int(word)] = years.get(int(word), 0) + 1
    newer = [number for number in short_years if all(number != year % 100 for year in years)]
    if newer and years and max(years) < _EARLIEST_NOTE:  # full years of birth and of long ago, short ones of visits
        years, short_years = {}, newer
    if not years:
        for number in short_years:
            full = full_year(number, _NEWEST_SHORT_YEAR)
            years[full] = years.get(full, 0) + 1
    year = max(years, key=lambda y: (years[y], y)) if years else default_year
    return DateStyle(
        year if 1 < year < 9999 else default_year,
        day_first=day_first > month_first,
        padded=padded > bare,
        short_months=short > long,
        padded_days=padded_days > 0,
        in_figures=in_figures >= max(in_words, 1),
    )


def full_year(number: int, reference: int) -> int:
    """Return the year that ends in ``number``, the last one not after the year that follows ``reference``."""
    year = reference // 100 * 100 + number
    return year - 100 if year > reference + 1 else year


def _changed_number(number: int, low: int, high: int, offset: int) -> int:
    """Return another number in ``low..high``, for parts of dates that mean nothing."""
    size = high - low + 1
    return low + (number - low + (offset % (size - 1) + 1)) % size


def shift_day(year: int, month: int, day: int, offset: int) -> tuple[int, int, int]:
    """Return the date ``offset`` days on; what is impossible stays so: day 0, the 31st of a month of 30, month 13.

    Raises ValueError or OverflowError outside the years 1 to 9999.
    """
    if not 1 <= month <= 12:
        moved = date(year, 7, 2) + timedelta(days=offset)
        other_month = 0 if month == 0 else _changed_number(month, 13, 99, offset)
        other_day = (
            0
            if day == 0
            else _changed_number(day, 1, 31, offset)
            if day <= 31
            else _changed_number(day, 32, 99, offset)
        )
        return moved.year, other_month, other_day
    last = monthrange(year, month)[1]
    moved = date(year, month, min(max(day, 1), last)) + timedelta(days=offset)
    if day == 0:
        return moved.year, moved.month, 0
    if day > 31:
        return moved.year, moved.month, _changed_number(day, 32, 99, offset)
    if day > last:
        return moved.year, moved.month, monthrange(moved.year, moved.month)[1] + day - last
    return moved.year, moved.month, moved.day


def shift_partial(style: DateStyle, month: int, day: int, offset: int) -> tuple[int, int, int]:
    year = style.year
    if (month, day) == (2, 29):
        year -= year % 4  # the nearest leap year before: the writer had one
    return shift_day(year, month, day, offset)


def padded_like(number: int, original: str, padded: bool) -> str:
    if original[0] == "0" and len(original) == 2:
        return f"{number:02}"
    return f"{number:02}" if padded and len(original) == 2 else str(number)


def year_like(year: int, original: str) -> str:
    return f"{year:04}" if len(original) == 4 else f"{year % 100:02}"


def numbers_of(found: re.Match[str], style: DateStyle) -> tuple[int | None, int | None, int | None]:
    """Return (year, month, day) of a numeric date; None where it has none."""
    if found["y1"]:
        return int(found["y1"]), int(found["m1"]), int(found["d1"])
    if found["y3"]:
        return (
            (int(found["y3"]) if len(found["y3"]) == 4 else full_year(int(found["y3"]), style.year)),
            int(found["m3"]),
            None,
        )
    if found["y4"]:
        return int(found["y4"]), int(found["m4"]), None
    first, second = (int(found["a2"]), int(found["b2"])) if found["a2"] else (int(found["a5"]), int(found["b5"]))
    year = None
    if found["y2"]:
        year = int(found["y2"]) if len(found["y2"]) == 4 else full_year(int(found["y2"]), style.year)
    elif second > 31 and 1 <= first <= 12:
        return full_year(second, style.year), first, None
    if is_day_first(first, second, style):
        return year, second, first
    return year, first, second


def is_day_first(first: int, second: int, style: DateStyle) -> bool:
    if first > 12 >= second:
        return True
    return style.day_first and not second > 12 >= first


def day_named(text: str, style: DateStyle) -> date | None:
    """Return the day that a date with a day and a month names, in the note's year where it has none; else None."""
    found = NUMERIC.search(text)
    tokens = TOKEN.findall(text)
    lowered = [token.lower() for token in tokens]
    months = [MONTH_OF[word][1] + 1 for word in lowered if word in MONTH_OF]
    year: int | None
    month: int | None
    day: int | None
    if months:
        year_at, day_at, _ = roles_of(tokens, lowered, True)
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


def roles_of(
    tokens: Sequence[str], lowered: Sequence[str], has_month: bool
) -> tuple[int | None, int | None, list[int]]:
    """Return which token is the year, which the day, and the numbers left over."""
    year_at = day_at = None
    others: list[int] = []
    for index, word in enumerate(lowered):
        digits = word.lstrip("'’")
        if not digits[:1].isdecimal() or digits.endswith("s"):
            continue
        bare = digits.rstrip("stndrh")
        is_ordinal = bare != digits
        if (
            not is_ordinal
            and year_at is None
            and (len(bare) == 4 or (len(bare) == 2 and (digits != word or int(bare) > 31)))
        ):
            year_at = index
        elif len(bare) <= 2 and day_at is None and digits == word:
            day_at = index
        elif len(bare) == 2 and not is_ordinal and year_at is None and has_month:
            year_at = index
        else:
            others.append(index)
    return year_at, day_at, others


def day_like(day: int, original: str, style: DateStyle) -> str:
    ending = original.lstrip("".join(filter(str.isdecimal, original)))
    digits = original[: len(original) - len(ending)]
    text = padded_like(day, digits, style.padded_days and not ending)
    if ending:
        text += case_like(ordinal_ending(day), ending)
    return text


def month_like(month: int, original: str, tokens: Sequence[str], style: DateStyle) -> str:
    row, _ = MONTH_OF[original.lower()]
    if original.lower() == "may":
        glued = "".join(tokens)
        row = 1 if style.short_months or re.search(r"\d-?may|may-?\d", glued, re.I) else 0
    elif row == 0 and original.lower() in ("june", "july") and style.short_months:
        row = 2
    return case_like(MONTHS[row][month - 1], original)
