"""Words of the calendar: months and weekdays in the languages that turn up in notes, ordinals, seasons, holidays."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final


def _table(*rows: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row.split()) for row in rows)


#: Each row is one way of writing all twelve, or all seven from Monday on. The first row that has a word decides.
MONTHS: Final = _table(
    "January February March April May June July August September October November December",
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "Jan Feb Mar Apr May June July Aug Sept Oct Nov Dec",
    "Enero Febrero Marzo Abril Mayo Junio Julio Agosto Septiembre Octubre Noviembre Diciembre",
    "Ene Feb Mar Abr May Jun Jul Ago Sep Oct Nov Dic",
    "Janvier Février Mars Avril Mai Juin Juillet Août Septembre Octobre Novembre Décembre",
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "Janeiro Fevereiro Março Abril Maio Junho Julho Agosto Setembro Outubro Novembro Dezembro",
    "Gennaio Febbraio Marzo Aprile Maggio Giugno Luglio Agosto Settembre Ottobre Novembre Dicembre",
    "Januari Februari Maart April Mei Juni Juli Augustus September Oktober November December",
)
WEEKDAYS: Final = _table(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "Mondays Tuesdays Wednesdays Thursdays Fridays Saturdays Sundays",
    "Mon Tue Wed Thu Fri Sat Sun",
    "Mon Tues Weds Thurs Fri Sat Sun",
    "Mon Tues Wed Thur Fri Sat Sun",
    "Mo Tu We Th Fr Sa Su",
    "Lunes Martes Miércoles Jueves Viernes Sábado Domingo",
    "Lunes Martes Miércoles Jueves Viernes Sábados Domingos",
    "Lun Mart Mier Jue Vier Sab Dom",
    "Lun Mar Mié Jue Vie Sáb Dom",
    "Lundi Mardi Mercredi Jeudi Vendredi Samedi Dimanche",
    "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "Maandag Dinsdag Woensdag Donderdag Vrijdag Zaterdag Zondag",
    "Maandag Dinsdag Woensdag Donderdag Vrydag Saterdag Sondag",
    "Segunda Terça Quarta Quinta Sexta Sábado Domingo",
    "Llun Mawrth Mercher Iau Gwener Sadwrn Sul",
)
WEEKDAY_LETTERS: Final = ("M", "T", "W", "Th", "F", "S", "Su")
SEASONS: Final = ("winter", "spring", "summer", "fall")
#: Words that say nothing by themselves and stay.
PLAIN_WORDS: Final = frozenset(
    """of the de del el la le du den der day days eve week weeks wknd weekend wkend night morning afternoon evening
    noon am pm
    to and in on at by from c ca circa early mid late end bank holiday season st nd rd th t z or through thru until
    since before after around about y year month date hrs hr h""".split()
)

_UNITS: Final = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()  # noqa: E501
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINAL_UNITS: Final = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth".split()  # noqa: E501
DECADE_WORDS: Final = {
    "twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70, "eighties": 80,
    "nineties": 90,
}  # fmt: skip

NUMBER_WORDS: Final = {word: number for number, word in enumerate(_UNITS)} | {
    word: 20 + 10 * number for number, word in enumerate(_TENS)
}
ORDINAL_WORDS: Final = {word: number for number, word in enumerate(_ORDINAL_UNITS) if number} | {
    "twentieth": 20, "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "seventieth": 70,
    "eightieth": 80, "ninetieth": 90,
}  # fmt: skip


def cardinal(number: int, joint: str = "-") -> str:
    """Return 0 to 99 in words, tens and units joined by ``joint``."""
    if number < 20:
        return _UNITS[number]
    tens, unit = divmod(number, 10)
    return _TENS[tens - 2] + (joint + _UNITS[unit] if unit else "")


def ordinal(number: int, joint: str = "-") -> str:
    """Return 1 to 99 as an ordinal in words."""
    tens, unit = divmod(number, 10)
    if number < 20:
        return _ORDINAL_UNITS[number]
    return _TENS[tens - 2] + joint + _ORDINAL_UNITS[unit] if unit else _TENS[tens - 2][:-1] + "ieth"


def ordinal_ending(number: int) -> str:
    """Return ``st``, ``nd``, ``rd`` or ``th``."""
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def easter(year: int) -> date:
    """Return Easter Sunday in the Gregorian calendar (the anonymous algorithm, Nature, 20 April 1876)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def _fixed(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


def _nth(month: int, weekday: int, nth: int, plus: int = 0) -> Callable[[int], date]:
    def of(year: int) -> date:
        first = date(year, month, 1)
        return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1) + plus)

    return of


def _from_easter(days: int) -> Callable[[int], date]:
    return lambda year: easter(year) + timedelta(days=days)


def _last_monday_of_may(year: int) -> date:
    last = date(year, 5, 31)
    return last - timedelta(days=last.weekday())


@dataclass(frozen=True, slots=True)
class Holiday:
    """A holiday: how it is written as a stand-in (empty: never one), how it is known, and when it is.

    Feasts of the moon are put at their usual place: only the nearest holiday after the shift is wanted.
    """

    name: str
    known: tuple[str, ...]
    on: Callable[[int], date]


HOLIDAYS: Final = (
    Holiday("New Year's Day", ("new years day", "new years", "new year"), _fixed(1, 1)),
    Holiday("", (
        "epiphany", "three kings", "dia de reyes", "reyes", "armenian christmas", "orthodox christmas",
        "nollaig na mban",
    ), _fixed(1, 6)),
    Holiday("", ("lohri", "makar sankranti", "pongal"), _fixed(1, 13)),
    Holiday("MLK Day", ("martin luther king day", "mlk day", "mlk"), _nth(1, 0, 3)),
    Holiday("", ("australia day", "burns night"), _fixed(1, 26)),
    Holiday("Groundhog Day", ("groundhog day",), _fixed(2, 2)),
    Holiday("", (
        "lunar new year", "chinese new year", "cny", "tet", "losar", "tsagaan sar", "seollal",
        "waitangi day",
    ), _fixed(2, 5)),
    Holiday("", ("super bowl sunday", "super bowl"), _nth(2, 6, 2)),
    Holiday("Valentine's Day", ("valentines day", "valentines", "valentine"), _fixed(2, 14)),
    Holiday("Presidents' Day", ("presidents day", "family day"), _nth(2, 0, 3)),
    Holiday("Mardi Gras", (
        "mardi gras", "fat tuesday", "fat thursday", "carnival", "carnaval", "fasching",
    ), _from_easter(-47)),
    Holiday("Ash Wednesday", ("ash wednesday", "ash wed", "lent"), _from_easter(-46)),
    Holiday("", ("st davids day", "leap day", "hinamatsuri", "makahiki"), _fixed(3, 1)),
    Holiday("", ("womens day", "purim", "holi"), _fixed(3, 8)),
    Holiday("St. Patrick's Day", (
        "st patricks day", "st patricks", "st pats", "st patricks eve", "st pats day",
    ), _fixed(3, 17)),
    Holiday("", ("nowruz", "norooz", "st josephs day"), _fixed(3, 20)),
    Holiday("April Fools' Day", ("april fools day", "april fools", "april fool"), _fixed(4, 1)),
    Holiday("Palm Sunday", ("palm sunday",), _from_easter(-7)),
    Holiday("", ("holy week", "semana santa", "maundy thursday", "holy thursday"), _from_easter(-3)),
    Holiday("Good Friday", ("good friday", "viernes santo"), _from_easter(-2)),
    Holiday("Easter", ("easter sunday", "easter", "pascua", "paques"), _from_easter(0)),
    Holiday("", ("easter monday", "white sunday"), _from_easter(1)),
    Holiday("", ("passover", "pesach", "songkran", "tamil new year", "vaisakhi", "baisakhi", "bayram"), _fixed(4, 13)),
    Holiday("Patriots' Day", ("patriots day", "marathon monday"), _nth(4, 0, 3)),
    Holiday("", ("anzac day", "kings day", "armenian remembrance day"), _fixed(4, 25)),
    Holiday("Cinco de Mayo", ("cinco de mayo", "may day", "childrens day", "derby day"), _fixed(5, 5)),
    Holiday("Mother's Day", ("mothers day",), _nth(5, 6, 2)),
    Holiday("", ("victory day", "victoria day"), _fixed(5, 9)),
    Holiday("Memorial Day", ("memorial day", "mem day", "decoration day"), _last_monday_of_may),
    Holiday("", ("pentecost", "whitsun", "d-day", "dormition"), _fixed(6, 6)),
    Holiday("Father's Day", ("fathers day",), _nth(6, 6, 3)),
    Holiday("Juneteenth", ("juneteenth", "midsummer"), _fixed(6, 19)),
    Holiday("", ("canada day", "naadam", "st jean baptiste"), _fixed(7, 1)),
    Holiday("Independence Day", (
        "the fourth of july", "the 4th of july", "fourth of july", "4th of july", "july fourth", "independence day",
        "dia de la independencia", "the fourth", "bastille day", "pioneer day",
    ), _fixed(7, 4)),
    Holiday("", ("august bank holiday", "obon", "assumption", "ferragosto"), _fixed(8, 15)),
    Holiday("Labor Day", ("labor day", "labour day"), _nth(9, 0, 1)),
    Holiday("", ("rosh hashanah", "cherokee national holiday", "heritagefest", "aloha week"), _fixed(9, 18)),
    Holiday("", ("heritage day",), _fixed(9, 24)),
    Holiday("", ("yom kippur", "sukkot", "harvest festival", "chuseok", "mid-autumn festival"), _fixed(9, 27)),
    Holiday("Columbus Day", ("columbus day", "indigenous peoples day", "canadian thanksgiving"), _nth(10, 0, 2)),
    Holiday("", ("diwali", "deepavali", "homecoming", "mea"), _fixed(10, 24)),
    Holiday("Halloween", ("halloween",), _fixed(10, 31)),
    Holiday("All Saints' Day", ("all saints day", "all saints"), _fixed(11, 1)),
    Holiday("", (
        "all souls day", "all souls", "dia de muertos", "dia de los muertos", "guy fawkes",
        "bonfire night", "election day",
    ), _fixed(11, 4)),
    Holiday("Veterans Day", ("veterans day", "armistice day", "remembrance day"), _fixed(11, 11)),
    Holiday("Thanksgiving", ("thanksgiving day", "thanksgiving", "tgiving", "t-giving", "turkey day"), _nth(11, 3, 4)),
    Holiday("Black Friday", ("black friday", "thanksgiving friday"), _nth(11, 3, 4, 1)),
    Holiday("", ("advent",), _fixed(12, 1)),
    Holiday("", (
        "hanukkah", "chanukah", "st nicholas day", "la guadalupana", "guadalupe", "day of reconciliation",
    ), _fixed(12, 10)),
    Holiday("", ("thorlaksmessa", "þorlaksmessa", "winter solstice", "las posadas"), _fixed(12, 21)),
    Holiday("Christmas Eve", (
        "christmas eve", "xmas eve", "x-mas eve", "nochebuena", "wigilia",
    ), _fixed(12, 24)),
    Holiday("Christmas", ("christmas day", "christmas", "xmas", "x-mas", "navidad", "noel", "kwanzaa"), _fixed(12, 25)),
    Holiday("", ("boxing day", "st stephens day"), _fixed(12, 26)),
    Holiday("New Year's Eve", ("new years eve", "hogmanay", "watch night", "nye"), _fixed(12, 31)),
    Holiday("", ("ramadan", "ramzan"), _fixed(4, 2)),
    Holiday("", ("eid al-fitr", "eid", "lebaran"), _fixed(5, 2)),
    Holiday("", ("eid al-adha", "ashura", "shabbos", "shabbat", "sabbath"), _fixed(7, 20)),
)  # fmt: skip

HOLIDAY_OF: Final = {known: holiday for holiday in HOLIDAYS for known in holiday.known}
HOLIDAY: Final = re.compile(
    r"(?<![^\W_])(?:" + "|".join(re.escape(k) for k in sorted(HOLIDAY_OF, key=len, reverse=True)) + r")(?![^\W_])"
)


def _index(rows: tuple[tuple[str, ...], ...]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for row, words in enumerate(rows):
        for place, word in enumerate(words):
            found.setdefault(word.lower(), (row, place))
    return found


#: Lower-case word to (row, place).
MONTH_OF: Final = _index(MONTHS)
WEEKDAY_OF: Final = _index(WEEKDAYS) | {"miercoles": (6, 2), "sabado": (6, 5), "thur": (4, 3)}
