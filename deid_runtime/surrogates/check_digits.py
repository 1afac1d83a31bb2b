"""Check digits of numbers that authorities give out."""

from typing import Final

_VIN_VALUES: Final = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)
)
_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_MEDICARE_WEIGHTS: Final = (1, 3, 7, 9, 1, 3, 7, 9)
_NHI_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_FINNISH: Final = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_CHINESE_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def luhn_digit(digits: str) -> str:
    """Return the check digit with which ``digits`` pass the Luhn test (ISO/IEC 7812-1)."""
    total = 0
    for place, char in enumerate(reversed(digits)):
        number = int(char) * (2 if place % 2 == 0 else 1)
        total += number - 9 if number > 9 else number
    return str(-total % 10)


def npi_digit(digits: str) -> str:
    """Return the check digit of a National Provider Identifier: Luhn with the prefix 80840 (CMS, 2004)."""
    return luhn_digit("80840" + digits)


def dea_digit(digits: str) -> str:
    """Return the check digit of a DEA registration number from its first six digits."""
    return str((sum(map(int, digits[0::2])) + 2 * sum(map(int, digits[1::2]))) % 10)


def nhs_digit(digits: str) -> str:
    """Return the check digit of an NHS number from its first nine digits (modulus 11), ``X`` if there is none."""
    rest = 11 - sum(int(char) * (10 - place) for place, char in enumerate(digits)) % 11
    return "0" if rest == 11 else "X" if rest == 10 else str(rest)


def medicare_digit(digits: str) -> str:
    """Return the ninth digit of an Australian Medicare number from its first eight (Services Australia)."""
    return str(sum(int(char) * weight for char, weight in zip(digits, _MEDICARE_WEIGHTS, strict=True)) % 10)


def nhi_digit(code: str) -> str:
    """Return the check digit of an NHI number of New Zealand (HISO 10046) from its first six characters, or ``X``."""
    values = (_NHI_LETTERS.index(char) + 1 if char.isalpha() else int(char) for char in code)
    rest = sum(value * (7 - place) for place, value in enumerate(values)) % 11
    return "X" if rest == 0 else "0" if rest == 1 else str(11 - rest)


def vin_digit(code: str) -> str:
    """Return the check digit, the ninth of 17 characters, of a vehicle identification number (49 CFR 565.15)."""
    total = sum(
        (int(char) if char.isdecimal() else _VIN_VALUES.get(char, 0)) * weight
        for char, weight in zip(code, _VIN_WEIGHTS, strict=True)
    )
    return "X" if total % 11 == 10 else str(total % 11)


def hetu_digit(digits: str) -> str:
    """Return the check character of a Finnish personal identity code from its nine digits (modulus 31)."""
    return _FINNISH[int(digits) % len(_FINNISH)]


def resident_digit(digits: str) -> str:
    """Return the check character of a Chinese resident identity number from its first 17 digits (GB 11643-1999)."""
    total = sum(int(char) * weight for char, weight in zip(digits, _CHINESE_WEIGHTS, strict=True))
    return "10X98765432"[total % 11]
