"""Dates moved by the patient's offset, written the way they were.

A date span is cut into tokens; each token that is a day, month, year, weekday, holiday or season is replaced in its own
form (padding, case, abbreviation, separator, language) and all else stays. Dates that are known to the day move,
holidays with them, by exactly the offset, so intervals between them hold. What is coarser (``March 2019``, ``2019``,
``the 80s``) moves from the middle of its stretch, and keeps its name where the offset does not carry it over the edge.
Weekdays alone move by the offset modulo seven, which agrees with the dates. Dates that do not exist stay impossible in
the same way.
"""

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

from deid_runtime.dates.calendar_words import (
    DECADE_WORDS,
    MONTH_OF,
    NUMBER_WORDS,
    ORDINAL_WORDS,
    PLAIN_WORDS,
    SEASONS,
    WEEKDAY_OF,
    ordinal,
    ordinal_ending,
)
from deid_runtime.dates.holidays import (
    FoundHoliday,
    find_holiday,
    spoken_day,
    unstated_year,
    weekday_name,
    written_day,
)
from deid_runtime.dates.parts import (
    LONGEST_DATE_CHARS,
    NUMERIC,
    TOKEN,
    DateStyle,
    day_like,
    day_named,
    full_year,
    is_day_first,
    month_like,
    numbers_of,
    padded_like,
    roles_of,
    shift_day,
    shift_partial,
    year_like,
)
from deid_runtime.dates.spoken import (
    counts_time,
    joint_of,
    move_spoken,
    spoken_runs,
    spoken_year,
    year_words,
)
from deid_runtime.dates.terse import (
    COMPACT,
    QUARTER,
    WEEK,
    YEARS,
    move_compact,
    move_decade,
    move_quarter,
    move_years,
    years_of,
)
from deid_runtime.dates.weekdays import LETTER_DAY, SCHEDULE, move_letter_weekday, move_schedule, move_weekday
from deid_runtime.lexicon.letter_case import case_like

_DAMAGED: Final = re.compile(r"[0-9OolI]*[0-9][0-9OolI]*|(?<![^\W_])[OolI]{1,2}(?=[/.-]\d)")
_CALENDAR_WORD: Final = re.compile(
    r"(?<![^\W\d_])("
    + "|".join(sorted((word for word in {**MONTH_OF, **WEEKDAY_OF} if len(word) > 2), key=len, reverse=True))
    + r")(?![^\W\d_])",
    re.I,
)
_FIGURES: Final = re.compile(r"\d+")
_LONE_L: Final = re.compile(r"(?<=[a-z] )l$")
_REPAIR: Final = str.maketrans("OolI", "0011")
TIME: Final = re.compile(
    r"(?:(?<=\d)T(?=\d\d:)|(?<![\d/.-]))\d{1,2}:\d{2}(?::\d{2})?(?!:?\d)(?:\.\d+)?(?:\s*[ap]\.?m\b\.?|Z|[+-]\d{2}:?\d{2})?",
    re.I,
)
#: A time of four figures or of an hour alone behind a date, and the zone or unit behind any time.
_TIME_BEHIND: Final = re.compile(
    r"(?:(?:\s*@\s*|,?\s+(?:at\s+)?)(?:(?:[01]\d|2[0-3])[0-5]\d(?:\s*(?:hrs?|hours|h))?|(?:1[0-2]|0?[1-9])\s?[ap]\.?m\b\.?)"
    r"|(?:[T@]|\s*@\s*|,?\s+(?:at\s+)?)\d{1,2}:\d{2}(?::\d{2})?(?:\s*[ap]\.?m\b\.?)?\s?(?:[ECMPA][SD]?T|UTC|GMT|BST|hrs?|h))$",
    re.I,
)
_STAMP: Final = re.compile(r"((?:19|20)\d{6})((?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)")  # as HL7 writes it
_INTERVAL: Final = re.compile(r"(\d{4}-\d{2}-\d{2})/(\d{4}-\d{2}-\d{2})")
_COLONS: Final = re.compile(r"\d{1,2}:\d{1,2}:(?:\d{4}|\d{2})")
_DASHED: Final = re.compile(r"(\d{1,4})([\u2010-\u2014\\_])(\d{1,2})\2(\d{1,4})")
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_DAYS: Final = rf"(?P<first>{_DAY})(?P<joint>\s?[-\u2010-\u2014&]\s?|\s(?:to|and|through|thru)\s)(?P<second>{_DAY})"
_DAYS_BEHIND_MONTH: Final = re.compile(rf"(?P<month>[^\W\d_]{{3,10}}\.?) {_DAYS}(?P<year>,? \d{{4}})?", re.I)
_DAYS_OF_MONTH: Final = re.compile(rf"{_DAYS} (?P<month>[^\W\d_]{{3,10}}\.?)(?P<year>,? \d{{4}})?", re.I)
RANGE: Final = re.compile(
    r"\s*,\s+(?=\d{1,4}[/.-]\d)|"
    r"\s+(?:and|to|through|thru|until)\s+|\s*[-–—]\s*(?=[\w'’]+[/.]|\d{1,2}$)|\s+[-–—]\s+|\s*[&+]\s*"
)
_NTH: Final = re.compile(
    r"\b(?:(?P<word>first|second|third|fourth|fifth)|(?P<number>[1-5])(?:st|nd|rd|th))(?=\s+(?:full\s+)?"
    r"(?:weeks?|wks?|weekend|wknd|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b)",
    re.I,
)
_FULL_YEAR: Final = re.compile(r"(?<!\d)\d{4}(?!\d)")
_YEAR_BEHIND: Final = re.compile(r"(?:,?\s*of|,)?\s*(?P<year>['’]?(?:\d{4}|\d{2}))(?!\w)", re.I)
_YEAR_BEFORE: Final = re.compile(r"(?<!\w)(?P<year>\d{4})\s+$")
#: What joins two dates, the first of which is a holiday.
_JOINT: Final = re.compile(
    r"\s*(?:[-\u2010-\u2014/&+,]|\b(?:and|or|to|until|till|through|thru)\b)\s*(?:the\s+)?$", re.I
)
_SEASON_MONTH: Final = {"winter": 1, "spring": 4, "summer": 7, "fall": 10, "autumn": 10}


def replace_date(value: str, offset: int, style: DateStyle, hint: tuple[int, int] | None = None) -> str | None:
    """Return ``value`` moved by ``offset`` days in its own format, or None when it is no date we can read.

    ``hint`` is the (year, month) of the nearest date before it in the note, for ``the 29th``.
    """
    if len(value) > LONGEST_DATE_CHARS:
        return None
    try:
        moved = _replace(value, offset, style, hint)
    except (ValueError, OverflowError, KeyError):  # a year outside the calendar; a word with a dotless i
        return None
    return moved if moved is not None else _replace_range(value, offset, style, hint)


def _replace_range(value: str, offset: int, style: DateStyle, hint: tuple[int, int] | None) -> str | None:
    """Return two dates in one span, each moved; the second takes its month from the first where it has none."""
    joint = RANGE.search(value)
    if not joint:
        return None
    return _replace_both(value[: joint.start()], joint[0], value[joint.end() :], offset, style, hint)


def _replace_both(
    first: str, joint: str, second: str, offset: int, style: DateStyle, hint: tuple[int, int] | None
) -> str | None:
    """Return two dates, each moved; one that lacks its month or the year of its holiday takes them from the other."""
    in_first, in_second = month_of(first, style), month_of(second, style)
    moved = (
        replace_date(first, offset, style, in_second if find_holiday(first) and _FULL_YEAR.search(second) else hint),
        replace_date(second, offset, style, in_first or hint),
    )
    return None if moved[0] is None or moved[1] is None else moved[0] + joint + moved[1]


def month_of(value: str, style: DateStyle) -> tuple[int, int] | None:
    """Return the (year, month) that a date names, for what follows it, or None."""
    found = NUMERIC.search(value[:LONGEST_DATE_CHARS])
    if found:
        year, month, _ = numbers_of(found, style)
        return (year or style.year, month) if month and 1 <= month <= 12 else None
    for word in re.findall(r"[^\W\d_]+", value[:LONGEST_DATE_CHARS]):
        if word.lower() in MONTH_OF:
            four = _FULL_YEAR.search(value)
            return int(four[0]) if four else style.year, MONTH_OF[word.lower()][1] + 1
    holiday = find_holiday(value[:LONGEST_DATE_CHARS])
    if holiday:
        four = _FULL_YEAR.search(value)
        year = int(four[0]) if four else style.year
        return year, holiday.on(year).month
    return None


def repair_digits(value: str) -> str:
    """Return ``value`` with letters that a scanner read for digits (``1O/l3/1994``) put right."""
    pieces = _CALENDAR_WORD.split(value)
    pieces[::2] = [_DAMAGED.sub(lambda m: m[0].translate(_REPAIR), piece) for piece in pieces[::2]]
    return _LONE_L.sub("1", "".join(pieces))


def _replace(value: str, offset: int, style: DateStyle, hint: tuple[int, int] | None) -> str | None:
    stripped = value.strip()
    rewritten = _in_usual_form(stripped, offset, style, hint)
    if rewritten is not None:
        return value.replace(stripped, rewritten)
    if SCHEDULE.fullmatch(stripped) and stripped.lower() not in MONTH_OF and stripped.lower() not in WEEKDAY_OF:
        return value.replace(stripped, move_schedule(stripped, offset))
    if COMPACT.fullmatch(stripped):
        return value.replace(stripped, move_compact(stripped, offset, style))
    week = WEEK.fullmatch(stripped)
    if week:
        moved = date.fromisocalendar(int(week[1]), int(week[3]), 4) + timedelta(days=offset)
        return value.replace(stripped, f"{moved.isocalendar().year:04}{week[2]}{moved.isocalendar().week:02}")
    quarter = QUARTER.fullmatch(stripped)
    if quarter:
        return value.replace(stripped, move_quarter(quarter, offset, style))
    years = YEARS.fullmatch(stripped)
    if years and (both := years_of(years, style)):
        return value.replace(stripped, move_years(both, years, offset))
    nth = _NTH.search(value)
    if nth:
        return _nth_week(nth, value, offset, style, hint)
    repaired = repair_digits(value)
    if repaired != value and not re.search(r"\d(?:st|nd|rd|th)\b", repaired[: len(value)], re.I):
        moved_text = _replace(repaired, offset, style, hint)
        return moved_text if moved_text is None else _damaged_like(moved_text, value)
    time = TIME.search(value)
    if time:
        beside = []
        for part in (value[: time.start()], value[time.end() :]):
            beside.append(_replace(part, offset, style, hint) if any(map(str.isalnum, part)) else part)
        return None if None in beside else f"{beside[0]}{time[0]}{beside[1]}"
    holiday = _with_holiday(value, offset, style, hint)
    if holiday is not None:
        return holiday
    numeric = NUMERIC.search(value)
    if numeric and not any(
        w.lower().rstrip(".") in MONTH_OF and w.lower() != "mar" for w in re.findall(r"[^\W\d_]{3,}", value)
    ):
        middle = _numeric(numeric, offset, style)
        before = _around(value[: numeric.start()], offset)
        after = _around(value[numeric.end() :], offset)
        return None if before is None or after is None else before + middle + after
    return _worded(value, offset, style, hint)


def _in_usual_form(value: str, offset: int, style: DateStyle, hint: tuple[int, int] | None) -> str | None:
    """Move a date in one of the rarer forms by way of the usual one, or return None."""
    found = _STAMP.fullmatch(value)
    if found:
        return move_compact(found[1], offset, style) + found[2]
    if _COLONS.fullmatch(value):
        moved = _replace(value.replace(":", "/"), offset, style, hint)
        return None if moved is None else moved.replace("/", ":")
    found = _DASHED.fullmatch(value)
    if found:
        moved = _replace(f"{found[1]}-{found[3]}-{found[4]}", offset, style, hint)
        return None if moved is None else moved.replace("-", found[2])
    found = _INTERVAL.fullmatch(value)
    if found:
        both = [_replace(text, offset, style, hint) for text in found.groups()]
        return None if None in both else f"{both[0]}/{both[1]}"
    found = _TIME_BEHIND.search(value)
    if found and _may_have_time(value[: found.start()], found[0]):
        moved = _replace(value[: found.start()], offset, style, hint)
        return None if moved is None else moved + found[0]
    for form, day_first in ((_DAYS_OF_MONTH, True), (_DAYS_BEHIND_MONTH, False)):
        found = form.fullmatch(value)
        if found:
            return _days_of_month(found, offset, style, hint, day_first=day_first)
    return None


def _may_have_time(before: str, time: str) -> bool:
    """Say whether ``time`` is one of day behind the date ``before``, and no year: ``10/5 2019`` has no time."""
    day = NUMERIC.fullmatch(before.strip())
    if day is None:
        return False
    return bool(day["y1"] or day["y2"] or day["y3"] or day["y4"]) or not re.fullmatch(r"\s*(?:19|20)\d\d", time)


def _days_of_month(
    found: re.Match[str], offset: int, style: DateStyle, hint: tuple[int, int] | None, *, day_first: bool
) -> str | None:
    """Move ``Sep 5-7, 2019`` and ``5-7 September 2019``, with both months where they become two."""
    month, year = found["month"], found["year"] or ""

    def moved(day: str) -> tuple[str, str] | None:
        text = _replace(f"{day} {month}{year}" if day_first else f"{month} {day}{year}", offset, style, hint)
        return None if text is None else (text.removesuffix(year_of(text)), year_of(text))

    def year_of(text: str) -> str:
        return text[len(text) - len(year) :] if year else ""

    first, second = moved(found["first"]), moved(found["second"])
    if first is None or second is None:
        return None
    (one, _), (other, new_year) = first, second
    at = one.rfind(" ") if not day_first else one.find(" ")
    other_at = other.rfind(" ") if not day_first else other.find(" ")
    if day_first:
        same = one[at:] == other[other_at:]
        return f"{one[:at] if same else one}{found['joint']}{other}{new_year}"
    same = one[:at] == other[:other_at]
    return f"{one}{found['joint']}{other[other_at + 1 :] if same else other}{new_year}"


def _damaged_like(made: str, value: str) -> str:
    """Return ``made`` with the letter O for its zeros where ``value`` has it; in every number if it has no zero."""
    if "O" not in value:
        return made
    numbers, new = _DAMAGED.findall(value), list(_FIGURES.finditer(made))
    if "0" not in value or len(numbers) != len(new):
        return made.replace("0", "O")
    out, place = [], 0
    for number, found in zip(numbers, new, strict=True):
        out += [made[place : found.start()], found[0].replace("0", "O") if "O" in number else found[0]]
        place = found.end()
    return "".join((*out, made[place:]))


def _numeric(found: re.Match[str], offset: int, style: DateStyle) -> str:
    year, month, day = numbers_of(found, style)
    if month is None:
        raise ValueError
    if day is None:
        new_year, new_month, _ = shift_day(year or style.year, month, 15, offset)
    elif year is None:
        new_year, new_month, new_day = shift_partial(style, month, day, offset)
    else:
        new_year, new_month, new_day = shift_day(year, month, day, offset)
    if found["y1"]:
        sep = found["s1"]
        month_text, day_text = padded_like(new_month, found["m1"], True), padded_like(new_day, found["d1"], True)
        return f"{new_year:04}{sep}{month_text}{sep}{day_text}"
    if found["y3"]:
        month_text = padded_like(new_month, found["m3"], style.padded or (len(found["y3"]) == 4 and found["s3"] != "/"))
        return f"{month_text}{found['s3']}{found['q3']}{year_like(new_year, found['y3'])}"
    if found["y4"]:
        return f"{new_year:04}{found['s4']}{padded_like(new_month, found['m4'], True)}"
    first, second, sep = (
        (found["a2"], found["b2"], found["s2"]) if found["a2"] else (found["a5"], found["b5"], found["s5"])
    )
    if day is None:
        return f"{padded_like(new_month, first, style.padded)}{sep}{new_year % 100:02}"
    texts = (first, second)
    padded = "0" in (first[0], second[0]) or (min(map(len, texts)) == 2 and (style.padded or sep.strip() in ("-", ".")))
    pair = (new_day, new_month) if is_day_first(int(first), int(second), style) else (new_month, new_day)
    made = f"{padded_like(pair[0], first, padded)}{sep}{padded_like(pair[1], second, padded)}"
    if found["y2"]:
        made += f"{sep}{found['q2']}{year_like(new_year, found['y2'])}"
    return made


def _around(text: str, offset: int) -> str | None:
    """Return what stands beside a date, its weekdays moved; None where more than plain words is there."""
    if not any(char.isalnum() for char in text):
        return text
    out = []
    for token in TOKEN.findall(text):
        lower = token.lower()
        if lower in WEEKDAY_OF:
            out.append(move_weekday(token, offset))
        elif lower in LETTER_DAY:
            out.append(move_letter_weekday(token, offset))
        elif any(map(str.isalnum, token)) and lower not in PLAIN_WORDS:
            return None
        else:
            out.append(token)
    return "".join(out)


def _nth_week(
    found: re.Match[str], value: str, offset: int, style: DateStyle, hint: tuple[int, int] | None
) -> str | None:
    """Move ``the second Sunday of January`` or ``1st week of May`` from the middle of that week of the month."""
    number = int(found["number"] or ORDINAL_WORDS[found[0].lower()])
    moved = _replace(f"{value[: found.start()]}{7 * number - 3}{value[found.end() :]}", offset, style, hint)
    day = re.search(r"\d{1,2}", moved) if moved else None
    if moved is None or day is None:
        return None
    place = min((int(day[0]) - 1) // 7 + 1, 4)
    word = f"{place}{ordinal_ending(place)}" if found["number"] else ordinal(place)
    return moved[: day.start()] + case_like(word.title() if found[0].istitle() else word, found[0]) + moved[day.end() :]


def _with_holiday(value: str, offset: int, style: DateStyle, hint: tuple[int, int] | None) -> str | None:
    """Move a holiday as the day it falls on, with the year or the date beside it; None when there is none.

    ``4th of July 2019``, ``July fourth, 2019`` and ``Tuesday the 4th of July`` are dates already.
    """
    found = find_holiday(value) if any(map(str.isalpha, value)) else None
    if found is None:
        return None
    named, before, after = value[found.start : found.end], value[: found.start], value[found.end :]
    lower = named.lower()
    if any(map(str.isdecimal, named)) or "july" in lower:
        return None
    if lower.endswith("the fourth") and (value.islower() or re.match(r"\W*of\b", after)):
        return None  # the fourth of March; the Fourth alone is that of July
    other = find_holiday(value, found.end)
    if other is not None:
        joint = _JOINT.search(value, found.end, other.start)
        return (
            _replace_both(value[: joint.start()], joint[0], value[joint.end() :], offset, style, hint)
            if joint
            else None
        )
    beside = day_named(f"{before} {after}", style)
    if beside is not None:
        if RANGE.search(value):
            return None
        sides = [
            _replace(side, offset, style, hint) if any(map(str.isalnum, side)) else side for side in (before, after)
        ]
        weekday = weekday_name(beside + timedelta(days=offset), named)
        return None if sides[0] is None or sides[1] is None else f"{sides[0]}{weekday}{sides[1]}"
    lowered = [token.lower() for token in TOKEN.findall(f"{before} {after}")]
    if spoken_runs(lowered):
        return _with_spoken_year(value, found, offset, style)
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
    moved = found.on(number) + timedelta(days=offset)
    new_year = year.removesuffix(digits) + year_like(moved.year, digits) if digits else ""
    written = written_day(moved, named, style, new_year, is_day=found.holiday.is_day)
    start, end = _beside_holiday(before, offset), _beside_holiday(after, offset)
    if start is not None and end is not None:
        return f"{start}{written}{end}"
    # A day of the feast, as in "2nd night of Chanukah", is no day of a month: it goes with the name.
    return None if NUMERIC.search(f"{before} {after}") else written


def _beside_holiday(text: str, offset: int) -> str | None:
    """Return the words beside a holiday, weekdays among them moved; None where a number is among them."""
    if any(map(str.isdecimal, text)):
        return None
    tokens = TOKEN.findall(text)
    return "".join(move_weekday(token, offset) if token.lower() in WEEKDAY_OF else token for token in tokens)


def _with_spoken_year(value: str, found: FoundHoliday, offset: int, style: DateStyle) -> str | None:
    """Move the holiday ``found`` and the year in number words behind it; None for other number words."""
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
    moved = found.on(year) + timedelta(days=offset)
    day = spoken_day(moved, value[found.start : found.end], is_day=found.holiday.is_day)
    said = year_words(moved.year, words, joint_of(lowered[first:last]))
    said = case_like(said.capitalize() if tokens[first][0].isupper() else said, "".join(tokens[first:last]))
    before, rest = _beside_holiday(value[: found.start], offset), _around("".join(tokens[last:]), offset)
    return None if before is None or rest is None else f"{before}{day}{''.join(tokens[:first])}{said}{rest}"


def _is_spanish(lowered: Sequence[str], month: int) -> bool:
    """Say whether a month is named in Spanish, or as in English (Jun) and has its day before it."""
    if MONTH_OF[lowered[month]][0] >= 3:
        return True
    has_day = any(re.fullmatch(r"\d{1,2}", word) for word in lowered[:month])
    return has_day and not any(re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)?", word) for word in lowered[month + 1 :])


def _worded(value: str, offset: int, style: DateStyle, hint: tuple[int, int] | None) -> str | None:
    """Move a date with words in it, or a number alone."""
    tokens = TOKEN.findall(value)
    lowered = [token.lower() for token in tokens]
    months = [i for i, word in enumerate(lowered) if word in MONTH_OF]
    if (
        len(months) > 1
        and lowered[months[0]] == "mar"
        and value[:3].lower() == "mar"
        and _is_spanish(lowered, months[1])
    ):
        months = months[1:]  # martes 9 ene
    weekdays = [i for i, word in enumerate(lowered) if word in WEEKDAY_OF and i not in months]
    spoken = move_spoken(tokens, lowered, months, offset, style)
    if spoken is not None:
        for index in weekdays:
            spoken[index] = move_weekday(tokens[index], offset)
        return "".join(spoken)
    year_at, day_at, others = roles_of(tokens, lowered, bool(months))
    year = None
    if year_at is not None:
        digits = tokens[year_at].lstrip("'’")
        year = int(digits) if len(digits) == 4 else full_year(int(digits), style.year)
    out = list(tokens)
    known = bool(weekdays)
    for index in weekdays:
        out[index] = move_weekday(tokens[index], offset)
    decade = next(
        (i for i, word in enumerate(lowered) if re.fullmatch(r"['’]?(?:\d{4}|\d0)s", word) or word in DECADE_WORDS),
        None,
    )
    season = next((i for i, word in enumerate(lowered) if word in _SEASON_MONTH), None)
    day_words = next((i for i, word in enumerate(lowered) if word in ORDINAL_WORDS), None)
    new_year: int | None = None
    if months:
        day = int(re.sub(r"\D", "", tokens[day_at])) if day_at is not None else 0
        for index in months:
            month = MONTH_OF[lowered[index]][1] + 1
            if day_at is None:
                new_year, new_month, _ = shift_day(year or style.year, month, 15, offset)
            elif year is None:
                new_year, new_month, new_day = shift_partial(style, month, day, offset)
            else:
                new_year, new_month, new_day = shift_day(year, month, day, offset)
            out[index] = month_like(new_month, tokens[index], tokens, style)
        if day_at is not None:
            out[day_at] = day_like(new_day, tokens[day_at], style)
        known = True
    elif season is not None:
        moved_to = date(year or style.year, _SEASON_MONTH[lowered[season]], 15) + timedelta(days=offset)
        name = SEASONS[(moved_to.month % 12) // 3]
        name = "autumn" if name == "fall" and lowered[season] == "autumn" else name
        out[season] = case_like(name.title() if tokens[season][0].isupper() else name, tokens[season])
        new_year, known = moved_to.year, True
    elif decade is not None:
        out[decade] = move_decade(tokens[decade], offset, style)
        known = True
    elif day_at is not None or day_words is not None:
        place = day_at if day_at is not None else day_words
        assert place is not None
        day = int(re.sub(r"\D", "", tokens[place])) if day_at is not None else ORDINAL_WORDS[lowered[place]]
        if day_at is None and place > 1 and lowered[place - 2] in ("twenty", "thirty"):
            day += NUMBER_WORDS[lowered[place - 2]]
            out[place - 2] = out[place - 1] = ""
        hint = hint or (style.year, 6)
        anchor_year, anchor_month = (year or hint[0]), hint[1]
        if day <= 31:
            while day > monthrange(anchor_year, anchor_month)[1]:
                anchor_month = anchor_month % 12 + 1
        new_year, _, new_day = shift_day(anchor_year, anchor_month, day, offset)
        if day_at is not None:
            out[place] = day_like(new_day, tokens[place], style)
        else:
            out[place] = case_like(
                ordinal(new_day).capitalize() if tokens[place][0].isupper() else ordinal(new_day), tokens[place]
            )
        known = True
    elif year is not None:
        new_year = (date(year, 7, 2) + timedelta(days=offset)).year
        known = True
    if year_at is not None and new_year is not None:
        mark = tokens[year_at][: len(tokens[year_at]) - len(tokens[year_at].lstrip("'’"))]
        out[year_at] = mark + year_like(new_year, tokens[year_at].lstrip("'’"))
    if not known:
        return None
    accounted = {year_at, day_at, season, decade, day_words, *months, *weekdays}
    for index, (token, word) in enumerate(zip(tokens, lowered, strict=True)):
        if index in accounted or not token.isalnum() or out[index] != token:
            continue
        if word in LETTER_DAY and token[0].isupper():
            out[index] = move_letter_weekday(token, offset)
        elif word not in PLAIN_WORDS and not (word in NUMBER_WORDS and counts_time(lowered[index + 1 :])):
            return None
    return None if others else "".join(out)
