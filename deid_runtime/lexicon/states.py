"""States and provinces: their codes, names and traditional abbreviations."""

from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple

from deid_runtime.lexicon.tables import table

StateUse = Literal["find", "record", "train", "word", "credential", "ambiguous", "postcode", "surrogate"]


class StateName(NamedTuple):
    """A state. ``code`` is the postal code. ``short`` is the traditional abbreviation, or empty."""

    code: str
    name: str
    short: str


def states(use: StateUse | None = None) -> tuple[StateName, ...]:
    """Return the states that have ``use``, or all states without ``use``, in the order of the table."""
    return tuple(state for state, uses in _rows() if use is None or use in uses)


@cache
def us_states() -> Mapping[str, StateName]:
    """Return the states of the United States by code, including the District of Columbia and the territories."""
    return {row[0]: StateName(row[0], row[1], row[3]) for row in _table() if row[2] == "US"}


@cache
def other_states() -> Mapping[str, StateName]:
    """Return states and provinces of other countries by country and code, as in ISO 3166-2: ``CA-ON``."""
    rows = (row for row in _table() if "surrogate" in row[-1].split())
    return {f"{country}-{code}": StateName(code, name, short) for code, name, country, short, _ in rows}


@cache
def _rows() -> tuple[tuple[StateName, frozenset[str]], ...]:
    return tuple((StateName(code, name, short), frozenset(uses.split())) for code, name, _, short, uses in _table())


def _table() -> tuple[tuple[str, ...], ...]:
    return table("states", "code", "name", "country", "short", "uses")
