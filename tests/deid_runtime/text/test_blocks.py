"""Test that texts are cut at blank lines, and in time proportional to their length."""

from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.text.blocks import block_starts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("one\ntwo", ["one\ntwo"]),
        ("one\n\ntwo", ["one\n", "\ntwo"]),
        ("one\r\n\r\ntwo", ["one\r\n\r", "\ntwo"]),
        ("one\n \t\n\n  two\nthree\n\n", ["one\n \t\n", "\n  two\nthree\n\n"]),
        ("\n\none\n\n\ntwo", ["\n\none\n\n", "\ntwo"]),
        ("\n\n", ["\n\n"]),
    ],
)
def test_a_text_is_cut_before_the_last_line_end_of_blank_lines(text: str, parts: list[str]) -> None:
    assert [text[a:b] for a, b in pairwise([*block_starts(text), len(text)])] == parts


@given(st.text("a \t\r\n", max_size=40))
def test_every_part_has_text_and_all_but_the_first_begin_with_a_line_end(text: str) -> None:
    first, *starts = block_starts(text)

    assert first == 0
    for start, end in pairwise([*starts, len(text)]):
        assert text[start] == "\n"
        assert text[start:end].strip()
        assert "\n" in text[len(text[:start].rstrip()) : start]


def test_a_long_run_of_line_ends_takes_no_longer_than_other_text() -> None:
    begun = process_time()

    assert block_starts("a" + "\n " * 200_000) == [0]
    assert len(block_starts("a\n\n" * 100_000)) == 100_000
    assert process_time() - begun < 15
