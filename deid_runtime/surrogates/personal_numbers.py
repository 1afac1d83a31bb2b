"""Personal numbers of countries that contain the date of birth; their surrogates contain a date of birth too.

Other digits in the place of the date would show that the number is none. The date moves by the shift of the patient's
dates, so it agrees with a date of birth in the notes. Exception: years of birth that may mean an age over 89. There
the new date is any day of such years, and shows nothing (:mod:`deid_runtime.surrogates.over_89`).

The sex that a number tells stays, and check digits are valid. Numbers that are read: South Africa, Malaysia, Korea,
Sweden, Denmark, Finland and China. They are known by a check digit and their hyphens: other numbers that begin like a
date must not keep digits near those of the original. Health numbers of Scotland (CHI) are replaced like NHS numbers.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from deid_runtime.surrogates.check_digits import hetu_digit, luhn_digit, resident_digit
from deid_runtime.surrogates.patient import Patient

#: Makes other letters and digits of the same shape from those that are no date.
Permute = Callable[[str], str]

_LATEST_OVER_89: Final = 1945  # year of birth; notes up to 2035 may be of a person over 89
_EARLIEST: Final = date(1901, 1, 1)
_DAYS: Final = (date(_LATEST_OVER_89 + 1, 1, 1) - _EARLIEST).days


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """One kind of number. ``value`` is its written form; positions count the letters and digits, from 0.

    ``at`` is the position of the date and ``order`` its parts (``Y`` is a year of four digits). ``sex`` is the position
    of the digit that tells the sex, ``halves`` whether by 0 to 4 and 5 to 9 and not by odd and even. The positions
    ``kept`` stay. ``check`` returns a code with the valid last character.
    """

    value: re.Pattern[str]
    order: str
    sex: int
    at: int = 0
    halves: bool = False
    kept: tuple[int, ...] = ()
    check: Callable[[str], str] | None = None


def _luhn(code: str) -> str:
    return code[:-1] + luhn_digit(code[:-1])


def _swedish(code: str) -> str:
    return code[:-10] + _luhn(code[-10:])


def _finnish(code: str) -> str:
    return code[:-1] + hetu_digit("".join(char for char in code[:-1] if char.isdecimal()))


def _chinese(code: str) -> str:
    return code[:-1] + resident_digit(code[:-1])


#: Tried in order.
_FORMS: Final = (
    _Form(
        value=re.compile(r"\d{6}( ?)\d{4}\1[0-2][89]\d"), order="ymd", sex=6, halves=True, kept=(10, 11), check=_luhn
    ),
    _Form(value=re.compile(r"\d{6}-\d\d-\d{4}"), order="ymd", sex=11),
    _Form(value=re.compile(r"\d{6}-[1-8]\d{6}"), order="ymd", sex=6, kept=(6,)),
    _Form(value=re.compile(r"\d{6}[-+]\d{4}"), order="ymd", sex=8, check=_swedish),
    _Form(value=re.compile(r"\d{8}-\d{4}"), order="Ymd", sex=10, check=_swedish),
    _Form(value=re.compile(r"\d{6}-\d{4}"), order="dmy", sex=9),
    _Form(value=re.compile(r"\d{6}[-+]\d{3}[\dA-Z]"), order="dmy", sex=8, check=_finnish),
    _Form(value=re.compile(r"\d{6}A\d{3}[\dA-Z]"), order="dmy", sex=9, kept=(6,), check=_finnish),
    _Form(value=re.compile(r"\d{17}[\dX]"), order="Ymd", at=6, sex=16, check=_chinese),
)
_WIDTHS: Final = {"Y": 4, "y": 2, "m": 2, "d": 2}


def personal_number(patient: Patient, value: str, code: str, permute: Permute) -> str | None:
    """Return the surrogate of a personal number, as long as ``code``; None when ``value`` is no such number.

    ``code`` has the letters and digits of ``value``, in capitals.
    """
    for form in _FORMS:
        if form.value.fullmatch(value.upper()) is None or (form.check is not None and form.check(code) != code):
            continue
        born = _read(form, code)
        if born is not None:
            return _made(patient, form, code, born, permute)
    return None


def _read(form: _Form, code: str) -> date | None:
    parts, at = {}, form.at
    for part in form.order:
        parts[part.lower()] = int(code[at : at + _WIDTHS[part]])
        at += _WIDTHS[part]
    # A century that the number does not tell is read as the earlier one, which may mean an age over 89.
    year = parts["y"] if "Y" in form.order else (2000 if _is_of_this_century(form, code) else 1900) + parts["y"]
    try:
        return date(year, parts["m"], parts["d"]) if year >= _EARLIEST.year else None
    except ValueError:
        return None


def _is_of_this_century(form: _Form, code: str) -> bool:
    return 6 in form.kept and code[6] in "3478A"  # Korea, Finland


def _made(patient: Patient, form: _Form, code: str, born: date, permute: Permute) -> str:
    if born.year > _LATEST_OVER_89:
        moved = born + timedelta(days=patient.shift_days)
    else:
        day = patient.keyed.permute((born - _EARLIEST).days, _DAYS, "date in a number")
        moved = _EARLIEST + timedelta(days=day)
    written = "".join({"Y": "%Y", "y": "%y", "m": "%m", "d": "%d"}[part] for part in form.order)
    width = sum(_WIDTHS[part] for part in form.order)
    apart = {*range(form.at, form.at + width), *form.kept, form.sex}
    if form.check is not None:
        apart.add(len(code) - 1)
    others = [place for place in range(len(code)) if place not in apart]
    made = list(code)
    made[form.at : form.at + width] = moved.strftime(written)
    for place, char in zip(others, permute("".join(code[place] for place in others)), strict=True):
        made[place] = char
    if form.sex not in form.kept:
        made[form.sex] = _of_same_sex(patient, code[form.sex], halves=form.halves)
    return form.check("".join(made)) if form.check is not None else "".join(made)


def _of_same_sex(patient: Patient, digit: str, *, halves: bool) -> str:
    """Return one of the five digits of the same sex: 0 to 4 or 5 to 9 by ``halves``, otherwise even or odd."""
    sex, place = divmod(int(digit), 5) if halves else divmod(int(digit), 2)[::-1]
    place = patient.keyed.permute(place, 5, f"digit of sex {sex}")
    return str(sex * 5 + place if halves else place * 2 + sex)
