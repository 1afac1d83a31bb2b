"""FHIR resources as lines of JSON: the notes in DocumentReference and Observation, and new resources for them.

Other fields of a resource (identifiers, authors, dates, references) identify people and are not copied. The output
is a new resource with pseudonyms, the status, the codes, and the new texts:

- DocumentReference: ``content[].attachment`` with ``data``, base64 of UTF-8 text of a ``text/plain`` type.
- Observation: ``valueString`` and ``note[].text``.

A resource is held back whole when its type is another one, an attachment cannot be read, or a text is held back.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from deid_runtime.errors import InputError
from deid_runtime.formats.records import RECORD_LIMIT_BYTES, Unreadable, check_text
from deid_runtime.pipeline.outcomes import Deidentified, Outcome, Quarantined
from deid_runtime.run.batches import Batch
from deid_runtime.spans import Note
from deid_runtime.spark.rows import NOWHERE, QUARANTINE, Row, held_back, quarantine_type
from deid_runtime.spark.workers import WorkerTask, outcomes_of

if TYPE_CHECKING:
    import pyarrow

#: The column of the input (Spark's ``read.text``) and of the output.
VALUE: Final = "value"
_TYPES: Final = ("DocumentReference", "Observation")
_PLAIN: Final = "text/plain"


@dataclass(frozen=True, slots=True)
class Resource:
    """The copied parts of one resource. ``texts`` has the path of each text in the new resource, and the text."""

    type: str
    id: str
    patient: str = field(repr=False)
    status: str
    code: Mapping[str, object] | None
    texts: Mapping[str, str] = field(repr=False)

    def notes(self) -> list[Note]:
        """Return the texts as notes. The id of each is the id of the resource and its path."""
        return [Note(f"{self.type}/{self.id}#{path}", text, self.patient) for path, text in self.texts.items()]

    def rewritten(self, outcomes: Sequence[Deidentified]) -> str:
        """Return the new resource as JSON on one line, with the pseudonyms and texts of ``outcomes``."""
        texts = dict(zip(self.texts, (outcome.text for outcome in outcomes), strict=True))
        patient = outcomes[0].patient_pseudonym
        new: dict[str, object] = {"resourceType": self.type, "id": outcomes[0].note_pseudonym, "status": self.status}
        if patient:
            new["subject"] = {"reference": f"Patient/{patient}"}
        if self.code:
            new["type" if self.type == "DocumentReference" else "code"] = self.code
        if self.type == "DocumentReference":
            new["content"] = [{"attachment": _attachment(text)} for text in texts.values()]
        else:
            if "valueString" in texts:
                new["valueString"] = texts.pop("valueString")
            if texts:
                new["note"] = [{"text": text} for text in texts.values()]
        return json.dumps(new, ensure_ascii=False)


def read_resource(line: str | None) -> Resource:
    """Return the copied parts of a line of JSON. Raises InputError, which quotes no value."""
    if not isinstance(line, str) or len(line) > RECORD_LIMIT_BYTES:
        raise InputError(
            f"the line is null or has more than {RECORD_LIMIT_BYTES} characters; expected one FHIR resource"
        )
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("the line is not JSON; expected one FHIR resource") from None
    kind = found.get("resourceType") if isinstance(found, dict) else None
    if kind not in _TYPES:
        raise InputError(f"the resource is of another type than {' and '.join(_TYPES)}; omit such resources")
    name = _string(found, "id")
    if not name:
        raise InputError("the resource has no id")
    texts = dict(_attachments(found) if kind == "DocumentReference" else _values(found))
    if not texts:
        raise InputError("the resource has no text to de-identify")
    for path, text in texts.items():
        check_text(text, path)
    subject = found.get("subject")
    patient = _string(subject, "reference") if isinstance(subject, dict) else ""
    code = _codes(found.get("type" if kind == "DocumentReference" else "code"))
    # Status and codes are copied unchanged. Only values with the form of a code pass, because others could be
    # free text.
    status = _string(found, "status")
    if not status.replace("-", "").isalpha() or len(status) > 32:
        raise InputError("the status of the resource is missing or not a code")
    return Resource(kind, name, patient.removeprefix("Patient/"), status, code, texts)


def _attachments(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for number, content in enumerate(_list(found, "content")):
        attachment = content.get("attachment") if isinstance(content, dict) else None
        if not isinstance(attachment, dict) or "data" not in attachment:
            raise InputError(f"content[{number}] has no data; load the content of its url into data first")
        if _string(attachment, "contentType").partition(";")[0].strip().lower() != _PLAIN:
            raise InputError(f"content[{number}] is not {_PLAIN}; convert it first")
        try:
            text = base64.b64decode(_string(attachment, "data"), validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            raise InputError(f"content[{number}] is not base64 of UTF-8 text") from None
        yield f"content[{number}]", text


def _values(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "valueString" in found:
        yield "valueString", _string(found, "valueString")
    for number, note in enumerate(_list(found, "note")):
        if not isinstance(note, dict):
            raise InputError(f"note[{number}] is not an object")
        yield f"note[{number}]", _string(note, "text")


def _codes(concept: object) -> dict[str, object] | None:
    """Return the codes of a concept: systems and codes, without display and text, which are free text."""
    codings = [
        {name: _string(coding, name) for name in ("system", "code")}
        for coding in (_list(concept, "coding") if isinstance(concept, dict) else [])
        if isinstance(coding, dict) and _is_code(_string(coding, "code")) and _is_code(_string(coding, "system"))
    ]
    return {"coding": codings} if codings else None


def _is_code(text: str) -> bool:
    return 0 < len(text) <= 100 and text.isascii() and text.isprintable() and " " not in text


def _list(found: Mapping[str, Any], name: str) -> list[Any]:
    value = found.get(name, [])
    if not isinstance(value, list):
        raise InputError(f"{name} is not a list")
    return value


def _string(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name, "")
    if not isinstance(value, str):
        raise InputError(f"{name} is not a string")
    return value


def _attachment(text: str) -> dict[str, str]:
    return {"contentType": f"{_PLAIN}; charset=utf-8", "data": base64.b64encode(text.encode("utf-8")).decode("ascii")}


def resource_schema() -> "pyarrow.Schema":
    """Return the schema of the output: the new resource as a line, or why it was held back."""
    import pyarrow as pa

    return pa.schema([(VALUE, pa.string()), (QUARANTINE, quarantine_type())])


@dataclass(frozen=True, slots=True)
class DeidentifyResources:
    """The function for ``mapInArrow`` over lines of resources; see :class:`~deid_runtime.spark.rows.Deidentify`."""

    task: WorkerTask
    batch_size: int = 32

    def __call__(self, batches: Iterable["pyarrow.RecordBatch"]) -> Iterator["pyarrow.RecordBatch"]:
        """Yield the new resources of Arrow batches of lines, in order."""
        import pyarrow as pa

        held: list[list[Resource | Unreadable]] = []

        def read() -> Iterator[Batch]:
            for table in batches:
                lines = table.column(VALUE).to_pylist()
                for first in range(0, len(lines), self.batch_size):
                    resources = [_read(line) for line in lines[first : first + self.batch_size]]
                    notes = [note for each in resources if isinstance(each, Resource) for note in each.notes()]
                    held.append(resources)
                    yield Batch([(NOWHERE, note) for note in notes], sum(len(note.text) for note in notes))

        for _, outcomes in outcomes_of(self.task, read()):
            yield pa.RecordBatch.from_pylist(_rows(held.pop(0), outcomes), schema=resource_schema())


def _read(line: str | None) -> Resource | Unreadable:
    try:
        return read_resource(line)
    except InputError as error:
        return Unreadable("", str(error))


def _rows(resources: Sequence[Resource | Unreadable], outcomes: Sequence[Outcome]) -> list[Row]:
    remaining = iter(outcomes)
    rows: list[Row] = []
    for each in resources:
        if isinstance(each, Unreadable):
            rows.append(held_back(each))
            continue
        own = [next(remaining) for _ in each.texts]
        bad = next((outcome for outcome in own if isinstance(outcome, Quarantined)), None)
        if bad is not None:
            rows.append(held_back(bad))
        else:
            rows.append({VALUE: each.rewritten([outcome for outcome in own if isinstance(outcome, Deidentified)])})
    return rows
