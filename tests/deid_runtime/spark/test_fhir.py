"""Test what is taken from FHIR resources, and that nothing else of them is written."""

import base64
import json
from typing import Any

import pytest

from deid_runtime.errors import InputError
from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.spark.fhir import read_resource

CODE = {"coding": [{"system": "http://loinc.org", "code": "11506-3", "display": "Note of Dr. Quist"}], "text": "Quist"}


def attachment(text: str, kind: str = "text/plain; charset=utf-8") -> dict[str, Any]:
    return {"attachment": {"contentType": kind, "data": base64.b64encode(text.encode()).decode()}}


def document(**changes: Any) -> dict[str, Any]:
    return {
        "resourceType": "DocumentReference", "id": "d1", "status": "current", "type": CODE,
        "subject": {"reference": "Patient/p1", "display": "Ben Hartman"}, "date": "2019-03-12",
        "author": [{"display": "Dr. Ada Quist"}], "content": [attachment("Seen by Dr. Quist."), attachment("Well.")],
    } | changes  # fmt: skip


def observation(**changes: Any) -> dict[str, Any]:
    return {
        "resourceType": "Observation", "id": "o1", "status": "final", "code": CODE,
        "subject": {"reference": "Patient/p1"}, "valueString": "Ben is well.",
        "note": [{"text": "Told Ben.", "authorString": "Quist"}],
    } | changes  # fmt: skip


def test_texts_become_notes_with_the_id_of_the_patient() -> None:
    notes = read_resource(json.dumps(document())).notes()

    assert [(note.id, note.text, note.patient) for note in notes] == [
        ("DocumentReference/d1#content[0]", "Seen by Dr. Quist.", "p1"),
        ("DocumentReference/d1#content[1]", "Well.", "p1"),
    ]
    assert [note.text for note in read_resource(json.dumps(observation())).notes()] == ["Ben is well.", "Told Ben."]


def test_a_new_resource_has_texts_pseudonyms_status_and_codes_alone() -> None:
    outcomes = [Deidentified("", f"new {number}", f"N-{number}", "P-1", (), ()) for number in range(2)]
    codes = {"coding": [{"system": "http://loinc.org", "code": "11506-3"}]}

    assert json.loads(read_resource(json.dumps(document())).rewritten(outcomes)) == {
        "resourceType": "DocumentReference", "id": "N-0", "status": "current", "type": codes,
        "subject": {"reference": "Patient/P-1"}, "content": [attachment("new 0"), attachment("new 1")],
    }  # fmt: skip
    assert json.loads(read_resource(json.dumps(observation())).rewritten(outcomes)) == {
        "resourceType": "Observation", "id": "N-0", "status": "final", "code": codes,
        "subject": {"reference": "Patient/P-1"}, "valueString": "new 0", "note": [{"text": "new 1"}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (None, "the line is null"),
        ("{Hartman", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('["Hartman"]', "another type"),
        (json.dumps({"resourceType": "Patient", "id": "Hartman"}), "another type"),
        (json.dumps(document(id="")), "no id"),
        (json.dumps(document(content=[])), "no text"),
        (json.dumps(document(content="Hartman")), "content is not a list"),
        (json.dumps(document(content=[{"attachment": {"url": "http://hartman.example"}}])), "has no data"),
        (json.dumps(document(content=[attachment("Hartman", "text/html")])), "is not text/plain"),
        (json.dumps(document(content=[{"attachment": {"contentType": "text/plain", "data": "Hartman!"}}])), "base64"),
        (json.dumps(document(status="seen by Dr. Hartman")), "status"),
        (json.dumps(observation(valueString={"Hartman": 1})), "valueString is not a string"),
        (json.dumps(observation(valueString="Hartman\0")), "null character"),
    ],
)
def test_what_cannot_be_read_is_refused_without_a_quote(line: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_resource(line)

    assert "artman" not in str(caught.value)
