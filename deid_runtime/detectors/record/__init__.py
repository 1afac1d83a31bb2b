"""Find the values of the patient's own record in the patient's notes, in all their surface forms.

Names match in any order, case and part, and with one wrong letter: ``SMITH, JOHN C``, ``J. Smith``, ``john``,
``J.S.``, ``Okafor`` for ``Okafor-Bright``. The birth date and numbers match in any format, the address in parts and
with common abbreviations.

Names and places that are also words (*Will*, *Brown*, *May*, *Reading*) need the support of a title, another part of
the name or their position.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.detectors.record.names import RecordPerson, find_names, name_parts, read_person
from deid_runtime.detectors.record.values import NUMBER_KINDS, ValuePattern, find_values, value_patterns
from deid_runtime.records.fields import field_of, record_values
from deid_runtime.spans import PatientRecord, Span

_COMPILED_RECORDS: Final = 512  # limits the memory: a compiled record takes tens of kB

#: Fields whose values are searched together with those of another field; other fields have their own label.
_TOGETHER: Final = {"former": "family"}


class RecordFinder:
    """Finds the values of records in texts, and caches the compiled patterns of the most recent records.

    The cache holds identifiers in clear. It lives no longer than the pipeline that this finder belongs to.
    """

    def __init__(self) -> None:
        self._compiled: OrderedDict[tuple[tuple[str, str], ...], _Matcher] = OrderedDict()

    def find(self, text: str, record: PatientRecord) -> list[Span]:
        """Return spans for the values of ``record`` in ``text``: in its offsets, sorted, possibly overlapping."""
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


@dataclass(frozen=True, slots=True)
class _Matcher:
    persons: tuple[RecordPerson, ...] = field(repr=False)
    patterns: tuple[ValuePattern, ...] = field(repr=False)


def _compile(fields: tuple[tuple[str, str], ...]) -> _Matcher:
    values: dict[str, list[str]] = {}
    for name, value in fields:
        known = field_of(name)
        if known is not None and known.holds != "nothing":
            kind = known.label if known.holds == "value" else _TOGETHER.get(known.holds, known.holds)
            found = record_values(value)
            # A number may contain the list separator, so search the whole value too. A real list never occurs as a
            # whole.
            whole = [value.strip()] if len(found) > 1 and kind in NUMBER_KINDS else []
            values.setdefault(kind, []).extend([*found, *whole])
    persons = [read_person("PATIENT", values.get("given", []), values.get("family", []))]
    for kind, label in (("person", "PATIENT"), ("provider", "DOCTOR")):
        persons += [read_person(label, *name_parts(value)) for value in values.get(kind, [])]
    return _Matcher(tuple(person for person in persons if person.given or person.family), tuple(value_patterns(values)))
