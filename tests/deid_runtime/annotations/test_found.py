"""Test the reading of found spans: the output of `deid detect`, or annotated notes."""

import pytest

from deid_runtime.annotations.found import read_found
from deid_runtime.errors import SourceError
from deid_runtime.spans import Span
from tests.commands import write_rows


def write_lines(path, *values):
    write_rows(path, values)
    return path


def test_found_spans_carry_no_text_and_may_have_scores(tmp_path):
    rows = write_lines(
        tmp_path / "found.jsonl",
        {"id": "n1", "spans": [{"start": 3, "end": 4, "label": "CITY", "score": 0.5, "sources": ["pattern"]}]},
        {"id": "n2", "spans": []},
    )

    assert read_found(rows) == {"n1": [Span(3, 4, "CITY", 0.5, ("pattern",))], "n2": []}


@pytest.mark.parametrize("sources", ['"Ilse"', "[7]", '["Ilse Vandermeer"]', '{"model": 1}'])
def test_sources_are_names_of_detectors(sources, tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text(f'{{"id": "n", "spans": [{{"start": 0, "end": 1, "label": "CITY", "sources": {sources}}}]}}')

    with pytest.raises(SourceError, match="note n: 'sources' must be a list") as error:
        read_found(path)
    assert "Ilse" not in str(error.value)


def test_annotated_notes_are_found_spans_as_well(tmp_path):
    path = tmp_path / "110-02.xml"
    path.write_text('<deIdi2b2><TEXT>Elko</TEXT><TAGS><LOCATION start="0" end="4" TYPE="CITY" /></TAGS></deIdi2b2>')

    assert read_found(path) == {"110-02": [Span(0, 4, "CITY")]}


def test_an_id_that_comes_twice_is_an_error(tmp_path):
    with pytest.raises(SourceError, match="note id n1 occurs twice"):
        read_found(write_lines(tmp_path / "found.jsonl", {"id": "n1", "spans": []}, {"id": "n1", "spans": []}))
