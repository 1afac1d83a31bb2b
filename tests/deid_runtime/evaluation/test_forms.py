import pytest
from hypothesis import given

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.evaluation.breakdown import patients_of
from deid_runtime.evaluation.forms import (
    ALTERATIONS,
    WRAP_COLUMNS,
    by_written_form,
    compare_form,
    rewritten,
    written_form,
)
from deid_runtime.evaluation.token_table import tabulate
from deid_runtime.spans import Span
from tests.strategies import texts


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("Ilse Vandermeer", "Title Case"),
        ("J", "Title Case"),
        ("ilse vandermeer", "lower case"),
        ("ILSE VANDERMEER", "CAPITALS"),
        ("McDonald", "other case"),
        ("3/14/2031", "numbers only"),
        ("漢字", "letters without case"),
    ],
)
def test_written_forms(value, form):
    assert written_form(value) == form


def test_recall_by_written_form_and_over_line_ends():
    text = "Ilse\nVandermeer and OYELARAN and 3/14"
    note = AnnotatedNote("n", "", "", text, (Span(0, 15, "PATIENT"), Span(20, 28, "DOCTOR"), Span(33, 37, "DATE")))
    table = tabulate([note], {"n": [Span(0, 4, "PATIENT"), Span(33, 37, "DATE")]})

    rows = {row.form: (row.gold, row.missed) for row in by_written_form([note], table, patients_of([note]))}
    assert rows == {"Title Case": (2, 1), "CAPITALS": (1, 1), "numbers only": (2, 0), "over a line end": (2, 1)}


@given(texts)
def test_altered_notes_keep_every_offset(text):
    note = AnnotatedNote("n", "", "", text, ())

    altered = {form: rewritten(note, form).text for form in ALTERATIONS}
    assert {len(each) for each in altered.values()} == {len(text)}
    assert altered["wrapped"].replace("\n", " ") == text.replace("\n", " ")


def test_wrapped_notes_have_short_lines():
    text = "word " * 100

    assert max(map(len, ALTERATIONS["wrapped"](text).split("\n"))) <= WRAP_COLUMNS


def test_altered_notes_are_compared_with_the_same_unaltered_ones():
    note = AnnotatedNote("n", "", "", "Ilse called", (Span(0, 4, "PATIENT"),))
    other = AnnotatedNote("m", "", "", "Ilse", (Span(0, 4, "PATIENT"),))
    found = {"n": [Span(0, 4, "PATIENT")], "m": []}

    row = compare_form("lower", [note, other], found, [rewritten(note, "lower")], {"n": []})
    assert (row.notes, row.unaltered.recall, row.altered.recall, row.recall_change) == (1, 1.0, 0.0, -1.0)
    with pytest.raises(InputError, match="form lower: 1 of 1 altered notes"):
        compare_form("lower", [other], found, [note], {"n": []})
