"""Read and write dates with number words: ``May fifth, nineteen sixty-two``, ``eight nine fifty-five``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from deid_runtime.dates.forms import PLAIN_WORDS, full_year, month_writing, weekday_piece
from deid_runtime.dates.parts import DateStyle, Piece, Role, Said
from deid_runtime.lexicon.calendar_words import MONTH_OF, WEEKDAY_OF
from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.lexicon.numbers import NUMBER_WORDS, ORDINAL_WORDS, TENS, cardinal, ordinal


@dataclass(frozen=True, slots=True)
class SpokenDate:
    """A date in number words: the day it stands for, and one piece per token; merged tokens have empty pieces."""

    year: int
    month: int
    day: int
    pieces: tuple[Piece, ...]


def read_spoken(
    tokens: Sequence[str], lowered: Sequence[str], months: Sequence[int], weekdays: Sequence[int], style: DateStyle
) -> SpokenDate | None:
    """Return a date whose day or year is in number words; None when there is none.

    ``lowered`` are the ``tokens`` in lower case. ``months`` and ``weekdays`` are the indices of month and weekday
    tokens.
    """
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
    shape: list[tuple[bool, Sequence[str]]] = []  # for each run: whether it has the day, and the words of its year
    for run in words:
        if said_month:
            shape.append((True, run[2:]))
            continue
        said_day, rest = spoken_day(run, style) if month is not None and day is None else (None, run)
        said_year = spoken_year(rest, style) if rest else None
        if rest and said_year is None:
            return None
        shape.append((said_day is not None, rest))
        day, year = said_day or day, said_year or year
    if year is None and 4 in digits:
        year = int(lowered[digits[4]])
    short_year = next((i for i, word in enumerate(lowered) if re.fullmatch(r"['’]\d{2}", word)), None)
    if year is None and short_year is not None:
        year = full_year(int(lowered[short_year][1:]), style.year)
    digits_day = digits.get(2, digits.get(1))
    if day is None and digits_day is not None:
        day = int(lowered[digits_day])
    out = [Piece(token) for token in tokens]
    for (start, end), run, (says_day, said) in zip(runs, words, shape, strict=True):
        in_ordinals = any(word in ORDINAL_WORDS for word in run)
        day_form: Literal["", "cardinal", "ordinal"] = "" if not says_day else "ordinal" if in_ordinals else "cardinal"
        says = Said(said_month, day_form, tuple(said), joint_of(lowered[start:end]))
        out[start] = Piece("".join(tokens[start:end]), Role.SAID, said=says)
        out[start + 1 : end] = [Piece("")] * (end - start - 1)
    for index in months:
        out[index] = Piece(tokens[index], Role.MONTH_WORD, writing=month_writing(tokens[index], tokens, style))
    if 4 in digits:
        out[digits[4]] = Piece(tokens[digits[4]], Role.YEAR)
    if digits_day is not None:
        out[digits_day] = Piece(tokens[digits_day], Role.DAY, is_padded=style.padded_days)
    for index in weekdays:
        out[index] = weekday_piece(tokens[index])
    accounted = {digits.get(4), digits_day, short_year, *months, *(i for start, end in runs for i in range(start, end))}
    left = [word for i, word in enumerate(lowered) if i not in accounted and any(map(str.isalnum, word))]
    if not all(word in PLAIN_WORDS or word in WEEKDAY_OF for word in left):
        return None
    pieces = tuple(
        one
        for index, piece in enumerate(out)
        for one in ((Piece(tokens[index][0]), Piece(tokens[index][1:], Role.YEAR)) if index == short_year else (piece,))
    )
    return SpokenDate(year or style.year, month or 7, (day or 15) if month else 2, pieces)


def said_text(original: str, said: Said, year: int, month: int, day: int) -> str:
    """Return a date in number words with the parts that ``said`` names, in the case of ``original``."""
    words = [cardinal(month)] if said.month else []
    if said.day:
        words.append(ordinal(day, said.joint) if said.day == "ordinal" else cardinal(day, said.joint))
    if said.year:
        words.append(year_words(year, said.year, said.joint))
    text = " ".join(words)
    return case_like(text.capitalize() if original[0].isupper() else text, original)


def joint_of(run: Sequence[str]) -> str:
    """Return the joint between tens and units in a run of number words: a space (``twenty one``) or a hyphen."""
    is_open = any(
        first in _DECADES
        and between == " "
        and (NUMBER_WORDS.get(second) or ORDINAL_WORDS.get(second, 0)) in range(1, 10)
        for first, between, second in zip(run, run[1:], run[2:], strict=False)
    )
    return " " if is_open else "-"


def spoken_years(lowered: Sequence[str], style: DateStyle, *, has_month: bool) -> list[int]:
    """Return the years in number words among the lower-case tokens of a date."""
    found = []
    for start, end in spoken_runs(lowered):
        words = [word for word in lowered[start:end] if word.isalpha() and word != "and"]
        if has_month:
            words = list(spoken_day(words, style)[1])
        elif len(words) in (3, 4) and NUMBER_WORDS.get(words[0], 0) in range(1, 13) and words[1] in NUMBER_WORDS:
            words = words[2:]  # eight nine fifty-five
        year = spoken_year(words, style)
        if year is not None:
            found.append(year)
    return found


def spoken_runs(lowered: Sequence[str]) -> list[tuple[int, int]]:
    """Return the runs of number words, with the spaces and hyphens between them, as half-open token ranges."""
    runs: list[tuple[int, int]] = []
    for index, word in enumerate(lowered):
        if word not in _SPOKEN_WORDS:
            continue
        if runs and index - runs[-1][1] == 1 and lowered[runs[-1][1]] in (" ", "-"):
            runs[-1] = (runs[-1][0], index + 1)
        elif word != "and":
            runs.append((index, index + 1))
    return [(start, end) for start, end in runs if not counts_time(lowered[end:])]


def counts_time(following: Sequence[str]) -> bool:
    """Return whether the number words before these tokens count units of time: ``the last two weeks of May``."""
    return next((word for word in following if word.isalnum()), "") in _COUNTED


_COUNTED: Final = frozenset("day days night nights week weeks wk wks weekend weekends month months year years".split())


_DECADES: Final = frozenset(TENS)
_NOUGHTS: Final = frozenset({"oh", "aught"})
_YEAR_WORDS: Final = frozenset({"hundred", "thousand"}) | _NOUGHTS
_CARDINALS: Final = frozenset(NUMBER_WORDS) | _YEAR_WORDS
_SPOKEN_WORDS: Final = _CARDINALS | frozenset(ORDINAL_WORDS) | {"and"}


def spoken_day(words: Sequence[str], style: DateStyle) -> tuple[int | None, Sequence[str]]:
    """Return the day at the start of the number words beside a month, or None, and the words behind it.

    ``five nineteen sixty-two`` starts with a day. ``nineteen sixty-two`` and ``sixty-two`` are years. ``twenty-one`` is
    a day.
    """
    if words[0] in ORDINAL_WORDS and ORDINAL_WORDS[words[0]] <= 31:
        return ORDINAL_WORDS[words[0]], words[1:]
    if words[0] in ("twenty", "thirty") and len(words) > 1 and 1 <= ORDINAL_WORDS.get(words[1], 0) <= 9:
        return NUMBER_WORDS[words[0]] + ORDINAL_WORDS[words[1]], words[2:]
    if _with_century(words) is not None:
        return None, words
    for length in (2, 1):
        day, rest = _below_hundred(words[:length]), words[length:]
        is_day = len(words) >= length and day is not None and 1 <= day <= 31
        if is_day and (not rest or spoken_year(rest, style) is not None):
            return day, rest
    return None, words


def spoken_year(words: Sequence[str], style: DateStyle) -> int | None:
    """Return the year that all of ``words`` name, or None. A year without century is the latest that fits the note."""
    year = _with_century(words)
    if year is not None:
        return year
    short = _below_hundred(words)
    return full_year(short, style.year) if short is not None and short >= 20 else None


def _with_century(words: Sequence[str]) -> int | None:
    """Return a year spoken with its century, or as ``aught nine``."""
    if len(words) > 1 and words[0] in _NOUGHTS:
        rest = _below_hundred(words[1:])
        return None if rest is None else 2000 + rest
    for mark, factor in (("thousand", 1000), ("hundred", 100)):
        if mark in words:
            at = words.index(mark)
            head, tail = _below_hundred(words[:at]), words[at + 1 :]
            rest = _below_hundred(tail[1:] if tail and tail[0] in _NOUGHTS else tail) if tail else 0
            return head * factor + rest if head and rest is not None else None
    century = NUMBER_WORDS.get(words[0]) if words else None
    if century not in (18, 19, 20):
        return None
    if len(words) == 3 and words[1] in _NOUGHTS and NUMBER_WORDS.get(words[2], 10) < 10:
        return century * 100 + NUMBER_WORDS[words[2]]
    rest = _below_hundred(words[1:])
    return century * 100 + rest if rest is not None and rest >= 10 else None


def _below_hundred(words: Sequence[str]) -> int | None:
    """Return the number from 0 to 99 that all of ``words`` name, or None."""
    numbers = [NUMBER_WORDS.get(word) for word in words]
    if len(numbers) == 1:
        return numbers[0]
    if len(numbers) == 2 and words[0] in _DECADES and numbers[1] is not None and 1 <= numbers[1] <= 9:
        return NUMBER_WORDS[words[0]] + numbers[1]
    return None


def year_words(year: int, original: Sequence[str], joint: str) -> str:
    """Return ``year`` in words, in the form of the words ``original``; ``joint`` stands between tens and units."""
    century, rest = divmod(year, 100)
    if original[0] in ("aught", "oh"):
        return f"{original[0]}{joint}{cardinal(rest, joint)}"
    if "thousand" in original and century == 20:
        return f"two thousand {cardinal(rest, joint)}" if rest else "two thousand"
    if "hundred" in original and century < 20:
        return f"{cardinal(century)} hundred {cardinal(rest, joint)}" if rest else f"{cardinal(century)} hundred"
    if (len(original) <= 2 and original[0] not in ("eighteen", "nineteen", "twenty")) or (
        original[0] == "twenty" and len(original) == 2 and NUMBER_WORDS.get(original[1], 99) < 10
    ):
        return cardinal(rest, joint)
    return f"{cardinal(century)} {cardinal(rest, joint) if rest > 9 else 'oh ' + cardinal(rest)}"
