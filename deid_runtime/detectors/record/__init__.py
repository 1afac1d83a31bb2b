"""The patient's own record, found in the patient's notes in all its surface forms.

Names come in any order, case and part (``SMITH, JOHN C``, ``J. Smith``, ``john``, ``J.S.``, ``Okafor`` of
``Okafor-Bright``, one letter wrong), the birth date and numbers in any format, the address in parts and with its
abbreviations. Names that are also words (*Will*, *Brown*, *May*) and places that are (*Reading*) count where a title,
another part of the name or their position shows that they are meant.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.detectors.record.names import Person, find_names, name_parts, read_person
from deid_runtime.detectors.record.values import NUMBER_KINDS, ValuePattern, find_values, value_patterns
from deid_runtime.records.fields import field_of, record_values
from deid_runtime.spans import PatientRecord, Span

_COMPILED_RECORDS: Final = 512  # bounds the memory: a compiled record is some tens of kB

#: Where the values of a field go together, and are looked for in one way; others stand by themselves under their label.
_TOGETHER: Final = {"former": "family"}


class RecordFinder:
    """Finds what records hold in texts, and keeps what the records met last compile to.

    That is identifiers in clear: it lives as long as the pipeline that this finder belongs to, and no longer.
    """

    def __init__(self) -> None:
        self._compiled: OrderedDict[tuple[tuple[str, str], ...], _Matcher] = OrderedDict()

    def find(self, text: str, record: PatientRecord) -> list[Span]:
        """Return what of ``record`` occurs in ``text``: spans in its offsets, sorted, possibly overlapping."""
        matcher = self._matcher(tuple(sorted(record.fields.items())))
        spans = find_names(text, matcher.persons)
        spans.update(find_values(text, matcher.patterns))
        return sorted(spans)

    def _matcher(self, fields: tuple[tuple[str, str], ...]) -> "_Matcher":
        matcher = self._compiled.get(fields)
        if matcher is None:
            matcher = self._compiled[fields] = _compile(fields)
            if len(self._compiled) > _COMPILED_RECORDS:
                self._compiled.popitem(last=False)
        else:
            self._compiled.move_to_end(fields)
        return matcher


def find_record(text: str, record: PatientRecord) -> list[Span]:
    """Return what of one record occurs in one text, as :meth:`RecordFinder.find`; nothing is kept."""
    return RecordFinder().find(text, record)


@dataclass(frozen=True, slots=True)
class _Matcher:
    persons: tuple[Person, ...] = field(repr=False)
    patterns: tuple[ValuePattern, ...] = field(repr=False)


def _compile(fields: tuple[tuple[str, str], ...]) -> _Matcher:
    values: dict[str, list[str]] = {}
    for name, value in fields:
        known = field_of(name)
        if known is not None and known.holds != "nothing":
            kind = known.label if known.holds == "value" else _TOGETHER.get(known.holds, known.holds)
            found = record_values(value)
            # A number may hold the mark itself; those of a list joined stand nowhere.
            whole = [value.strip()] if len(found) > 1 and kind in NUMBER_KINDS else []
            values.setdefault(kind, []).extend([*found, *whole])
    persons = [read_person("PATIENT", values.get("given", []), values.get("family", []))]
    for kind, label in (("person", "PATIENT"), ("provider", "DOCTOR")):
        persons += [read_person(label, *name_parts(value)) for value in values.get(kind, [])]
    return _Matcher(tuple(person for person in persons if person.given or person.family), tuple(value_patterns(values)))
