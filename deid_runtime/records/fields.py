"""Several values in one field of a patient's record: ``212-867-4410|212-867-4411``, ``Anna; Annie``, one a line."""

import re
from typing import Final

_MARKS: Final = re.compile(r"[|;\r\n]")


def record_values(field: str) -> list[str]:
    """Return the values of a field, stripped, without those that hold no letter or digit."""
    return [value.strip() for value in _MARKS.split(field) if any(map(str.isalnum, value))]
