"""Test which answers to a canary request are right."""

import json

import pytest

from deid_runtime.serving.canary_note import CANARY_NOTE, canary_fault


def spans(*offsets: tuple[int, int]) -> str:
    return json.dumps([{"start": start, "end": end, "label": "DATE"} for start, end in offsets])


RIGHT = spans((12, 20), (24, 34))


@pytest.mark.parametrize(
    "text",
    [
        "Seen by Dr. Mary Poole on 03/14/2003.",
        "Seen by Dr. Janelle Doerr on 03/14/2003.",
        "Seen by Dr. [DOCTOR-1] on [DATE-1].",
        "Seen by Dr. ******** on 2003.",
    ],
)
def test_a_right_answer(text: str) -> None:
    assert [CANARY_NOTE.text[start:end] for start, end in ((12, 20), (24, 34))] == ["Jane Doe", "01/02/2003"]
    assert canary_fault(text, RIGHT) == ""
    assert canary_fault(text, spans((12, 16), (16, 20), (24, 34))) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", RIGHT),
        (CANARY_NOTE.text, RIGHT),
        ("Seen by Dr. Jane Poole on 03/14/2003.", RIGHT),
        ("Seen by Dr. Mary Poole-Doe on 03/14/2003.", RIGHT),
        ("Seen by Dr. Mary Poole on 01/02/2003.", RIGHT),
        ("Seen by Dr. Mary Poole on 03/14/2003", RIGHT),
        ("seen by Dr. Mary Poole on 03/14/2003.", RIGHT),
        ("Seen by Dr. Mary Poole on 03/14/2003.", "[]"),
        ("Seen by Dr. Mary Poole on 03/14/2003.", spans((12, 20))),
        ("Seen by Dr. Mary Poole on 03/14/2003.", spans((0, 35))),
        ("Seen by Dr. Mary Poole on 03/14/2003.", spans((12, 20), (24, 10**12))),
        ("Seen by Dr. Mary Poole on 03/14/2003.", spans((-(10**12), 20), (24, 34))),
        ("Seen by Dr. Mary Poole on 03/14/2003.", "no JSON"),
        ("Seen by Dr. Mary Poole on 03/14/2003.", "[1]"),
        ("Seen by Dr. Mary Poole on 03/14/2003.", "[" * 4000),
        ("Seen by Dr. " + "x" * 10_000 + " on 03/14/2003.", RIGHT),
    ],
)
def test_a_wrong_answer(text: str, found: str) -> None:
    assert canary_fault(text, found)
