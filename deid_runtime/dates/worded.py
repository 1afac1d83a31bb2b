"""Read a date written with words, or a lone number: ``the 3rd of February``, ``spring 2018``, ``the 80s``, ``2019``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.dates.figures import day_of, year_of, year_pieces
from deid_runtime.dates.forms import (
    LETTER_DAY,
    PLAIN_WORDS,
    TOKEN,
    full_year,
    letter_piece,
    month_writing,
    roles_of,
    weekday_piece,
)
from deid_runtime.dates.parts import DateParts, DateStyle, Grain, Piece, Role
from deid_runtime.dates.spoken import counts_time, read_spoken
from deid_runtime.lexicon.calendar_words import ENGLISH, MONTH_OF, WEEKDAY_OF
from deid_runtime.lexicon.numbers import DECADE_WORDS, NUMBER_WORDS, ORDINAL_WORDS

_SEASON_MONTH: Final = {"winter": 1, "spring": 4, "summer": 7, "fall": 10, "autumn": 10}
_DECADE: Final = re.compile(r"['’]?(?:\d{4}|\d0)s")
_MONTH_WITHOUT_HINT: Final = 6  # for a day without a month, until another date of the note gives it


@dataclass(frozen=True, slots=True)
class _Words:
    """The tokens of a date, and the indices of those with a meaning; None where there is none."""

    style: DateStyle
    tokens: Sequence[str] = field(repr=False)
    lowered: Sequence[str] = field(repr=False)
    months: Sequence[int]
    weekdays: Sequence[int]
    year: int | None
    day: int | None
    season: int | None
    decade: int | None
    day_word: int | None

    def year_named(self) -> int | None:
        """Return the year that the date names."""
        return None if self.year is None else year_of(self.tokens[self.year], self.style)

    def day_named(self) -> int | None:
        """Return the day in figures."""
        return None if self.day is None else int(re.sub(r"\D", "", self.tokens[self.day]))


@dataclass(frozen=True, slots=True)
class _Meaning:
    """The period that a date names, and the pieces that change with it, by index of their token."""

    pieces: dict[int, Piece | DateParts] = field(repr=False)
    anchor: tuple[int, int, int] = field(repr=False)  # the day that the date stands for
    grain: Grain
    has_month: bool = True


def read_worded(value: str, style: DateStyle) -> DateParts | None:
    """Return a date written with words, or a lone number; None if there are other words."""
    tokens = TOKEN.findall(value)
    lowered = [token.lower() for token in tokens]
    months = _months_among(value, lowered)
    weekdays = [i for i, word in enumerate(lowered) if word in WEEKDAY_OF and i not in months]
    spoken = read_spoken(tokens, lowered, months, weekdays, style)
    if spoken is not None:
        return spoken
    year, day, others = roles_of(lowered, bool(months))
    if others:
        return None
    words = _Words(
        style,
        tokens,
        lowered,
        months,
        weekdays,
        year,
        day,
        season=next((i for i, word in enumerate(lowered) if word in _SEASON_MONTH), None),
        decade=next((i for i, word in enumerate(lowered) if _DECADE.fullmatch(word) or word in DECADE_WORDS), None),
        day_word=next((i for i, word in enumerate(lowered) if word in ORDINAL_WORDS), None),
    )
    meaning = _meaning(words)
    if meaning is None and not weekdays:
        return None
    pieces = _pieces(words, meaning)
    if pieces is None or meaning is None:
        return None if pieces is None else DateParts(style, pieces)
    return DateParts(
        style,
        pieces,
        year=meaning.anchor[0],
        month=meaning.anchor[1],
        day=meaning.anchor[2],
        grain=meaning.grain,
        has_year=year is not None or meaning.grain is Grain.DECADE,
        has_month=meaning.has_month,
    )


def _months_among(value: str, lowered: Sequence[str]) -> list[int]:
    """Return the indices of the month tokens. ``mar`` before a Spanish month is a Tuesday (martes 9 ene).

    A month counts as Spanish by its name. A month that is the same in English (Jun) counts as Spanish when the day
    comes before it.
    """
    months = [i for i, word in enumerate(lowered) if word in MONTH_OF]
    if len(months) < 2 or lowered[months[0]] != "mar" or value[:3].lower() != "mar":
        return months
    second = months[1]
    is_spanish = not MONTH_OF[lowered[second]][0].startswith(ENGLISH) or (
        any(re.fullmatch(r"\d{1,2}", word) for word in lowered[:second])
        and not any(re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)?", word) for word in lowered[second + 1 :])
    )
    return months[1:] if is_spanish else months


def _meaning(words: _Words) -> _Meaning | None:
    """Return the period that the words name; None for only weekdays and for words that name no period."""
    year = words.year_named()
    if words.months:
        return _of_months(words, year)
    if words.season is not None:
        month = _SEASON_MONTH[words.lowered[words.season]]
        piece = Piece(words.tokens[words.season], Role.SEASON)
        return _Meaning({words.season: piece}, (year or words.style.year, month, 15), Grain.SEASON)
    if words.decade is not None:
        token = words.tokens[words.decade]
        anchor = (_first_of_decade(token, words.style) + 5, 1, 1)
        return _Meaning({words.decade: Piece(token, Role.DECADE)}, anchor, Grain.DECADE)
    if words.day is not None or words.day_word is not None:
        return _of_day(words, year)
    return None if year is None else _Meaning({}, (year, 7, 2), Grain.YEAR)


def _of_months(words: _Words, year: int | None) -> _Meaning:
    """Return one or several months. Each of several is shifted separately; day and year belong to the last."""
    style, day = words.style, words.day_named()
    grain = Grain.MONTH if day is None else Grain.DAY
    pieces: dict[int, Piece | DateParts] = {}
    for index in words.months:
        anchor = day_of(style, year, MONTH_OF[words.lowered[index]][1] + 1, day)
        token = words.tokens[index]
        month = Piece(token, Role.MONTH_WORD, writing=month_writing(token, words.tokens, style))
        pieces[index] = (
            month
            if index == words.months[-1]
            else DateParts(
                style,
                (month,),
                year=anchor[0],
                month=anchor[1],
                day=anchor[2],
                grain=grain,
                has_year=year is not None,
            )
        )
    if words.day is not None:
        pieces[words.day] = Piece(words.tokens[words.day], Role.DAY, is_padded=style.padded_days)
    return _Meaning(pieces, anchor, grain)


def _of_day(words: _Words, year: int | None) -> _Meaning:
    """Return a day without a month: ``the 29th``, ``the twenty-ninth``."""
    pieces: dict[int, Piece | DateParts] = {}
    day = words.day_named()
    if day is not None and words.day is not None:
        pieces[words.day] = Piece(words.tokens[words.day], Role.DAY, is_padded=words.style.padded_days)
    else:
        place = words.day_word
        assert place is not None
        day = ORDINAL_WORDS[words.lowered[place]]
        if place > 1 and words.lowered[place - 2] in ("twenty", "thirty"):
            day += NUMBER_WORDS[words.lowered[place - 2]]
            pieces[place - 2] = pieces[place - 1] = Piece("")
        pieces[place] = Piece(words.tokens[place], Role.DAY_WORD)
    month = _MONTH_WITHOUT_HINT + 1 if day == 31 else _MONTH_WITHOUT_HINT
    return _Meaning(pieces, (year or words.style.year, month, day), Grain.DAY, has_month=False)


def _pieces(words: _Words, meaning: _Meaning | None) -> tuple[Piece | DateParts, ...] | None:
    """Return the pieces of all tokens; None if a word has no meaning in a date."""
    out: dict[int, Piece | DateParts] = {i: weekday_piece(words.tokens[i]) for i in words.weekdays}
    out |= meaning.pieces if meaning is not None else {}
    moves_year = meaning is not None and meaning.grain is not Grain.DECADE
    unmoved = {words.season, words.decade, words.day, words.day_word}
    pieces: list[Piece | DateParts] = []
    for index, (token, word) in enumerate(zip(words.tokens, words.lowered, strict=True)):
        if index in out:
            pieces.append(out[index])
        elif index == words.year:
            pieces += year_pieces(token) if moves_year else (Piece(token),)
        elif index in unmoved or not token.isalnum():
            pieces.append(Piece(token))
        elif word in LETTER_DAY and token[0].isupper():
            pieces.append(letter_piece(token))
        elif word in PLAIN_WORDS or (word in NUMBER_WORDS and counts_time(words.lowered[index + 1 :])):
            pieces.append(Piece(token))
        else:
            return None
    return tuple(pieces)


def _first_of_decade(token: str, style: DateStyle) -> int:
    """Return the first year of ``1980s``, ``the '60s`` or ``fifties``."""
    lower = token.lower()
    if lower in DECADE_WORDS:
        return full_year(DECADE_WORDS[lower], style.year)
    digits = lower.strip("'’s")
    return int(digits) if len(digits) == 4 else full_year(int(digits), style.year)
