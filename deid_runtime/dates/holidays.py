"""Find named holidays in a date, resolve them to a day, and write the shifted day.

A holiday is never replaced by another holiday. The nearest holiday to the shifted day would show that the original was
a holiday, which leaves few possible date shifts. It would also change intervals by days or weeks. The shifted day is
written like any other date of the note. ``benchmarks/date_shift_attack.py`` compares the choices.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from deid_runtime.dates.forms import PLAIN_WORDS
from deid_runtime.dates.holiday_days import HOLIDAY, HOLIDAY_OF, Holiday
from deid_runtime.dates.parts import DateStyle
from deid_runtime.lexicon.calendar_words import ENGLISH, ENGLISH_SHORT, MONTH_OF, MONTHS, WEEKDAY_OF, WEEKDAYS
from deid_runtime.lexicon.numbers import ordinal

_LONGEST_INITIALS: Final = 3  # letters; initials (NYE, MLK) do not show the case of the text
_ARTICLE: Final = re.compile(r"\bthe\s$", re.I)
_QUALIFIER: Final = re.compile(r"(?<![^\W_])([^\W\d_]+)\s$")
_WORD_BEHIND: Final = re.compile(r"\s+(?P<word>[^\W\d_]+)\.?(?![\w'’])")
_END_OF_NAME: Final = re.compile(r"['’]?\.?")


@dataclass(frozen=True, slots=True)
class FoundHoliday:
    """A holiday in a text, at half-open code points that include its article, ``Day`` and ``Eve``.

    ``weekday`` is set for ``Easter Saturday``: the nearest such weekday to the holiday. ``locale`` is the country of
    the note.
    """

    holiday: Holiday
    start: int
    end: int
    is_eve: bool = False
    weekday: int | None = None
    locale: str = "US"

    def on(self, year: int) -> date:
        """Return the day of the holiday in ``year``."""
        on = self.holiday.elsewhere.get(self.locale, self.holiday.on)
        day = on(year) - timedelta(days=self.is_eve)
        if self.weekday is None:
            return day
        return day + timedelta(days=(self.weekday - day.weekday() + 3) % 7 - 3)


def find_holiday(text: str, place: int = 0, locale: str = "US") -> FoundHoliday | None:
    """Return the first holiday in ``text`` from code point ``place`` on, or None. ``locale`` is that of the note."""
    plain, places = plain_letters(text)
    at = next((index for index, original in enumerate(places) if original >= place), len(places))
    found = HOLIDAY.search(plain, at)
    if not found:
        return None
    start, end = places[found.start()], places[found.end() - 1] + 1
    qualifier = _QUALIFIER.search(text, place, start)
    if qualifier and _belongs_to_name(qualifier[1]):
        start = qualifier.start()
    article = _ARTICLE.search(text, place, start)
    ending = _END_OF_NAME.match(text, end)
    end = ending.end() if ending else end
    behind = _WORD_BEHIND.match(text, end)
    word = behind["word"].lower() if behind else ""
    weekday = WEEKDAY_OF[word][1] if word in WEEKDAY_OF else None
    if behind and (weekday is not None or word in ("eve", "day")):
        end = behind.end()
    start = article.start() if article else start
    return FoundHoliday(HOLIDAY_OF[found[0].replace("-", " ")], start, end, word == "eve", weekday, locale)


def _belongs_to_name(word: str) -> bool:
    """Return whether ``word`` before a holiday is part of its name: ``Khmer New Year``, but not ``Last Christmas``."""
    lower = word.lower()
    return word[0].isupper() and lower not in PLAIN_WORDS and lower not in MONTH_OF and lower not in WEEKDAY_OF


def written_day(day: date, original: str, style: DateStyle, year: str, *, is_day: bool) -> str:
    """Return ``day`` in the style of the note's dates and the case of ``original``.

    ``year`` is the year as written; empty if no year is written. Without ``is_day`` only the month is written.
    """
    month = MONTHS[ENGLISH_SHORT if style.short_months else ENGLISH][day.month - 1]
    if not is_day:
        return holiday_case(f"{month} {year}".rstrip(), original)
    if style.in_figures:
        figures = [f"{number:02}" if style.padded else str(number) for number in (day.month, day.day)]
        if style.day_first:
            figures.reverse()
        return "/".join([*figures, year.lstrip("'’")] if year else figures)
    number = f"{day.day:02}" if style.padded_days else str(day.day)
    if len(year) == 2:
        year = f"'{year}"  # "February 3, 19" does not look like a date
    if style.day_first:
        return holiday_case(f"{number} {month} {year}".rstrip(), original)
    return holiday_case(f"{month} {number}, {year}" if year else f"{month} {number}", original)


def spoken_day(day: date, original: str, *, is_day: bool) -> str:
    """Return ``day`` in words, for use before a year in words: ``May twenty-fourth``."""
    month = MONTHS[ENGLISH][day.month - 1]
    return holiday_case(f"{month} {ordinal(day.day)}" if is_day else month, original)


def weekday_name(day: date, original: str) -> str:
    """Return the weekday of ``day``, as the surrogate of a holiday beside its own date."""
    return holiday_case(WEEKDAYS[ENGLISH][day.weekday()], original)


def holiday_case(made: str, original: str) -> str:
    """Return ``made`` in lower case or capitals if the holiday name ``original`` is."""
    if original.islower():
        return made.lower()
    letters = sum(map(str.isalpha, original))
    return made.upper() if original.isupper() and letters > _LONGEST_INITIALS else made


def plain_letters(text: str) -> tuple[str, list[int]]:
    """Return ``text`` in lower case without accents, apostrophes and full stops, and the offset of each character."""
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char not in "'’.":
            chars.append(unicodedata.normalize("NFKD", char.lower())[:1])
            places.append(place)
    return "".join(chars), places
