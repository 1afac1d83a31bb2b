"""What a surrogate of a date must share with its original, told without any code that makes surrogates.

Dates are read anew here, in the plainest way: see ``surrogate_forms.py``.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from surrogate_forms import case_of

_MONTHS: Final = "january february march april may june july august september october november december".split()
_MONTH: Final = re.compile(rf"(?i)\b(?:{'|'.join(f'{m[:3]}(?:{m[3:]})?' for m in _MONTHS)}|sept)\b")
_WEEKDAY: Final = re.compile(r"(?i)\b(?:mon|tues?|wed(?:s|nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\b")
_FEAST_DAY: Final = re.compile(r"(?i)\b(?:ash|good|black|palm|easter|cyber) [a-z]+day\b")
_WORDS: Final = re.compile(r"[^\W\d_]+(?:(?:\. |['’ ])[^\W\d_]+)*")
_NUMERIC: Final = re.compile(r"(\d{1,4})([/.-])(\d{1,2})\2(\d{2,4})")
_TEXTUAL: Final = (
    re.compile(r"(?i)(?P<m>[a-z]{3,9})\.?\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?\s*,?\s+(?P<y>\d{4})"),
    re.compile(r"(?i)(?P<d>\d{1,2})(?:st|nd|rd|th)?[ -](?:of )?(?P<m>[a-z]{3,9})\.?,?[ -](?P<y>\d{4})"),
)


def date_skeleton(value: str) -> str:
    """Return a date with its months, weekdays and ordinal endings named by kind and its figures by how many there are.

    Figures of one or two count alike (9 becomes 10), and so do months without a short form of their own (May, June,
    July). Names of feasts are left out, however many words they have: the nearest one is another.
    """

    def weekday(match: re.Match[str]) -> str:
        return f"\0W{'long' if match[0].lower().endswith('day') else 'short'} {case_of(match[0])}\0"

    def month(match: re.Match[str]) -> str:
        name = match[0].lower()
        length = "any" if name in ("may", "june", "july") else "short" if len(name) <= len("sept") else "long"
        return f"\0M{length} {case_of(match[0])}\0"

    parts = _WEEKDAY.sub(weekday, _FEAST_DAY.sub("", value)).split("\0")
    parts = _MONTH.sub(month, "\0".join(parts)).split("\0")
    parts = [part if part[:1] in "MW" else re.sub(r"(?<=\d)(st|nd|rd|th)\b", "'", part) for part in parts]
    plain = [part if part[:1] in "MW" else _WORDS.sub("", part) for part in parts]
    return re.sub(r"\d+", lambda match: "N" if len(match[0]) <= 2 else "N" * len(match[0]), "".join(plain))


def same_date_form(original: str, made: str) -> bool:
    """Say whether two dates are written alike: skeleton and padding with zeros."""
    left, right = date_skeleton(original), date_skeleton(made)
    if "Many" in left + right:
        left, right = (re.sub("M(?:any|short|long)", "M", skeleton) for skeleton in (left, right))
    if left != right:
        return False
    old, new = _days_and_months(original), _days_and_months(made)
    is_short, is_padded = any(len(number) == 1 for number in old), any(number[:1] == "0" for number in old)
    if is_short and not is_padded:
        return not any(number[:1] == "0" for number in new)
    return is_short or not is_padded or not any(len(number) == 1 for number in new)


def _days_and_months(value: str) -> list[str]:
    """Return the figures of a full date without its year, which alone may be ``04`` beside a ``3``.

    An O that a scanner read for a zero is one.
    """
    numbers = re.findall(r"\d+", re.sub(r"(?<![^\W_])O(?=\d)", "0", value))
    return numbers[1:] if numbers and len(numbers[0]) == 4 else numbers[:-1]


def full_dates(value: str) -> set[date]:
    """Return the days that a date with day, month and year may mean; none for what is partial or no day.

    Numbers may be month or day first; two figures of a year are in this century or the last.
    """
    found: set[date] = set()
    if match := _NUMERIC.search(value):
        a, _, b, c = match.groups()
        orders = [(a, b, c)] if len(a) == 4 else [(c, a, b), (c, b, a)] if len(a) <= 2 else []
        found.update(day for year, month, when in orders for day in _days(year, int(month), when))
    for pattern in _TEXTUAL:
        if (match := pattern.search(value)) and _MONTH.fullmatch(match["m"]):
            month = next(i for i, name in enumerate(_MONTHS, 1) if name[:3] == match["m"].lower()[:3])
            found.update(_days(match["y"], month, match["d"]))
    return found


def _days(year: str, month: int, day: str) -> Iterator[date]:
    for century in (1900, 2000) if len(year) == 2 else (0,):
        try:
            yield date(century + int(year), month, int(day))
        except ValueError:
            continue
