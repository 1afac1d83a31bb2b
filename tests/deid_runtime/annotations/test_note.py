"""Test what an annotated note requires of its spans, and that it shows no text."""

import pytest

from deid_runtime.annotations.note import AnnotatedNote, errors_in, require_disjoint
from deid_runtime.errors import InputError
from deid_runtime.spans import Span


def test_text_and_patient_are_not_shown():
    shown = repr(AnnotatedNote("n1", "Orr-7", "Letter", "Seen in Elko", (Span(8, 12, "CITY"),)))

    assert "n1" in shown
    assert "Elko" not in shown
    assert "Orr-7" not in shown


def test_a_span_behind_the_text_is_refused():
    with pytest.raises(
        InputError, match=r"note n1: gold span \[0, 5\) CITY ends after a text of 4 code points; offsets"
    ):
        AnnotatedNote("n1", "", "", "Elko", (Span(0, 5, "CITY"),))


def test_spans_that_touch_are_disjoint_and_those_that_share_a_character_are_not():
    require_disjoint(AnnotatedNote("n1", "", "", "Elko NV", (Span(0, 5, "CITY"), Span(5, 7, "STATE"))))

    with pytest.raises(InputError, match=r"note n1: spans \[0, 5\) CITY and \[4, 7\) STATE overlap; .* keep the wider"):
        require_disjoint(AnnotatedNote("n1", "", "", "Elko NV", (Span(0, 5, "CITY"), Span(4, 7, "STATE"))))


def test_an_error_is_given_its_place_and_keeps_its_stage():
    with pytest.raises(InputError, match=r"^a\.jsonl:3: too long$") as error, errors_in("a.jsonl:3"):
        raise InputError("too long", stage="write")

    assert error.value.stage == "write"
