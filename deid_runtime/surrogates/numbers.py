"""Surrogates of numbers and codes: letters for letters and digits for digits, same shape, check digits still valid.

The surrogate depends only on the letters and digits, not on the label or the punctuation. So the same number has the
same surrogate, whichever detector found it. A keyed permutation of all codes of the same shape maps codes, so two
numbers of a patient have different surrogates. The rare exception is a number whose surrogate would equal an original.
Numbers that contain the date of birth keep a date there (:mod:`deid_runtime.surrogates.personal_numbers`).

No surrogate is a number in use if the authority documents unused ones: social security numbers get an area that
was never issued, NHS numbers begin with 999 (test numbers), NHI numbers of New Zealand with Z (test numbers), Medicare
numbers of Australia with a digit that no card has, and MAC addresses are locally administered.

Letters before the first digit of an identifier, such as ``KMCH/OP/``, are replaced separately. So identifiers of one
owner keep a common beginning. They do not become a clinical abbreviation.
"""

import re
import string
from collections.abc import Callable
from math import prod
from typing import Final

from deid_runtime.lexicon.clinical_initials import clinical_initials
from deid_runtime.surrogates.check_digits import (
    dea_digit,
    luhn_digit,
    medicare_digit,
    nhi_digit,
    nhs_digit,
    npi_digit,
    vin_digit,
)
from deid_runtime.surrogates.forms import holds_text, normal_form, scramble
from deid_runtime.surrogates.patient import Patient, first_free
from deid_runtime.surrogates.personal_numbers import personal_number
from deid_runtime.surrogates.spoken_numbers import NUMBER_SPEECH, respoken, speak_like, spoken_digits

_LONGEST_CHECKED_CHARS: Final = 40
_MAC: Final = re.compile(
    r"[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}"
)
_MAC_BITS: Final = 48
_MAC_KIND_BITS: Final = 0b11 << 40  # two bits of the first octet: group address, locally administered
_MAC_LOCAL: Final = 0b10 << 40
ROUNDS: Final = 10  # as in NIST SP 800-38G for small domains


def _with_last(code: str, digit: Callable[[str], str]) -> str:
    return code[:-1] + digit(code[:-1])


#: (shape of the code, function that corrects its check digit), tried in order; used when the original passes the check.
_CHECKS: Final[tuple[tuple[re.Pattern[str], Callable[[str], str]], ...]] = (
    (re.compile(r"[12]\d{9}"), lambda code: _with_last(code, npi_digit)),
    (re.compile(r"\d{10}"), lambda code: _with_last(code, nhs_digit)),
    (re.compile(r"[A-Z][A-Z9]\d{7}"), lambda code: code[:2] + _with_last(code[2:], dea_digit)),
    (re.compile(r"[A-HJ-NPR-Z0-9]{17}"), lambda code: code[:8] + vin_digit(code) + code[9:]),
    (re.compile(r"\d{12,19}"), lambda code: _with_last(code, luhn_digit)),
)

_NHS_DIGITS: Final = 10
_NPI: Final = 0
_VIN: Final = 3
_VIN_CHECK: Final = 8  # index of the check digit of a VIN


def _kind(code: str) -> int | None:
    """Return the index of the first check that ``code`` passes, or None."""
    return next((row for row, (shape, fix) in enumerate(_CHECKS) if shape.fullmatch(code) and fix(code) == code), None)


def lay(code: str, value: str) -> str:
    """Return ``value`` with its letters and digits replaced in order by those of ``code``, in the same letter case."""
    chars = iter(code)
    return "".join(
        (lambda new: new.lower() if char.islower() else new)(next(chars)) if char.isalnum() else char for char in value
    )


def _alphabets(code: str, kind: int | None) -> list[str]:
    """Return the allowed characters for each position of ``code``.

    Leading zeros stay, and the first other digit does not become 0. I and O, which look like digits, are allowed only
    if ``code`` has one of them. The check digit is not chosen.
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
    """Return the code to which a keyed permutation of all codes similar to ``code`` maps it.

    ``code`` has ASCII digits and capitals. Similar codes have letters and digits at the same positions, as many leading
    zeros, and pass the same check or none. The permutation is applied repeatedly until it reaches a similar code (Black
    and Rogaway, 2002), so different codes get different surrogates.
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
    """Return twelve hexadecimal digits of a locally administered address (IEEE 802), which no manufacturer assigns."""
    made = patient.keyed.permute(int(code, 16), 1 << _MAC_BITS, purpose, ROUNDS)
    return f"{made & ~_MAC_KIND_BITS | _MAC_LOCAL:012X}"


_NHS: Final = re.compile(r"\d{3}([ -])\d{3}\1\d{4}")
_MEDICARE: Final = re.compile(r"[2-6]\d{3} ?\d{5} ?\d(?: ?[/-]? ?\d)?")
_NHI: Final = re.compile(r"[A-HJ-NP-Z]{3} ?\d{4}")
_UNISSUED_NHS: Final = "999"
_UNISSUED_MEDICARE: Final = "9"
_PREFIX: Final = re.compile(r"([A-Z]{2,8})([A-Z0-9]*\d[A-Z0-9]*)")
_PREFIX_TURNS: Final = 8  # number of draws to find letters that are not a clinical abbreviation


def _unissued(patient: Patient, value: str, code: str, locale: str, purpose: str) -> str | None:
    """Return the surrogate of a national health number from a range that is never issued; None for another code."""
    if _is_nhs(value, code, locale):
        made = _UNISSUED_NHS + permuted(patient, purpose, code[3:-1])
        digit = nhs_digit(made)
        while digit == "X":  # no NHS number has this check digit: the next number
            made = _UNISSUED_NHS + f"{(int(made[3:]) + 1) % 1_000_000:06}"
            digit = nhs_digit(made)
        return made + digit
    if locale == "AU" and _MEDICARE.fullmatch(value) and medicare_digit(code[:8]) == code[8]:
        made = _UNISSUED_MEDICARE + permuted(patient, purpose, code[1:8])
        return made + medicare_digit(made) + code[9:]
    if locale == "NZ" and _NHI.fullmatch(value) and nhi_digit(code[:6]) == code[6]:
        made = "Z" + permuted(patient, purpose, code[1:6])
        while nhi_digit(made) == "X":  # such numbers are not issued: the next one
            made = made[:3] + f"{(int(made[3:]) + 1) % 1000:03}"
        return made + nhi_digit(made)
    return None


def _is_nhs(value: str, code: str, locale: str) -> bool:
    """Return whether a code is an NHS or CHI number: by its spaces, or without them only in a British note."""
    if len(code) != _NHS_DIGITS or not code.isdecimal() or nhs_digit(code[:-1]) != code[-1]:
        return False
    return _NHS.fullmatch(value) is not None or (locale == "GB" and value.isdecimal())


def _with_prefix(patient: Patient, code: str, purpose: str) -> str | None:
    """Return the surrogate of a code that begins with letters, which are replaced separately; None for another code."""
    found = _PREFIX.fullmatch(code)
    if found is None or _kind(code) is not None:
        return None
    return patient.remember(("prefix", found[1]), lambda: _other_prefix(patient, found[1])) + permuted(
        patient, f"{purpose}/{found[1]}", found[2]
    )


def _other_prefix(patient: Patient, letters: str) -> str:
    drawn = ""
    for turn in range(_PREFIX_TURNS):
        drawn = scramble(patient.keyed, f"prefix/{turn}", letters)
        if drawn.lower() not in clinical_initials():
            break
    return drawn


def replace_code(patient: Patient, value: str, taken: frozenset[str], locale: str = "US") -> str:
    """Return the surrogate of an identifier of any kind. ``locale`` is that of the note."""
    if not holds_text(value):
        return value
    if digits := spoken_digits(value):  # the same number as in digits
        return speak_like(replace_code(patient, digits, taken, locale), value)
    if NUMBER_SPEECH.search(value):
        return first_free(lambda attempt: respoken(patient, value, attempt), value, taken)
    code = "".join(char for char in value if char.isalnum()).upper() if value.isascii() else ""
    is_mac = _MAC.fullmatch(value) is not None

    def candidate(attempt: int) -> str:
        if is_mac:
            chars = iter(_mac(patient, f"mac/{attempt}", code))
            made = "".join(next(chars) if char.isalnum() else char for char in value)
            return made.lower() if value == value.lower() else made
        if not 0 < len(code) <= _LONGEST_CHECKED_CHARS:
            return scramble(patient.keyed, f"code/{attempt}", value)
        purpose = f"code/{attempt}"
        known = (
            _unissued(patient, value, code, locale, purpose)
            or personal_number(patient, value, code, lambda rest: permuted(patient, purpose, rest))
            or _with_prefix(patient, code, purpose)
        )
        return lay(known or permuted(patient, purpose, code), value)

    return first_free(candidate, value, taken)


def replace_ssn(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return a social security number that was never issued (9xx). Its last four digits depend only on the original's.

    Different last four digits stay different. Two numbers with the same last four share a surrogate in one of 4,900
    cases.
    """
    if digits := spoken_digits(value):
        return speak_like(replace_ssn(patient, digits, taken), value)
    digits = "".join(char for char in value if char.isdecimal())
    if len(digits) != 9 or normal_form(value) != digits or not value.isascii():
        return replace_code(patient, value, taken)

    def candidate(attempt: int) -> str:
        number = patient.keyed.number(f"ssn/{attempt}", digits[:5])
        # Areas 900-999 are never issued as social security numbers, and groups 01-49 there never as taxpayer numbers.
        last = permuted(patient, f"code/{attempt}", digits[5:])
        return lay(f"9{number % 100:02}{1 + number // 100 % 49:02}{last}", value)

    return first_free(candidate, value, taken)
