"""Read the date shift of each patient, in days, from a table: JSON Lines (plain or gzip), CSV or Parquet.

This is for sites that have already shifted the dates of their tables and want the notes to agree with them. The column
``patient`` (or ``id``, ``patient_id``) has the patient id of the notes. The column ``days`` (or ``offset``,
``offset_days``, ``shift``) has a whole number that is not 0, and with whole weeks a multiple of 7. Columns whose name
starts with an underscore are ignored. The table can undo the date shift, so protect it like a key.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from deid_runtime.errors import SettingsError
from deid_runtime.records.tables import read_table

#: Largest date shift in days: about a hundred years.
LARGEST_DAYS: Final = 36_500
DAYS_IN_WEEK: Final = 7

_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("patient", "patient_id", "id"), "patient"),
    **dict.fromkeys(("days", "offset", "offset_days", "shift", "date_shift"), "days"),
}


def read_date_shifts(path: Path, *, whole_weeks: bool = False) -> dict[str, int]:
    """Return the date shift in days by patient id. With ``whole_weeks`` each must be a multiple of 7.

    Raises SettingsError, which names the line, for any error. A skipped row would quarantine the notes of a patient,
    and a wrong row would make every interval between notes and tables wrong.
    """
    shifts: dict[str, int] = {}
    for position, row in read_table(path, "date shifts of patients", _columns_of):
        columns = _columns_of(position, tuple(row))
        patient = _patient(position, row[columns["patient"]])
        if patient in shifts:
            raise SettingsError(f"{position}: this patient occurs twice; give one row per patient")
        days = _days(position, row[columns["days"]])
        if whole_weeks and days % DAYS_IN_WEEK:
            raise SettingsError(
                f"{position}: {days} days are not a multiple of {DAYS_IN_WEEK}; correct the row, or omit "
                "--date-shift-weeks"
            )
        shifts[patient] = days
    if not shifts:
        raise SettingsError(
            f"{path}: no date shifts in the file; expected one row per patient, with columns patient and days"
        )
    return shifts


def _columns_of(position: str, columns: Sequence[str]) -> dict[str, str]:
    """Return the names of the columns with the patient and the days. Raises SettingsError."""
    found: dict[str, str] = {}
    for number, column in enumerate(columns, 1):
        if column.startswith("_"):
            continue
        name = _NAMES.get(column.strip().lower().replace(" ", "_").replace("-", "_"))
        if name is None or name in found:
            raise SettingsError(
                f"{position}: column {number} is {'one too many' if name else 'unknown'}; expected the columns patient "
                "and days, and a _ before the name of columns to ignore"
            )
        found[name] = column
    if len(found) < 2:
        raise SettingsError(f"{position}: expected columns patient and days")
    return found


def _patient(position: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{position}: expected the patient id of the notes")
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
        raise SettingsError(f"{position}: 0 days would leave the dates unchanged; give another number")
    return days
