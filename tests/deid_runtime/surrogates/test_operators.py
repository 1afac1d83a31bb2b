import random
import re
import time
from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.errors import InputError
from deid_runtime.labels import LABELS
from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.forms import normal_form
from tests.deid_runtime.surrogates.marked import KEY, read, surrogates_of

RECORD = {"given": "Ida", "family": "Norwood", "sex": "F", "dob": "1940-05-06", "city": "Reno", "state": "NV"}
MARKED = """Pt: <PATIENT>NORWOOD, IDA</PATIENT>  MRN <MEDICALRECORD>0044-1182</MEDICALRECORD>
Seen <DATE>Tues 3/14/17</DATE> by Dr. <DOCTOR>Whitlock</DOCTOR> at <HOSPITAL>Pine Bend Clinic</HOSPITAL>.
<AGE>76</AGE> yo, son <PATIENT>Bobby</PATIENT> (<PHONE>775-555-0134</PHONE>), <STREET>14 Alder Ct</STREET>,
<CITY>Reno</CITY>, <STATE>NV</STATE> <ZIP>89501</ZIP>. f/u <DATE>3/28</DATE>. <DOCTOR>E. Whitlock</DOCTOR>
"""
TEXTS = st.text(min_size=1, max_size=40) | st.sampled_from(
    ["xx--7 .", "\ud800", "٣٤٥", "Ω" * 9, "a\nb", "ﬁ", "ǅ", "ß", "①②", "'s", "-", "0", "00/00/0000", "é", "𝟙𝟚", "İ"]
)


def test_tags_are_numbered_per_note_and_value():
    note, spans = read(
        "<PATIENT>Ida</PATIENT> <PATIENT>IDA</PATIENT> <PATIENT>Bo</PATIENT> <DATE>3/4</DATE> <PATIENT>bo</PATIENT>"
    )

    made = Surrogates(KEY, operator="tag").replacements(note, spans, None)

    assert made == ["[PATIENT-1]", "[PATIENT-1]", "[PATIENT-2]", "[DATE-1]", "[PATIENT-2]"]


def test_a_mask_tells_nothing():
    note, spans = read("<PATIENT>Ida</PATIENT> on <DATE>March 4th, 2014</DATE>")

    assert set(Surrogates(KEY, operator="redact").replacements(note, spans, None)) == {"[***]"}


def test_pseudonyms_have_a_fixed_form_and_depend_on_kind_and_key():
    surrogates = Surrogates(KEY)

    assert re.fullmatch(r"N-[A-Z2-7]{16}", surrogates.pseudonym("note", "n1"))
    assert surrogates.pseudonym("note", "1") != surrogates.pseudonym("patient", "1").replace("P-", "N-")
    assert surrogates.pseudonym("note", "n1") != Surrogates(b"z" * 32).pseudonym("note", "n1")


def test_answers_depend_on_nothing_that_was_asked_before():
    others = [read(MARKED.replace("Whitlock", name), note=name, patient=name) for name in ("Haug", "Okafor", "Lopez")]
    note, spans = read(MARKED)
    record = PatientRecord("p1", RECORD)
    fresh = Surrogates(KEY).replacements(note, spans, record)

    used = Surrogates(KEY)
    used.replacements(note, spans, None)
    for other, other_spans in others:
        used.replacements(other, other_spans, record)

    assert used.replacements(note, spans, record) == fresh


def test_a_note_without_a_patient_stands_alone():
    marked = "Dr. <DOCTOR>Whitlock</DOCTOR>"
    made = set()
    for number in range(10):
        note, spans = read(marked, note=f"n{number}", patient="")
        made.update(Surrogates(KEY).replacements(note, spans, None))

    assert len(made) > 5


def test_intervals_hold_over_notes_and_weekdays_agree():
    for patient in range(20):
        first, second = surrogates_of("<DATE>Tues 3/14/2017</DATE> <DATE>2017-03-28</DATE>", patient=f"p{patient}")
        [third] = surrogates_of("<DATE>April 4, 2017</DATE>", patient=f"p{patient}")
        month, day, year = map(int, first.split()[1].split("/"))
        one, two = date(year, month, day), date.fromisoformat(second)
        three = datetime.strptime(third, "%B %d, %Y").date()
        assert one != date(2017, 3, 14)
        assert (two - one).days == 14
        assert (three - two).days == 7
        assert first.startswith(("Mon ", "Tues ", "Weds ", "Thurs ", "Fri ", "Sat ", "Sun ")[one.weekday()])


def test_no_surrogate_meets_an_original_of_the_note():
    given_names = ["Albert", "Andrew", "Arthur", "Peter", "Robert", "Walter", "Thomas", "Vincent", "Leonard", "Henry"]
    for patient in range(25):
        made = surrogates_of(" ".join(f"<PATIENT>{name}</PATIENT>" for name in given_names), patient=f"p{patient}")
        assert not set(made) & set(given_names)


def test_no_surrogate_meets_the_record_or_what_is_to_be_avoided():
    note, spans = read("Dr. <DOCTOR>Vang</DOCTOR>")
    plain = Surrogates(KEY).replacements(note, spans, None)[0]

    [avoiding] = Surrogates(KEY).replacements(note, spans, None, avoid=[plain.upper()])
    [recorded] = Surrogates(KEY).replacements(note, spans, PatientRecord("p1", {"given": "Ida", "family": plain}))

    assert avoiding != plain
    assert recorded != plain


def test_a_span_outside_the_text_stops_the_note():
    with pytest.raises(InputError, match="n1: span"):
        Surrogates(KEY).replacements(Note("n1", "short"), [Span(2, 9, "DATE")], None)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(TEXTS, st.sampled_from(LABELS)), min_size=1, max_size=6), st.booleans())
def test_any_value_under_any_label_is_hidden(pieces, with_record):
    text, spans = "", []
    for value, label in pieces:
        text += " "
        spans.append(Span(len(text), len(text) + len(value), label))
        text += value
    note = Note("n1", text, "p1")
    record = PatientRecord("p1", RECORD) if with_record else None

    made = Surrogates(KEY).replacements(note, spans, record)

    assert made == Surrogates(KEY).replacements(note, spans, record)
    for (value, label), new in zip(pieces, made, strict=True):
        assert new
        assert "\n" not in new or "\n" in value
        if label not in ("DATE", "AGE") and any(map(str.isalnum, value)):
            assert new != value


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("piece", ["A1 ", "-", "Anna, ", "3/14 ", "7", "ninety ", "x@y.", "\u0301", "the "])
def test_huge_values_cost_little(label, piece):
    text = piece * (100_000 // len(piece))
    started = time.process_time()

    [made] = Surrogates(KEY).replacements(Note("n1", text), [Span(0, len(text), label)], None)

    assert made
    assert time.process_time() - started < 9


def test_many_spans_cost_time_in_proportion():
    rng = random.Random(5)
    words = ["".join(rng.choices("abcdefghijklmnop", k=7)).title() for _ in range(3000)]
    note, spans = read(" ".join(f"<DOCTOR>{word}</DOCTOR>" for word in words))
    started = time.process_time()

    made = Surrogates(KEY).replacements(note, spans, None)

    assert time.process_time() - started < 30
    assert not {normal_form(word) for word in words} & {normal_form(word) for word in made}
