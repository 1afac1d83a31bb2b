"""Surrogates of telephone numbers: other digits in the same format, that reach nobody.

North American numbers become lines 555-0100 to 555-0199, which are reserved for invented numbers (ATIS-0300115), with
an area code of the surrogate of their state. Exchange and line depend only on their own digits, so ``226-0142`` agrees
with ``507 226 0142``. The area code depends on all digits, because there are only a hundred such lines per area code.

With so few lines, two numbers of a patient may get the same one. Then one of them, always the same, gets another of
these lines. When they are used up, it gets any line of the exchange 555, which has no subscribers. This is solved for
one note, or for all notes of the patient when the caller has them. Two numbers that no note has together may share a
surrogate.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.lexicon.numbers import ONES, TEENS, TENS
from deid_runtime.surrogates.forms import normal_form, scramble
from deid_runtime.surrogates.lists import places
from deid_runtime.surrogates.numbers import ROUNDS, permuted, replace_code
from deid_runtime.surrogates.patient import Patient, first_free

_EXCHANGE: Final = "555"
_SERVICE_LINES: Final = frozenset({"1212", "4334"})
_SET_ASIDE: Final = 100  # lines 0100 to 0199
_SET_ASIDE_ATTEMPTS: Final = 16  # after these attempts, any line of the exchange 555
_PLANNED_ATTEMPTS: Final = 32
_MOST_PLANNED: Final = 1000  # numbers of one note: limits the time for a long list of numbers
_TOLL_FREE: Final = ("800", "833", "844", "855", "866", "877", "888")
_LONGEST_CHARS: Final = 200
_FORMAT: Final = re.compile(r"[\d\s().+/*#:;,x-]*(?:ext?|x|pgr|#)?[\d\s().-]*", re.I)

_UNITS: Final = ("oh", *ONES)
_NUMBER_SPEECH: Final = re.compile(
    rf"(?:\b(?:zero|hundred|double|triple|{'|'.join((*_UNITS, *TEENS, *TENS))})\b[\s,-]*){{3,}}", re.I
)

#: (area code, exchange and line, attempt) -> the area code that replaces it.
AreaCode = Callable[[str, str, int], str]


def plan_phones(patient: Patient, values: Iterable[str], taken: frozenset[str], area_code: AreaCode) -> dict[str, int]:
    """Return exchange and line -> attempt, for the North American numbers among ``values``.

    At this attempt, surrogates differ from each other and from originals. Numbers that need only the first attempt are
    left out.
    """
    codes: dict[str, set[str]] = {}
    for value in values:
        parts = _north_american(value)
        if parts is not None and len(codes) < _MOST_PLANNED:
            codes.setdefault(parts[2], set()).add(parts[1])
    plan: dict[str, int] = {}
    used: set[str] = set()
    for local in sorted(codes, key=lambda digits: patient.keyed.number("phones", digits)):
        for attempt in range(_PLANNED_ATTEMPTS):
            line = _line(patient, local, attempt)
            made = {(area_code(code, local, attempt) if code else "") + line for code in codes[local]}
            if len(made) == len(codes[local]) and used.isdisjoint(made) and taken.isdisjoint(made | {line}):
                break
        used |= made
        if attempt:
            plan[local] = attempt
    return plan


def replace_phone(
    patient: Patient, value: str, taken: frozenset[str], area_code: AreaCode, plan: Mapping[str, int]
) -> str:
    """Return the surrogate of a telephone, fax, pager or extension number; ``plan`` is from :func:`plan_phones`."""
    if len(value) > _LONGEST_CHARS:
        return replace_code(patient, value, taken)
    if _NUMBER_SPEECH.search(value):
        return first_free(lambda n: _respoken(patient, value, n), value, taken)
    digits = "".join(char for char in value if char.isdecimal())
    if not 3 <= len(digits) <= 25 or not digits.isascii():
        return replace_code(patient, value, taken)
    if normal_form(value) != digits and not _FORMAT.fullmatch(value):
        return replace_code(patient, value, taken)
    parts = _north_american(value)
    if parts is None:
        return first_free(lambda n: _relaid(_abroad(patient, value, digits, n), value), value, taken)
    before, code, local, rest = parts

    def candidate(attempt: int) -> str:
        attempt += plan.get(local, 0)
        area = area_code(code, local, attempt) if code else ""
        tail = permuted(patient, f"code/{attempt}", rest) if rest else ""
        return _relaid(before + area + _line(patient, local, attempt) + tail, value)

    return first_free(candidate, value, taken)


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


def _abroad(patient: Patient, value: str, digits: str, attempt: int) -> str:
    """Return other digits, but keep the country code, or the trunk prefix and the digit after it.

    That digit distinguishes mobile from landline numbers.
    """
    kept = 0
    if value.lstrip().startswith("+"):
        country = re.match(r"\+(\d{1,3})(?=\D)", value.lstrip())
        kept = len(country[1]) if country else 2
    elif digits[0] == "0" and len(digits) >= 8:
        kept = 2
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


def _respoken(patient: Patient, value: str, attempt: int) -> str:
    """Return a number in words with other words of the same kind: ``six`` for ``four``, ``thirty`` for ``sixty``."""
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", value)]
    choices = iter(patient.keyed.stream(len(words), f"spoken/{attempt}", " ".join(words)))

    def other(match: re.Match[str]) -> str:
        word, choice = "oh" if match[0].lower() == "zero" else match[0].lower(), next(choices)
        kind = next((kind for kind in (_UNITS, TEENS, TENS) if word in kind), None)
        if kind is None:
            return match[0]
        options = kind[1:] if kind is _UNITS and word != "oh" else kind
        return case_like(options[(options.index(word) + 1 + choice % (len(options) - 1)) % len(options)], match[0])

    figures = (scramble(patient.keyed, f"spoken/{attempt}", part) for part in re.findall(r"\d+", value))
    return re.sub(r"\d+", lambda _: next(figures), re.sub(r"[^\W\d_]+", other, value))


def replace_area_code(patient: Patient, code: str, local: str, attempt: int, state_of: Callable[[int], int]) -> str:
    """Return an area code of the surrogate of the state of ``code``, or of any state when that is unknown.

    A toll-free code becomes another toll-free code. The choice also depends on ``local``, the exchange and line.
    """
    known = places()
    if code in _TOLL_FREE:
        others: tuple[str, ...] = _TOLL_FREE
    elif code in known.state_of_area_code:
        others = known.states[state_of(known.state_of_area_code[code])].area_codes
    else:
        others = patient.keyed.pick(known.states, "area", code).area_codes
    options = [other for other in others if other != code] or list(others)
    return patient.keyed.pick(options, f"area code/{attempt}", code + local)
