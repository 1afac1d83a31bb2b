import pytest

from deid_runtime.resynthesis.altered import alter_offending
from deid_runtime.resynthesis.constraints import find_violations, make_constraints
from deid_runtime.resynthesis.originals import collect_originals
from tests.deid_runtime.resynthesis.notes import gold

NOTES = gold("a", a1="<PATIENT>Alma Halvorsen</PATIENT>, <STREET>1 Court Sq</STREET>, <STREET>2 Elm St</STREET>")
CONSTRAINTS = make_constraints(NOTES, collect_originals(NOTES, {}))


@pytest.mark.parametrize(
    "marked",
    [
        "<PATIENT>Bo HALVORSEN</PATIENT> of <HOSPITAL>Halvorsen-Halvorsen Clinic</HOSPITAL>",
        "<EMAIL>b.halvorsen@example.org</EMAIL>",
        "<STREET>9 Court Square</STREET>",
        "<STREET>9 N Elm Street</STREET>",
    ],
)
def test_a_word_that_is_an_original_is_spelt_otherwise(marked: str) -> None:
    [note] = gold("b", b1=marked)

    made = alter_offending(note, CONSTRAINTS, (), ())

    assert find_violations([note], CONSTRAINTS, {}).violations
    assert find_violations([made], CONSTRAINTS, {}).violations == []
    assert [span.label for span in made.spans] == [span.label for span in note.spans]


@pytest.mark.parametrize(
    ("marked", "originals", "avoid"),
    [
        ("<STATE>WA</STATE>", {"wa"}, {"wa", "wv", "west virginia"}),
        ("<STATE>Ohio</STATE>", {"ohio"}, {"ohio", "oklahoma"}),
        ("<ZIP>89801</ZIP>", {"89801"}, {"89801"}),
        ("<HOSPITAL>Ridge Clinic</HOSPITAL>", {"ridgeclinic"}, {"ridgeclinic"}),
    ],
)
def test_a_value_of_the_same_patient_becomes_another_of_its_kind(
    marked: str, originals: set[str], avoid: set[str]
) -> None:
    [note] = gold("b", b1=marked)

    made = alter_offending(note, CONSTRAINTS, originals, avoid)

    [span] = made.spans
    value = made.text[span.start : span.end]
    assert value.casefold().replace(" ", "") not in originals | avoid
    assert value.isupper() == note.text.isupper()


def test_what_offends_nobody_stays() -> None:
    notes = gold("b", b1="<PATIENT>Bo Voss</PATIENT>, <DATE>May 3</DATE>, <STREET>9 Oak St</STREET>")

    assert alter_offending(notes[0], CONSTRAINTS, {"may3"}, ()) == notes[0]
