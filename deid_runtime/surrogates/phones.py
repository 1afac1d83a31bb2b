"""Surrogates of telephone numbers: other digits in the same format that reach nobody.

North American numbers become lines 555-0100 to 555-0199, which are reserved for fictional numbers (ATIS-0300115), with
an area code of the surrogate of their state or province. Exchange and line depend only on their own digits, so
``226-0142`` agrees with ``507 226 0142``. The area code depends on all digits, because there are only a hundred such
lines per area code.

Numbers of other countries become numbers that :mod:`deid_runtime.surrogates.phone_plans` lists as reserved for fiction,
or as never assigned: in the area of the surrogate if there are such ranges. In countries without a list, the
national number begins with 0, which never follows a country code; after a trunk prefix it begins with 00, because no
country code begins with 0.

With so few numbers, two of a patient may get the same one. Then one of them, always the same, gets another. North
American ones get any line of the exchange 555 when no reserved one is left: it has no subscribers. This is resolved
for one note, or for all notes of the patient when the caller has them. Two numbers that never occur in one note may
share a surrogate.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.gazetteer import Area, places
from deid_runtime.surrogates.numbers import ROUNDS, permuted, replace_code
from deid_runtime.surrogates.patient import Patient, first_free
from deid_runtime.surrogates.phone_plans import Dialled, ranges_for, read_number
from deid_runtime.surrogates.spoken_numbers import NUMBER_SPEECH, respoken

_EXCHANGE: Final = "555"
_SERVICE_LINES: Final = frozenset({"1212", "4334"})
_SET_ASIDE: Final = 100  # lines 0100 to 0199
_SET_ASIDE_ATTEMPTS: Final = 16  # after these attempts, any line of the exchange 555
_PLANNED_ATTEMPTS: Final = 32
_MOST_PLANNED: Final = 1000  # numbers of one note: limits the time for a long list of numbers
_TOLL_FREE: Final = ("800", "833", "844", "855", "866", "877", "888")
_LONGEST_CHARS: Final = 200
_FORMAT: Final = re.compile(r"[\d\s().+/*#:;,x-]*(?:ext?|x|pgr|#)?[\d\s().-]*", re.I)

#: A number in which a scanner has read letters for digits, with at least one such letter.
_MISREAD: Final = re.compile(r"(?=[^OoIl]*[OoIl])(?=(?:\D*\d){4})[\dOoIl\s().+/-]{7,30}")
_DIGIT_OF: Final = str.maketrans("OoIl", "0011")

#: Country codes after which a national number may begin with 0. No number begins with 1 there.
_ZERO_FIRST: Final = frozenset({"39", "225", "229", "241", "242", "378", "379"})
_INDIA: Final = "91"
_INDIAN_MOBILE: Final = tuple("6789")

#: (area code, exchange and line, attempt) -> the area code that replaces it.
AreaCode = Callable[[str, str, int], str]


@dataclass(frozen=True, slots=True)
class Codes:
    """How the codes of areas are replaced: North American area codes, and dialling codes of other countries.

    ``dial`` maps (country code, national number) to the beginning of national numbers in the surrogate of its area,
    empty if unknown. ``locale`` is that of the note.
    """

    area_code: AreaCode = field(repr=False)
    dial: Callable[[str, str], str] = field(repr=False)
    locale: str = "US"


def plan_phones(patient: Patient, values: Iterable[str], taken: frozenset[str], codes: Codes) -> dict[str, int]:
    """Return number -> attempt: exchange and line for North American numbers, :func:`_key` for others.

    At this attempt, surrogates differ from each other and from originals. Numbers that need only the first attempt are
    omitted.
    """
    area_codes: dict[str, set[str]] = {}
    others: dict[str, Dialled] = {}
    for value in values:
        if len(value) > _LONGEST_CHARS or len(area_codes) + len(others) >= _MOST_PLANNED:
            continue
        number = read_number(value, codes.locale)
        parts = _north_american(value) if number is None else None
        if parts is not None:
            area_codes.setdefault(parts[2], set()).add(parts[1])
        elif number is not None:
            others.setdefault(_key(number), number)
    plan: dict[str, int] = {}
    used: set[str] = set()
    for local in sorted(area_codes, key=lambda digits: patient.keyed.number("phones", digits)):
        for attempt in range(_PLANNED_ATTEMPTS):
            line = _line(patient, local, attempt)
            made = {(codes.area_code(code, local, attempt) if code else "") + line for code in area_codes[local]}
            if len(made) == len(area_codes[local]) and used.isdisjoint(made) and taken.isdisjoint(made | {line}):
                break
        used |= made
        if attempt:
            plan[local] = attempt
    for key in sorted(others, key=lambda digits: patient.keyed.number("phones", digits)):
        number = others[key]
        hint = codes.dial(number.code, number.national)
        for attempt in range(_PLANNED_ATTEMPTS):
            shown = _reserved(patient, number, hint, attempt)
            forms = {shown, number.before + shown}
            if used.isdisjoint(forms) and taken.isdisjoint({number.before + shown + number.rest, *forms}):
                break
        used |= forms
        if attempt:
            plan[key] = attempt
    return plan


def _key(number: Dialled) -> str:
    return f"+{number.code or '0'} {number.national}"


def replace_phone(patient: Patient, value: str, taken: frozenset[str], codes: Codes, plan: Mapping[str, int]) -> str:
    """Return the surrogate of a telephone, fax, pager or extension number; ``plan`` is from :func:`plan_phones`."""
    if len(value) > _LONGEST_CHARS:
        return replace_code(patient, value, taken)
    if NUMBER_SPEECH.search(value):
        return first_free(lambda n: respoken(patient, value, n), value, taken)
    if _MISREAD.fullmatch(value):
        read = value.translate(_DIGIT_OF)
        made = replace_phone(patient, read, taken, codes, plan)
        return "".join(_misread_like(new, old) for new, old in zip(made, value, strict=True))
    digits = "".join(char for char in value if char.isdecimal())
    if not 3 <= len(digits) <= 25 or not digits.isascii():
        return replace_code(patient, value, taken)
    if normal_form(value) != digits and not _FORMAT.fullmatch(value):
        return replace_code(patient, value, taken)
    number = read_number(value, codes.locale)
    if number is not None:
        return _replace_abroad(patient, value, taken, number, codes, plan)
    parts = _north_american(value)
    if parts is None:
        return first_free(lambda n: _relaid(_part(patient, digits, n), value), value, taken)
    before, code, local, rest = parts

    def candidate(attempt: int) -> str:
        attempt += plan.get(local, 0)
        area = codes.area_code(code, local, attempt) if code else ""
        tail = permuted(patient, f"code/{attempt}", rest) if rest else ""
        return _relaid(before + area + _line(patient, local, attempt) + tail, value)

    return first_free(candidate, value, taken)


def _misread_like(new: str, old: str) -> str:
    """Return the digit ``new``, written as the letter ``old`` if that is how a scanner misreads it."""
    return old if old.isalpha() and old.translate(_DIGIT_OF) == new else new


def _replace_abroad(
    patient: Patient, value: str, taken: frozenset[str], number: Dialled, codes: Codes, plan: Mapping[str, int]
) -> str:
    hint = codes.dial(number.code, number.national)

    def candidate(attempt: int) -> str:
        attempt += plan.get(_key(number), 0)
        rest = permuted(patient, f"code/{attempt}", number.rest) if number.rest else ""
        return _relaid(number.before + _reserved(patient, number, hint, attempt) + rest, value)

    return first_free(candidate, value, taken)


def _reserved(patient: Patient, number: Dialled, hint: str, attempt: int) -> str:
    """Return a national number of as many digits that no subscriber has; it begins with ``hint`` if there is one."""
    national = number.national
    ranges = ranges_for(number.code, national)
    if not ranges and number.code == _INDIA and hint:
        # Behind a dialling code, no number begins with 1: services begin with it.
        ranges = (f"{hint}1{'x' * max(0, len(national) - len(hint) - 1)}",)
    if not ranges:
        return _never_assigned(patient, number, attempt)
    near = [each for each in ranges if hint and each.startswith(hint)]
    near = near or [each for each in ranges if each[0] == national[0]] or list(ranges)
    pattern = patient.keyed.pick(near, f"phone range/{attempt}", national)
    free = min(pattern.count("x"), len(national) - len(pattern.rstrip("x")))
    if free < 0:
        return _never_assigned(patient, number, attempt)
    fixed, more = pattern.rstrip("x"), max(0, len(national) - len(pattern))
    if free == 0:
        last = ""
    else:
        size = 10**free
        last = f"{patient.keyed.permute(int(national[-free:]), size, f'phone {pattern}/{attempt}', ROUNDS):0{free}}"
    return fixed + last + (permuted(patient, f"code/{attempt}", national[-more:]) if more else "")


def _never_assigned(patient: Patient, number: Dialled, attempt: int) -> str:
    """Return a national number of a plan without a list of reserved ranges; see the module docstring."""
    national = number.national
    if number.before and number.code:
        first = "1" if number.code in _ZERO_FIRST else "0"
    else:
        first = "00" if number.before else "1"
    rest = national[len(first) :]
    return first[: len(national)] + (permuted(patient, f"phone/{attempt}", rest) if rest else "")


def _north_american(value: str) -> tuple[str, str, str, str] | None:
    """Return (``1`` or empty, area code or empty, exchange and line, further digits); None if not North American."""
    digits = "".join(char for char in value if char.isdecimal())
    stripped = value.lstrip()
    if not digits.isascii() or not 7 <= len(digits) <= 25 or digits[0] == "0":
        return None
    if len(digits) == 7:
        return "", "", digits, ""
    if len(digits) < 10 or (stripped.startswith("+") and not stripped.startswith("+1")):
        return None
    start = 1 if digits[0] == "1" and len(digits) >= 11 else 0
    national = digits[start : start + 10]
    return digits[:start], national[:3], national[3:], digits[start + 10 :]


def _relaid(digits: str, value: str) -> str:
    chars = iter(digits)
    return "".join(next(chars) if char.isdecimal() else char for char in value)


def _part(patient: Patient, digits: str, attempt: int) -> str:
    """Return other digits for a part of a number; a trunk prefix and the digit after it stay."""
    kept = 2 if digits[0] == "0" and len(digits) >= 4 else 0
    return digits[:kept] + permuted(patient, f"code/{attempt}", digits[kept:])


def _line(patient: Patient, local: str, attempt: int) -> str:
    """Return the surrogate of ``local``, an exchange and line of seven digits."""
    if attempt < _SET_ASIDE_ATTEMPTS:
        return f"{_EXCHANGE}01{patient.keyed.number(f'line/{attempt}', local) % _SET_ASIDE:02}"
    # Each exchange has one permutation of all lines, so that few numbers get the same line.
    purpose = f"line {local[:3]}/{attempt}"
    line = int(local[3:])
    while True:
        line = patient.keyed.permute(line, 10_000, purpose, ROUNDS)
        if f"{line:04}" not in _SERVICE_LINES:
            return f"{_EXCHANGE}{line:04}"


def replace_area_code(patient: Patient, code: str, local: str, attempt: int, area_of: Callable[[Area], Area]) -> str:
    """Return an area code of the surrogate of the state or province of ``code``, or of any state if it is unknown.

    A toll-free code becomes another toll-free code. The choice also depends on ``local``, the exchange and line.
    """
    known = places()
    if code in _TOLL_FREE:
        others: tuple[str, ...] = _TOLL_FREE
    elif code in known.state_of_area_code:
        others = known.states[area_of(Area("US", known.state_of_area_code[code])).index].area_codes
    elif code in known.province_of_area_code:
        others = known.provinces[area_of(Area("CA", known.province_of_area_code[code])).index].dials
    else:
        others = patient.keyed.pick(known.states, "area", code).area_codes
    options = [other for other in others if other != code] or list(others)
    return patient.keyed.pick(options, f"area code/{attempt}", code + local)
