"""Validate the value of a match: calendars, check digits, numbering plans."""

import re
from typing import Final

_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_month_day(month: int, day: int) -> bool:
    """Return whether the day exists in some year; 29 February does."""
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1]


def is_day_of_year(first: int, second: int) -> bool:
    """Return whether the two numbers are a month and a day, in either order."""
    return is_month_day(first, second) or is_month_day(second, first)


def is_luhn(digits: str) -> bool:
    """Return whether the last digit is the check digit of ISO/IEC 7812-1, annex B."""
    total = 0
    for index, char in enumerate(reversed(digits)):
        number = int(char) * (2 if index % 2 else 1)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


def is_npi(digits: str) -> bool:
    """Return whether it is a US National Provider Identifier: ten digits, 1 or 2 first, Luhn with the prefix 80840."""
    return re.fullmatch(r"[12][0-9]{9}", digits) is not None and is_luhn("80840" + digits)


def is_dea(number: str) -> bool:
    """Return whether it is a DEA number: two letters (or letter and 9), seven digits, the last a check digit."""
    if re.fullmatch(r"[A-Za-z][A-Za-z9][0-9]{7}", number) is None:
        return False
    digits = [int(char) for char in number[2:]]
    return (digits[0] + digits[2] + digits[4] + 2 * (digits[1] + digits[3] + digits[5])) % 10 == digits[6]


_VIN_VALUES: Final = dict(
    zip("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "012345678912345678123457923456789"), strict=True)
)
_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def is_vin(number: str) -> bool:
    """Return whether it is a vehicle identification number: 17 characters, no I, O, Q; check digit by 49 CFR 565.15."""
    number = number.upper()
    if len(number) != 17 or not all(char in _VIN_VALUES for char in number):
        return False
    rest = sum(_VIN_VALUES[char] * weight for char, weight in zip(number, _VIN_WEIGHTS, strict=True)) % 11
    return number[8] == ("X" if rest == 10 else str(rest))


def is_nhs_number(digits: str) -> bool:
    """Return whether it is a UK NHS number: ten digits, the last modulo 11."""
    if len(digits) != 10:
        return False
    check = 11 - sum(int(char) * weight for char, weight in zip(digits, range(10, 1, -1), strict=False)) % 11
    return check != 10 and int(digits[9]) == check % 11


def is_ssn(digits: str) -> bool:
    """Return whether nine digits have the form of a US social security or taxpayer number.

    Areas 000, 666 and 900-999 and the group 00 are never issued, but occur in notes as surrogates for the real ones. So
    only a serial of 0000 is rejected.
    """
    return len(digits) == 9 and digits[5:] != "0000"


def is_ipv4(text: str) -> bool:
    """Return whether four numbers are each at most 255 and none has a leading zero."""
    parts = text.split(".")
    return len(parts) == 4 and all(part.isdigit() and int(part) <= 255 and part == str(int(part)) for part in parts)
