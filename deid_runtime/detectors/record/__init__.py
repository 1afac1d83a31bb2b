"""The patient's own record, found in the patient's notes in all its surface forms.

Names come in any order, case and part (``SMITH, JOHN C``, ``J. Smith``, ``john``, ``J.S.``, ``Okafor`` of
``Okafor-Bright``, one letter wrong), the birth date and numbers in any format, the address in parts and with its
abbreviations. Names that are also words (*Will*, *Brown*, *May*) and places that are (*Reading*) count where a title,
another part of the name or their position shows that they are meant.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from deid_runtime.detectors.record.names import Person, find_names, name_parts, read_person
from deid_runtime.detectors.record.values import NUMBER_KINDS, ValuePattern, find_values, value_patterns
from deid_runtime.records.fields import record_values
from deid_runtime.spans import PatientRecord, Span

_COMPILED_RECORDS: Final = 512  # bounds the memory: a compiled record is some tens of kB

#: Field name to what it holds; a label stands for a value of that label. Other fields are ignored.
_FIELDS: Final[dict[str, str]] = {
    "given": "given", "middle": "given", "nickname": "given",
    "family": "family", "former_name": "family",
    "name": "person", "aka": "person", "contact": "person", "next_of_kin": "person", "guardian": "person",
    "mother": "person", "father": "person", "spouse": "person",
    "pcp": "provider", "provider": "provider",
    "dob": "birth",
    "mrn": "MEDICALRECORD", "account": "ACCOUNT", "csn": "ACCOUNT", "member_id": "HEALTHPLAN", "policy": "HEALTHPLAN",
    "phone": "PHONE", "mobile": "PHONE", "home_phone": "PHONE", "work_phone": "PHONE", "fax": "FAX",
    "ssn": "SSN", "ssn_last4": "last4", "email": "EMAIL",
    "street": "STREET", "city": "CITY", "county": "CITY", "state": "STATE", "country": "COUNTRY", "zip": "ZIP",
    "employer": "ORGANIZATION", "school": "ORGANIZATION",
}  # fmt: skip


def find_record(text: str, record: PatientRecord) -> list[Span]:
    """Return what of ``record`` occurs in ``text``: spans in its offsets, sorted, possibly overlapping.

    What records compile to is kept for the patients met last.
    """
    matcher = _compile(tuple(sorted(record.fields.items())))
    spans = find_names(text, matcher.persons)
    spans.update(find_values(text, matcher.patterns))
    return sorted(spans)


@dataclass(frozen=True, slots=True)
class _Matcher:
    persons: tuple[Person, ...]
    patterns: tuple[ValuePattern, ...]


@lru_cache(maxsize=_COMPILED_RECORDS)
def _compile(fields: tuple[tuple[str, str], ...]) -> _Matcher:
    values: dict[str, list[str]] = {}
    for name, value in fields:
        kind = _FIELDS.get(name.lower())
        if kind is not None:
            found = record_values(value)
            # A number may hold the mark itself; those of a list joined stand nowhere.
            whole = [value.strip()] if len(found) > 1 and kind in NUMBER_KINDS else []
            values.setdefault(kind, []).extend([*found, *whole])
    persons = [read_person("PATIENT", values.get("given", []), values.get("family", []))]
    for kind, label in (("person", "PATIENT"), ("provider", "DOCTOR")):
        persons += [read_person(label, *name_parts(value)) for value in values.get(kind, [])]
    return _Matcher(tuple(person for person in persons if person.given or person.family), tuple(value_patterns(values)))
