"""The structured record of a patient, resynthesised with the notes: values get the surrogates they have there."""

from collections.abc import Collection
from typing import Final

from deid_runtime.records.patients import FIELDS
from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.surrogates import Surrogates

#: Field to the label that its values have in notes; ``sex`` alone stays as it is.
_LABELS: Final = {
    **dict.fromkeys(
        ("given", "middle", "family", "former_name", "nickname", "name", "aka", "contact", "next_of_kin", "guardian",
         "mother", "father", "spouse"), "PATIENT",
    ),
    **dict.fromkeys(("pcp", "provider"), "DOCTOR"),
    **dict.fromkeys(("account", "csn"), "ACCOUNT"),
    **dict.fromkeys(("member_id", "policy"), "HEALTHPLAN"),
    **dict.fromkeys(("ssn", "ssn_last4"), "SSN"),
    **dict.fromkeys(("phone", "mobile", "home_phone", "work_phone"), "PHONE"),
    **dict.fromkeys(("city", "county"), "CITY"),
    **dict.fromkeys(("employer", "school"), "ORGANIZATION"),
    "dob": "DATE", "mrn": "MEDICALRECORD", "fax": "FAX", "email": "EMAIL", "street": "STREET", "state": "STATE",
    "zip": "ZIP", "country": "COUNTRY",
}  # fmt: skip
_KEPT: Final = frozenset({"sex", "suffix"})
_FIELD_OF: Final = {alias: name for name, aliases in FIELDS.items() for alias in (name, *aliases)}
#: City, state and ZIP are written as in an address, so that they agree as they do in notes.
_ADDRESS: Final = ("city", "state", "zip")


def replace_record(
    record: PatientRecord, patient: str, surrogates: Surrogates, avoid: Collection[str]
) -> dict[str, str]:
    """Return the record's fields with surrogates for values; fields that are not known to hold what they say are left
    out.

    ``patient`` is the id that the notes carry, ``avoid`` what was avoided there.
    """
    fields = {_FIELD_OF[name]: value for name, value in record.fields.items() if name in _FIELD_OF and value.strip()}
    told = [name for name in fields if name in _LABELS and name not in _ADDRESS]
    lines = [[name] for name in told] + [[name for name in _ADDRESS if name in fields]]
    text, names, spans = "", [], []
    for line in lines:
        for name in line:
            text += ", " if text and name != line[0] else ""
            spans.append(Span(len(text), len(text) + len(fields[name]), _LABELS[name]))
            names.append(name)
            text += fields[name]
        text += "\n"
    note = Note(f"record of {patient}", text, patient)
    made = dict(zip(names, surrogates.replacements(note, spans, record, avoid=avoid), strict=True))
    return {name: made.get(name, value) for name, value in fields.items() if name in made or name in _KEPT}
