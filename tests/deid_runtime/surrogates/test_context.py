"""Test what is known of a patient beyond one mention, from one note or from all."""

from deid_runtime.spans import Note, Span
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.context import read_context
from deid_runtime.surrogates.forms import normal_form
from tests.deid_runtime.surrogates.marked import KEY, read

FIRST = (
    "<PATIENT>Priscilla Halsted</PATIENT> from <CITY>Cambridge</CITY>, <STATE>MA</STATE> <ZIP>02139</ZIP>, seen at "
    "<HOSPITAL>Larkfield Cape Mercy Hospital</HOSPITAL> by Dr. <DOCTOR>Mason Drake</DOCTOR>"
)
SECOND = (
    "<PATIENT>PH</PATIENT> in <CITY>Cambridge</CITY>, <ZIP>02139</ZIP>; <HOSPITAL>LCMH</HOSPITAL>, "
    "<DOCTOR>Mason</DOCTOR>"
)


def test_notes_that_share_their_context_agree():
    notes = [read(FIRST, note="n1"), read(SECOND, note="n2")]
    context = read_context(notes)

    first, second = (Surrogates(KEY).replacements(*note, None, context=context) for note in notes)
    person, city, _, zip_code, hospital, doctor = first

    assert second == [
        "".join(word[0] for word in person.split()),
        city,
        zip_code,
        "".join(word[0] for word in hospital.split()),
        doctor.split()[0],
    ]


def test_a_surrogate_that_is_an_original_of_another_note_gives_way_in_all():
    one = read("Dr. <DOCTOR>Whitlock</DOCTOR>", note="n1")
    [made] = Surrogates(KEY).replacements(*one, None)
    other = read(f"Dr. <DOCTOR>{made}</DOCTOR>, Dr. <DOCTOR>Whitlock</DOCTOR>", note="n2")
    context = read_context([one, other])

    [first] = Surrogates(KEY).replacements(*one, None, context=context)
    _, second = Surrogates(KEY).replacements(*other, None, context=context)

    assert first == second
    assert normal_form(first) not in context.originals


def test_a_note_alone_is_its_own_context():
    note, spans = read(FIRST)

    made = Surrogates(KEY).replacements(note, spans, None)

    assert made == Surrogates(KEY).replacements(note, spans, None, context=read_context([(note, spans)]))


def test_dates_and_ages_bar_nothing():
    note = Note("n1", "67 on May 3, 2014", "p1")

    assert not read_context([(note, [Span(0, 2, "AGE"), Span(6, 17, "DATE")])]).originals
