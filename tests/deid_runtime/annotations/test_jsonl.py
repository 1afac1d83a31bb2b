"""Test annotated notes in JSON Lines: what is read, what is refused, and the round trip."""

import gzip
import json

import pytest

from deid_runtime.annotations.jsonl import read_jsonl, render_jsonl
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import DeidError, SourceError
from deid_runtime.spans import Span
from tests.commands import write_rows

TEXT = "Ilse Vandermeer, née Ångström\nrm 318"


NOTE = {
    "id": "n1",
    "patient": "p1",
    "type": "Letter",
    "text": TEXT,
    "spans": [{"start": 21, "end": 29, "label": "PATIENT"}, {"start": 0, "end": 15, "label": "PATIENT"}],
}


def write_lines(path, *values):
    write_rows(path, values)
    return path


def test_json_lines(tmp_path):
    [note] = read_jsonl(write_lines(tmp_path / "gold.jsonl", NOTE))

    assert note == AnnotatedNote("n1", "p1", "Letter", TEXT, (Span(0, 15, "PATIENT"), Span(21, 29, "PATIENT")))


def test_compressed_json_lines_blank_lines_and_numeric_ids(tmp_path):
    path = tmp_path / "gold.jsonl.gz"
    path.write_bytes(gzip.compress(b'\n{"id": 7, "text": "x", "spans": []}\n\n'))

    assert list(read_jsonl(path)) == [AnnotatedNote("7", "", "", "x", ())]


@pytest.mark.parametrize("with_values", [False, True])
@pytest.mark.parametrize(("patient", "kind"), [("p1", "Letter"), ("", "")])
def test_what_is_rendered_reads_back(tmp_path, patient, kind, with_values):
    note = AnnotatedNote("n1", patient, kind, TEXT, (Span(0, 15, "PATIENT"), Span(30, 36, "LOCATION-OTHER")))
    path = tmp_path / "notes.jsonl"
    path.write_bytes(render_jsonl(note, with_values=with_values) * 2)

    assert list(read_jsonl(path)) == [note, note]
    assert (
        "rm 318" in json.loads(path.read_text(encoding="utf-8").splitlines()[0])["spans"][1].values()
    ) == with_values


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Ilse {", "gold.jsonl:1: the line is not valid JSON"),
        ('["Ilse"]', "JSON but not an object"),
        ('{"text": "Ilse", "spans": []}', "field 'id' must be a string"),
        ('{"id": "n", "spans": []}', "field 'text' must be a string"),
        ('{"id": "n", "text": "Ilse"}', "no list 'spans'"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": 0}]}', "each span needs"),
        ('{"id": "n", "text": "Ilse", "spans": ["Ilse"]}', "each span needs"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": "0", "end": 4, "label": "CITY"}]}', "needs whole numbers"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": 2, "end": 2, "label": "CITY"}]}', "empty or reversed"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": 0, "end": 4, "label": "TOWN"}]}', "unknown label 'TOWN'"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": 0, "end": 4, "label": "Ilse"}]}', "unknown label of 4 char"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": 0, "end": 5, "label": "CITY"}]}', "ends after a text of 4"),
        (
            '{"id": "n", "text": "Ilse", "spans": [{"start": 1, "end": 4, "label": "CITY", "text": "Ils"}]}',
            "differs from the note",
        ),
    ],
)
def test_bad_lines_are_named_without_their_text(tmp_path, line, message):
    path = tmp_path / "gold.jsonl"
    path.write_text(line, encoding="utf-8")

    with pytest.raises(DeidError, match="gold.jsonl:1: ") as caught:
        list(read_jsonl(path))

    assert message in str(caught.value)
    assert "Ilse" not in str(caught.value)


def test_bytes_that_are_not_utf8(tmp_path):
    path = tmp_path / "gold.jsonl"
    path.write_bytes(b'{"id": "n", "text": "\xff"}')

    with pytest.raises(SourceError, match=r"gold.jsonl:1: byte 22 of the line is not UTF-8"):
        list(read_jsonl(path))
