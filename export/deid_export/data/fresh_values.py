"""The sources of fresh values, and how they take the form of the old ones."""

import calendar
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Final

from deid_runtime.lexicon.calendar_words import ENGLISH_SHORT, WEEKDAYS
from deid_runtime.lexicon.numbers import ONES, TEENS
from deid_runtime.lexicon.states import states
from deid_runtime.lexicon.vocabulary import particles

_LISTS: Final[dict[str, list[str]]] = tomllib.loads(
    resources.files(__package__).joinpath("fresh_values.toml").read_text(encoding="utf-8")
)
KEPT_NAME_PARTS = frozenset(particles("train"))
MONTHS = [calendar.month_name[i] for i in range(1, 13)]
MONTH_SHORT = [m[:3] for m in MONTHS]
DAYS = list(calendar.day_name)
DAY_SHORT = list(dict.fromkeys((*WEEKDAYS[ENGLISH_SHORT], *WEEKDAYS["english short, weds"])))
HOLIDAYS: Final[list[str]] = _LISTS["holidays"]
NUMBER_WORDS = ONES + TEENS
STATES = [(state.code, state.name) for state in states("train")]
STATE_DOTTED: Final[list[str]] = _LISTS["states_with_stops"]
OTHER_COUNTRIES: Final[list[str]] = _LISTS["countries"]
TLDS: Final[list[str]] = _LISTS["top_level_domains"]
HOST_WORDS: Final[list[str]] = _LISTS["host_words"]
STREET_SUFFIXES: Final[list[str]] = _LISTS["street_kinds"]
SUFFIX_KEYS = frozenset(s.lower().rstrip(".") for s in STREET_SUFFIXES)
STREET_KEPT: Final = frozenset(_LISTS["street_words_kept"])
FACILITY_SHAPES: Final[list[str]] = _LISTS["facilities"]
ORG_SHAPES: Final[list[str]] = _LISTS["organizations"]
SAINTS: Final[list[str]] = _LISTS["saints"]


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How often each change is made, as a share of notes or of spans."""

    keep: float = 0.25  # a value of a note stays unchanged
    ambiguous_name: float = 0.08  # a name part is a word that is also a name
    world_name: float = 0.22  # a name part comes from the list of another country
    misspelt_name: float = 0.04
    new_form: float = 0.25  # dates and phone numbers get another format of their kind
    upper_note: float = 0.06
    lower_note: float = 0.06
    joined: float = 0.05  # a span loses the space beside it (run-together text)
    noise: float = 0.006  # a letter outside spans is dropped, doubled or changed, in one note out of four


def formed_like(new: str, old: str) -> str:
    """Return ``new`` in the case of ``old``: upper, lower, or unchanged."""
    letters = [c for c in old if c.isalpha()]
    if not letters:
        return new
    if len(letters) > 1 and all(c.isupper() for c in letters):
        return new.upper()
    if all(c.islower() for c in letters):
        return new.lower()
    return new[:1].upper() + new[1:] if letters[0].isupper() else new


def ordinal(number: int) -> str:
    """Return the ending of an ordinal number: ``st``, ``nd``, ``rd`` or ``th``."""
    return "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
