"""Parse a date span: each token is a day, month, year, weekday, holiday or season, or has no date meaning.

A date known to the day stands for that day. A coarser date (``March 2019``, ``2019``, ``the 80s``) stands for the
middle of its period. So its text stays the same unless the shift leaves the period. Dates that do not exist are read as
they are written.
"""

import re
from dataclasses import replace
from typing import Final

from deid_runtime.dates.figures import (
    pieces_around,
    read_compact,
    read_numeric,
    read_quarter,
    read_roman_month,
    read_schedule,
    read_week,
    read_years,
    separated_by,
)
from deid_runtime.dates.forms import (
    COMPACT,
    NUMERIC,
    QUARTER,
    RANGE,
    ROMAN_DAY,
    ROMAN_MONTH,
    SCHEDULE,
    TIME,
    WEEK,
    YEARS,
    repair_digits,
    years_of,
)
from deid_runtime.dates.holiday_dates import read_holiday
from deid_runtime.dates.holidays import find_holiday
from deid_runtime.dates.parts import LONGEST_DATE_CHARS, DateParts, DateStyle, Form, Piece, Role
from deid_runtime.dates.stated import day_named
from deid_runtime.dates.worded import read_worded
from deid_runtime.lexicon.calendar_words import ENGLISH, MONTH_OF, WEEKDAY_NAMES, WEEKDAY_OF
from deid_runtime.lexicon.numbers import ORDINAL_WORDS, ordinal

#: A time of four figures, or of an hour alone, after a date; or any time with a zone or unit.
_TIME_BEHIND: Final = re.compile(
    r"(?:(?:\s*@\s*|,?\s+(?:at\s+)?)(?:(?:[01]\d|2[0-3])[0-5]\d(?:\s*(?:hrs?|hours|h))?|(?:1[0-2]|0?[1-9])\s?[ap]\.?m\b\.?)"
    r"|(?:[T@]|\s*@\s*|,?\s+(?:at\s+)?)\d{1,2}:\d{2}(?::\d{2})?(?:\s*[ap]\.?m\b\.?)?\s?(?:[ECMPA][SD]?T|UTC|GMT|BST|hrs?|h))$",
    re.I,
)
_STAMP: Final = re.compile(r"((?:19|20)\d{6})((?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)")  # HL7 format
_INTERVAL: Final = re.compile(r"(\d{4}-\d{2}-\d{2})/(\d{4}-\d{2}-\d{2})")
_COLONS: Final = re.compile(r"\d{1,2}:\d{1,2}:(?:\d{4}|\d{2})")
_DASHED: Final = re.compile(r"(\d{1,4})([\u2010-\u2014\\_])(\d{1,2})\2(\d{1,4})")
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_DAYS: Final = rf"(?P<first>{_DAY})(?P<joint>\s?[-\u2010-\u2014&]\s?|\s(?:to|and|through|thru)\s)(?P<second>{_DAY})"
_DAYS_BEHIND_MONTH: Final = re.compile(rf"(?P<month>[^\W\d_]{{3,10}}\.?) {_DAYS}(?P<year>,? \d{{4}})?", re.I)
_DAYS_OF_MONTH: Final = re.compile(rf"{_DAYS} (?P<month>[^\W\d_]{{3,10}}\.?)(?P<year>,? \d{{4}})?", re.I)
_NTH: Final = re.compile(
    rf"\b(?:(?P<word>{'|'.join(map(ordinal, range(1, 6)))})|(?P<number>[1-5])(?:st|nd|rd|th))(?=\s+(?:full\s+)?"
    rf"(?:weeks?|wks?|weekend|wknd|{'|'.join(WEEKDAY_NAMES)})\b)",
    re.I,
)
#: The text between two dates, the first of which is a holiday.
_JOINT: Final = re.compile(
    r"\s*(?:[-\u2010-\u2014/&+,]|\b(?:and|or|to|until|till|through|thru)\b)\s*(?:the\s+)?$", re.I
)


def parse_date(value: str, style: DateStyle) -> DateParts | None:
    """Return the parts of the date ``value``, or None when it cannot be read as a date.

    The year and month that it does not name are guesses: the main year of the note, and June. See
    :func:`deid_runtime.dates.calendar.settle`.
    """
    if len(value) > LONGEST_DATE_CHARS:
        return None
    try:
        parts = _read(value, style)
    except (ValueError, OverflowError, KeyError):  # a year outside the calendar; a word with a dotless i
        return None
    if parts is not None:
        return parts
    joint = RANGE.search(value)
    return _read_both(value[: joint.start()], joint[0], value[joint.end() :], style) if joint else None


def _read(value: str, style: DateStyle) -> DateParts | None:
    """Return one date, in any form; None for two dates and for text that is not a date."""
    stripped = value.strip()
    whole = _read_whole(stripped, style)
    if whole is not None:
        lead, _, trail = value.partition(stripped)
        return whole if value == stripped else DateParts(style, (Piece(lead), whole, Piece(trail)))
    nth = _NTH.search(value)
    if nth:
        return _read_week_of_month(nth, value, style)
    repaired = repair_digits(value)
    if repaired != value and not re.search(r"\d(?:st|nd|rd|th)\b", repaired[: len(value)], re.I):
        read = _read(repaired, style)
        return None if read is None else DateParts(style, (read, Piece(value)), Form.DAMAGED)
    time = TIME.search(value)
    if time:
        return _read_around_time(value, time, style)
    holiday = _read_holiday(value, style)
    if holiday is not None:
        return holiday
    figures = NUMERIC.search(value)
    if figures and not any(
        word.lower().rstrip(".") in MONTH_OF and word.lower() != "mar" for word in re.findall(r"[^\W\d_]{3,}", value)
    ):
        return read_numeric(figures, value, style)
    return read_worded(value, style)


def _read_both(first: str, joint: str, second: str, style: DateStyle) -> DateParts | None:
    """Return two dates with the text between them."""
    one, other = parse_date(first, style), parse_date(second, style)
    return None if one is None or other is None else DateParts(style, (one, Piece(joint), other))


# --- forms that cover the whole text --------------------------------------------------------------------------------


def _read_whole(value: str, style: DateStyle) -> DateParts | None:
    """Return a date in a form that covers all of ``value``, or None. Variants are rewritten as common forms first."""
    if found := _STAMP.fullmatch(value):
        return DateParts(style, (read_compact(found[1], style), Piece(found[2])))
    if _COLONS.fullmatch(value) and (read := _read(value.replace(":", "/"), style)):
        return separated_by(read, "/", ":")
    found = _DASHED.fullmatch(value)
    if found and (read := _read(f"{found[1]}-{found[3]}-{found[4]}", style)):
        return separated_by(read, "-", found[2])
    if found := _INTERVAL.fullmatch(value):
        first, second = (_read(text, style) for text in found.groups())
        if first is not None and second is not None:
            return DateParts(style, (first, Piece("/"), second))
    found = _TIME_BEHIND.search(value)
    if found and _may_have_time(value[: found.start()], found[0]):
        read = _read(value[: found.start()], style)
        if read is not None:
            return DateParts(style, (read, Piece(found[0])))
    for pattern, form in ((_DAYS_OF_MONTH, Form.DAYS_OF_MONTH), (_DAYS_BEHIND_MONTH, Form.DAYS_BEHIND_MONTH)):
        if (found := pattern.fullmatch(value)) and (read := _read_days_of_month(found, style, form)):
            return read
    if SCHEDULE.fullmatch(value) and value.lower() not in MONTH_OF and value.lower() not in WEEKDAY_OF:
        return read_schedule(value, style)
    if COMPACT.fullmatch(value):
        return read_compact(value, style)
    if found := WEEK.fullmatch(value):
        return read_week(found, style)
    if found := QUARTER.fullmatch(value):
        return read_quarter(found, style)
    if found := ROMAN_MONTH.fullmatch(value):
        return read_roman_month(found, style)
    if (found := ROMAN_DAY.fullmatch(value)) and (before := pieces_around(found["before"])):
        read = read_roman_month(found, style)
        return replace(read, pieces=(*before, *read.pieces))
    found = YEARS.fullmatch(value)
    if found and (years := years_of(found, style)):
        return read_years(found, years, style)
    return None


def _may_have_time(before: str, time: str) -> bool:
    """Return whether ``time`` after the date ``before`` is a time of day and not a year: ``10/5 2019`` has no time."""
    day = NUMERIC.fullmatch(before.strip())
    if day is None:
        return False
    return bool(day["y1"] or day["y2"] or day["y3"] or day["y4"]) or not re.fullmatch(r"\s*(?:19|20)\d\d", time)


def _read_days_of_month(found: re.Match[str], style: DateStyle, form: Form) -> DateParts | None:
    """Return ``5-7 September 2019`` or ``Sep 5-7, 2019`` as two dates of the same month."""
    month, year = found["month"], found["year"] or ""
    if month.lower().rstrip(".") not in MONTH_OF:
        return None  # "Fri 02-09"
    first, second = (
        _read(f"{day} {month}{year}" if form is Form.DAYS_OF_MONTH else f"{month} {day}{year}", style)
        for day in (found["first"], found["second"])
    )
    if first is None or second is None:
        return None
    return DateParts(style, (first, Piece(found["joint"]), second, Piece(year)), form)


# --- dates with other text beside them ------------------------------------------------------------------------------


def _read_around_time(value: str, time: re.Match[str], style: DateStyle) -> DateParts | None:
    """Return the dates before and after a time of day."""
    pieces: list[Piece | DateParts] = []
    for part in (value[: time.start()], value[time.end() :]):
        read = _read(part, style) if any(map(str.isalnum, part)) else Piece(part)
        if read is None:
            return None
        pieces.append(read)
    return DateParts(style, (pieces[0], Piece(time[0]), pieces[1]))


def _read_week_of_month(found: re.Match[str], value: str, style: DateStyle) -> DateParts | None:
    """Return ``the second Sunday of January`` or ``1st week of May`` as a date in the middle of that week."""
    number = int(found["number"] or ORDINAL_WORDS[found[0].lower()])
    read = _read(f"{value[: found.start()]}{7 * number - 3}{value[found.end() :]}", style)
    return None if read is None else DateParts(style, (read, Piece(found[0])), Form.WEEK_OF_MONTH)


# --- holidays -------------------------------------------------------------------------------------------------------


def _read_holiday(value: str, style: DateStyle) -> DateParts | None:
    """Return a holiday as its day, with the year or the date beside it; None when there is no holiday.

    ``4th of July 2019``, ``July fourth, 2019`` and ``Tuesday the 4th of July`` are read as ordinary dates, not here.
    """
    found = find_holiday(value, locale=style.locale) if any(map(str.isalpha, value)) else None
    if found is None:
        return None
    named, before, after = value[found.start : found.end], value[: found.start], value[found.end :]
    lower = named.lower()
    if any(map(str.isdecimal, named)) or "july" in lower:
        return None
    if lower.endswith("the fourth") and (value.islower() or re.match(r"\W*of\b", after)):
        return None  # "the fourth" of March; only "the Fourth" alone means the Fourth of July
    other = find_holiday(value, found.end, style.locale)
    if other is not None:
        joint = _JOINT.search(value, found.end, other.start)
        return _read_both(value[: joint.start()], joint[0], value[joint.end() :], style) if joint else None
    beside = day_named(f"{before} {after}", style)
    if beside is not None:
        if RANGE.search(value):
            return None
        # A second date beside the first would reveal a holiday, so the holiday becomes a weekday.
        weekday = Piece(named, Role.HOLIDAY_WEEKDAY, weekday=beside.weekday(), writing=ENGLISH)
        first, last = (_read(side, style) if any(map(str.isalnum, side)) else Piece(side) for side in (before, after))
        return None if first is None or last is None else DateParts(style, (first, weekday, last))
    return read_holiday(value, found, style)
