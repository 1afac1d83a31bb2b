"""Parse a date span: each token is a day, month, year, weekday, holiday or season, or has no date meaning.

A date known to the day stands for that day. A coarser date (``March 2019``, ``2019``, ``the 80s``) stands for the
middle of its period. So its text stays the same unless the shift leaves the period. Dates that do not exist are read as
they are written.
"""

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from deid_runtime.dates.forms import (
    COMPACT,
    LETTER_DAY,
    NUMERIC,
    PLAIN_WORDS,
    QUARTER,
    RANGE,
    SCHEDULE,
    SCHEDULE_DAY,
    SCHEDULES,
    TIME,
    TOKEN,
    WEEK,
    YEARS,
    compact_parts,
    full_year,
    is_day_first,
    letter_piece,
    month_writing,
    numbers_of,
    repair_digits,
    roles_of,
    weekday_piece,
    years_of,
)
from deid_runtime.dates.holidays import FoundHoliday, find_holiday, unstated_year
from deid_runtime.dates.parts import LONGEST_DATE_CHARS, DateParts, DateStyle, Form, Piece, Role, Said
from deid_runtime.dates.spoken import counts_time, joint_of, read_spoken, spoken_runs, spoken_year
from deid_runtime.dates.stated import FULL_YEAR, day_named, month_of
from deid_runtime.lexicon.calendar_words import ENGLISH, MONTH_OF, WEEKDAY_NAMES, WEEKDAY_OF
from deid_runtime.lexicon.numbers import DECADE_WORDS, NUMBER_WORDS, ORDINAL_WORDS, ordinal

#: A time of four figures, or of an hour alone, behind a date; or any time with a zone or unit.
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
_YEAR_BEHIND: Final = re.compile(r"(?:,?\s*of|,)?\s*(?P<year>['’]?(?:\d{4}|\d{2}))(?!\w)", re.I)
_YEAR_BEFORE: Final = re.compile(r"(?<!\w)(?P<year>\d{4})\s+$")
#: The text between two dates, the first of which is a holiday.
_JOINT: Final = re.compile(
    r"\s*(?:[-\u2010-\u2014/&+,]|\b(?:and|or|to|until|till|through|thru)\b)\s*(?:the\s+)?$", re.I
)
_SEASON_MONTH: Final = {"winter": 1, "spring": 4, "summer": 7, "fall": 10, "autumn": 10}

#: The (year, month) of the nearest earlier date in the note, for ``the 29th``.
Hint = tuple[int, int] | None


def parse_date(value: str, style: DateStyle, hint: Hint = None) -> DateParts | None:
    """Return the parts of the date ``value``, or None when it cannot be read as a date.

    ``hint`` is the (year, month) of the nearest earlier date in the note, for ``the 29th``.
    """
    if len(value) > LONGEST_DATE_CHARS:
        return None
    try:
        parts = _read(value, style, hint)
    except (ValueError, OverflowError, KeyError):  # a year outside the calendar; a word with a dotless i
        return None
    if parts is not None:
        return parts
    joint = RANGE.search(value)
    return _read_both(value[: joint.start()], joint[0], value[joint.end() :], style, hint) if joint else None


def _read(value: str, style: DateStyle, hint: Hint) -> DateParts | None:
    """Return one date, in any form; None for two dates and for text that is no date."""
    stripped = value.strip()
    whole = _read_whole(stripped, style, hint)
    if whole is not None:
        lead, _, trail = value.partition(stripped)
        return whole if value == stripped else DateParts(style, (Piece(lead), whole, Piece(trail)))
    nth = _NTH.search(value)
    if nth:
        return _read_week_of_month(nth, value, style, hint)
    repaired = repair_digits(value)
    if repaired != value and not re.search(r"\d(?:st|nd|rd|th)\b", repaired[: len(value)], re.I):
        read = _read(repaired, style, hint)
        return None if read is None else DateParts(style, (read, Piece(value)), Form.DAMAGED)
    time = TIME.search(value)
    if time:
        return _read_around_time(value, time, style, hint)
    holiday = _read_holiday(value, style, hint)
    if holiday is not None:
        return holiday
    figures = NUMERIC.search(value)
    if figures and not any(
        word.lower().rstrip(".") in MONTH_OF and word.lower() != "mar" for word in re.findall(r"[^\W\d_]{3,}", value)
    ):
        return _read_numeric(figures, value, style)
    return _read_worded(value, style, hint)


def _read_both(first: str, joint: str, second: str, style: DateStyle, hint: Hint) -> DateParts | None:
    """Return two dates. One without a month, or a holiday without a year, takes it from the other."""
    in_first, in_second = month_of(first, style), month_of(second, style)
    one = parse_date(first, style, in_second if find_holiday(first) and FULL_YEAR.search(second) else hint)
    other = parse_date(second, style, in_first or hint)
    return None if one is None or other is None else DateParts(style, (one, Piece(joint), other))


# --- forms that cover the whole text --------------------------------------------------------------------------------


def _read_whole(value: str, style: DateStyle, hint: Hint) -> DateParts | None:
    """Return a date in a form that covers all of ``value``, or None. Variants are rewritten as common forms first."""
    if found := _STAMP.fullmatch(value):
        return DateParts(style, (_read_compact(found[1], style), Piece(found[2])))
    if _COLONS.fullmatch(value) and (read := _read(value.replace(":", "/"), style, hint)):
        return _separated_by(read, "/", ":")
    found = _DASHED.fullmatch(value)
    if found and (read := _read(f"{found[1]}-{found[3]}-{found[4]}", style, hint)):
        return _separated_by(read, "-", found[2])
    if found := _INTERVAL.fullmatch(value):
        first, second = (_read(text, style, hint) for text in found.groups())
        if first is not None and second is not None:
            return DateParts(style, (first, Piece("/"), second))
    found = _TIME_BEHIND.search(value)
    if found and _may_have_time(value[: found.start()], found[0]):
        read = _read(value[: found.start()], style, hint)
        if read is not None:
            return DateParts(style, (read, Piece(found[0])))
    for pattern, form in ((_DAYS_OF_MONTH, Form.DAYS_OF_MONTH), (_DAYS_BEHIND_MONTH, Form.DAYS_BEHIND_MONTH)):
        if (found := pattern.fullmatch(value)) and (read := _read_days_of_month(found, style, hint, form)):
            return read
    if SCHEDULE.fullmatch(value) and value.lower() not in MONTH_OF and value.lower() not in WEEKDAY_OF:
        return _read_schedule(value, style)
    if COMPACT.fullmatch(value):
        return _read_compact(value, style)
    if found := WEEK.fullmatch(value):
        day = date.fromisocalendar(int(found[1]), int(found[3]), 4)
        pieces = (Piece(found[1], Role.WEEK_YEAR), Piece(found[2]), Piece(found[3], Role.WEEK))
        return DateParts(style, pieces, year=day.year, month=day.month, day=day.day)
    if found := QUARTER.fullmatch(value):
        return _read_quarter(found, style)
    found = YEARS.fullmatch(value)
    if found and (years := years_of(found, style)):
        first, second = (
            DateParts(style, _year_pieces(text), year=year, month=7, day=2)
            for text, year in zip((found[1], found[3]), years, strict=True)
        )
        return DateParts(style, (first, Piece(found[2]), second))
    return None


def _separated_by(parts: DateParts, usual: str, mark: str) -> DateParts:
    """Return a date in figures with the separator ``usual`` changed to ``mark``."""
    pieces = tuple(
        replace(piece, text=piece.text.replace(usual, mark))
        if isinstance(piece, Piece) and piece.role is Role.KEPT
        else piece
        for piece in parts.pieces
    )
    return replace(parts, pieces=pieces)


def _may_have_time(before: str, time: str) -> bool:
    """Return whether ``time`` behind the date ``before`` is a time of day and not a year: ``10/5 2019`` has no time."""
    day = NUMERIC.fullmatch(before.strip())
    if day is None:
        return False
    return bool(day["y1"] or day["y2"] or day["y3"] or day["y4"]) or not re.fullmatch(r"\s*(?:19|20)\d\d", time)


def _read_days_of_month(found: re.Match[str], style: DateStyle, hint: Hint, form: Form) -> DateParts | None:
    """Return ``5-7 September 2019`` or ``Sep 5-7, 2019`` as two dates of the same month."""
    month, year = found["month"], found["year"] or ""
    first, second = (
        _read(f"{day} {month}{year}" if form is Form.DAYS_OF_MONTH else f"{month} {day}{year}", style, hint)
        for day in (found["first"], found["second"])
    )
    if first is None or second is None:
        return None
    return DateParts(style, (first, Piece(found["joint"]), second, Piece(year)), form)


def _read_schedule(value: str, style: DateStyle) -> DateParts:
    """Return a list or range of weekdays in letters: ``MWF``, ``T-Th``."""
    known = SCHEDULES.get(value.lower())
    if known:
        return DateParts(style, tuple(map(letter_piece, known.split())), Form.SCHEDULE)
    pieces, place = [], 0
    for day in SCHEDULE_DAY.finditer(value):
        pieces += [Piece(value[place : day.start()]), letter_piece(day[0])]
        place = day.end()
    return DateParts(style, (*pieces, Piece(value[place:])), Form.SCHEDULE)


def _read_compact(value: str, style: DateStyle) -> DateParts:
    """Return a date of six or eight digits. Raises ValueError when the digits are no date."""
    found = compact_parts(value, style)
    if found is None:
        raise ValueError("six or eight digits that are no date")
    order, year, month, day = found
    roles = {"Y": Role.YEAR, "y": Role.YEAR, "m": Role.MONTH, "d": Role.DAY}
    pieces, place = [], 0
    for kind in order:
        size = 4 if kind == "Y" else 2
        pieces.append(Piece(value[place : place + size], roles[kind], is_padded=True))
        place += size
    return DateParts(style, tuple(pieces), year=year, month=month, day=day)


def _read_quarter(found: re.Match[str], style: DateStyle) -> DateParts:
    """Return ``Q3 2023`` or ``3Q23`` as a date in the middle of the quarter."""
    digits = found["year"]
    year = style.year if not digits else int(digits) if len(digits) == 4 else full_year(int(digits), style.year)
    number = found["after"] or found["before"]
    mark = (Piece(number, Role.QUARTER), Piece(found["mark"]))
    pieces = (
        *(mark if found["before"] else mark[::-1]),
        Piece(found["gap"]),
        *((Piece(digits, Role.YEAR),) if digits else ()),
    )
    return DateParts(style, pieces, year=year, month=3 * int(number) - 1, day=15)


def _year_pieces(text: str) -> tuple[Piece, Piece]:
    """Return two pieces of a year: the apostrophe before it, which may be empty, and the digits."""
    digits = text.lstrip("'’")
    return Piece(text[: len(text) - len(digits)]), Piece(digits, Role.YEAR)


# --- dates with other text beside them ------------------------------------------------------------------------------


def _read_around_time(value: str, time: re.Match[str], style: DateStyle, hint: Hint) -> DateParts | None:
    """Return the dates before and behind a time of day."""
    pieces: list[Piece | DateParts] = []
    for part in (value[: time.start()], value[time.end() :]):
        read = _read(part, style, hint) if any(map(str.isalnum, part)) else Piece(part)
        if read is None:
            return None
        pieces.append(read)
    return DateParts(style, (pieces[0], Piece(time[0]), pieces[1]))


def _read_week_of_month(found: re.Match[str], value: str, style: DateStyle, hint: Hint) -> DateParts | None:
    """Return ``the second Sunday of January`` or ``1st week of May`` as a date in the middle of that week."""
    number = int(found["number"] or ORDINAL_WORDS[found[0].lower()])
    read = _read(f"{value[: found.start()]}{7 * number - 3}{value[found.end() :]}", style, hint)
    return None if read is None else DateParts(style, (read, Piece(found[0])), Form.WEEK_OF_MONTH)


def _pieces_around(text: str) -> tuple[Piece, ...] | None:
    """Return the pieces of the text beside a date; None if it has more than weekdays and plain words."""
    if not any(char.isalnum() for char in text):
        return (Piece(text),)
    pieces = []
    for token in TOKEN.findall(text):
        lower = token.lower()
        if lower in WEEKDAY_OF:
            pieces.append(weekday_piece(token))
        elif lower in LETTER_DAY:
            pieces.append(letter_piece(token))
        elif any(map(str.isalnum, token)) and lower not in PLAIN_WORDS:
            return None
        else:
            pieces.append(Piece(token))
    return tuple(pieces)


# --- dates in figures -----------------------------------------------------------------------------------------------


def _read_numeric(found: re.Match[str], value: str, style: DateStyle) -> DateParts | None:
    """Return a date in figures from a match of ``NUMERIC``; None if words around it are not weekdays or plain words."""
    year, month, day = numbers_of(found, style)
    if month is None:
        raise ValueError("figures without a month")
    anchor = _anchor(style, year, month, day)
    before, after = _pieces_around(value[: found.start()]), _pieces_around(value[found.end() :])
    if before is None or after is None:
        return None
    pieces = (*before, *_figures(found, style, has_day=day is not None), *after)
    return DateParts(style, pieces, year=anchor[0], month=anchor[1], day=anchor[2])


def _anchor(style: DateStyle, year: int | None, month: int, day: int | None) -> tuple[int, int, int]:
    """Return the (year, month, day) that a date stands for. Defaults: middle of the month, main year of the note."""
    if day is None:
        return year or style.year, month, 15
    if year is None:
        # 29 February: use the last leap year up to the note's year, because the writer meant a day that exists.
        return style.year - (style.year % 4 if (month, day) == (2, 29) else 0), month, day
    return year, month, day


def _figures(found: re.Match[str], style: DateStyle, *, has_day: bool) -> tuple[Piece, ...]:
    """Return the figures and separators of a match of ``NUMERIC`` as pieces."""
    if found["y1"]:
        mark = Piece(found["s1"])
        month, day = Piece(found["m1"], Role.MONTH, is_padded=True), Piece(found["d1"], Role.DAY, is_padded=True)
        return Piece(found["y1"], Role.YEAR), mark, month, mark, day
    if found["y3"]:
        is_padded = style.padded or (len(found["y3"]) == 4 and found["s3"] != "/")
        month = Piece(found["m3"], Role.MONTH, is_padded=is_padded)
        return month, Piece(found["s3"]), Piece(found["q3"]), Piece(found["y3"], Role.YEAR)
    if found["y4"]:
        month = Piece(found["m4"], Role.MONTH, is_padded=True)
        return Piece(found["y4"], Role.YEAR), Piece(found["s4"]), month
    first, second, sep = (
        (found["a2"], found["b2"], found["s2"]) if found["a2"] else (found["a5"], found["b5"], found["s5"])
    )
    mark = Piece(sep)
    if not has_day:
        return Piece(first, Role.MONTH, is_padded=style.padded), mark, Piece(second, Role.YEAR)
    texts = (first, second)
    padded = "0" in (first[0], second[0]) or (min(map(len, texts)) == 2 and (style.padded or sep.strip() in ("-", ".")))
    roles = (Role.DAY, Role.MONTH) if is_day_first(int(first), int(second), style) else (Role.MONTH, Role.DAY)
    pair = [Piece(text, role, is_padded=padded) for text, role in zip(texts, roles, strict=True)]
    year = (mark, Piece(found["q2"]), Piece(found["y2"], Role.YEAR)) if found["y2"] else ()
    return pair[0], mark, pair[1], *year


# --- holidays -------------------------------------------------------------------------------------------------------


def _read_holiday(value: str, style: DateStyle, hint: Hint) -> DateParts | None:
    """Return a holiday as its day, with the year or the date beside it; None when there is no holiday.

    ``4th of July 2019``, ``July fourth, 2019`` and ``Tuesday the 4th of July`` are read as ordinary dates, not here.
    """
    found = find_holiday(value) if any(map(str.isalpha, value)) else None
    if found is None:
        return None
    named, before, after = value[found.start : found.end], value[: found.start], value[found.end :]
    lower = named.lower()
    if any(map(str.isdecimal, named)) or "july" in lower:
        return None
    if lower.endswith("the fourth") and (value.islower() or re.match(r"\W*of\b", after)):
        return None  # "the fourth" of March; only "the Fourth" alone is that of July
    other = find_holiday(value, found.end)
    if other is not None:
        joint = _JOINT.search(value, found.end, other.start)
        return _read_both(value[: joint.start()], joint[0], value[joint.end() :], style, hint) if joint else None
    beside = day_named(f"{before} {after}", style)
    if beside is not None:
        if RANGE.search(value):
            return None
        # A second date beside the first would reveal a holiday, so the holiday becomes a weekday.
        weekday = Piece(named, Role.HOLIDAY_WEEKDAY, weekday=beside.weekday(), writing=ENGLISH)
        first, last = (
            _read(side, style, hint) if any(map(str.isalnum, side)) else Piece(side) for side in (before, after)
        )
        return None if first is None or last is None else DateParts(style, (first, weekday, last))
    if spoken_runs([token.lower() for token in TOKEN.findall(f"{before} {after}")]):
        return _read_holiday_of_spoken_year(value, found, style)
    return _read_holiday_of_year(found, before, named, after, style, hint)


def _read_holiday_of_year(
    found: FoundHoliday, before: str, named: str, after: str, style: DateStyle, hint: Hint
) -> DateParts | None:
    """Return a holiday with the year beside it, or without one the year from ``hint`` or the note."""
    year = ""
    stated = _YEAR_BEHIND.match(after)
    if stated:
        year, after = stated["year"], after[stated.end() :]
    elif stated := _YEAR_BEFORE.search(before):
        year, before = stated["year"], before[: stated.start()]
    digits = year.lstrip("'’")
    if not digits:
        number = unstated_year(found, style, hint)
    else:
        number = int(digits) if len(digits) == 4 else full_year(int(digits), style.year)
    day = found.on(number)
    holiday = Piece(named, Role.HOLIDAY if found.holiday.is_day else Role.FEAST, year=year)
    start, end = _beside_holiday(before), _beside_holiday(after)
    if start is not None and end is not None:
        pieces = (*start, holiday, *end)
    elif NUMERIC.search(f"{before} {after}"):
        return None
    else:  # The day in "2nd night of Chanukah" is not a day of a month, so it is dropped with the name.
        pieces = (holiday,)
    return DateParts(style, pieces, year=day.year, month=day.month, day=day.day)


def _beside_holiday(text: str) -> tuple[Piece, ...] | None:
    """Return the words beside a holiday as pieces; None if there is a digit among them."""
    if any(map(str.isdecimal, text)):
        return None
    return tuple(weekday_piece(token) if token.lower() in WEEKDAY_OF else Piece(token) for token in TOKEN.findall(text))


def _read_holiday_of_spoken_year(value: str, found: FoundHoliday, style: DateStyle) -> DateParts | None:
    """Return the holiday ``found`` with a year in number words behind it; None for other number words."""
    tokens = TOKEN.findall(value[found.end :])
    lowered = [token.lower() for token in tokens]
    runs = spoken_runs(lowered)
    if len(runs) != 1 or spoken_runs([token.lower() for token in TOKEN.findall(value[: found.start])]):
        return None
    first, last = runs[0]
    words = [word for word in lowered[first:last] if word.isalpha() and word != "and"]
    year = spoken_year(words, style)
    if year is None:
        return None
    day = found.on(year)
    before, rest = _beside_holiday(value[: found.start]), _pieces_around("".join(tokens[last:]))
    if before is None or rest is None:
        return None
    role = Role.SAID_HOLIDAY if found.holiday.is_day else Role.SAID_FEAST
    said = Said(month=False, day="", year=tuple(words), joint=joint_of(lowered[first:last]))
    pieces = (
        *before,
        Piece(value[found.start : found.end], role),
        *map(Piece, tokens[:first]),
        Piece("".join(tokens[first:last]), Role.SAID, said=said),
        *rest,
    )
    return DateParts(style, pieces, year=day.year, month=day.month, day=day.day)


# --- dates in words -------------------------------------------------------------------------------------------------


def _months_among(value: str, lowered: Sequence[str]) -> list[int]:
    """Return the indices of the month tokens. ``mar`` before a Spanish month is a Tuesday (martes 9 ene).

    A month counts as Spanish by its name. A month that is the same in English (Jun) counts as Spanish when the day
    stands before it.
    """
    months = [i for i, word in enumerate(lowered) if word in MONTH_OF]
    if len(months) < 2 or lowered[months[0]] != "mar" or value[:3].lower() != "mar":
        return months
    second = months[1]
    is_spanish = not MONTH_OF[lowered[second]][0].startswith(ENGLISH) or (
        any(re.fullmatch(r"\d{1,2}", word) for word in lowered[:second])
        and not any(re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)?", word) for word in lowered[second + 1 :])
    )
    return months[1:] if is_spanish else months


def _read_worded(value: str, style: DateStyle, hint: Hint) -> DateParts | None:
    """Return a date written with words, or a lone number; None if there are other words."""
    tokens = TOKEN.findall(value)
    lowered = [token.lower() for token in tokens]
    months = _months_among(value, lowered)
    weekdays = [i for i, word in enumerate(lowered) if word in WEEKDAY_OF and i not in months]
    spoken = read_spoken(tokens, lowered, months, weekdays, style)
    if spoken is not None:
        return DateParts(style, spoken.pieces, year=spoken.year, month=spoken.month, day=spoken.day)
    year_at, day_at, others = roles_of(tokens, lowered, bool(months))
    if others:
        return None
    year = None
    if year_at is not None:
        digits = tokens[year_at].lstrip("'’")
        year = int(digits) if len(digits) == 4 else full_year(int(digits), style.year)
    decade = next(
        (i for i, word in enumerate(lowered) if re.fullmatch(r"['’]?(?:\d{4}|\d0)s", word) or word in DECADE_WORDS),
        None,
    )
    season = next((i for i, word in enumerate(lowered) if word in _SEASON_MONTH), None)
    day_words = next((i for i, word in enumerate(lowered) if word in ORDINAL_WORDS), None)
    out: list[Piece | DateParts] = [Piece(token) for token in tokens]
    for index in weekdays:
        out[index] = weekday_piece(tokens[index])
    anchor: tuple[int, int, int] | None = None
    if months:
        day = int(re.sub(r"\D", "", tokens[day_at])) if day_at is not None else None
        for index in months:
            anchor = _anchor(style, year, MONTH_OF[lowered[index]][1] + 1, day)
            month = Piece(tokens[index], Role.MONTH_WORD, writing=month_writing(tokens[index], tokens, style))
            # Each of several months is shifted separately; day and year belong to the last.
            out[index] = (
                month
                if index == months[-1]
                else DateParts(style, (month,), year=anchor[0], month=anchor[1], day=anchor[2])
            )
        if day_at is not None:
            out[day_at] = Piece(tokens[day_at], Role.DAY, is_padded=style.padded_days)
    elif season is not None:
        anchor = year or style.year, _SEASON_MONTH[lowered[season]], 15
        out[season] = Piece(tokens[season], Role.SEASON)
    elif decade is not None:
        anchor = _first_of_decade(tokens[decade], style) + 5, 1, 1
        out[decade] = Piece(tokens[decade], Role.DECADE)
    elif day_at is not None or day_words is not None:
        place = day_at if day_at is not None else day_words
        assert place is not None
        day = int(re.sub(r"\D", "", tokens[place])) if day_at is not None else ORDINAL_WORDS[lowered[place]]
        if day_at is None and place > 1 and lowered[place - 2] in ("twenty", "thirty"):
            day += NUMBER_WORDS[lowered[place - 2]]
            out[place - 2] = out[place - 1] = Piece("")
        anchor = _nearby_day(day, year, hint or (style.year, 6))
        role = Role.DAY if day_at is not None else Role.DAY_WORD
        out[place] = Piece(tokens[place], role, is_padded=style.padded_days)
    elif year is not None:
        anchor = year, 7, 2
    elif not weekdays:
        return None
    is_year_moved = year_at is not None and anchor is not None and (months or season is not None or decade is None)
    accounted = {year_at, day_at, season, decade, day_words, *months, *weekdays}
    pieces: list[Piece | DateParts] = []
    for index, (token, word) in enumerate(zip(tokens, lowered, strict=True)):
        if index == year_at:
            pieces += _year_pieces(token) if is_year_moved else (Piece(token),)
        elif index in accounted or not token.isalnum() or out[index] == Piece(""):
            pieces.append(out[index])
        elif word in LETTER_DAY and token[0].isupper():
            pieces.append(letter_piece(token))
        elif word in PLAIN_WORDS or (word in NUMBER_WORDS and counts_time(lowered[index + 1 :])):
            pieces.append(Piece(token))
        else:
            return None
    if anchor is None:
        return DateParts(style, tuple(pieces))
    return DateParts(style, tuple(pieces), year=anchor[0], month=anchor[1], day=anchor[2])


def _first_of_decade(token: str, style: DateStyle) -> int:
    """Return the first year of ``1980s``, ``the '60s`` or ``fifties``."""
    lower = token.lower()
    if lower in DECADE_WORDS:
        return full_year(DECADE_WORDS[lower], style.year)
    digits = lower.strip("'’s")
    return int(digits) if len(digits) == 4 else full_year(int(digits), style.year)


def _nearby_day(day: int, year: int | None, hint: tuple[int, int]) -> tuple[int, int, int]:
    """Return a day without a month as a date in the month of ``hint``, or in the next month that has such a day."""
    anchor_year, month = year or hint[0], hint[1]
    if day <= 31:
        while day > monthrange(anchor_year, month)[1]:
            month = month % 12 + 1
    return anchor_year, month, day
