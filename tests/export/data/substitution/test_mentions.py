"""Test where prose mentions a person without a name."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_export.data.substitution.mentions import find_mentions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The patient was admitted.", [("The patient", "patient", False)]),
        ("We saw the patient's films.", [("the patient's", "patient", True)]),
        ("Pain improved. She denies fever.", [("She", "patient", False)]),
        ("Pain improved. Her incision is dry.", [("Her", "patient", True)]),
        ("I did not examine him today.", [("him", "patient", False)]),
        ("The surgeon placed a drain.", [("The surgeon", "staff", False)]),
        ("Discussed with his wife today.", [("his wife", "kin", False)]),
        ("Mr. Abcd was seen.", [("Abcd", "titled", False)]),
        ("Dr. Stone operated.", [("Stone", "titled", False)]),
        ("so, when he developed pain", [("he", "patient", False)]),
    ],
)
def test_mentions(text: str, expected: list[tuple[str, str, bool]]) -> None:
    found = [(text[m.start : m.end], m.role, m.possessive) for m in find_mentions(text)]

    assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "the patient population",
        "patient care was good",
        "a patient-controlled pump",
        "I gave it to her with food.",
        "the nurse-led clinic",
    ],
)
def test_what_a_name_cannot_replace(text: str) -> None:
    assert find_mentions(text) == []


@given(st.text(alphabet="The patient's he was Her. \nDr", max_size=80))
def test_mentions_are_sorted_and_disjoint(text: str) -> None:
    found = find_mentions(text)

    assert all(left.end <= right.start for left, right in pairwise(found))
    assert all(0 <= m.start < m.end <= len(text) for m in found)
