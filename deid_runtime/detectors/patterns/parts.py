"""The named parts that patterns share: ``{month}``, ``{street_words}``, ``{phone_end}``.

All lists of words reach the patterns through this module, so it is the only one to change when a list moves.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Final

from deid_runtime.detectors.patterns.ages import KIN_WORDS
from deid_runtime.detectors.patterns.places import LIKELY_SUFFIXES, SOFT_SUFFIXES, SUFFIXES, SURE_SUFFIXES
from deid_runtime.detectors.patterns.words import MONTHS, SEASONS, US_STATES, WEEKDAYS, YEAR, YEAR2, either
from deid_runtime.errors import SettingsError
from deid_runtime.lexicon.calendar_words import SHORT_MONTHS
from deid_runtime.lexicon.numbers import ONES, TEENS, TENS, ordinal
from deid_runtime.lexicon.states import states
from deid_runtime.lexicon.vocabulary import credentials, kin, street_kinds, titles, unit_words

PARTS_FILE: Final = "parts.tsv"
_COLUMNS: Final = ("name", "kind", "value", "notes")
_REFERENCE: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


def _as_names(words: Sequence[str]) -> str:
    """Return an alternation of the words in title case and in capitals; in lower case they are ordinary words."""
    return either([word.title() for word in words] + [word.upper() for word in words])


def _titled(words: Sequence[str]) -> str:
    return either(word.title() for word in words)


def word_parts() -> dict[str, str]:
    """Return the parts that are made from word lists which the checks of patterns also use."""
    return {
        "letter": r"[^\W\d_]",
        "year": YEAR,
        "year2": YEAR2,
        "months": either(MONTHS),
        "short_months": either(SHORT_MONTHS),
        "weekdays": either(WEEKDAYS),
        "seasons": either(SEASONS),
        "ones": "|".join(ONES),
        "teens": "|".join(TEENS),
        "tens": "|".join(TENS),
        "ordinals_to_nine": "|".join(map(ordinal, range(1, 10))),
        "later_ordinals": "|".join(map(ordinal, [*range(10, 21), 30])),
        "kin": either(KIN_WORDS),
        "several_kin": either(kin("several")),
        "subject_kin": either(kin("subject")),
        "subject_titles": either(titles("subject")),
        "user_credentials": either(credentials("username")),
        "license_credentials": either(credentials("license")),
        "street_words": _as_names(SUFFIXES),
        "soft_street_words": _as_names(SOFT_SUFFIXES),
        "sure_street_words": _titled(SURE_SUFFIXES),
        "likely_street_words": _titled(LIKELY_SUFFIXES),
        "ordinal_street_words": _titled(street_kinds("ordinal")),
        "lower_street_words": either(street_kinds("lower")),
        "ending_street_words": either(street_kinds("lower-end")),
        "unit_words": either(unit_words("address")),
        "units_behind_dot": either(unit_words("dot")),
        "lower_units": either(unit_words("lower")),
        "state_names": _as_names(list(US_STATES.values())),
        "state_codes": "|".join(US_STATES),
        "australian_states": either(form for state in states("postcode") for form in (state.code, state.short) if form),
    }


@lru_cache(maxsize=1)
def load_parts() -> Mapping[str, str]:
    """Return all parts by name, with the parts inside them expanded. Raises SettingsError for a wrong row."""
    text = (files("deid_runtime") / "data" / "patterns" / PARTS_FILE).read_text(encoding="utf-8-sig")
    return read_parts(text, word_parts())


def read_parts(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of a table together with ``known``; a row may use parts that are known or above it.

    Raises SettingsError that names the line, for a row that does not have the expected format.
    """
    parts = dict(known)
    for where, row in table_rows(PARTS_FILE, text, _COLUMNS):
        name = row["name"]
        if not _NAME.fullmatch(name) or name in parts:
            raise SettingsError(f"{where}: the name must be new and have only a-z, 0-9 and _; choose another one")
        make = _KINDS.get(row["kind"])
        if make is None:
            raise SettingsError(f"{where}: unknown kind {row['kind']!r}; expected one of {', '.join(_KINDS)}")
        part = make(expand(row["value"], parts, where))
        try:
            re.compile(f"(?:{part})")
        except re.error as error:
            raise SettingsError(f"{where}: the value is not a pattern ({error}); correct it there") from None
        parts[name] = part
    return parts


def expand(pattern: str, parts: Mapping[str, str], where: str) -> str:
    """Return a pattern with each ``{name}`` expanded. Raises SettingsError whose message begins with ``where``."""

    def part(match: re.Match[str]) -> str:
        try:
            return parts[match[1]]
        except KeyError:
            raise SettingsError(
                f"{where}: there is no part {{{match[1]}}}; add it to {PARTS_FILE}, above the rows that use it"
            ) from None

    return _REFERENCE.sub(part, pattern)


def table_rows(name: str, text: str, columns: tuple[str, ...]) -> list[tuple[str, dict[str, str]]]:
    """Return the rows of a tab-separated table, each with its position (file, line and first field) for messages.

    The first line has the names of the columns. Lines that begin with ``#`` and empty lines are skipped. Cells at the
    end of a line may be missing. Raises SettingsError for other columns and for a row with too many cells.
    """
    lines = text.splitlines()
    if not lines or tuple(lines[0].split("\t")) != columns:
        raise SettingsError(f"{name}, line 1: expected the columns {' '.join(columns)}, separated by tabs")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        where = f"{name}, line {number}, row {cells[0]}"
        if len(cells) > len(columns):
            raise SettingsError(
                f"{where}: {len(cells)} cells for {len(columns)} columns; write a tab within a cell as \\t"
            )
        if any(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in cells[:-1]):
            raise SettingsError(f"{where}: a cell is in quotes; save the table as text without quotes around cells")
        rows.append((where, dict(zip(columns, cells + [""] * (len(columns) - len(cells)), strict=True))))
    return rows


def _with_wide_blanks(value: str) -> str:
    return value.replace(r"\ ", " ").replace(" ", "[ ]{1,2}")


#: How a value is read: a pattern, a pattern in which a space means one or two, or words separated by commas.
_KINDS: Final[Mapping[str, Callable[[str], str]]] = {
    "pattern": str,
    "phrase": _with_wide_blanks,
    "words": lambda value: either(value.split(",")),
}
