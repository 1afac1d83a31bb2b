"""Test every row of the pattern table on its own positive and negative texts."""

import re

import pytest

from deid_runtime.detectors.patterns.table import load_table
from tests.deid_runtime.detectors.patterns_cases import CASES

TABLE = load_table()


def marked(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Remove the «» from a text; return the text and the offsets of their content."""
    spans = [
        (match.start() - 2 * index, match.end() - 2 * index - 2)
        for index, match in enumerate(re.finditer("«[^»]*»", text))
    ]
    return re.sub("[«»]", "", text), spans


def test_each_row_has_texts_that_it_finds_and_texts_that_it_must_not():
    assert {row.name for row in TABLE.rows} == set(CASES)
    assert all(good and bad for good, bad in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_row_finds_what_is_marked_and_to_the_letter(name):
    good, _ = CASES[name]
    for text in good:
        plain, spans = marked(text)
        hits = [hit for hit in TABLE.hits(plain) if (hit.start, hit.end) in spans or hit.row.name == name]

        assert [(hit.start, hit.end) for hit in hits] == spans, text
        assert name in {hit.row.name for hit in hits}, text


@pytest.mark.parametrize("name", CASES)
def test_row_leaves_the_rest_alone(name):
    _, bad = CASES[name]
    for text in bad:
        assert [text[hit.start : hit.end] for hit in TABLE.hits(text) if hit.row.name == name] == [], text
