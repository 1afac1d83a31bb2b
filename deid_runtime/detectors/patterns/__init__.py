"""Identifiers found by form and label: dates, contacts, numbers, addresses, ages. One table, every row with its tests.

A row whose value has a check digit, a calendar or a printed label to vouch for it reports as ``"pattern"``; a row that
is only likely reports as ``"pattern:weak"`` and gives way to every other finder.
"""

from collections.abc import Sequence
from typing import Final

from deid_runtime.detectors.patterns import (
    ages,
    contacts,
    countries,
    dates_named,
    dates_numeric,
    numbers,
    places,
    usernames,
)
from deid_runtime.detectors.patterns.rows import Table
from deid_runtime.spans import Span

#: Of two rows that are as sure and find as much, the earlier wins: a telephone number is also a long number.
TABLE: Final = Table(
    (
        *contacts.ROWS,
        *dates_numeric.ROWS,
        *dates_named.ROWS,
        *places.ROWS,
        *countries.ROWS,
        *ages.ROWS,
        *usernames.ROWS,
        *numbers.ROWS,
    )
)


def find_patterns(texts: Sequence[str]) -> list[list[Span]]:
    """Return the identifiers of each text (a whole note), sorted and disjoint, one row per text, in order.

    Time is linear in the length of a text whatever it holds.
    """
    return [TABLE.find(text) for text in texts]
