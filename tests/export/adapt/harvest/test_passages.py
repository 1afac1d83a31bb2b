import pytest
from hypothesis import given

from deid_export.adapt.harvest.counting import digest
from deid_export.adapt.harvest.passages import MarkedNote, passages
from deid_runtime.text.sentences import split_sentences
from tests.export.adapt.harvest.marked import note
from tests.strategies import texts


def test_spans_come_in_the_offsets_of_their_sentence():
    rows = list(passages(note("  No fever.\n\n  Saw <DOCTOR>Quist</DOCTOR> on <DATE>3/4</DATE>.\nWell.")))

    assert [row.text for row in rows] == ["No fever.", "Saw Quist on 3/4.", "Well."]
    assert [[(row.text[s.start : s.end], s.label) for s in row.spans] for row in rows] == [
        [], [("Quist", "DOCTOR"), ("3/4", "DATE")], [],
    ]  # fmt: skip


def test_a_span_over_two_sentences_cuts_both():
    text = "Lives at Elm\nGrove now.\nWell."
    [first, second, third] = passages(MarkedNote(text, 1, note("Lives at <STREET>Elm Grove</STREET>").spans))

    assert [(row.is_cut, len(row.spans)) for row in (first, second, third)] == [(True, 1), (True, 1), (False, 0)]


@pytest.mark.parametrize(
    ("tagged", "expected"),
    [
        pytest.param("Cordially,\n<DOCTOR>Ann Quist</DOCTOR>, RN", [True, False], id="name-below"),
        pytest.param("Cordially,\nDr. <DOCTOR>Quist</DOCTOR>", [True, False], id="title-between"),
        pytest.param("<DOCTOR>Ann Quist</DOCTOR> RN\nStaff nurse", [False, True], id="name-above"),
        pytest.param("Plan:\n<DATE>3/4</DATE> labs", [False, False], id="dates-have-a-form-of-their-own"),
        pytest.param("Plan:\nCall back <DOCTOR>Quist</DOCTOR>", [False, False], id="further-off"),
    ],
)
def test_what_stands_beside_an_identifier(tagged, expected):
    assert [row.is_beside_identifier for row in passages(note(tagged))] == expected


@given(texts)
def test_sentences_are_those_of_a_run(text):
    rows = [row.text for row in passages(MarkedNote(text, digest("p"), ()))]

    assert rows == [part for s in split_sentences(text) if (part := text[s.start : s.end].strip())]
