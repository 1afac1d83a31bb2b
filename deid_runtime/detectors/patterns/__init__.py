"""Find identifiers by form and label: dates, contacts, numbers, addresses, ages.

They form one table, and every row has its tests.
A row with a check digit, a calendar check or a printed label reports as ``"pattern"``. A row that is only likely
reports as ``"pattern:weak"`` and ranks below every other detector.
"""

from collections.abc import Sequence

from deid_runtime.detectors.patterns.table import load_table
from deid_runtime.spans import Span


def find_patterns(texts: Sequence[str]) -> list[list[Span]]:
    """Return the identifiers of each text (a whole note), sorted and disjoint, one row per text, in order.

    Time is linear in the length of a text. Raises InputError for a text that still takes too long, SettingsError when
    the table is wrong.
    """
    table = load_table()
    return [table.find(text) for text in texts]
