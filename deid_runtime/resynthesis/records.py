"""The structured record of a patient, resynthesised with the notes: values get the surrogates they have there."""

from collections.abc import Collection
from typing import Final

from deid_runtime.records.fields import RECORD_FIELDS, field_of
from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.surrogates import Surrogates

#: Field to the label that its values have in notes.
_LABELS: Final = {field.name: field.label for field in RECORD_FIELDS if field.label}
_KEPT: Final = frozenset(field.name for field in RECORD_FIELDS if not field.label)
#: City, state and ZIP are written as in an address, so that they agree as they do in notes.
_ADDRESS: Final = ("city", "state", "zip")


def replace_record(
    record: PatientRecord, patient: str, surrogates: Surrogates, avoid: Collection[str]
) -> dict[str, str]:
    """Return the record's fields with surrogates for values; fields that are not known to hold what they say are left
    out.

    ``patient`` is the id that the notes carry, ``avoid`` what was avoided there.
    """
    fields = {field.name: value for name, value in record.fields.items() if (field := field_of(name)) and value.strip()}
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
