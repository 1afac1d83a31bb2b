"""Numbers and codes: letters for letters and digits for digits, shape kept, check digits right where they were.

The stand-in depends on the letters and digits alone, not on the label or the punctuation: the same number is the
same everywhere, whichever finder called it what. Codes go through a keyed permutation of all codes of their shape, so
two numbers of a patient never share a stand-in (but for the rare number that has to make way for an original).

No stand-in is a number that is given out: social security numbers get an area that never was issued, MAC addresses are
locally administered.
"""

import re
import string
from collections.abc import Callable
from math import prod
from typing import Final

from deid_runtime.surrogates.forms import holds_text, normal_form, scramble
from deid_runtime.surrogates.patient import Patient, first_free

_LONGEST_CHECKED_CHARS: Final = 40
_VIN_VALUES: Final = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)
)
_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_MAC: Final = re.compile(
    r"[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}"
)
_MAC_BITS: Final = 48
_MAC_KIND_BITS: Final = 0b11 << 40  # of the first octet: group address, locally administered
_MAC_LOCAL: Final = 0b10 << 40
ROUNDS: Final = 10  # as in NIST SP 800-38G for small domains


def luhn_digit(digits: str) -> str:
    """Return the check digit that makes ``digits`` and it pass the Luhn test (ISO/IEC 7812-1)."""
    total = 0
    for place, char in enumerate(reversed(digits)):
        number = int(char) * (2 if place % 2 == 0 else 1)
        total += number - 9 if number > 9 else number
    return str(-total % 10)


def npi_digit(digits: str) -> str:
    """Return the check digit of a National Provider Identifier: Luhn with 80840 before it (CMS, 2004)."""
    return luhn_digit("80840" + digits)


def dea_digit(digits: str) -> str:
    """Return the check digit of a DEA registration number from its first six digits."""
    return str((sum(map(int, digits[0::2])) + 2 * sum(map(int, digits[1::2]))) % 10)


def nhs_digit(digits: str) -> str:
    """Return the check digit of an NHS number from its first nine digits, ``X`` where none fits (modulus 11)."""
    rest = 11 - sum(int(char) * (10 - place) for place, char in enumerate(digits)) % 11
    return "0" if rest == 11 else "X" if rest == 10 else str(rest)


def vin_digit(code: str) -> str:
    """Return the ninth character of a vehicle identification number of 17 (49 CFR 565.15)."""
    total = sum(
        (int(char) if char.isdecimal() else _VIN_VALUES.get(char, 0)) * weight
        for char, weight in zip(code, _VIN_WEIGHTS, strict=True)
    )
    return "X" if total % 11 == 10 else str(total % 11)


def _with_last(code: str, digit: Callable[[str], str]) -> str:
    return code[:-1] + digit(code[:-1])


#: (what the code looks like, how its check digit is set right), tried in order; used where the original passes.
_CHECKS: Final[tuple[tuple[re.Pattern[str], Callable[[str], str]], ...]] = (
    (re.compile(r"[12]\d{9}"), lambda code: _with_last(code, npi_digit)),
    (re.compile(r"\d{10}"), lambda code: _with_last(code, nhs_digit)),
    (re.compile(r"[A-Z][A-Z9]\d{7}"), lambda code: code[:2] + _with_last(code[2:], dea_digit)),
    (re.compile(r"[A-HJ-NPR-Z0-9]{17}"), lambda code: code[:8] + vin_digit(code) + code[9:]),
    (re.compile(r"\d{12,19}"), lambda code: _with_last(code, luhn_digit)),
)

_NPI: Final = 0
_VIN: Final = 3
_VIN_CHECK: Final = 8  # where the check digit of a VIN stands


def _kind(code: str) -> int | None:
    """Return which of the checks ``code`` passes, or None."""
    return next((row for row, (shape, fix) in enumerate(_CHECKS) if shape.fullmatch(code) and fix(code) == code), None)


def lay(code: str, value: str) -> str:
    """Return ``value`` with its letters and digits replaced in order by those of ``code``, case kept."""
    chars = iter(code)
    return "".join(
        (lambda new: new.lower() if char.islower() else new)(next(chars)) if char.isalnum() else char for char in value
    )


def _alphabets(code: str, kind: int | None) -> list[str]:
    """Return what may stand at each place of ``code``: zeros in front stay, the first other digit is none.

    I and O, which read as digits, come in only where ``code`` has one of them; a check digit is not chosen.
    """
    letters = string.ascii_uppercase if "I" in code or "O" in code else "ABCDEFGHJKLMNPQRSTUVWXYZ"
    if kind == _VIN:
        letters = letters.replace("Q", "")
    found = []
    started = False
    for char in code:
        if not char.isdecimal():
            found.append(letters)
        elif started:
            found.append(string.digits)
        else:
            started = char != "0"
            found.append(string.digits[1:] if started else "0")
    if kind == _NPI:
        found[0] = "12"
    if kind is not None:
        place = _VIN_CHECK if kind == _VIN else len(code) - 1
        found[place] = code[place]
    return found


def permuted(patient: Patient, purpose: str, code: str) -> str:
    """Return the code that a keyed permutation of all codes like ``code`` puts in its place.

    ``code`` holds ASCII digits and capitals. Alike are codes with letters and digits in the same places, as many zeros
    in front, and the same check digit test passed or none; the permutation is walked until it meets one (Black and
    Rogaway, 2002), so different codes get different stand-ins.
    """
    return patient.remember(("permuted", purpose, code), lambda: _permuted(patient, purpose, code))


def _permuted(patient: Patient, purpose: str, code: str) -> str:
    kind, has_io = _kind(code), "I" in code or "O" in code
    alphabets = _alphabets(code, kind)
    size = prod(map(len, alphabets))
    if size == 1:
        return code
    index = 0
    for char, alphabet in zip(code, alphabets, strict=True):
        index = index * len(alphabet) + alphabet.index(char)
    shape = "".join("9" if char.isdecimal() else "A" for char in code)
    while True:
        index = patient.keyed.permute(index, size, f"{purpose}/{shape}", ROUNDS)
        rest = index
        chars = []
        for alphabet in reversed(alphabets):
            rest, place = divmod(rest, len(alphabet))
            chars.append(alphabet[place])
        made = "".join(reversed(chars))
        if kind is not None:
            made = _CHECKS[kind][1](made)
        if _kind(made) == kind and ("I" in made or "O" in made) == has_io:
            return made


def _mac(patient: Patient, purpose: str, code: str) -> str:
    """Return twelve hexadecimal digits of an address that no maker gives out: a locally administered one (IEEE 802)."""
    made = patient.keyed.permute(int(code, 16), 1 << _MAC_BITS, purpose, ROUNDS)
    return f"{made & ~_MAC_KIND_BITS | _MAC_LOCAL:012X}"


def replace_code(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return the stand-in of an identifier of any kind."""
    if not holds_text(value):
        return value
    code = "".join(char for char in value if char.isalnum()).upper() if value.isascii() else ""
    is_mac = _MAC.fullmatch(value) is not None

    def candidate(attempt: int) -> str:
        if is_mac:
            chars = iter(_mac(patient, f"mac/{attempt}", code))
            made = "".join(next(chars) if char.isalnum() else char for char in value)
            return made.lower() if value == value.lower() else made
        if not 0 < len(code) <= _LONGEST_CHECKED_CHARS:
            return scramble(patient.keyed, f"code/{attempt}", value)
        return lay(permuted(patient, f"code/{attempt}", code), value)

    return first_free(candidate, value, taken)


def replace_ssn(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return a social security number that was never issued (9xx), its last four following the last four alone.

    The last four of different numbers differ; numbers with the same last four share a stand-in once in 4,900.
    """
    digits = "".join(char for char in value if char.isdecimal())
    if len(digits) != 9 or normal_form(value) != digits or not value.isascii():
        return replace_code(patient, value, taken)

    def candidate(attempt: int) -> str:
        number = patient.keyed.number(f"ssn/{attempt}", digits[:5])
        # Areas 900-999 are never social security numbers, groups 01-49 never taxpayer numbers there either.
        last = permuted(patient, f"code/{attempt}", digits[5:])
        return lay(f"9{number % 100:02}{1 + number // 100 % 49:02}{last}", value)

    return first_free(candidate, value, taken)
