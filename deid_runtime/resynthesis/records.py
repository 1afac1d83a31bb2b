"""The structured record of a patient: its values get the same surrogates as in the notes."""

from collections.abc import Collection
from typing import Final

from deid_runtime.records.fields import RECORD_FIELDS, field_of
from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.surrogates import Surrogates

#: Field -> the label of its values in notes.
_LABELS: Final = {field.name: field.label for field in RECORD_FIELDS if field.label}
_KEPT: Final = frozenset(field.name for field in RECORD_FIELDS if not field.label)
#: City, state and ZIP are replaced as one address, so that their surrogates agree as they do in notes.
_ADDRESS: Final = ("city", "state", "zip")


def replace_record(
    record: PatientRecord, patient: str, surrogates: Surrogates, avoid: Collection[str]
) -> dict[str, str]:
    """Return the fields of the record with surrogates for their values. Unknown fields are dropped.

    ``patient`` is the id in the notes; ``avoid`` are the normal forms that were avoided there.
    """
    fields = {field.name: value for name, value in record.fields.items() if (field := field_of(name)) and value.strip()}
    present = [name for name in fields if name in _LABELS and name not in _ADDRESS]
    lines = [[name] for name in present] + [[name for name in _ADDRESS if name in fields]]
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
