"""Read dates in figures: ``3/4/19``, ``20190304``, ``Q3 2023``, ``2019-20``, and weekdays in letters."""

import re
from calendar import monthrange
from dataclasses import replace
from datetime import date

from deid_runtime.dates.forms import (
    LETTER_DAY,
    PLAIN_WORDS,
    ROMAN,
    SCHEDULE_DAY,
    SCHEDULES,
    TOKEN,
    compact_parts,
    full_year,
    is_day_first,
    letter_piece,
    numbers_of,
    weekday_piece,
)
from deid_runtime.dates.parts import DateParts, DateStyle, Form, Grain, Piece, Role
from deid_runtime.lexicon.calendar_words import WEEKDAY_OF


def read_numeric(found: re.Match[str], value: str, style: DateStyle) -> DateParts | None:
    """Return a date in figures from a match of ``NUMERIC``; None if words around it are not weekdays or plain words."""
    year, month, day = numbers_of(found, style)
    if month is None:
        raise ValueError("figures that name no month")
    anchor = day_of(style, year, month, day)
    before, after = pieces_around(value[: found.start()]), pieces_around(value[found.end() :])
    if before is None or after is None:
        return None
    pieces = (*before, *_figures(found, style, has_day=day is not None), *after)
    grain = Grain.MONTH if day is None else Grain.DAY
    return DateParts(
        style, pieces, year=anchor[0], month=anchor[1], day=anchor[2], grain=grain, has_year=year is not None
    )


def day_of(style: DateStyle, year: int | None, month: int, day: int | None) -> tuple[int, int, int]:
    """Return the (year, month, day) that a date stands for. Defaults: middle of the month, main year of the note."""
    if day is None:
        return year or style.year, month, 15
    if year is None:
        # 29 February: use the last leap year up to the note's year, because the writer meant a day that exists.
        last = style.year
        while (month, day) == (2, 29) and monthrange(last, 2)[1] < 29 and last > 8:
            last -= 1
        return last, month, day
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


def pieces_around(text: str) -> tuple[Piece, ...] | None:
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


def read_compact(value: str, style: DateStyle) -> DateParts:
    """Return a date of six or eight digits. Raises ValueError when the digits are not a date."""
    found = compact_parts(value, style)
    if found is None:
        raise ValueError("six or eight digits that are not a date")
    order, year, month, day = found
    roles = {"Y": Role.YEAR, "y": Role.YEAR, "m": Role.MONTH, "d": Role.DAY}
    pieces, place = [], 0
    for kind in order:
        size = 4 if kind == "Y" else 2
        pieces.append(Piece(value[place : place + size], roles[kind], is_padded=True))
        place += size
    return DateParts(style, tuple(pieces), year=year, month=month, day=day)


def read_week(found: re.Match[str], style: DateStyle) -> DateParts:
    """Return a week of the ISO calendar from a match of ``WEEK``, as its Thursday. Raises ValueError."""
    day = date.fromisocalendar(int(found[1]), int(found[3]), 4)
    pieces = (Piece(found[1], Role.WEEK_YEAR), Piece(found[2]), Piece(found[3], Role.WEEK))
    return DateParts(style, pieces, year=day.year, month=day.month, day=day.day)


def read_quarter(found: re.Match[str], style: DateStyle) -> DateParts:
    """Return ``Q3 2023`` or ``3Q23``, a match of ``QUARTER``, as a date in the middle of the quarter."""
    digits = found["year"]
    year = style.year if not digits else year_of(digits, style)
    number = found["after"] or found["before"]
    mark = (Piece(number, Role.QUARTER), Piece(found["mark"]))
    pieces = (
        *(mark if found["before"] else mark[::-1]),
        Piece(found["gap"]),
        *((Piece(digits, Role.YEAR),) if digits else ()),
    )
    month = 3 * int(number) - 1
    return DateParts(style, pieces, year=year, month=month, day=15, grain=Grain.QUARTER, has_year=bool(digits))


def read_roman_month(found: re.Match[str], style: DateStyle) -> DateParts:
    """Return ``10.ix`` or ``3.iv.2021``, a match of ``ROMAN_MONTH``; without a year, that of the note."""
    digits = found["year"]
    month = ROMAN.index(found["month"].lower()) + 1
    year, month, day = day_of(style, year_of(digits, style) if digits else None, month, int(found["day"]))
    mark = Piece(found["mark"])
    pieces = (
        Piece(found["day"], Role.DAY),
        mark,
        Piece(found["month"], Role.MONTH_ROMAN),
        *((mark, Piece(digits, Role.YEAR)) if digits else ()),
    )
    return DateParts(style, pieces, year=year, month=month, day=day, has_year=bool(digits))


def read_years(found: re.Match[str], years: tuple[int, int], style: DateStyle) -> DateParts:
    """Return ``2023-2024``, a match of ``YEARS`` that names ``years``, as two dates."""
    first, second = (
        DateParts(style, year_pieces(text), year=year, month=7, day=2, grain=Grain.YEAR)
        for text, year in zip((found[1], found[3]), years, strict=True)
    )
    return DateParts(style, (first, Piece(found[2]), second))


def year_pieces(text: str) -> tuple[Piece, Piece]:
    """Return two pieces of a year: the apostrophe before it, which may be empty, and the digits."""
    digits = text.lstrip("'’")
    return Piece(text[: len(text) - len(digits)]), Piece(digits, Role.YEAR)


def year_of(text: str, style: DateStyle) -> int:
    """Return the year that two or four digits name, with or without an apostrophe before them."""
    digits = text.lstrip("'’")
    return int(digits) if len(digits) == 4 else full_year(int(digits), style.year)


def separated_by(parts: DateParts, usual: str, mark: str) -> DateParts:
    """Return a date in figures with the separator ``usual`` changed to ``mark``."""
    pieces = tuple(
        replace(piece, text=piece.text.replace(usual, mark))
        if isinstance(piece, Piece) and piece.role is Role.KEPT
        else piece
        for piece in parts.pieces
    )
    return replace(parts, pieces=pieces)


def read_schedule(value: str, style: DateStyle) -> DateParts:
    """Return a list or range of weekdays in letters: ``MWF``, ``T-Th``."""
    known = SCHEDULES.get(value.lower())
    if known:
        return DateParts(style, tuple(map(letter_piece, known.split())), Form.SCHEDULE)
    pieces, place = [], 0
    for day in SCHEDULE_DAY.finditer(value):
        pieces += [Piece(value[place : day.start()]), letter_piece(day[0])]
        place = day.end()
    return DateParts(style, (*pieces, Piece(value[place:])), Form.SCHEDULE)
