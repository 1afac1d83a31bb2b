"""Read patient records from a table: JSON Lines (plain or gzip), CSV or Parquet, one patient per row.

The column ``id`` has the patient id of the notes. The other columns are the fields of
:mod:`deid_runtime.records.fields`, under their name or an alias. Letter case does not matter, and spaces or dashes
count as underscores. Columns whose name starts with an underscore are ignored. An unknown column is an error: it could
be a misspelt field, and its identifiers would not be searched for. A field can have several values with ``|``, ``;`` or
a line end between them; ``dob`` has one.

Every worker keeps all records in memory: about 2 kB per patient.
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

#: Limits the length of a value, because the size of its search patterns grows with it.
_LONGEST_VALUE_CHARS: Final = 2_000


def read_patients(path: Path) -> dict[str, PatientRecord]:
    """Return the records by patient id.

    Raises SettingsError, which names the line, for any error: identifiers of a skipped record would not be found.
    """
    records: dict[str, PatientRecord] = {}
    for position, row in read_table(path, "patient records", _fields_of):
        record = _record(position, row)
        if record.id in records:
            raise SettingsError(f"{position}: this patient id occurs twice; give one row per patient")
        records[record.id] = record
    return records


def checked_records(records: Mapping[str, PatientRecord]) -> dict[str, PatientRecord]:
    """Return records that were created in Python as :func:`read_patients` reads them: no aliases, checked values.

    Raises SettingsError for any error: identifiers of a skipped field would not be found.
    """
    checked = {}
    for patient, record in records.items():
        position = f"record of patient {shown_id(patient)}"
        if record.id != patient:
            raise SettingsError(
                f"{position}: it belongs to patient {shown_id(record.id)}; give each record under the patient id of "
                "the notes"
            )
        # Do not copy records that need no change, such as those of read_patients: there may be a million of them.
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
                f"{position}: column {column[:40]!r} has no complete date with a four-digit year; expected one such "
                "as 1931-02-08, or nothing"
            )
        if value:
            fields[field] = value
    patient = fields.pop(ID, "")
    if not patient:
        raise SettingsError(f"{position}: column 'id' is empty; expected the patient id of the notes")
    return PatientRecord(patient, fields)


def _fields_of(position: str, columns: Mapping[str, object] | Sequence[str]) -> dict[str, str]:
    """Return column to field. Raises SettingsError for an unknown column and for two columns with one field."""
    fields: dict[str, str] = {}
    for number, column in enumerate(columns, 1):
        if column.startswith("_"):
            continue
        known = field_of(column)
        field = ID if column.strip().lower() == ID else known.name if known else None
        if field is None:
            # Name the column by its number: when the header is missing, its name is a value of a patient.
            raise SettingsError(
                f"{position}: the name of column {number} is unknown; rename it, or start its name with _ to ignore "
                f"it. Check that there is a header. Known names: {ID}, {', '.join(FIELD_NAMES)}"
            )
        if field in fields.values():
            raise SettingsError(f"{position}: two columns have {field!r}; start the name of one with _ to ignore it")
        fields[column] = field
    if ID not in fields.values():
        raise SettingsError(f"{position}: no column 'id'; expected a column with the patient id of the notes")
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
            f"{position}: column {column[:40]!r} is {type(value).__name__}; expected a string, with | between values"
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
