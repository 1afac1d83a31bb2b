"""Dates moved by the patient's offset, written the way they were.

A date span is cut into tokens; each token that is a day, month, year, weekday, holiday or season is replaced in its own
form (padding, case, abbreviation, separator, language) and all else stays. Dates that are known to the day move
by exactly the offset, so intervals between them hold; what is coarser (``March 2019``, ``2019``, ``the 80s``) moves
from
the middle of its stretch, and keeps its name where the offset does not carry it over the edge. Weekdays alone move
by the offset modulo seven, which agrees with the dates. Dates that do not exist stay impossible in the same way.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from deid_runtime.surrogates.calendar_words import (
    DECADE_WORDS,
    HOLIDAY,
    HOLIDAY_OF,
    HOLIDAYS,
    MONTH_OF,
    MONTHS,
    NUMBER_WORDS,
    ORDINAL_WORDS,
    PLAIN_WORDS,
    SEASONS,
    WEEKDAY_LETTERS,
    WEEKDAY_OF,
    WEEKDAYS,
    Holiday,
    cardinal,
    ordinal,
    ordinal_ending,
)
from deid_runtime.surrogates.forms import case_like

_LONGEST_DATE_CHARS: Final = 80
_NEWEST_SHORT_YEAR: Final = 2039  # in a note without any full year, '40 is 1940
_DAMAGED: Final = re.compile(r"[0-9OolI]*[0-9][0-9OolI]*")
_LONE_L: Final = re.compile(r"(?<=[a-z] )l$")
_REPAIR: Final = str.maketrans("OolI", "0011")
_TIME: Final = re.compile(
    r"(?:(?<=\d)T(?=\d\d:)|(?<![\d/.-]))\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:\s*[ap]\.?m\b\.?|Z|[+-]\d{2}:?\d{2})?",
    re.I,
)
_NUMERIC: Final = re.compile(
    r"(?<![\d])(?:"
    r"(?P<y1>\d{4})(?P<s1>[-/. ])(?P<m1>\d{1,2})(?P=s1)(?P<d1>\d{1,2})"
    r"|(?P<a2>\d{1,2})(?P<s2>\s?[-/.]\s?|\s)(?P<b2>\d{1,2})(?P=s2)(?P<q2>['’]?)(?P<y2>\d{4}|\d{2})"
    r"|(?P<m3>\d{1,2})(?P<s3>[-/.])(?P<q3>['’]?)(?P<y3>(?<=['’])\d{2}|\d{4})"
    r"|(?P<y4>\d{4})(?P<s4>[-/.])(?P<m4>\d{1,2})"
    r"|(?P<a5>\d{1,2})(?P<s5>\s?[-/.]\s?|\s)(?P<b5>\d{1,2})"
    r")(?![\d])"
)
_RANGE: Final = re.compile(
    r"\s+(?:and|to|through|thru|until)\s+|\s*[-–—]\s*(?=[\w'’]+[/.]|\d{1,2}$)|\s+[-–—]\s+|\s*[&+]\s*"
)
_WEEK: Final = re.compile(r"(\d{4})(-?W)(\d{2})", re.I)
_COMPACT: Final = re.compile(r"\d{8}|\d{6}")
_TOKEN: Final = re.compile(r"['’]?\d++(?:st|nd|rd|th|s)?(?![^\W\d_])|\d+|[^\W\d_]+(?:['’][^\W\d_]+)*|[\W_]", re.I)
_SCHEDULE: Final = re.compile(
    r"(?:Th|Tu|Su|Sa|Mo|We|Fr|[MTWRFS])(?:[ ]?[/,-]?[ ]?(?:Th|Tu|Su|Sa|Mo|We|Fr|[MTWRFS]))*", re.I
)
_SCHEDULE_PART: Final = re.compile(r"Th|Tu|Su|Sa|Mo|We|Fr|[MTWRFS]", re.I)
_SCHEDULES: Final = {
    "tts": "T Th S",
    "tths": "T Th S",
    "mwf": "M W F",
    "tth": "T Th",
    "mw": "M W",
    "wf": "W F",
    "mth": "M Th",
}
_LETTER_DAY: Final = {
    "m": 0, "mo": 0, "t": 1, "tu": 1, "w": 2, "we": 2, "th": 3, "r": 3, "f": 4, "fr": 4, "s": 5, "sa": 5, "su": 6,
}  # fmt: skip
_SEASON_MONTH: Final = {"winter": 1, "spring": 4, "summer": 7, "fall": 10, "autumn": 10}


@dataclass(frozen=True, slots=True)
class DateStyle:
    """What the dates of one note tell of each other: the year they are mostly in, and how they are written.

    ``year`` is taken for dates without one, ``day_first`` for ``3/4/19``, ``padded`` for ``10/12``, ``short_months``
    for ``May``, ``padded_days`` for ``10 June``.
    """

    year: int
    day_first: bool = False
    padded: bool = False
    short_months: bool = False
    padded_days: bool = False


def read_style(values: Iterable[str], default_year: int) -> DateStyle:
    """Return the style of the dates in ``values``; ``default_year`` where none of them has a year."""
    years: dict[int, int] = {}
    day_first = month_first = padded = bare = short = long = padded_days = 0
    short_years: list[int] = []
    for value in values:
        value = value[:_LONGEST_DATE_CHARS]
        found = _NUMERIC.search(value)
        if found:
            first, second = found["a2"] or found["a5"], found["b2"] or found["b5"]
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
        words = _TOKEN.findall(value)
        month = next((w for w in words if w.lower() in MONTH_OF), "")
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
    if not years:
        for number in short_years:
            full = _full_year(number, _NEWEST_SHORT_YEAR)
            years[full] = years.get(full, 0) + 1
    year = max(years, key=lambda y: (years[y], y)) if years else default_year
    return DateStyle(
        year if 1 < year < 9999 else default_year, day_first > month_first, padded > bare, short > long, padded_days > 0
    )


def _full_year(number: int, reference: int) -> int:
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


def _shift_partial(style: DateStyle, month: int, day: int, offset: int) -> tuple[int, int, int]:
    year = style.year
    if (month, day) == (2, 29):
        year -= year % 4  # the nearest leap year before: the writer had one
    return shift_day(year, month, day, offset)


def _padded(number: int, original: str, padded: bool) -> str:
    if original[0] == "0" and len(original) == 2:
        return f"{number:02}"
    return f"{number:02}" if padded and len(original) == 2 else str(number)


def _year_like(year: int, original: str) -> str:
    return f"{year:04}" if len(original) == 4 else f"{year % 100:02}"


def replace_date(value: str, offset: int, style: DateStyle, hint: tuple[int, int] | None = None) -> str | None:
    """Return ``value`` moved by ``offset`` days in its own format, or None when it is no date we can read.

    ``hint`` is the (year, month) of the nearest date before it in the note, for ``the 29th``.
    """
    if len(value) > _LONGEST_DATE_CHARS:
        return None
    hint = hint or (style.year, 6)
    try:
        moved = _replace(value, offset, style, hint)
    except (ValueError, OverflowError):  # a year outside the calendar
        return None
    return moved if moved is not None else _replace_range(value, offset, style, hint)


def _replace_range(value: str, offset: int, style: DateStyle, hint: tuple[int, int]) -> str | None:
    """Return two dates in one span, each moved; the second takes its month from the first where it has none."""
    joint = _RANGE.search(value)
    if not joint:
        return None
    first = replace_date(value[: joint.start()], offset, style, hint)
    hint = month_of(value[: joint.start()], style) or hint
    second = replace_date(value[joint.end() :], offset, style, hint)
    return None if first is None or second is None else first + joint[0] + second


def month_of(value: str, style: DateStyle) -> tuple[int, int] | None:
    """Return the (year, month) that a date names, for what follows it, or None."""
    found = _NUMERIC.search(value[:_LONGEST_DATE_CHARS])
    if found:
        year, month, _ = _numbers(found, style)
        return (year or style.year, month) if month and 1 <= month <= 12 else None
    for word in re.findall(r"[^\W\d_]+", value[:_LONGEST_DATE_CHARS]):
        if word.lower() in MONTH_OF:
            four = re.search(r"(?<!\d)\d{4}(?!\d)", value)
            return int(four[0]) if four else style.year, MONTH_OF[word.lower()][1] + 1
    return None


def _replace(value: str, offset: int, style: DateStyle, hint: tuple[int, int]) -> str | None:
    stripped = value.strip()
    if _SCHEDULE.fullmatch(stripped) and stripped.lower() not in MONTH_OF and stripped.lower() not in WEEKDAY_OF:
        return value.replace(stripped, _schedule(stripped, offset))
    if _COMPACT.fullmatch(stripped):
        return value.replace(stripped, _compact(stripped, offset, style))
    week = _WEEK.fullmatch(stripped)
    if week:
        moved = date.fromisocalendar(int(week[1]), int(week[3]), 4) + timedelta(days=offset)
        return value.replace(stripped, f"{moved.isocalendar().year:04}{week[2]}{moved.isocalendar().week:02}")
    repaired = _DAMAGED.sub(lambda m: m[0].translate(_REPAIR), value)
    repaired = _LONE_L.sub("1", repaired)
    if repaired != value and not re.search(r"\d(?:st|nd|rd|th)\b", repaired[: len(value)], re.I):
        moved_text = _replace(repaired, offset, style, hint)
        if moved_text is not None and "O" in value:
            return moved_text.replace("0", "O")
        return moved_text
    time = _TIME.search(value)
    if time:
        beside = []
        for part in (value[: time.start()], value[time.end() :]):
            beside.append(_replace(part, offset, style, hint) if any(map(str.isalnum, part)) else part)
        return None if None in beside else f"{beside[0]}{time[0]}{beside[1]}"
    numeric = _NUMERIC.search(value)
    if numeric and not any(
        w.lower().rstrip(".") in MONTH_OF and w.lower() != "mar" for w in re.findall(r"[^\W\d_]{3,}", value)
    ):
        middle = _numeric(numeric, offset, style)
        before = _around(value[: numeric.start()], offset, style)
        after = _around(value[numeric.end() :], offset, style)
        return None if before is None or after is None else before + middle + after
    return _worded(value, offset, style, hint)


def _numbers(found: re.Match[str], style: DateStyle) -> tuple[int | None, int | None, int | None]:
    """Return (year, month, day) of a numeric date; None where it has none."""
    if found["y1"]:
        return int(found["y1"]), int(found["m1"]), int(found["d1"])
    if found["y3"]:
        return (
            (int(found["y3"]) if len(found["y3"]) == 4 else _full_year(int(found["y3"]), style.year)),
            int(found["m3"]),
            None,
        )
    if found["y4"]:
        return int(found["y4"]), int(found["m4"]), None
    first, second = (int(found["a2"]), int(found["b2"])) if found["a2"] else (int(found["a5"]), int(found["b5"]))
    year = None
    if found["y2"]:
        year = int(found["y2"]) if len(found["y2"]) == 4 else _full_year(int(found["y2"]), style.year)
    elif second > 31 and 1 <= first <= 12:
        return _full_year(second, style.year), first, None
    if _is_day_first(first, second, style):
        return year, second, first
    return year, first, second


def _is_day_first(first: int, second: int, style: DateStyle) -> bool:
    if first > 12 >= second:
        return True
    return style.day_first and not second > 12 >= first


def _numeric(found: re.Match[str], offset: int, style: DateStyle) -> str:
    year, month, day = _numbers(found, style)
    if month is None:
        raise ValueError
    if day is None:
        new_year, new_month, _ = shift_day(year or style.year, month, 15, offset)
    elif year is None:
        new_year, new_month, new_day = _shift_partial(style, month, day, offset)
    else:
        new_year, new_month, new_day = shift_day(year, month, day, offset)
    if found["y1"]:
        sep = found["s1"]
        return f"{new_year:04}{sep}{_padded(new_month, found['m1'], True)}{sep}{_padded(new_day, found['d1'], True)}"
    if found["y3"]:
        month_text = _padded(new_month, found["m3"], style.padded or (len(found["y3"]) == 4 and found["s3"] != "/"))
        return f"{month_text}{found['s3']}{found['q3']}{_year_like(new_year, found['y3'])}"
    if found["y4"]:
        return f"{new_year:04}{found['s4']}{_padded(new_month, found['m4'], True)}"
    first, second, sep = (
        (found["a2"], found["b2"], found["s2"]) if found["a2"] else (found["a5"], found["b5"], found["s5"])
    )
    if day is None:
        return f"{_padded(new_month, first, style.padded)}{sep}{new_year % 100:02}"
    texts = (first, second)
    padded = "0" in (first[0], second[0]) or (min(map(len, texts)) == 2 and (style.padded or sep.strip() in ("-", ".")))
    pair = (new_day, new_month) if _is_day_first(int(first), int(second), style) else (new_month, new_day)
    made = f"{_padded(pair[0], first, padded)}{sep}{_padded(pair[1], second, padded)}"
    if found["y2"]:
        made += f"{sep}{found['q2']}{_year_like(new_year, found['y2'])}"
    return made


def _around(text: str, offset: int, style: DateStyle) -> str | None:
    """Return what stands beside a numeric date, its weekdays and holidays moved."""
    if not any(char.isalnum() for char in text):
        return text
    out = []
    for token in _TOKEN.findall(_move_holiday(text, offset, style, None)[0]):
        lower = token.lower()
        if lower in WEEKDAY_OF:
            out.append(_weekday(token, offset))
        elif lower in _LETTER_DAY:
            out.append(_letter_weekday(token, offset))
        elif token.isalnum() and lower not in PLAIN_WORDS and not _is_holiday_word(lower):
            return None
        else:
            out.append(token)
    return "".join(out)


def _is_holiday_word(word: str) -> bool:
    return word in _HOLIDAY_WORDS


_HOLIDAY_WORDS: Final = frozenset(
    word.lower().replace("’", "'")
    for holiday in HOLIDAYS
    for word in re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", holiday.name)
) | frozenset({"st"})


def _weekday(token: str, offset: int) -> str:
    row, place = WEEKDAY_OF[token.lower()]
    return case_like(WEEKDAYS[row][(place + offset) % 7], token)


def _letter_weekday(token: str, offset: int) -> str:
    place = (_LETTER_DAY[token.lower()] + offset) % 7
    row = WEEKDAYS[5] if len(token) == 2 and token.lower() != "th" else WEEKDAY_LETTERS
    word = "R" if token.lower() == "r" and place == 3 else row[place]
    return word.lower() if token.islower() else word.upper() if token.isupper() and len(token) > 1 else word


def _schedule(value: str, offset: int) -> str:
    known = _SCHEDULES.get(value.lower())
    days = known.split() if known else _SCHEDULE_PART.findall(value)
    moved = [_letter_weekday(day, offset) for day in days]
    if "-" not in value or len(days) != 2:  # a list, not a range: in the order of the week
        moved.sort(key=lambda day: _LETTER_DAY[day.lower()])
    if known:
        return "".join(moved)
    new = iter(moved)
    return _SCHEDULE_PART.sub(lambda _: next(new), value)


def _compact(value: str, offset: int, style: DateStyle) -> str:
    """Move ``mmddyyyy``, ``yyyymmdd``, ``ddmmyyyy``, ``mmddyy`` or ``yymmdd``, the first of them that is a date."""
    orders = ("mdY", "Ymd", "dmY") if len(value) == 8 else ("mdy", "dmy", "ymd")
    for order in orders:
        parts: dict[str, int] = {}
        place = 0
        for kind in order:
            size = 4 if kind == "Y" else 2
            parts[kind.lower()] = int(value[place : place + size])
            place += size
        year = parts["y"] if len(value) == 8 else _full_year(parts["y"], style.year)
        if (
            not 1800 <= year <= 2200
            or not 1 <= parts["m"] <= 12
            or not 1 <= parts["d"] <= monthrange(year, parts["m"])[1]
        ):
            continue
        new_year, new_month, new_day = shift_day(year, parts["m"], parts["d"], offset)
        new = {"Y": f"{new_year:04}", "y": f"{new_year % 100:02}", "m": f"{new_month:02}", "d": f"{new_day:02}"}
        return "".join(new[kind] for kind in order)
    raise ValueError


def _move_holiday(text: str, offset: int, style: DateStyle, year: int | None) -> tuple[str, int | None]:
    """Return ``text`` with the first holiday in it replaced by the nearest one to where it moves, and that one's
    year.
    """
    plain, places = _plain(text)
    found = HOLIDAY.search(plain)
    if not found:
        return text, None
    holiday = HOLIDAY_OF[found[0]]
    nearest, new_year = _nearest_holiday(holiday, year or style.year, offset)
    start, end = places[found.start()], places[found.end() - 1] + 1
    if text[:start].lower().endswith("the "):
        start -= 4
    if end < len(text) and text[end] == ".":
        end += 1
    name = nearest.name if end - start <= 4 and text[start:end].isupper() else case_like(nearest.name, text[start:end])
    return text[:start] + name + text[end:], new_year


def _plain(text: str) -> tuple[str, list[int]]:
    """Return ``text`` in lower case without accents, apostrophes and full stops, and where each character came from."""
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char not in "'’.":
            chars.append(_UNACCENTED.get(char.lower(), char.lower())[:1])
            places.append(place)
    return "".join(chars), places


_UNACCENTED: Final = {"á": "a", "é": "e", "í": "i", "ó": "o", "ú": "u", "â": "a", "ë": "e", "è": "e", "ñ": "n"}


def _nearest_holiday(holiday: Holiday, year: int, offset: int) -> tuple[Holiday, int]:
    target = holiday.on(year) + timedelta(days=offset)
    best = min(
        (abs((other.on(y) - target).days), other.name, y)
        for other in HOLIDAYS
        if other.name and other is not holiday
        for y in (target.year - 1, target.year, target.year + 1)
    )
    return next(other for other in HOLIDAYS if other.name == best[1]), best[2]


def _worded(value: str, offset: int, style: DateStyle, hint: tuple[int, int]) -> str | None:
    """Move a date with words in it, or a number alone."""
    tokens = _TOKEN.findall(value)
    lowered = [token.lower() for token in tokens]
    months = [i for i, word in enumerate(lowered) if word in MONTH_OF]
    if len(months) > 1 and lowered[months[0]] == "mar" and value[:3].lower() == "mar":
        months = months[1:]  # martes 9 ene
    weekdays = [i for i, word in enumerate(lowered) if word in WEEKDAY_OF and i not in months]
    spoken = _spoken(tokens, lowered, months, offset, style)
    if spoken is not None:
        for index in weekdays:
            spoken[index] = _weekday(tokens[index], offset)
        return "".join(spoken)
    year_at, day_at, others = _roles(tokens, lowered, bool(months))
    year = None
    if year_at is not None:
        digits = tokens[year_at].lstrip("'’")
        year = int(digits) if len(digits) == 4 else _full_year(int(digits), style.year)
    out = list(tokens)
    known = bool(weekdays)
    for index in weekdays:
        out[index] = _weekday(tokens[index], offset)
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
                new_year, new_month, new_day = _shift_partial(style, month, day, offset)
            else:
                new_year, new_month, new_day = shift_day(year, month, day, offset)
            out[index] = _month_like(new_month, tokens[index], tokens, style)
        if day_at is not None:
            out[day_at] = _day_like(new_day, tokens[day_at], style)
        known = True
    elif HOLIDAY.search(_plain(value)[0]) and (day_words is None or lowered[day_words] == "fourth"):
        moved, new_year = _move_holiday(value, offset, style, year)
        if year_at is not None and new_year is not None:
            digits = tokens[year_at].lstrip("'’")
            moved = moved.replace(digits, _year_like(new_year, digits))
        return moved
    elif season is not None:
        moved_to = date(year or style.year, _SEASON_MONTH[lowered[season]], 15) + timedelta(days=offset)
        name = SEASONS[(moved_to.month % 12) // 3]
        name = "autumn" if name == "fall" and lowered[season] == "autumn" else name
        out[season] = case_like(name.title() if tokens[season][0].isupper() else name, tokens[season])
        new_year, known = moved_to.year, True
    elif decade is not None:
        out[decade] = _decade(tokens[decade], offset, style)
        known = True
    elif day_at is not None or day_words is not None:
        place = day_at if day_at is not None else day_words
        assert place is not None
        day = int(re.sub(r"\D", "", tokens[place])) if day_at is not None else ORDINAL_WORDS[lowered[place]]
        if day_at is None and place > 1 and lowered[place - 2] in ("twenty", "thirty"):
            day += NUMBER_WORDS[lowered[place - 2]]
            out[place - 2] = out[place - 1] = ""
        anchor_year, anchor_month = (year or hint[0]), hint[1]
        if day <= 31:
            while day > monthrange(anchor_year, anchor_month)[1]:
                anchor_month = anchor_month % 12 + 1
        new_year, _, new_day = shift_day(anchor_year, anchor_month, day, offset)
        if day_at is not None:
            out[place] = _day_like(new_day, tokens[place], style)
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
        out[year_at] = mark + _year_like(new_year, tokens[year_at].lstrip("'’"))
    if not known:
        return None
    accounted = {year_at, day_at, season, decade, day_words, *months, *weekdays}
    for index, (token, word) in enumerate(zip(tokens, lowered, strict=True)):
        if index in accounted or not token.isalnum() or out[index] != token:
            continue
        if word in _LETTER_DAY and token[0].isupper():
            out[index] = _letter_weekday(token, offset)
        elif word not in PLAIN_WORDS and word not in NUMBER_WORDS:
            return None
    return None if others else "".join(out)


def _roles(tokens: Sequence[str], lowered: Sequence[str], has_month: bool) -> tuple[int | None, int | None, list[int]]:
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


def _day_like(day: int, original: str, style: DateStyle) -> str:
    ending = original.lstrip("0123456789")
    digits = original[: len(original) - len(ending)]
    text = _padded(day, digits, style.padded_days)
    if ending:
        text += case_like(ordinal_ending(day), ending)
    return text


def _month_like(month: int, original: str, tokens: Sequence[str], style: DateStyle) -> str:
    row, _ = MONTH_OF[original.lower()]
    if original.lower() == "may":
        glued = "".join(tokens)
        row = 1 if style.short_months or re.search(r"\d-?may|may-?\d", glued, re.I) else 0
    elif row == 0 and original.lower() in ("june", "july") and style.short_months:
        row = 2
    return case_like(MONTHS[row][month - 1], original)


def _decade(token: str, offset: int, style: DateStyle) -> str:
    lower = token.lower()
    if lower in DECADE_WORDS:
        start = _full_year(DECADE_WORDS[lower], style.year)
    else:
        digits = lower.strip("'’s")
        start = int(digits) if len(digits) == 4 else _full_year(int(digits), style.year)
    moved = (date(start + 5, 1, 1) + timedelta(days=offset)).year // 10 * 10
    if lower in DECADE_WORDS:
        word = next((w for w, number in DECADE_WORDS.items() if number == moved % 100), lower)
        return case_like(word.capitalize() if token[0].isupper() else word, token)
    digits = token.strip("'’sS")
    return token.replace(digits, _year_like(moved, digits))


def _spoken(
    tokens: Sequence[str], lowered: Sequence[str], months: Sequence[int], offset: int, style: DateStyle
) -> list[str] | None:
    """Move a date whose day or year is in number words; None when there is none, else the new tokens."""
    runs = _spoken_runs(lowered)
    if not runs or not (months or any(lowered[i] in _CARDINALS for start, end in runs for i in range(start, end))):
        return None
    words = [[word for word in lowered[start:end] if word.isalpha() and word != "and"] for start, end in runs]
    digits = {len(word): i for i, word in enumerate(lowered) if re.fullmatch(r"\d{4}|\d{1,2}", word)}
    month = MONTH_OF[lowered[months[0]]][1] + 1 if months else None
    day = year = None
    said_month = False
    if month is None and len(runs) == 1 and len(words[0]) >= 3:
        numbers = [NUMBER_WORDS.get(word, 0) for word in words[0][:2]]
        if 1 <= numbers[0] <= 12 and 1 <= numbers[1] <= 31 and len(words[0]) <= 4:
            year = _spoken_year(words[0][2:], style)
            if year is not None:  # eight nine fifty-five
                month, day, said_month = numbers[0], numbers[1], True
    shape: list[tuple[bool, Sequence[str]]] = []  # for each run: does it say the day, and the words of its year
    for run in words:
        if said_month:
            shape.append((True, run[2:]))
            continue
        said_day, rest = _spoken_day(run) if month is not None and day is None else (None, run)
        said_year = _spoken_year(rest, style) if rest else None
        if rest and said_year is None:
            return None
        shape.append((said_day is not None, rest))
        day, year = said_day or day, said_year or year
    if year is None and 4 in digits:
        year = int(lowered[digits[4]])
    digits_day = digits.get(2, digits.get(1))
    if day is None and digits_day is not None:
        day = int(lowered[digits_day])
    if month is None:
        new_year, new_month, new_day = shift_day(year or style.year, 7, 2, offset)
    else:
        new_year, new_month, new_day = shift_day(year or style.year, month, day or 15, offset)
    out = list(tokens)
    for (start, end), run, (says_day, year_words) in zip(runs, words, shape, strict=True):
        joint = "-" if "-" in tokens[start:end] else " "
        pieces = [cardinal(new_month)] if said_month else []
        if says_day:
            pieces.append(ordinal(new_day, joint) if any(w in ORDINAL_WORDS for w in run) else cardinal(new_day, joint))
        if year_words:
            pieces.append(_year_words(new_year, year_words, joint))
        text = " ".join(pieces)
        out[start] = case_like(text.capitalize() if tokens[start][0].isupper() else text, "".join(tokens[start:end]))
        out[start + 1 : end] = [""] * (end - start - 1)
    for index in months:
        out[index] = _month_like(new_month, tokens[index], tokens, style)
    if 4 in digits:
        out[digits[4]] = _year_like(new_year, tokens[digits[4]])
    if digits_day is not None:
        out[digits_day] = _day_like(new_day, tokens[digits_day], style)
    return out


def _spoken_runs(lowered: Sequence[str]) -> list[tuple[int, int]]:
    """Return the stretches of number words, with the spaces and hyphens between them, as token ranges."""
    runs: list[tuple[int, int]] = []
    for index, word in enumerate(lowered):
        if word not in _SPOKEN_WORDS:
            continue
        if runs and index - runs[-1][1] == 1 and lowered[runs[-1][1]] in (" ", "-"):
            runs[-1] = (runs[-1][0], index + 1)
        elif word != "and":
            runs.append((index, index + 1))
    return runs


_YEAR_WORDS: Final = frozenset({"hundred", "thousand", "oh", "aught"})
_CARDINALS: Final = frozenset(NUMBER_WORDS) | _YEAR_WORDS
_SPOKEN_WORDS: Final = _CARDINALS | frozenset(ORDINAL_WORDS) | {"and"}


def _spoken_day(words: Sequence[str]) -> tuple[int | None, Sequence[str]]:
    if words[0] in ORDINAL_WORDS and ORDINAL_WORDS[words[0]] <= 31:
        return ORDINAL_WORDS[words[0]], words[1:]
    if words[0] in ("twenty", "thirty") and len(words) > 1 and 1 <= ORDINAL_WORDS.get(words[1], 0) <= 9:
        return NUMBER_WORDS[words[0]] + ORDINAL_WORDS[words[1]], words[2:]
    return None, words


def _spoken_year(words: Sequence[str], style: DateStyle) -> int | None:
    if any(word in ORDINAL_WORDS for word in words) or not words:
        return None
    if words[0] in ("aught", "oh"):
        rest = sum(NUMBER_WORDS.get(word, 0) for word in words[1:])
        return 2000 + rest if rest < 100 else None
    if "thousand" in words or "hundred" in words:
        mark = "thousand" if "thousand" in words else "hundred"
        at = words.index(mark)
        head = sum(NUMBER_WORDS.get(word, 0) for word in words[:at])
        rest = sum(NUMBER_WORDS.get(word, 0) for word in words[at + 1 :])
        return head * (1000 if mark == "thousand" else 100) + rest if head and rest < 100 else None
    numbers = [NUMBER_WORDS.get(word, 0) for word in words]
    if len(numbers) >= 2 and numbers[0] in (18, 19, 20):
        return numbers[0] * 100 + sum(numbers[1:]) if sum(numbers[1:]) < 100 else None
    total = sum(numbers)
    return _full_year(total, style.year) if 20 <= total < 100 and len(numbers) <= 2 else None


def _year_words(year: int, original: Sequence[str], joint: str) -> str:
    century, rest = divmod(year, 100)
    if original[0] in ("aught", "oh"):
        return f"{original[0]}{joint}{cardinal(rest, joint)}"
    if "thousand" in original and century == 20:
        return f"two thousand {cardinal(rest, joint)}" if rest else "two thousand"
    if "hundred" in original and century < 20:
        return f"{cardinal(century)} hundred {cardinal(rest, joint)}"
    if (len(original) <= 2 and original[0] not in ("eighteen", "nineteen", "twenty")) or (
        original[0] == "twenty" and len(original) == 2 and NUMBER_WORDS.get(original[1], 99) < 10
    ):
        return cardinal(rest, joint)
    return f"{cardinal(century)} {cardinal(rest, joint) if rest > 9 else 'oh ' + cardinal(rest)}"
