"""Formats of written dates: figures, words, and which of them is the year, the month and the day."""

import re
from calendar import monthrange
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from deid_runtime.dates.order import DAY_FIRST_LOCALES, told_order
from deid_runtime.dates.parts import LONGEST_DATE_CHARS, DateStyle, Piece, Role
from deid_runtime.lexicon.calendar_words import ENGLISH, ENGLISH_FOUR_LETTERS, ENGLISH_SHORT, MONTH_OF, WEEKDAY_OF

_EARLIEST_NOTE: Final = 1990  # before electronic notes
_NEWEST_SHORT_YEAR: Final = 2029  # in a note without any full year, '31 is 1931: most such years are years of birth
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

WEEK: Final = re.compile(r"(\d{4})(-?W)(\d{2})", re.I)
COMPACT: Final = re.compile(r"\d{8}|\d{6}")
QUARTER: Final = re.compile(
    r"(?:(?P<before>[1-4])(?=Q))?(?P<mark>Q)(?(before)|(?P<after>[1-4]))(?P<gap>\s?(?:of\s)?['’]?|[/-])"
    r"(?P<year>\d{4}|\d{2})?",
    re.I,
)
ROMAN: Final = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
#: A day with a month in Roman figures, as many write it in Europe and India: ``10.ix``, ``3.IV.21``, ``3/iv/2021``.
ROMAN_MONTH: Final = re.compile(
    rf"(?P<day>\d{{1,2}})(?P<mark>[./-])(?P<month>{'|'.join(ROMAN)})(?:(?P=mark)(?P<year>\d{{4}}|\d{{2}}))?", re.I
)
#: The same behind a weekday, with the year.
ROMAN_DAY: Final = re.compile(
    r"(?P<before>[^\W\d_]{2,10}[., ]{1,2})(?P<day>\d{1,2})(?P<mark>[./-])"
    rf"(?P<month>{'|'.join(sorted(ROMAN, key=len, reverse=True))})(?P=mark)(?P<year>\d{{4}}|\d{{2}})",
    re.I,
)
YEARS: Final = re.compile(r"((?:18|19|20|21)\d{2}|['’]\d{2})(\s?[-–/]\s?)((?:18|19|20|21)\d{2}|['’]?\d{2})")

_DAMAGED: Final = re.compile(r"[0-9OolI]*[0-9][0-9OolI]*|(?<![^\W_])[OolI]{1,2}(?=[/.-]\d)")
_CALENDAR_WORD: Final = re.compile(
    r"(?<![^\W\d_])("
    + "|".join(sorted((word for word in {**MONTH_OF, **WEEKDAY_OF} if len(word) > 2), key=len, reverse=True))
    + r")(?![^\W\d_])",
    re.I,
)
_LONE_L: Final = re.compile(r"(?<=[a-z] )l$")
_REPAIR: Final = str.maketrans("OolI", "0011")
TIME: Final = re.compile(
    r"(?:(?<=\d)T(?=\d\d:)|(?<![\d/.-]))\d{1,2}:\d{2}(?::\d{2})?(?!:?\d)(?:\.\d+)?(?:\s*[ap]\.?m\b\.?|Z|[+-]\d{2}:?\d{2})?",
    re.I,
)
RANGE: Final = re.compile(
    r"\s*,\s+(?=\d{1,4}[/.-]\d)|"
    r"\s+(?:and|to|through|thru|until)\s+|\s*[-–—]\s*(?=[\w'’]+[/.]|\d{1,2}$)|\s+[-–—]\s+|\s*[&+]\s*"
)
SCHEDULE: Final = re.compile(
    r"(?:Th|Tu|Su|Sa|Mo|We|Fr|[MTWRFS])(?:[ ]?[/,-]?[ ]?(?:Th|Tu|Su|Sa|Mo|We|Fr|[MTWRFS]))*", re.I
)
SCHEDULE_DAY: Final = re.compile(r"Th|Tu|Su|Sa|Mo|We|Fr|[MTWRFS]", re.I)
#: Schedules of weekday letters without separators.
SCHEDULES: Final = {
    "tts": "T Th S",
    "tths": "T Th S",
    "mwf": "M W F",
    "tth": "T Th",
    "mw": "M W",
    "wf": "W F",
    "mth": "M Th",
}
LETTER_DAY: Final = {
    "m": 0, "mo": 0, "t": 1, "tu": 1, "w": 2, "we": 2, "th": 3, "r": 3, "f": 4, "fr": 4, "s": 5, "sa": 5, "su": 6,
}  # fmt: skip
#: Words without a date meaning; they stay unchanged.
PLAIN_WORDS: Final = frozenset(
    """of the de del el la le du den der day days eve week weeks wknd weekend wkend night morning afternoon evening
    noon am pm
    to and in on at by from c ca circa early mid late end bank holiday season st nd rd th t z or through thru until
    since before after around about last next this past every y year month date hrs hr h""".split()
)


def read_style(
    values: Sequence[str],
    default_year: int,
    locale: str = "US",
    *,
    days: Sequence[date] = (),
    usual: bool | None = None,
) -> DateStyle:
    """Return the style of the dates in ``values``; ``default_year`` is used when none of them has a year.

    Figures over 12 show whether the day is first. Otherwise :func:`~deid_runtime.dates.order.told_order` with ``days``
    decides, then ``usual``, the order of the patient's other notes, then the country of ``locale``.
    """
    years: dict[int, int] = {}
    balance = padded = bare = short = long = padded_days = in_figures = in_words = 0
    short_years: list[int] = []
    for value in values:
        value = value[:LONGEST_DATE_CHARS]
        found = NUMERIC.search(value)
        if found:
            first, second = found["a2"] or found["a5"], found["b2"] or found["b5"]
            in_figures += 1
            if first and second:
                balance += _tells_order(first, second)
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
            short += MONTH_OF[month.lower()][0] in (ENGLISH_SHORT, ENGLISH_FOUR_LETTERS)
            long += MONTH_OF[month.lower()][0] == ENGLISH
        if month:
            padded_days += sum(
                (len(word) == 2 and word[0] == "0") - (len(word) == 1) for word in words if word.isdecimal()
            )
        for word in words:
            if month and len(words) > 3 and word.isdecimal() and len(word) == 4:
                years[int(word)] = years.get(int(word), 0) + 1
    year, is_day_first = _year_of_most(years, short_years), balance > 0
    if not balance and in_figures:
        told = told_order(values, days, year)
        told = usual if told is None else told
        is_day_first = locale in DAY_FIRST_LOCALES if told is None else told
    return DateStyle(
        year or default_year,
        day_first=is_day_first,
        padded=padded > bare,
        short_months=short > long,
        padded_days=padded_days > 0,
        in_figures=in_figures >= max(in_words, 1),
        locale=locale,
    )


def _year_of_most(years: Mapping[int, int], short_years: Sequence[int]) -> int | None:
    """Return the most frequent year that a date can have, or None.

    ``years`` counts the years of four digits, ``short_years`` are those of two.
    """
    newer = [number for number in short_years if all(number != year % 100 for year in years)]
    if not years or (newer and max(years) < _EARLIEST_NOTE):  # full years belong to births or history, short to visits
        years = Counter(full_year(number, _NEWEST_SHORT_YEAR) for number in newer)
    year = max(years, key=lambda each: (years[each], each), default=0)
    return year if 1 < year < 9999 else None


def read_order(values: Sequence[str]) -> bool | None:
    """Return whether the dates of several notes of a patient show that the day is first.

    None if they do not show it.
    """
    found = [match for value in values if (match := NUMERIC.search(value[:LONGEST_DATE_CHARS]))]
    pairs = ((match["a2"] or match["a5"], match["b2"] or match["b5"]) for match in found)
    balance = sum(_tells_order(first, second) for first, second in pairs if first and second)
    return balance > 0 if balance else told_order(values)


def _tells_order(first: str, second: str) -> int:
    """Return 1 for the day first and -1 for the month first, by a figure over 12; 0 when none or both are."""
    return (int(first) > 12 >= int(second)) - (int(second) > 12 >= int(first))


def full_year(number: int, reference: int) -> int:
    """Return the latest year that ends in ``number`` and is at most the year after ``reference``."""
    year = reference // 100 * 100 + number
    return year - 100 if year > reference + 1 else year


def numbers_of(found: re.Match[str], style: DateStyle) -> tuple[int | None, int | None, int | None]:
    """Return (year, month, day) of a numeric date; None for each part that it lacks."""
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
    """Return whether ``first`` of two numbers of a date is the day: by their sizes, else by the style of the note."""
    if first > 12 >= second:
        return True
    return style.day_first and not second > 12 >= first


def roles_of(lowered: Sequence[str], has_month: bool) -> tuple[int | None, int | None, list[int]]:
    """Return the index of the year token, the index of the day token, and the indices of the other numbers.

    ``lowered`` are the tokens of a date in lower case.
    """
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


def compact_parts(value: str, style: DateStyle) -> tuple[str, int, int, int] | None:
    """Return (order, year, month, day) of six or eight digits in the first order that makes them a date, or None.

    The orders are ``mmddyyyy``, ``yyyymmdd``, ``ddmmyyyy`` and ``mmddyy``, ``ddmmyy``, ``yymmdd``. Where the day is
    first in the note, it is tried before the month.
    """
    orders = ("mdY", "Ymd", "dmY") if len(value) == 8 else ("mdy", "dmy", "ymd")
    if style.day_first:
        orders = ("dmY", "Ymd", "mdY") if len(value) == 8 else ("dmy", "mdy", "ymd")
    for order in orders:
        parts: dict[str, int] = {}
        place = 0
        for kind in order:
            size = 4 if kind == "Y" else 2
            parts[kind.lower()] = int(value[place : place + size])
            place += size
        year = parts["y"] if len(value) == 8 else full_year(parts["y"], style.year)
        month, day = parts["m"], parts["d"]
        if 1800 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]:
            return order, year, month, day
    return None


def years_of(found: re.Match[str], style: DateStyle) -> tuple[int, int] | None:
    """Return both years of ``2023-2024``, ``2019-20`` or ``'18-'19``; None for a month, as in ``2019-11``."""
    first, second = (text.strip("'’") for text in (found[1], found[3]))
    if len(second) == 2 and found[1][0].isdecimal() and (int(second) <= 12 or int(second) != (int(first) + 1) % 100):
        return None
    start = int(first) if len(first) == 4 else full_year(int(first), style.year)
    return start, int(second) if len(second) == 4 else start + (int(second) - start) % 100


def repair_digits(value: str) -> str:
    """Return ``value`` with letters that a scanner misread for digits (``1O/l3/1994``) corrected."""
    pieces = _CALENDAR_WORD.split(value)
    pieces[::2] = [_DAMAGED.sub(lambda m: m[0].translate(_REPAIR), piece) for piece in pieces[::2]]
    return _LONE_L.sub("1", "".join(pieces))


def month_writing(word: str, tokens: Sequence[str], style: DateStyle) -> str:
    """Return the writing (full or short) for the month ``word``; ``tokens`` are those of the whole date.

    May, June and July can look the same in full and in short, so the style of the note decides.
    """
    lower = word.lower()
    writing, _ = MONTH_OF[lower]
    if lower == "may":
        is_glued = re.search(r"\d-?may|may-?\d", "".join(tokens), re.I)
        return ENGLISH_SHORT if style.short_months or is_glued else ENGLISH
    if writing == ENGLISH and lower in ("june", "july") and style.short_months:
        return ENGLISH_FOUR_LETTERS
    return writing


def weekday_piece(token: str) -> Piece:
    """Return a weekday in words as a piece."""
    writing, place = WEEKDAY_OF[token.lower()]
    return Piece(token, Role.WEEKDAY, weekday=place, writing=writing)


def letter_piece(token: str) -> Piece:
    """Return a weekday of one or two letters as a piece."""
    return Piece(token, Role.WEEKDAY_LETTER, weekday=LETTER_DAY[token.lower()])
