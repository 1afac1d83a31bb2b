"""Test values broken over lines: the surrogate equals that of the unbroken value, and the line ends stay."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.settings import Operator
from deid_runtime.spans import Note, Span
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.line_breaks import unbroken, written_like

KEY = bytes(range(32))


def made_of(text: str, values: list[tuple[str, str]], operator: Operator = "surrogate") -> list[str]:
    spans, at = [], 0
    for value, label in values:
        at = text.index(value, at)
        spans.append(Span(at, at + len(value), label))
        at += len(value)
    return Surrogates(KEY, operator=operator).replacements(Note("n", text, "p"), spans, None)


@pytest.mark.parametrize(
    ("made", "value", "written", "expected"),
    [
        ("Mark Taylor", "John Smith", "John\nSmith", "Mark\nTaylor"),
        ("Mark Taylor", "John Smith", "John \r\n    Smith", "Mark\r\n    Taylor"),
        ("Mark A. Taylor", "John Smith", "John\nSmith", "Mark A.\nTaylor"),
        ("Taylor", "John Smith", "John\nSmith", "Taylor\n"),
        ("Mark Taylor", "Anderson", "Ander-\nson", "Mark\nTaylor"),
        ("12 Oak Lane Ames", "4 Elm Court Kasson", "4 Elm\nCourt\nKasson", "12 Oak\nLane\nAmes"),
        ("[PATIENT-1]", "John Smith", "John\nSmith", "[PATIENT-1]\n"),
        ("Mark Taylor", "John Smith", "John<br>Smith", "Mark<br>Taylor"),
        ("Mark Taylor", "John Smith", "John\n\nSmith", "Mark\n\nTaylor"),
        ("TAYLOR", "FERRANTE", "F E R R A N T E", "T A Y L O R"),
        ("Mark Taylor", "John Smith", "J o h n   S m i t h", "M a r k   T a y l o r"),
        ("2345550178", "4155552671", "4 1 5 5 5 5 2 6 7 1", "2 3 4 5 5 5 0 1 7 8"),
        ("S-U", "S-O-U", "S-O-U", "S-U"),
        ("Mark Taylor", "John Smith", "John Smith", "Mark Taylor"),
    ],
)
def test_a_stand_in_is_written_like_its_value(made: str, value: str, written: str, expected: str) -> None:
    assert written_like(made, value, written) == expected


def test_a_name_has_one_stand_in_however_it_is_broken() -> None:
    text = "John Smith came. Then John\nSmith left, and John\r\n  Smith is home. J. Smith."
    values = [("John Smith", "PATIENT"), ("John\nSmith", "PATIENT"), ("John\r\n  Smith", "PATIENT")]

    whole, broken, indented = made_of(text, values)

    given_name, family = whole.split()
    assert broken == f"{given_name}\n{family}"
    assert indented == f"{given_name}\r\n  {family}"


@pytest.mark.parametrize("operator", ["tag", "redact"])
def test_other_operators_keep_the_line_end_behind_what_they_write(operator: Operator) -> None:
    whole, broken = made_of("Una Quist\nand Una\nQuist", [("Una Quist", "DOCTOR"), ("Una\nQuist", "DOCTOR")], operator)

    assert broken == f"{whole}\n"


def test_a_date_is_shifted_over_a_line_end() -> None:
    whole, broken = made_of("March 3, 2019 and March\n3, 2019", [("March 3, 2019", "DATE"), ("March\n3, 2019", "DATE")])

    assert broken.split() == whole.split()
    assert broken.count("\n") == 1


@given(
    st.lists(st.sampled_from(["Una", "Quist", "\n", "\r\n", " ", "4", "Elm-", "\t"]), min_size=1, max_size=12).map(
        "".join
    ),
    st.lists(st.sampled_from(["Ann", "Holm", "7"]), min_size=1, max_size=5).map(" ".join),
)
def test_no_line_end_is_lost_and_no_word(written: str, made: str) -> None:
    new = written_like(made, "x", written)

    assert re.findall(r"\r\n|\r|\n", new) == re.findall(r"\r\n|\r|\n", written)
    if "\n" in written:
        assert new.split() == made.split()


@given(st.lists(st.sampled_from(["Una", " ", "\n", "\r\n", "  "]), max_size=16), st.data())
def test_unbroken_notes_have_the_same_values_in_one_line(pieces: list[str], data: st.DataObject) -> None:
    text = "".join(pieces) + "x"
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))

    note, [span] = unbroken(Note("n", text), [Span(start, end, "PATIENT")])

    assert note.text[: span.start] == text[:start]
    assert note.text[span.end :] == text[end:]
    assert note.text[span.start : span.end].split() == text[start:end].split()
    assert "\n" not in note.text[span.start : span.end]
