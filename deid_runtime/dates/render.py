"""Write a date in the original format: padding, case, abbreviation, separators, language."""

import re
from datetime import date
from typing import Final

from deid_runtime.dates.forms import LETTER_DAY, ROMAN
from deid_runtime.dates.holidays import holiday_case, spoken_day, written_day
from deid_runtime.dates.parts import DateParts, Form, Piece, Role
from deid_runtime.dates.spoken import said_text
from deid_runtime.lexicon.calendar_words import MONTHS, TWO_LETTERS, WEEKDAY_LETTERS, WEEKDAYS
from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.lexicon.numbers import DECADE_WORDS, ordinal, ordinal_ending

_DAMAGED: Final = re.compile(r"[0-9OolI]*[0-9][0-9OolI]*|(?<![^\W_])[OolI]{1,2}(?=[/.-]\d)")
_FIGURES: Final = re.compile(r"\d+")
_SEASONS: Final = ("winter", "spring", "summer", "fall")


def render(parts: DateParts) -> str:
    """Return the text of a date."""
    texts = [render(piece) if isinstance(piece, DateParts) else _written(piece, parts) for piece in parts.pieces]
    if parts.form is Form.SCHEDULE:
        return _schedule(parts, texts)
    if parts.form is Form.WEEK_OF_MONTH:
        return _week_of_month(*texts)
    if parts.form in (Form.DAYS_OF_MONTH, Form.DAYS_BEHIND_MONTH):
        return _days_of_month(*texts, is_day_first=parts.form is Form.DAYS_OF_MONTH)
    if parts.form is Form.DAMAGED:
        return _damaged_like(*texts)
    return "".join(texts)


def _written(piece: Piece, parts: DateParts) -> str:
    """Return the text of one piece that contains no other date."""
    match piece.role:
        case Role.KEPT:
            return piece.text
        case Role.WEEKDAY:
            return case_like(WEEKDAYS[piece.writing][piece.weekday], piece.text)
        case Role.WEEKDAY_LETTER:
            return _weekday_letter(piece)
        case Role.HOLIDAY_WEEKDAY:
            return holiday_case(WEEKDAYS[piece.writing][piece.weekday], piece.text)
    year, month, day = parts.year, parts.month, parts.day
    if year is None or month is None or day is None:
        raise ValueError(f"a {piece.role.value} in a date without a day")
    return _written_for_day(piece, parts, year, month, day)


def _written_for_day(piece: Piece, parts: DateParts, year: int, month: int, day: int) -> str:
    """Return the text of one piece that depends on the day of the date, which is ``year``, ``month`` and ``day``."""
    match piece.role:
        case Role.YEAR:
            return year_like(year, piece.text)
        case Role.MONTH:
            return padded_like(month, piece.text, piece.is_padded)
        case Role.MONTH_WORD:
            return case_like(MONTHS[piece.writing][month - 1], piece.text)
        case Role.MONTH_ROMAN:
            return ROMAN[month - 1].upper() if piece.text.isupper() else ROMAN[month - 1]
        case Role.DAY if piece.text.isdecimal():
            return padded_like(day, piece.text, piece.is_padded)
        case Role.DAY:
            return _ordinal_like(day, piece.text)
        case Role.DAY_WORD:
            return _word_like(ordinal(day), piece.text)
        case Role.SEASON:
            return _season_like(month, piece.text)
        case Role.DECADE:
            return _decade_like(year, piece.text)
        case Role.QUARTER:
            return str((month + 2) // 3)
        case Role.WEEK:
            return f"{date(year, month, day).isocalendar().week:02}"
        case Role.WEEK_YEAR:
            return f"{date(year, month, day).isocalendar().year:04}"
        case Role.SAID if piece.said is not None:
            return said_text(piece.text, piece.said, year, month, day)
        case Role.HOLIDAY | Role.FEAST:
            digits = piece.year.lstrip("'’")
            written = piece.year.removesuffix(digits) + year_like(year, digits) if digits else ""
            is_day = piece.role is Role.HOLIDAY
            return written_day(date(year, month, day), piece.text, parts.style, written, is_day=is_day)
        case Role.SAID_HOLIDAY | Role.SAID_FEAST:
            return spoken_day(date(year, month, day), piece.text, is_day=piece.role is Role.SAID_HOLIDAY)
        case _:
            raise AssertionError(piece.role)


def padded_like(number: int, original: str, padded: bool) -> str:
    """Return ``number``, in two figures if ``original`` has a leading zero or ``padded`` requires it."""
    if original[0] == "0" and len(original) == 2:
        return f"{number:02}"
    return f"{number:02}" if padded and len(original) == 2 else str(number)


def year_like(year: int, original: str) -> str:
    """Return ``year`` in four or two figures, as in ``original``."""
    return f"{year:04}" if len(original) == 4 else f"{year % 100:02}"


def _ordinal_like(day: int, original: str) -> str:
    ending = original.lstrip("".join(filter(str.isdecimal, original)))
    digits = original[: len(original) - len(ending)]
    return padded_like(day, digits, padded=False) + case_like(ordinal_ending(day), ending)


def _word_like(word: str, original: str) -> str:
    return case_like(word.capitalize() if original[0].isupper() else word, original)


def _season_like(month: int, original: str) -> str:
    """Return the season of ``month``, as ``Fall`` or ``autumn`` like ``original``."""
    name = _SEASONS[(month % 12) // 3]
    name = "autumn" if name == "fall" and original.lower() == "autumn" else name
    return case_like(name.title() if original[0].isupper() else name, original)


def _decade_like(year: int, original: str) -> str:
    """Return the decade of ``year`` as ``1980s``, ``'60s`` or ``fifties``."""
    decade = year // 10 * 10
    lower = original.lower()
    if lower in DECADE_WORDS:
        word = next((word for word, number in DECADE_WORDS.items() if number == decade % 100), lower)
        return _word_like(word, original)
    digits = original.strip("'’sS")
    return original.replace(digits, year_like(decade, digits))


def _weekday_letter(piece: Piece) -> str:
    """Return a weekday in one or two letters."""
    token = piece.text
    row = WEEKDAYS[TWO_LETTERS] if len(token) == 2 and token.lower() != "th" else WEEKDAY_LETTERS
    word = "R" if token.lower() == "r" and piece.weekday == 3 else row[piece.weekday]
    return word.lower() if token.islower() else word.upper() if token.isupper() and len(token) > 1 else word


def _schedule(parts: DateParts, texts: list[str]) -> str:
    """Return weekdays in letters; a list is sorted in the order of the week, a range is not."""
    is_day = [isinstance(piece, Piece) and piece.role is Role.WEEKDAY_LETTER for piece in parts.pieces]
    days = [text for text, counts in zip(texts, is_day, strict=True) if counts]
    between = "".join(text for text, counts in zip(texts, is_day, strict=True) if not counts)
    if "-" not in between or len(days) != 2:
        days.sort(key=lambda day: LETTER_DAY[day.lower()])
    moved = iter(days)
    return "".join(next(moved) if counts else text for text, counts in zip(texts, is_day, strict=True))


def _week_of_month(moved: str, counted: str) -> str:
    """Return ``the second Sunday of January`` from ``moved``, a date with a day in place of the ordinal ``counted``."""
    day = re.search(r"\d{1,2}", moved)
    if day is None:
        raise ValueError("a week of a month without its day")
    place = min((int(day[0]) - 1) // 7 + 1, 4)
    word = f"{place}{ordinal_ending(place)}" if counted[0].isdecimal() else ordinal(place)
    return moved[: day.start()] + case_like(word.title() if counted.istitle() else word, counted) + moved[day.end() :]


def _days_of_month(first: str, joint: str, second: str, year: str, *, is_day_first: bool) -> str:
    """Return ``5-7 September 2019`` or ``Sep 5-7, 2019``, with both months if the shift made them differ."""
    size = len(year)  # the year text keeps its length
    new_year = second[len(second) - size :]
    first, second = first[: len(first) - size], second[: len(second) - size]
    if is_day_first:
        at, other_at = first.find(" "), second.find(" ")
        return f"{first[:at] if first[at:] == second[other_at:] else first}{joint}{second}{new_year}"
    at, other_at = first.rfind(" "), second.rfind(" ")
    return f"{first}{joint}{second[other_at + 1 :] if first[:at] == second[:other_at] else second}{new_year}"


def _damaged_like(made: str, value: str) -> str:
    """Return ``made`` with O for zeros in the numbers where ``value`` has O; in all if ``value`` has no zero."""
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
