"""The fields of a patient's record: their names, their content, and how to split several values in one field."""

import re
from dataclasses import dataclass
from typing import Final, Literal

#: What a field holds. A ``value`` is searched for in notes and gets the label of its field. A field that holds
#: ``nothing`` is not searched for.
Holds = Literal["given", "family", "former", "person", "provider", "birth", "last4", "value", "nothing"]


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field of a record.

    ``aliases`` are other names of its column. ``label`` is the label of its values in notes; it is empty when they have
    no label.
    """

    name: str
    holds: Holds
    label: str
    aliases: tuple[str, ...] = ()


#: Column of the patient id.
ID: Final = "id"

RECORD_FIELDS: Final = (
    RecordField("given", "given", "PATIENT", ("given_name", "first", "first_name", "forename")),
    RecordField("middle", "given", "PATIENT", ("middle_name",)),
    RecordField("family", "family", "PATIENT", ("family_name", "last", "last_name", "surname")),
    RecordField("former_name", "former", "PATIENT", ("maiden_name", "maiden")),
    RecordField("nickname", "given", "PATIENT", ("preferred_name", "preferred")),
    RecordField("suffix", "nothing", "", ("name_suffix",)),
    RecordField("name", "person", "PATIENT", ("full_name",)),
    RecordField("aka", "person", "PATIENT", ("alias",)),
    RecordField("sex", "nothing", "", ("gender",)),
    RecordField("dob", "birth", "DATE", ("birth_date", "birthdate", "date_of_birth")),
    RecordField("mrn", "value", "MEDICALRECORD", ("medical_record_number",)),
    RecordField("account", "value", "ACCOUNT", ("account_number",)),
    RecordField("csn", "value", "ACCOUNT"),
    RecordField("member_id", "value", "HEALTHPLAN", ("health_plan_id",)),
    RecordField("policy", "value", "HEALTHPLAN", ("policy_number",)),
    RecordField("ssn", "value", "SSN"),
    RecordField("ssn_last4", "last4", "SSN"),
    RecordField("phone", "value", "PHONE", ("telephone", "phone_number")),
    RecordField("mobile", "value", "PHONE", ("cell", "mobile_phone", "cell_phone")),
    RecordField("home_phone", "value", "PHONE"),
    RecordField("work_phone", "value", "PHONE"),
    RecordField("fax", "value", "FAX"),
    RecordField("email", "value", "EMAIL", ("e_mail", "email_address")),
    RecordField("street", "value", "STREET", ("address", "street_address")),
    RecordField("city", "value", "CITY"),
    RecordField("county", "value", "CITY"),
    RecordField("state", "value", "STATE"),
    RecordField("zip", "value", "ZIP", ("postcode", "postal_code", "zip_code")),
    RecordField("country", "value", "COUNTRY"),
    RecordField("contact", "person", "PATIENT", ("emergency_contact",)),
    RecordField("next_of_kin", "person", "PATIENT"),
    RecordField("guardian", "person", "PATIENT"),
    RecordField("mother", "person", "PATIENT"),
    RecordField("father", "person", "PATIENT"),
    RecordField("spouse", "person", "PATIENT"),
    RecordField("pcp", "provider", "DOCTOR"),
    RecordField("provider", "provider", "DOCTOR"),
    RecordField("employer", "value", "ORGANIZATION"),
    RecordField("school", "value", "ORGANIZATION"),
)

FIELD_NAMES: Final = tuple(field.name for field in RECORD_FIELDS)
_FIELD_OF: Final = {name: field for field in RECORD_FIELDS for name in (field.name, *field.aliases)}
_MARKS: Final = re.compile(r"[|;\r\n]")


def field_of(column: str) -> RecordField | None:
    """Return the field of a column by its name or an alias, or None.

    Letter case does not matter, and spaces or dashes count as underscores.
    """
    return _FIELD_OF.get(column.strip().lower().replace(" ", "_").replace("-", "_"))


def fields_that_hold(*holds: Holds) -> tuple[str, ...]:
    """Return all names and aliases of the fields that hold one of ``holds``, in the order of the fields."""
    return tuple(name for name, field in _FIELD_OF.items() if field.holds in holds)


def record_values(field: str) -> list[str]:
    """Return the values of a field, stripped. Values without any letter or digit are omitted."""
    return [value.strip() for value in _MARKS.split(field) if any(map(str.isalnum, value))]
