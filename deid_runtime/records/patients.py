"""Patients' structured records from a table: JSON Lines (plain or gzip), CSV or Parquet, one patient a row.

The column ``id`` holds the patient id that the notes carry; the other columns are the fields of
:mod:`deid_runtime.records.fields`, under their own name or one of the aliases, in any case, with spaces or dashes for
underscores. Columns whose name starts with an
underscore are passed over; an unknown one is an error, since a misspelt field would mean identifiers not looked for.
A field may hold several values with ``|``, ``;`` or a line end between them; ``dob`` holds one.
All records are held in memory, in every worker: about 2 kB a patient.
"""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from deid_runtime.errors import SettingsError
from deid_runtime.records.birth_dates import date_of_birth
from deid_runtime.records.fields import FIELD_NAMES, ID, field_of
from deid_runtime.records.tables import read_table
from deid_runtime.spans import PatientRecord
from deid_runtime.system.shown_ids import shown_id

#: What a value is looked for by grows with it.
_LONGEST_VALUE_CHARS: Final = 2_000


def read_patients(path: Path) -> dict[str, PatientRecord]:
    """Return the records by patient id.

    Raises SettingsError, naming the line, for whatever is wrong: a record passed over would leave identifiers unfound.
    """
    records: dict[str, PatientRecord] = {}
    for position, row in read_table(path, "patient records", _fields_of):
        record = _record(position, row)
        if record.id in records:
            raise SettingsError(f"{position}: this patient id has occurred before; give one row a patient")
        records[record.id] = record
    return records


def checked_records(records: Mapping[str, PatientRecord]) -> dict[str, PatientRecord]:
    """Return records made in Python as :func:`read_patients` would have read them: every field under its own name.

    Raises SettingsError for whatever is wrong, as there: a field passed over would leave identifiers unfound.
    """
    checked = {}
    for patient, record in records.items():
        position = f"record of patient {shown_id(patient)}"
        if record.id != patient:
            raise SettingsError(
                f"{position}: it is of patient {shown_id(record.id)}; give each under the id that the notes carry"
            )
        # What was read before has its names already, and there may be a million of them.
        if record.fields.keys() <= set(FIELD_NAMES) and "dob" not in record.fields:
            checked[patient] = record
        else:
            checked[patient] = _record(position, {**record.fields, ID: patient})
    return checked


def _record(position: str, row: Mapping[str, object]) -> PatientRecord:
    fields = {}
    for column, field in _fields_of(position, row).items():
        value = _value(position, column, row[column])
        if value and field == "dob" and date_of_birth(value) is None:
            raise SettingsError(
                f"{position}: column {column[:40]!r} holds no whole date with a year of four digits; expected one such "
                "as 1931-02-08, or nothing"
            )
        if value:
            fields[field] = value
    patient = fields.pop(ID, "")
    if not patient:
        raise SettingsError(f"{position}: column 'id' is empty; expected the patient id that the notes carry")
    return PatientRecord(patient, fields)


def _fields_of(position: str, columns: Mapping[str, object] | Sequence[str]) -> dict[str, str]:
    """Return the field that each column holds; raise SettingsError for one unknown or one held twice."""
    fields: dict[str, str] = {}
    for number, column in enumerate(columns, 1):
        if column.startswith("_"):
            continue
        known = field_of(column)
        field = ID if column.strip().lower() == ID else known.name if known else None
        if field is None:
            # Not by its name: where the header is missing, that is a value of a patient.
            raise SettingsError(
                f"{position}: the name of column {number} is unknown; rename it, or start its name with _ to leave it "
                f"out. Is there a header? Known: {ID}, {', '.join(FIELD_NAMES)}"
            )
        if field in fields.values():
            raise SettingsError(f"{position}: two columns hold {field!r}; start the name of one with _ to leave it out")
        fields[column] = field
    if ID not in fields.values():
        raise SettingsError(f"{position}: no column 'id'; expected the patient id that the notes carry")
    return fields


def _value(position: str, column: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise SettingsError(
            f"{position}: column {column[:40]!r} is {type(value).__name__}; expected a string, with | between several "
            "values"
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise SettingsError(f"{position}: column {column[:40]!r} is not valid UTF-8") from None
    if len(value) > _LONGEST_VALUE_CHARS:
        raise SettingsError(
            f"{position}: column {column[:40]!r} has {len(value)} characters; the limit is {_LONGEST_VALUE_CHARS}"
        )
    return value.strip()
