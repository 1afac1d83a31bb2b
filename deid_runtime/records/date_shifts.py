"""How many days the dates of each patient move, from a table: JSON Lines (plain or gzip), CSV or Parquet.

For sites that have shifted the dates of their tables already, and want notes to agree with them. The column
``patient`` (or ``id``, ``patient_id``) holds the patient id that the notes carry, ``days`` (or ``offset``,
``offset_days``, ``shift``) a whole number, not 0, and with whole weeks a multiple of 7. Columns whose name starts with
an underscore are passed over. The table undoes the shift: it is guarded like a key.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from deid_runtime.errors import SettingsError
from deid_runtime.records.tables import read_table

#: As far as dates may move: about a hundred years.
LARGEST_DAYS: Final = 36_500
DAYS_IN_WEEK: Final = 7

_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("patient", "patient_id", "id"), "patient"),
    **dict.fromkeys(("days", "offset", "offset_days", "shift", "date_shift"), "days"),
}


def read_offsets(path: Path, *, whole_weeks: bool = False) -> dict[str, int]:
    """Return the days by patient id; with ``whole_weeks`` every one must be a multiple of 7.

    Raises SettingsError, naming the line, for whatever is wrong: a row passed over would quarantine a patient's notes,
    a wrong one break every interval to the tables.
    """
    offsets: dict[str, int] = {}
    for position, row in read_table(path, "offsets of patients", _columns_of):
        columns = _columns_of(position, tuple(row))
        patient = _patient(position, row[columns["patient"]])
        if patient in offsets:
            raise SettingsError(f"{position}: this patient has occurred before; give one row a patient")
        days = _days(position, row[columns["days"]])
        if whole_weeks and days % DAYS_IN_WEEK:
            raise SettingsError(
                f"{position}: {days} days are not a multiple of {DAYS_IN_WEEK}; correct the row, or leave out "
                "--date-shift-weeks"
            )
        offsets[patient] = days
    if not offsets:
        raise SettingsError(f"{path}: no offsets in it; expected one row a patient, with columns patient and days")
    return offsets


def _columns_of(position: str, columns: Sequence[str]) -> dict[str, str]:
    """Return the column that holds the patient and the one that holds the days."""
    found: dict[str, str] = {}
    for number, column in enumerate(columns, 1):
        if column.startswith("_"):
            continue
        name = _NAMES.get(column.strip().lower().replace(" ", "_").replace("-", "_"))
        if name is None or name in found:
            raise SettingsError(
                f"{position}: column {number} is {'one too many' if name else 'unknown'}; expected the columns patient "
                "and days, and a _ before the name of columns to leave out"
            )
        found[name] = column
    if len(found) < 2:
        raise SettingsError(f"{position}: expected columns patient and days")
    return found


def _patient(position: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{position}: expected the patient id that the notes carry")
    return value.strip()


def _days(position: str, value: object) -> int:
    days = value
    if isinstance(days, str) and days.strip().removeprefix("-").removeprefix("+").isdecimal() and len(days) < 20:
        days = int(days)
    if isinstance(days, float) and days.is_integer():
        days = int(days)
    if isinstance(days, bool) or not isinstance(days, int) or not -LARGEST_DAYS <= days <= LARGEST_DAYS:
        raise SettingsError(f"{position}: expected a whole number of days, -{LARGEST_DAYS} to {LARGEST_DAYS}")
    if days == 0:
        raise SettingsError(f"{position}: 0 days would leave the dates as they are; give another number")
    return days
