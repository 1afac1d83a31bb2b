"""Test house numbers before streets that were found without them."""

import pytest

from deid_runtime.merging.house_numbers import find_house_numbers
from deid_runtime.spans import Span


def found(marked: str) -> list[str]:
    """Return what is found in a text in which brackets mark a street."""
    start, end = marked.index("["), marked.index("]") - 1
    text = marked.replace("[", "").replace("]", "")
    return [text[span.start : span.end] for span in find_house_numbers(text, [Span(start, end, "STREET", 0.9, ())])]


@pytest.mark.parametrize(
    ("marked", "whole"),
    [
        ("lives w Nana at 3/40 [Kotare Place], 9 in 3 bdrm", "3/40 Kotare Place"),
        ("lives at 3[/40 Kotare Place]", "3/40 Kotare Place"),
        ("moved to 18b [Pukerau Terrace]", "18b Pukerau Terrace"),
        ("home visit\n7 [Elm Row]", "7 Elm Row"),
    ],
)
def test_a_number_before_a_street_belongs_to_it(marked: str, whole: str) -> None:
    assert found(marked) == [whole]


@pytest.mark.parametrize(
    "marked",
    [
        "lives at [3/40 Kotare Place]",
        "Mr Vane, 81, [Church Street]",  # an age
        "seen 1.5 [Church Street]",
        "HR 72\n[Church Street]",
        "born in [Church Street]",
        "BP 120/80 [Harley Street]",
        "in 2019 [Harley Street]",
        "a walk of 2.4 [/ Church Street]",
    ],
)
def test_other_numbers_do_not(marked: str) -> None:
    assert found(marked) == []


def test_numbers_before_other_places_stay() -> None:
    assert list(find_house_numbers("bed 6 Kotare Ward", [Span(6, 17, "HOSPITAL", 0.9, ())])) == []
