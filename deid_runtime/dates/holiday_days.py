"""Table of holidays: their names and their days in a year."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final


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


def orthodox_easter(year: int) -> date:
    """Return Easter Sunday of the Julian calendar as a Gregorian date (Meeus, Astronomical Algorithms, 1991)."""
    d = (19 * (year % 19) + 15) % 30
    e = (2 * (year % 4) + 4 * (year % 7) - d + 34) % 7
    month, day = divmod(d + e + 114, 31)
    return date(year, month, day + 1) + timedelta(days=year // 100 - year // 400 - 2)


def _fixed(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


def _nth(month: int, weekday: int, nth: int, plus: int = 0) -> Callable[[int], date]:
    def of(year: int) -> date:
        first = date(year, month, 1)
        return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1) + plus)

    return of


def _from_easter(days: int) -> Callable[[int], date]:
    return lambda year: easter(year) + timedelta(days=days)


def _last_monday(month: int, day: int) -> Callable[[int], date]:
    """Return a function that gives the last Monday on or before a day of a year."""

    def of(year: int) -> date:
        last = date(year, month, day)
        return last - timedelta(days=last.weekday())

    return of


def _leap_day(year: int) -> date:
    return date(year, 2, 28) + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Holiday:
    """A holiday: a surrogate name for unknown holidays (or empty), its known spellings, and its day in a year.

    Without ``is_day`` it is a season, or a lunar holiday at its usual time of year: known at best to the month.
    ``elsewhere`` maps a locale to the day of the holiday in that country. ``where`` has the locales in which the name
    may be a surrogate; empty means all.
    """

    name: str
    known: tuple[str, ...]
    on: Callable[[int], date]
    is_day: bool = True
    where: frozenset[str] = frozenset()
    elsewhere: Mapping[str, Callable[[int], date]] = field(default_factory=dict)


_US: Final = frozenset({"US"})
_CANADA: Final = frozenset({"CA"})
_INDIA: Final = frozenset({"IN"})
_BRITISH: Final = frozenset({"GB", "IE", "CA", "AU", "NZ"})
_AMERICAN: Final = frozenset({"US", "CA"})
_PACIFIC: Final = frozenset({"AU", "NZ"})

HOLIDAYS: Final = (
    Holiday("New Year's Day", ("new years day", "new years", "new year"), _fixed(1, 1)),
    Holiday("", ("epiphany", "three kings", "dia de reyes", "reyes", "armenian christmas", "old christmas",
                 "nollaig na mban"), _fixed(1, 6)),
    Holiday("", ("orthodox christmas", "russian christmas", "coptic christmas", "ukrainian christmas"), _fixed(1, 7)),
    Holiday("", ("lohri",), _fixed(1, 13)),
    Holiday("", ("makar sankranti", "pongal"), _fixed(1, 14)),
    Holiday("MLK Day", ("martin luther king day", "mlk day", "mlk"), _nth(1, 0, 3), where=_US),
    Holiday("", ("burns night",), _fixed(1, 25)),
    Holiday("Australia Day", ("australia day",), _fixed(1, 26), where=frozenset({"AU"})),
    Holiday("Republic Day", ("republic day",), _fixed(1, 26), where=_INDIA),
    Holiday("Groundhog Day", ("groundhog day",), _fixed(2, 2), where=_US),
    Holiday("", (
        "lunar new year", "chinese new year", "vietnamese new year", "korean new year", "cny", "tet", "losar",
        "tsagaan sar", "seollal",
    ), _fixed(2, 5), is_day=False),
    Holiday("Waitangi Day", ("waitangi day",), _fixed(2, 6), where=frozenset({"NZ"})),
    Holiday("", ("super bowl sunday", "super bowl"), _nth(2, 6, 2)),
    Holiday("Valentine's Day", ("valentines day", "valentines", "valentine"), _fixed(2, 14)),
    Holiday("Presidents' Day", ("presidents day", "family day"), _nth(2, 0, 3), where=_US),
    Holiday("Mardi Gras", ("mardi gras", "fat tuesday"), _from_easter(-47), where=_US),
    Holiday("", ("fat thursday",), _from_easter(-52)),
    Holiday("", ("carnival", "carnaval", "fasching"), _from_easter(-49), is_day=False),
    Holiday("Ash Wednesday", ("ash wednesday", "ash wed"), _from_easter(-46)),
    Holiday("", ("lent",), _from_easter(-24), is_day=False),
    Holiday("", ("leap day",), _leap_day),
    Holiday("", ("st davids day",), _fixed(3, 1)),
    Holiday("", ("hinamatsuri",), _fixed(3, 3)),
    Holiday("", ("womens day",), _fixed(3, 8)),
    Holiday("", ("purim", "holi"), _fixed(3, 12), is_day=False),
    Holiday("St. Patrick's Day", (
        "st patricks day", "st patricks", "st pats", "st pats day",
    ), _fixed(3, 17)),
    Holiday("", ("st patricks eve",), _fixed(3, 16)),
    Holiday("", ("st josephs day",), _fixed(3, 19)),
    Holiday("", ("nowruz", "norooz", "persian new year"), _fixed(3, 20)),
    Holiday("", ("mothering sunday",), _from_easter(-21)),
    Holiday("April Fools' Day", ("april fools day", "april fools", "april fool"), _fixed(4, 1)),
    Holiday("Palm Sunday", ("palm sunday",), _from_easter(-7)),
    Holiday("", ("holy week", "semana santa"), _from_easter(-3), is_day=False),
    Holiday("", ("maundy thursday", "holy thursday"), _from_easter(-3)),
    Holiday("Good Friday", ("good friday", "viernes santo"), _from_easter(-2)),
    Holiday("Easter", ("easter sunday", "easter", "pascua", "paques"), _from_easter(0)),
    Holiday("", ("easter monday",), _from_easter(1)),
    Holiday("", ("orthodox easter", "greek easter", "russian easter"), orthodox_easter),
    Holiday("", ("passover", "pesach", "bayram"), _fixed(4, 13), is_day=False),
    Holiday("", ("songkran", "khmer new year", "thai new year", "lao new year"), _fixed(4, 13)),
    Holiday("", ("tamil new year", "sinhala new year", "vaisakhi", "visakhi", "baisakhi", "bisakhi"), _fixed(4, 14)),
    Holiday("Patriots' Day", ("patriots day", "marathon monday"), _nth(4, 0, 3), where=_US),
    Holiday("", ("armenian remembrance day",), _fixed(4, 24)),
    Holiday("Anzac Day", ("anzac day", "anzac"), _fixed(4, 25), where=_PACIFIC),
    Holiday("", ("kings day",), _fixed(4, 27)),
    Holiday("", ("may day",), _fixed(5, 1)),
    Holiday("", ("derby day",), _nth(5, 5, 1)),
    Holiday("Cinco de Mayo", ("cinco de mayo", "childrens day"), _fixed(5, 5), where=_US),
    Holiday("", ("victory day",), _fixed(5, 9)),
    Holiday("Mother's Day", ("mothers day",), _nth(5, 6, 2),
            elsewhere={"GB": _from_easter(-21), "IE": _from_easter(-21)}),
    Holiday("Victoria Day", ("victoria day",), _last_monday(5, 24), where=_CANADA),
    Holiday("Memorial Day", ("memorial day", "mem day", "decoration day"), _last_monday(5, 31), where=_US),
    Holiday("", ("pentecost", "whitsun"), _from_easter(49)),
    Holiday("", ("d-day",), _fixed(6, 6)),
    Holiday("Father's Day", ("fathers day",), _nth(6, 6, 3), elsewhere={"AU": _nth(9, 6, 1), "NZ": _nth(9, 6, 1)}),
    Holiday("Juneteenth", ("juneteenth",), _fixed(6, 19), where=_US),
    Holiday("", ("midsummer",), _fixed(6, 21), is_day=False),
    Holiday("", ("st jean baptiste",), _fixed(6, 24)),
    Holiday("Canada Day", ("canada day",), _fixed(7, 1), where=_CANADA),
    Holiday("Independence Day", (
        "the fourth of july", "the 4th of july", "fourth of july", "4th of july", "july fourth", "independence day",
        "the fourth",
    ), _fixed(7, 4), where=_US | _INDIA, elsewhere={"IN": _fixed(8, 15)}),
    Holiday("", ("naadam",), _fixed(7, 11), is_day=False),
    Holiday("", ("bastille day",), _fixed(7, 14)),
    Holiday("", ("pioneer day",), _fixed(7, 24)),
    Holiday("", ("obon",), _fixed(8, 15), is_day=False),
    Holiday("", ("assumption", "dormition", "ferragosto"), _fixed(8, 15)),
    Holiday("", ("august bank holiday",), _last_monday(8, 31)),
    Holiday("Labor Day", ("labor day", "labour day"), _nth(9, 0, 1), where=_US,
            elsewhere={"GB": _fixed(5, 1), "IN": _fixed(5, 1), "NZ": _nth(10, 0, 4)}),
    Holiday("", ("cherokee national holiday", "heritagefest", "aloha week"), _fixed(9, 15), is_day=False),
    Holiday("", ("ethiopian new year", "enkutatash"), _fixed(9, 11)),
    Holiday("", ("dia de la independencia",), _fixed(9, 16)),
    Holiday("", ("rosh hashanah", "jewish new year"), _fixed(9, 18), is_day=False),
    Holiday("", ("heritage day",), _fixed(9, 24)),
    Holiday("", ("yom kippur", "sukkot", "harvest festival", "chuseok", "mid-autumn festival"), _fixed(9, 27),
            is_day=False),
    Holiday("Columbus Day", (
        "columbus day", "indigenous peoples day", "canadian thanksgiving", "thanksgiving monday",
    ), _nth(10, 0, 2), where=_US),
    Holiday("", ("white sunday",), _nth(10, 6, 2)),
    Holiday("", ("diwali", "deepavali", "homecoming", "mea", "makahiki"), _fixed(10, 24), is_day=False),
    Holiday("Halloween", ("halloween",), _fixed(10, 31)),
    Holiday("All Saints' Day", ("all saints day", "all saints"), _fixed(11, 1)),
    Holiday("", ("all souls day", "all souls", "dia de muertos", "dia de los muertos"), _fixed(11, 2)),
    Holiday("", ("election day",), _nth(11, 0, 1, 1)),
    Holiday("Bonfire Night", ("guy fawkes", "bonfire night"), _fixed(11, 5), where=frozenset({"GB"})),
    Holiday("Veterans Day", ("veterans day", "armistice day", "remembrance day"), _fixed(11, 11), where=_US),
    Holiday("Thanksgiving", ("thanksgiving day", "thanksgiving", "tgiving", "t-giving", "turkey day"), _nth(11, 3, 4),
            where=_AMERICAN, elsewhere={"CA": _nth(10, 0, 2)}),
    Holiday("Black Friday", ("black friday", "thanksgiving friday"), _nth(11, 3, 4, 1), where=_US),
    Holiday("", ("hmong new year", "advent", "hanukkah", "chanukah"), _fixed(12, 10), is_day=False),
    Holiday("", ("st nicholas day",), _fixed(12, 6)),
    Holiday("", ("la guadalupana", "guadalupe"), _fixed(12, 12)),
    Holiday("", ("day of reconciliation",), _fixed(12, 16)),
    Holiday("", ("las posadas",), _fixed(12, 20), is_day=False),
    Holiday("", ("winter solstice",), _fixed(12, 21)),
    Holiday("", ("thorlaksmessa", "þorlaksmessa"), _fixed(12, 23)),
    Holiday("Christmas Eve", (
        "christmas eve", "xmas eve", "x-mas eve", "nochebuena", "wigilia",
    ), _fixed(12, 24)),
    Holiday("Christmas", ("christmas day", "christmas", "xmas", "x-mas", "navidad", "noel"), _fixed(12, 25)),
    Holiday("Boxing Day", ("boxing day", "st stephens day"), _fixed(12, 26), where=_BRITISH),
    Holiday("", ("kwanzaa",), _fixed(12, 29), is_day=False),
    Holiday("New Year's Eve", ("new years eve", "hogmanay", "watch night", "nye"), _fixed(12, 31)),
    Holiday("", ("timkat", "sinulog", "ati-atihan"), _fixed(1, 19), is_day=False),
    Holiday("", ("thaipusam", "imbolc"), _fixed(2, 2), is_day=False),
    Holiday("", ("shab-e-barat",), _fixed(3, 5), is_day=False),
    Holiday("", ("ramadan", "ramzan", "ramadhan"), _fixed(4, 2), is_day=False),
    Holiday("", ("qingming", "ching ming"), _fixed(4, 5), is_day=False),
    Holiday("", (
        "eid al-fitr", "eid ul-fitr", "eid el-fitr", "eid", "lebaran", "hari raya", "hari raya puasa",
        "aidilfitri", "vesak",
    ), _fixed(5, 2), is_day=False),
    Holiday("", ("dragon boat festival",), _fixed(6, 10), is_day=False),
    Holiday("", (
        "eid al-adha", "eid ul-adha", "eid el-adha", "eid al-azha", "eid ul-azha", "eid el-azha", "eid al-kabir",
        "eid ul-kabir", "eid el-kabir", "bakrid", "bakid", "bakr id", "bak id", "bakra eid",
        "hari raya haji", "muharram", "ashura", "tisha bav",
    ), _fixed(7, 20), is_day=False),
    Holiday("", ("lughnasa",), _fixed(8, 1), is_day=False),
    Holiday("", ("raksha bandhan", "teej", "janmashtami", "ganesh chaturthi", "onam"), _fixed(8, 28), is_day=False),
    Holiday("", ("meskel", "milad un nabi", "mawlid"), _fixed(9, 27), is_day=False),
    Holiday("", (
        "navratri", "navrati", "ashtami", "durga puja", "dussehra", "dasara", "dashain", "simchat torah", "undas",
        "samhain",
    ), _fixed(10, 12), is_day=False),
    Holiday("", (
        "karva chauth", "tihar", "chhath", "chhath puja", "gurpurab", "gurupurab", "guru nanak jayanti", "loy krathong",
    ), _fixed(11, 8), is_day=False),
    Holiday("", ("simbang gabi",), _fixed(12, 16), is_day=False),
)  # fmt: skip

#: Known spelling, with blanks for hyphens -> holiday.
HOLIDAY_OF: Final = {known.replace("-", " "): holiday for holiday in HOLIDAYS for known in holiday.known}
HOLIDAY: Final = re.compile(
    r"(?<![^\W_])(?:"
    + "|".join(known.replace(" ", "[ -]") for known in sorted(HOLIDAY_OF, key=len, reverse=True))
    + r")(?![^\W_])"
)


def holiday_names(locale: str) -> tuple[str, ...]:
    """Return the names of holidays that are celebrated in ``locale``, as surrogates of an unknown holiday."""
    return tuple(each.name for each in HOLIDAYS if each.name and (not each.where or locale in each.where))
