"""Weekdays, which move by the offset modulo seven, so that they agree with the dates: words, letters, ``MWF``."""

import re
from typing import Final

from deid_runtime.dates.calendar_words import (
    WEEKDAY_LETTERS,
    WEEKDAY_OF,
    WEEKDAYS,
)
from deid_runtime.lexicon.letter_case import case_like

SCHEDULE: Final = re.compile(
    r"(?:Th|Tu|Su|Sa|Mo|We|Fr|[MTWRFS])(?:[ ]?[/,-]?[ ]?(?:Th|Tu|Su|Sa|Mo|We|Fr|[MTWRFS]))*", re.I
)
_SCHEDULE_PART: Final = re.compile(r"Th|Tu|Su|Sa|Mo|We|Fr|[MTWRFS]", re.I)
_SCHEDULES: Final = {
    "tts": "T Th S",
    "tths": "T Th S",
    "mwf": "M W F",
    "tth": "T Th",
    "mw": "M W",
    "wf": "W F",
    "mth": "M Th",
}
LETTER_DAY: Final = {
    "m": 0, "mo": 0, "t": 1, "tu": 1, "w": 2, "we": 2, "th": 3, "r": 3, "f": 4, "fr": 4, "s": 5, "sa": 5, "su": 6,
}  # fmt: skip


def move_weekday(token: str, offset: int) -> str:
    """Return another weekday in the language, length and case of ``token``."""
    row, place = WEEKDAY_OF[token.lower()]
    return case_like(WEEKDAYS[row][(place + offset) % 7], token)


def move_letter_weekday(token: str, offset: int) -> str:
    """Return another weekday of one or two letters."""
    place = (LETTER_DAY[token.lower()] + offset) % 7
    row = WEEKDAYS[5] if len(token) == 2 and token.lower() != "th" else WEEKDAY_LETTERS
    word = "R" if token.lower() == "r" and place == 3 else row[place]
    return word.lower() if token.islower() else word.upper() if token.isupper() and len(token) > 1 else word


def move_schedule(value: str, offset: int) -> str:
    """Return a list or range of weekdays in letters (``MWF``, ``T-Th``), each moved."""
    known = _SCHEDULES.get(value.lower())
    days = known.split() if known else _SCHEDULE_PART.findall(value)
    moved = [move_letter_weekday(day, offset) for day in days]
    if "-" not in value or len(days) != 2:  # a list, not a range: in the order of the week
        moved.sort(key=lambda day: LETTER_DAY[day.lower()])
    if known:
        return "".join(moved)
    new = iter(moved)
    return _SCHEDULE_PART.sub(lambda _: next(new), value)
