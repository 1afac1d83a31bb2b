"""Numbers and codes: letters for letters and digits for digits, shape kept, check digits right where they were.

The stand-in depends on the letters and digits alone, not on the label or the punctuation: the same number is the
same everywhere, whichever finder called it what.
"""

import re
from collections.abc import Callable
from typing import Final

from deid_runtime.surrogates.forms import holds_text, normal_form, scramble
from deid_runtime.surrogates.lists import places
from deid_runtime.surrogates.patient import Patient, first_free

_LONGEST_CHECKED_CHARS: Final = 40
_VIN_VALUES: Final = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)
)
_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_NUMBER_SPEECH: Final = re.compile(r"(?:(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)[\s,-]*){4,}", re.I)
_SPOKEN: Final = ("oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


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


def _lay(code: str, value: str) -> str:
    """Return ``value`` with its letters and digits replaced in order by those of ``code``, case kept."""
    chars = iter(code)
    return "".join(
        (lambda new: new.lower() if char.islower() else new)(next(chars)) if char.isalnum() else char for char in value
    )


def replace_code(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return the stand-in of an identifier of any kind."""
    if not holds_text(value):
        return value
    code = "".join(char for char in value if char.isalnum()).upper() if value.isascii() else ""
    check = None
    if 0 < len(code) <= _LONGEST_CHECKED_CHARS:
        check = next((fix for shape, fix in _CHECKS if shape.fullmatch(code) and fix(code) == code), None)

    def candidate(attempt: int) -> str:
        if not code:
            return scramble(patient.keyed, f"code/{attempt}", value)
        made = scramble(patient.keyed, f"code/{attempt}", code)
        if check is not None:
            if code[0] in "12" and made[0] not in "12" and len(code) == 10:  # NPIs start with 1 or 2
                made = "12"[int(made[0]) % 2] + made[1:]
            made = check(made)
            if "X" in made and "X" not in code and code.isdecimal():  # an NHS number without a check digit
                return value
        return _lay(made, value)

    return first_free(candidate, value, taken)


def replace_ssn(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return a social security number that was never issued (9xx), its last four following the last four alone."""
    digits = "".join(char for char in value if char.isdecimal())
    if len(digits) != 9 or normal_form(value) != digits:
        if len(digits) == 4 and normal_form(value) == digits:
            return first_free(lambda n: _lay(_last_four(patient, digits, n), value), value, taken)
        return replace_code(patient, value, taken)

    def candidate(attempt: int) -> str:
        number = patient.keyed.number(f"ssn/{attempt}", digits)
        # Areas 900-999 are never social security numbers, groups 01-49 never taxpayer numbers there either.
        return _lay(f"9{number % 100:02}{1 + number // 100 % 49:02}{_last_four(patient, digits[5:], attempt)}", value)

    return first_free(candidate, value, taken)


def _last_four(patient: Patient, digits: str, attempt: int) -> str:
    return f"{1 + patient.keyed.number(f'last four/{attempt}', digits) % 9999:04}"


def replace_phone(patient: Patient, value: str, taken: frozenset[str], area_code: Callable[[str], str]) -> str:
    """Return the stand-in of a telephone number, fax, pager or extension.

    ``area_code`` gives the stand-in of a North American area code. The line depends on its own digits alone, so that
    ``555-0142`` follows ``507 555 0142`` and a last four follows both.
    """
    if _NUMBER_SPEECH.search(value) and not any(char.isdecimal() for char in value):
        return first_free(lambda n: _respoken(patient, value, n), value, taken)
    digits = "".join(char for char in value if char.isdecimal())
    form = normal_form(value)
    if not digits or len(digits) < 3 or len(digits) > 25:
        return replace_code(patient, value, taken)

    def candidate(attempt: int) -> str:
        return _relaid(_other_digits(patient, value, digits, attempt, area_code), value)

    if form != digits and not re.fullmatch(r"[\d\s().+/*#:;,x-]*(?:ext?|x|pgr|#)?[\d\s().-]*", value, re.I):
        return replace_code(patient, value, taken)
    return first_free(candidate, value, taken)


def _relaid(digits: str, value: str) -> str:
    chars = iter(digits)
    return "".join(next(chars) if char.isdecimal() else char for char in value)


def _other_digits(patient: Patient, value: str, digits: str, attempt: int, area_code: Callable[[str], str]) -> str:
    abroad = value.lstrip().startswith("+") and not value.lstrip().startswith("+1")
    if len(digits) >= 10 and not abroad and digits[0] != "0":
        start = 1 if digits[0] == "1" and len(digits) >= 11 else 0
        national, rest = digits[start : start + 10], digits[start + 10 :]
        if len(national) == 10:
            line = _line(patient, national[3:], attempt)
            tail = _plain_digits(patient, rest, attempt) if rest else ""
            return digits[:start] + area_code(national[:3]) + line + tail
    if len(digits) == 7 and digits[0] != "0":
        return _line(patient, digits, attempt)
    # Abroad: the country code and the trunk prefix with the digit that tells mobile from landline stay.
    kept = 0
    if value.lstrip().startswith("+"):
        country = re.match(r"\+(\d{1,3})(?=\D)", value.lstrip())
        kept = len(country[1]) if country else 2
    elif digits[0] == "0" and len(digits) >= 8:
        kept = 2
    return digits[:kept] + _plain_digits(patient, digits[kept:], attempt)


def _line(patient: Patient, digits: str, attempt: int) -> str:
    """Return exchange and line: the exchange never starts with 0 or 1, is no service code (x11) and not 555."""
    number = patient.keyed.number(f"exchange/{attempt}", digits)
    exchange = 200 + number % 800
    if exchange % 100 == 11 or exchange == 555:
        exchange += 7
    return f"{exchange}{_last_digits(patient, digits[3:], attempt)}"


def _last_digits(patient: Patient, digits: str, attempt: int) -> str:
    number = patient.keyed.number(f"line/{attempt}", digits)
    return f"{number % 10000:04}"


def _plain_digits(patient: Patient, digits: str, attempt: int) -> str:
    if len(digits) == 4 and digits[0] != "0":
        made = _last_digits(patient, digits, attempt)
        return made if made[0] != "0" else str(1 + int(made[1]) % 9) + made[1:]
    return scramble(patient.keyed, f"digits/{attempt}", digits)


def _respoken(patient: Patient, value: str, attempt: int) -> str:
    spoken = {"zero": "0", **{word: str(number) for number, word in enumerate(_SPOKEN)}}
    words = re.findall(r"[^\W\d_]+", value)
    digits = "".join(spoken.get(word.lower(), "") for word in words)
    made = iter(scramble(patient.keyed, f"spoken/{attempt}", digits))
    return re.sub(r"[^\W\d_]+", lambda m: _SPOKEN[int(next(made))] if m[0].lower() in spoken else m[0], value)


def replace_area_code(patient: Patient, code: str, state_of: Callable[[int], int]) -> str:
    """Return an area code of the state that stands for the one ``code`` is in, or of any state; toll-free stays so."""
    known = places()
    if code in ("800", "833", "844", "855", "866", "877", "888"):
        free = ("800", "833", "844", "855", "866", "877", "888")
        return free[(free.index(code) + 1 + patient.keyed.number("toll-free", code) % 6) % 7]
    if code in known.state_of_area_code:
        state = known.states[state_of(known.state_of_area_code[code])]
    else:
        state = patient.keyed.pick(known.states, "area", code)
    options = [other for other in state.area_codes if other != code] or list(state.area_codes)
    return patient.keyed.pick(options, "area code", code)
