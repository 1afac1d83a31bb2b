"""Numbering plans: the parts of a telephone number, and the ranges that no subscriber has.

``data/surrogates/phone_ranges.tsv`` lists the ranges by country code, with the authority that reserved them for fiction
or the rule of the plan by which no such number exists.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from deid_runtime.surrogates.gazetteer import places
from deid_runtime.surrogates.lists import read_rows

#: Locale -> country code.
_CODE_OF: Final = {"GB": "44", "IE": "353", "AU": "61", "NZ": "64", "IN": "91", "US": "1", "CA": "1"}
_LOCALE_OF: Final = {code: locale for locale, code in _CODE_OF.items() if code != "1"}
#: Country codes of one and two digits (ITU-T E.164 list of assigned codes); all others have three.
_SHORT_CODES: Final = frozenset(
    """1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84
    86 90 91 92 93 94 95 98""".split()
)
_EXTENSION: Final = re.compile(r"\s*(?:[,;]\s*)?(?:ext?n?\.?|x|#)\s*\d{1,6}\s*$", re.IGNORECASE)
_INTERNATIONAL: Final = re.compile(r"\s*\(?(?:\+|00(?=[1-9])|011(?=[\s-]?[2-9](?:\D*\d){9}))\D{0,3}")
_LEAST_NATIONAL: Final = 6  # digits; a shorter number is a part of one
_INDIAN_MOBILE: Final = re.compile(r"\s*[6-9]\d{4}[\s-]\d{5}\s*")
_AUSTRALIAN: Final = re.compile(r"\s*\(?0[2378]\)?[\s-]?\d{4}[\s-]?\d{4}\s*")
_BRITISH: Final = 11  # digits of a number with its trunk prefix
_BRITISH_MOBILE: Final = re.compile("07[1-9]")
_IRISH_MOBILES: Final = ("083", "085", "086", "087", "089")


@dataclass(frozen=True, slots=True)
class Dialled:
    """A telephone number outside the North American plan, as digits.

    ``before`` is the country code or trunk prefix as dialled. ``code`` is the country code, empty if unknown. ``rest``
    are the digits of an extension.
    """

    before: str
    code: str
    national: str = field(repr=False)
    rest: str = field(default="", repr=False)


def digits_of(value: str) -> str:
    """Return the digits of ``value``."""
    return "".join(char for char in value if char.isdecimal())


def read_number(value: str, locale: str) -> Dialled | None:
    """Return the parts of a number that is not North American; None for a North American one or a part of one."""
    ending = _EXTENSION.search(value)
    shown = value[: ending.start()] if ending else value
    rest = digits_of(value[ending.start() :]) if ending else ""
    digits = digits_of(shown)
    if not digits.isascii() or len(digits) < _LEAST_NATIONAL:
        return None
    begun = _INTERNATIONAL.match(shown)
    if begun and any(map(str.isdecimal, shown[begun.end() :])):
        return _international(shown, digits_of(begun.group()), digits, rest)
    if digits.startswith("0"):
        return Dialled("0", _code_of_national(digits, locale), digits[1:], rest)
    if len(digits) == 10 and (_INDIAN_MOBILE.fullmatch(shown) or (locale == "IN" and digits[0] in "6789")):
        return Dialled("", "91", digits, rest)
    if len(digits) == 10 and digits[:4] in ("1300", "1800") and locale in ("AU", "other"):
        return Dialled("", "61", digits, rest)
    if locale in ("US", "CA") or len(digits) == 7 or len(digits) >= 10:
        return None
    return Dialled("", "", digits, rest)  # a local number without its code


def _international(shown: str, prefix: str, digits: str, rest: str) -> Dialled | None:
    after = digits[len(prefix) :]
    size = next((size for size in (1, 2) if after[:size] in _SHORT_CODES), 3)
    code, national = after[:size], after[size:]
    if code == "1" or not national:
        return None
    before = prefix + code
    if re.match(r"\D*\(0\)", shown[_end_of_digits(shown, len(before)) :]) or (
        national.startswith("0") and code in _LOCALE_OF
    ):
        before, national = before + "0", national[1:]  # +44 (0)20
    return Dialled(before, code, national, rest)


def _end_of_digits(text: str, count: int) -> int:
    for place, char in enumerate(text):
        if char.isdecimal():
            count -= 1
            if count == 0:
                return place + 1
    return len(text)


def _code_of_national(digits: str, locale: str) -> str:
    """Return the country code of a number with a trunk prefix: that of the note if it fits, or else the likely one."""
    size = len(digits)
    fits = {
        "GB": 10 <= size <= 12 and digits[1] in "1235789",
        "IN": size == _BRITISH,
        "IE": 9 <= size <= 10,
        "AU": size == 10 and digits[1] in "23478",
        "NZ": 9 <= size <= 11 and digits[1] in "234679",
    }
    if fits.get(locale):
        return _CODE_OF[locale]
    if locale in ("US", "CA"):
        if size == _BRITISH and digits[1] in "1237":
            return "44"
        if size == 10 and digits[1] == "4":
            return "61"
        if size == 10 and digits[:3] in _IRISH_MOBILES:
            return "353"
    # A mobile number of Britain in a note that shows no country; 070 is also Nigeria's.
    return "44" if locale == "other" and size == _BRITISH and _BRITISH_MOBILE.match(digits) else ""


@cache
def reserved_ranges() -> Mapping[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]]:
    """Return country code -> rows of (beginnings of national numbers, reserved numbers with ``x`` for any digit)."""
    found: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    for code, starts, ranges, _ in read_rows("phone_ranges.tsv"):
        found.setdefault(code, []).append((tuple(starts.split(",")), tuple(ranges.split(","))))
    return {code: tuple(rows) for code, rows in found.items()}


def ranges_for(code: str, national: str) -> tuple[str, ...]:
    """Return the reserved numbers for a national number, ``x`` for any digit; empty when none is known."""
    rows = reserved_ranges().get(code, ())
    return next((ranges for starts, ranges in rows if national.startswith(starts)), ())


def locale_of_phone(value: str) -> tuple[tuple[str, float], ...]:
    """Return the (locale, weight) that a telephone number supports, 1 for usual evidence."""
    shown = value[:40]
    digits = digits_of(shown)
    if len(digits) < _LEAST_NATIONAL + 1 or not digits.isascii():
        return ()
    if not digits.startswith("0") and not shown.lstrip().startswith("+"):
        if _INDIAN_MOBILE.fullmatch(shown):
            return (("IN", 2.0),)
        national = digits[1:] if len(digits) == 11 and digits[0] == "1" else digits
        if len(national) != 10:
            return ()
        if national[:3] in places().province_of_area_code:
            return (("CA", 2.0),)
        return (("US", 1.0),) if national[0] not in "01" else ()
    number = read_number(shown, "US")
    if number is None:
        return (("US", 0.5),) if shown.lstrip().startswith("+1") else ()
    if number.before != "0":
        return ((_LOCALE_OF.get(number.code, "other"), 1.5),)
    return _national_signs(shown, digits)


def _national_signs(shown: str, digits: str) -> tuple[tuple[str, float], ...]:
    """Return the evidence of a number with its trunk prefix 0."""
    if len(digits) == _BRITISH:
        return (("GB", 1.5),) if digits[1] in "1237" else (("other", 0.5),)
    if len(digits) == 10:
        if digits[1] == "4" or _AUSTRALIAN.fullmatch(shown):
            return (("AU", 1.5),)
        if digits[:3] in _IRISH_MOBILES:
            return (("IE", 1.0), ("other", 0.6))
        if digits[:3] in ("021", "022", "027"):
            return (("NZ", 0.8), ("IE", 0.5), ("other", 0.5))
        return (("other", 0.8),)
    return (("IE", 0.5), ("NZ", 0.5), ("GB", 0.3)) if len(digits) == 9 else ()
