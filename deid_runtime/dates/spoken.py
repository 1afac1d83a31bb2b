"""Read and write dates with number words: ``May fifth, nineteen sixty-two``, ``eight nine fifty-five``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from deid_runtime.dates.forms import PLAIN_WORDS, full_year, month_writing, weekday_piece
from deid_runtime.dates.parts import DateParts, DateStyle, Grain, Piece, Role, Said
from deid_runtime.lexicon.calendar_words import MONTH_OF
from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.lexicon.numbers import NUMBER_WORDS, ORDINAL_WORDS, TENS, cardinal, ordinal


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of number words as half-open token indices, whether it has the day, and the words of its year."""

    start: int
    end: int
    words: Sequence[str] = field(repr=False)
    has_day: bool = False
    year_words: Sequence[str] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class _Named:
    """What the number words name: year, month and day, each None if they do not, and the runs that name them."""

    year: int | None = field(repr=False)
    month: int | None = field(repr=False)
    day: int | None = field(repr=False)
    runs: Sequence[_Run]
    says_month: bool = False  # the month is in number words too: eight nine fifty-five


def read_spoken(
    tokens: Sequence[str], lowered: Sequence[str], months: Sequence[int], weekdays: Sequence[int], style: DateStyle
) -> DateParts | None:
    """Return a date whose day or year is in number words; None when there is none.

    ``lowered`` are the ``tokens`` in lower case. ``months`` and ``weekdays`` are the indices of month and weekday
    tokens.
    """
    runs = spoken_runs(lowered)
    if not runs or not (months or any(lowered[i] in _CARDINALS for start, end in runs for i in range(start, end))):
        return None
    month = MONTH_OF[lowered[months[0]]][1] + 1 if months else None
    named = _named_in(
        [
            _Run(start, end, [word for word in lowered[start:end] if word.isalpha() and word != "and"])
            for start, end in runs
        ],
        month,
        style,
    )
    if named is None:
        return None
    digits = {len(word): i for i, word in enumerate(lowered) if re.fullmatch(r"\d{4}|\d{1,2}", word)}
    short_year = next((i for i, word in enumerate(lowered) if re.fullmatch(r"['’]\d{2}", word)), None)
    year_at, day_at = digits.get(4), digits.get(2, digits.get(1))
    year, day = named.year, named.day
    if year is None and year_at is not None:
        year = int(lowered[year_at])
    elif year is None and short_year is not None:
        year = full_year(int(lowered[short_year][1:]), style.year)
    if day is None and day_at is not None:
        day = int(lowered[day_at])
    pieces = _spoken_pieces(tokens, lowered, named)
    pieces |= {i: (Piece(tokens[i], Role.MONTH_WORD, writing=month_writing(tokens[i], tokens, style)),) for i in months}
    pieces |= {i: (weekday_piece(tokens[i]),) for i in weekdays}
    if year_at is not None:
        pieces[year_at] = (Piece(tokens[year_at], Role.YEAR),)
    if day_at is not None:
        pieces[day_at] = (Piece(tokens[day_at], Role.DAY, is_padded=style.padded_days),)
    if short_year is not None:
        pieces[short_year] = (Piece(tokens[short_year][0]), Piece(tokens[short_year][1:], Role.YEAR))
    left = [word for i, word in enumerate(lowered) if i not in pieces and any(map(str.isalnum, word))]
    if not all(word in PLAIN_WORDS for word in left):
        return None
    return DateParts(
        style,
        tuple(piece for i, token in enumerate(tokens) for piece in pieces.get(i, (Piece(token),))),
        year=year or style.year,
        month=named.month or 7,
        day=(day or 15) if named.month else 2,
        grain=Grain.YEAR if not named.month else Grain.DAY if day else Grain.MONTH,
        has_year=year is not None,
    )


def _named_in(runs: Sequence[_Run], month: int | None, style: DateStyle) -> _Named | None:
    """Return what ``runs`` name, beside a month in words or without one; None when a run names nothing."""
    if month is None and len(runs) == 1 and 3 <= len(runs[0].words) <= 4:
        words = runs[0].words
        first, second = (NUMBER_WORDS.get(word, 0) for word in words[:2])
        year = spoken_year(words[2:], style) if 1 <= first <= 12 and 1 <= second <= 31 else None
        if year is not None:  # eight nine fifty-five
            return _Named(year, first, second, [replace(runs[0], has_day=True, year_words=words[2:])], says_month=True)
    day = year = None
    found = []
    for run in runs:
        said_day, rest = spoken_day(run.words, style) if month is not None and day is None else (None, run.words)
        said_year = spoken_year(rest, style) if rest else None
        if rest and said_year is None:
            return None
        found.append(replace(run, has_day=said_day is not None, year_words=rest))
        day, year = said_day or day, said_year or year
    return _Named(year, month, day, found)


def _spoken_pieces(tokens: Sequence[str], lowered: Sequence[str], named: _Named) -> dict[int, tuple[Piece, ...]]:
    """Return the pieces of the number words by token index: all pieces of a run are at its first token."""
    pieces: dict[int, tuple[Piece, ...]] = {}
    for run in named.runs:
        in_ordinals = any(word in ORDINAL_WORDS for word in run.words)
        form: Literal["", "cardinal", "ordinal"] = ""
        if run.has_day:
            form = "ordinal" if in_ordinals else "cardinal"
        says = Said(named.says_month, form, tuple(run.year_words), joint_of(lowered[run.start : run.end]))
        pieces |= dict.fromkeys(range(run.start, run.end), ())
        pieces[run.start] = (Piece("".join(tokens[run.start : run.end]), Role.SAID, said=says),)
    return pieces


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
    """Return the day at the start of the number words beside a month, or None, and the words after it.

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
    """Return the year that all of ``words`` name, or None.

    A year without a century is the latest that fits the note.
    """
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
    """Return ``year`` in words, in the form of the words ``original``; ``joint`` separates tens and units."""
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
