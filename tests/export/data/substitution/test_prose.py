"""Test public prose: its halves, and the identifiers marked in it."""

import gzip
import json
from pathlib import Path

import pytest

from deid_export.data.substitution.prose import is_test_document, make_document, read_marked, read_texts
from deid_runtime.errors import SourceError
from deid_runtime.spans import Span


def test_halves_depend_on_the_text_alone() -> None:
    halves = [is_test_document(f"note {number}") for number in range(400)]

    assert halves == [is_test_document(f"note {number}") for number in range(400)]
    assert 150 < sum(halves) < 250


def test_texts_come_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    with gzip.open(path, "wt") as file:
        for text in ("one", "two", "one"):
            file.write(json.dumps({"text": text}) + "\n")

    assert read_texts([path, path]) == ["one", "two"]


def test_a_line_without_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write('{"id": 1}\n')

    with pytest.raises(SourceError, match="text or note"):
        read_texts([path])


def test_rules_and_sure_models_are_believed() -> None:
    text = "on 3/14 in Elko by Quist and 12/3 or x"
    spans = [
        Span(3, 7, "DATE", 1.0, ("pattern",)),
        Span(11, 15, "CITY", 0.99, ("model:location",)),
        Span(19, 24, "DOCTOR", 0.6, ("model:name",)),
        Span(29, 33, "DATE", 0.9, ("pattern:weak",)),
    ]

    document = make_document(text, spans)

    assert [span.label for span in document.spans] == ["DATE", "CITY"]
    assert document.unsure == ((19, 24), (29, 33))


def test_blanks_at_the_edge_of_a_span_are_left_out() -> None:
    document = make_document("seen in 2006.", [Span(4, 12, "DATE", 1.0, ("pattern",))])

    assert (document.spans[0].start, document.spans[0].end) == (5, 12)


def test_marked_prose_is_read_and_damage_is_named(tmp_path: Path) -> None:
    path = tmp_path / "marked.jsonl"
    row = {
        "text": "The patient is Orr.",
        "spans": [{"start": 15, "end": 18, "label": "PATIENT", "score": 1.0, "sources": ["record"]}],
    }
    path.write_text(json.dumps(row) + "\n")
    assert read_marked(path)[0].spans[0].label == "PATIENT"

    path.write_text(json.dumps(row) + "\n{}\n")
    with pytest.raises(SourceError, match=":2: expected a text with spans"):
        read_marked(path)
