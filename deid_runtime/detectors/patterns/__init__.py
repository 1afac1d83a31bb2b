"""Identifiers found by form and label: dates, contacts, numbers, addresses, ages. One table, every row with its tests.

A row whose value has a check digit, a calendar or a printed label to vouch for it reports as ``"pattern"``; a row that
is only likely reports as ``"pattern:weak"`` and gives way to every other finder.
"""

from collections.abc import Sequence

from deid_runtime.detectors.patterns.table import load_table
from deid_runtime.spans import Span


def find_patterns(texts: Sequence[str]) -> list[list[Span]]:
    """Return the identifiers of each text (a whole note), sorted and disjoint, one row per text, in order.

    Time is linear in the length of a text whatever it holds. Raises InputError for a text that takes too long all the
    same, SettingsError when the table is wrong.
    """
    table = load_table()
    return [table.find(text) for text in texts]
