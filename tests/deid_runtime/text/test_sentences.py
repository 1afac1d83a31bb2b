"""Test that sentences cover a note without gaps, and end where a reader ends them."""

import time

import pytest
from hypothesis import given

from deid_runtime.text.sentences import split_sentences
from tests.strategies import texts


@given(texts)
def test_sentences_tile_the_text(text: str) -> None:
    sentences = split_sentences(text)

    assert "".join(text[s.start : s.end] for s in sentences) == text
    assert all(s.start < s.end for s in sentences)
    if text.strip():
        assert all(text[s.start : s.end].strip() for s in sentences)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Stable. Will follow.", ["Stable. ", "Will follow."]),
        ("Dr. Ames saw J. Roe. No change.", ["Dr. Ames saw J. Roe. ", "No change."]),
        ("- one\n- two\r\n\r\nthree", ["- one\n", "- two\r\n\r\n", "three"]),
        ("BP 120/80.5 today", ["BP 120/80.5 today"]),
        ('He said "stop." She agreed.', ['He said "stop." ', "She agreed."]),
        ("1. Aspirin 81 mg\n2. Rest", ["1. Aspirin 81 mg\n", "2. Rest"]),
        ("  lead\n\n", ["  lead\n\n"]),
        (" \n ", [" \n "]),
        ("", []),
    ],
)
def test_sentences_end_at_lines_and_full_stops(text: str, expected: list[str]) -> None:
    assert [text[s.start : s.end] for s in split_sentences(text)] == expected


@pytest.mark.parametrize(
    "line",
    [
        "a. " * 33_000,
        "\n" * 100_000,
        " " * 100_000,
        ". " + " " * 100_000,
        '."' * 50_000,
        "Dr. A" * 20_000,
        "Dr. A " * 300_000,
    ],
)
def test_hostile_lines_take_linear_time(line: str) -> None:
    begun = time.process_time()
    split_sentences(line)

    # A second on a slow machine; hours in quadratic time.
    assert time.process_time() - begun < 15
