"""Dates with their day or year in number words: ``May fifth, nineteen sixty-two``, ``eight nine fifty-five``."""

import re
from collections.abc import Sequence
from typing import Final

from deid_runtime.surrogates.calendar_words import MONTH_OF, NUMBER_WORDS, ORDINAL_WORDS, cardinal, ordinal
from deid_runtime.surrogates.date_parts import DateStyle, day_like, full_year, month_like, shift_day, year_like
from deid_runtime.surrogates.forms import case_like


def move_spoken(
    tokens: Sequence[str], lowered: Sequence[str], months: Sequence[int], offset: int, style: DateStyle
) -> list[str] | None:
    """Move a date whose day or year is in number words; None when there is none, else the new tokens."""
    runs = spoken_runs(lowered)
    if not runs or not (months or any(lowered[i] in _CARDINALS for start, end in runs for i in range(start, end))):
        return None
    words = [[word for word in lowered[start:end] if word.isalpha() and word != "and"] for start, end in runs]
    digits = {len(word): i for i, word in enumerate(lowered) if re.fullmatch(r"\d{4}|\d{1,2}", word)}
    month = MONTH_OF[lowered[months[0]]][1] + 1 if months else None
    day = year = None
    said_month = False
    if month is None and len(runs) == 1 and len(words[0]) >= 3:
        numbers = [NUMBER_WORDS.get(word, 0) for word in words[0][:2]]
        if 1 <= numbers[0] <= 12 and 1 <= numbers[1] <= 31 and len(words[0]) <= 4:
            year = spoken_year(words[0][2:], style)
            if year is not None:  # eight nine fifty-five
                month, day, said_month = numbers[0], numbers[1], True
    shape: list[tuple[bool, Sequence[str]]] = []  # for each run: does it say the day, and the words of its year
    for run in words:
        if said_month:
            shape.append((True, run[2:]))
            continue
        said_day, rest = spoken_day(run) if month is not None and day is None else (None, run)
        said_year = spoken_year(rest, style) if rest else None
        if rest and said_year is None:
            return None
        shape.append((said_day is not None, rest))
        day, year = said_day or day, said_year or year
    if year is None and 4 in digits:
        year = int(lowered[digits[4]])
    digits_day = digits.get(2, digits.get(1))
    if day is None and digits_day is not None:
        day = int(lowered[digits_day])
    if month is None:
        new_year, new_month, new_day = shift_day(year or style.year, 7, 2, offset)
    else:
        new_year, new_month, new_day = shift_day(year or style.year, month, day or 15, offset)
    out = list(tokens)
    for (start, end), run, (says_day, year_words) in zip(runs, words, shape, strict=True):
        joint = " " if _is_unhyphenated(lowered[start:end]) else "-"
        pieces = [cardinal(new_month)] if said_month else []
        if says_day:
            pieces.append(ordinal(new_day, joint) if any(w in ORDINAL_WORDS for w in run) else cardinal(new_day, joint))
        if year_words:
            pieces.append(_year_words(new_year, year_words, joint))
        text = " ".join(pieces)
        out[start] = case_like(text.capitalize() if tokens[start][0].isupper() else text, "".join(tokens[start:end]))
        out[start + 1 : end] = [""] * (end - start - 1)
    for index in months:
        out[index] = month_like(new_month, tokens[index], tokens, style)
    if 4 in digits:
        out[digits[4]] = year_like(new_year, tokens[digits[4]])
    if digits_day is not None:
        out[digits_day] = day_like(new_day, tokens[digits_day], style)
    return out


def _is_unhyphenated(run: Sequence[str]) -> bool:
    """Say whether a run of number words has ``twenty one`` rather than ``twenty-one``."""
    return any(
        first in _DECADES
        and between == " "
        and (NUMBER_WORDS.get(second) or ORDINAL_WORDS.get(second, 0)) in range(1, 10)
        for first, between, second in zip(run, run[1:], run[2:], strict=False)
    )


def spoken_years(lowered: Sequence[str], style: DateStyle, *, has_month: bool) -> list[int]:
    """Return the years in number words among the tokens of a date, in lower case."""
    found = []
    for start, end in spoken_runs(lowered):
        words = [word for word in lowered[start:end] if word.isalpha() and word != "and"]
        if has_month:
            words = list(spoken_day(words)[1])
        elif len(words) in (3, 4) and NUMBER_WORDS.get(words[0], 0) in range(1, 13) and words[1] in NUMBER_WORDS:
            words = words[2:]  # eight nine fifty-five
        year = spoken_year(words, style)
        if year is not None:
            found.append(year)
    return found


def spoken_runs(lowered: Sequence[str]) -> list[tuple[int, int]]:
    """Return the stretches of number words, with the spaces and hyphens between them, as token ranges."""
    runs: list[tuple[int, int]] = []
    for index, word in enumerate(lowered):
        if word not in _SPOKEN_WORDS:
            continue
        if runs and index - runs[-1][1] == 1 and lowered[runs[-1][1]] in (" ", "-"):
            runs[-1] = (runs[-1][0], index + 1)
        elif word != "and":
            runs.append((index, index + 1))
    return runs


_DECADES: Final = frozenset("twenty thirty forty fifty sixty seventy eighty ninety".split())
_YEAR_WORDS: Final = frozenset({"hundred", "thousand", "oh", "aught"})
_CARDINALS: Final = frozenset(NUMBER_WORDS) | _YEAR_WORDS
_SPOKEN_WORDS: Final = _CARDINALS | frozenset(ORDINAL_WORDS) | {"and"}


def spoken_day(words: Sequence[str]) -> tuple[int | None, Sequence[str]]:
    if words[0] in ORDINAL_WORDS and ORDINAL_WORDS[words[0]] <= 31:
        return ORDINAL_WORDS[words[0]], words[1:]
    if words[0] in ("twenty", "thirty") and len(words) > 1 and 1 <= ORDINAL_WORDS.get(words[1], 0) <= 9:
        return NUMBER_WORDS[words[0]] + ORDINAL_WORDS[words[1]], words[2:]
    return None, words


def spoken_year(words: Sequence[str], style: DateStyle) -> int | None:
    if any(word in ORDINAL_WORDS for word in words) or not words:
        return None
    if words[0] in ("aught", "oh"):
        rest = sum(NUMBER_WORDS.get(word, 0) for word in words[1:])
        return 2000 + rest if rest < 100 else None
    if "thousand" in words or "hundred" in words:
        mark = "thousand" if "thousand" in words else "hundred"
        at = words.index(mark)
        head = sum(NUMBER_WORDS.get(word, 0) for word in words[:at])
        rest = sum(NUMBER_WORDS.get(word, 0) for word in words[at + 1 :])
        return head * (1000 if mark == "thousand" else 100) + rest if head and rest < 100 else None
    numbers = [NUMBER_WORDS.get(word, 0) for word in words]
    if len(numbers) >= 2 and numbers[0] in (18, 19, 20):
        return numbers[0] * 100 + sum(numbers[1:]) if sum(numbers[1:]) < 100 else None
    total = sum(numbers)
    return full_year(total, style.year) if 20 <= total < 100 and len(numbers) <= 2 else None


def _year_words(year: int, original: Sequence[str], joint: str) -> str:
    century, rest = divmod(year, 100)
    if original[0] in ("aught", "oh"):
        return f"{original[0]}{joint}{cardinal(rest, joint)}"
    if "thousand" in original and century == 20:
        return f"two thousand {cardinal(rest, joint)}" if rest else "two thousand"
    if "hundred" in original and century < 20:
        return f"{cardinal(century)} hundred {cardinal(rest, joint)}"
    if (len(original) <= 2 and original[0] not in ("eighteen", "nineteen", "twenty")) or (
        original[0] == "twenty" and len(original) == 2 and NUMBER_WORDS.get(original[1], 99) < 10
    ):
        return cardinal(rest, joint)
    return f"{cardinal(century)} {cardinal(rest, joint) if rest > 9 else 'oh ' + cardinal(rest)}"
