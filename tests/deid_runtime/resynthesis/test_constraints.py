import pytest

from deid_runtime.resynthesis.constraints import find_violations, make_constraints
from deid_runtime.resynthesis.originals import collect_originals
from tests.deid_runtime.resynthesis.notes import gold

ORIGINALS = gold(
    "a",
    a1="<PATIENT>Alma Halvorsen</PATIENT>, <STREET>12 Elm St</STREET>, <CITY>Elko</CITY>, <STATE>NV</STATE> "
    "<ZIP>89801</ZIP>, <PATIENT>Joe Rice</PATIENT>",
)
CONSTRAINTS = make_constraints(ORIGINALS, collect_originals(ORIGINALS, {}))


@pytest.mark.parametrize(
    ("marked", "kinds"),
    [
        pytest.param("<PATIENT>Bo HALVORSEN</PATIENT>", ["family name"], id="name"),
        pytest.param("<EMAIL>b.halvorsen@example.org</EMAIL>", ["family name"], id="part-of-an-address"),
        pytest.param("<HOSPITAL>Halvorsen Clinic</HOSPITAL>", ["family name"], id="facility"),
        pytest.param("Mr. Halvorsen's chart", ["family name"], id="left-in-the-text"),
        pytest.param("Halvorsenville", [], id="part-of-a-word"),
        pytest.param("<STREET>99 W Elm Street</STREET>", ["street"], id="street"),
        pytest.param("<STREET>99 Elm Ave</STREET>", [], id="other-kind-of-street"),
        pytest.param("lives on Elm St.", ["street"], id="street-left-in-the-text"),
        pytest.param("Elm\nSt Mary", [], id="street-over-lines"),
        pytest.param("<CITY>Elko</CITY> <STATE>Nevada</STATE> <ZIP>89801</ZIP>", ["city, state and ZIP"], id="address"),
        pytest.param("<CITY>Elko</CITY>, <STATE>NV</STATE> <ZIP>89802</ZIP>", [], id="other-zip"),
        pytest.param("<PATIENT>Bo Rice</PATIENT>", ["family name"], id="ordinary-word-as-a-name"),
        pytest.param("<HOSPITAL>Rice Clinic</HOSPITAL>, likes rice", [], id="ordinary-word"),
        pytest.param("Halvorsen's disease", [], id="eponym"),
        pytest.param("<DATE>Halvorsen</DATE>", [], id="dates-only-move"),
    ],
)
def test_originals_are_found_wherever_they_stand(marked: str, kinds: list[str]) -> None:
    found = find_violations(gold("b", b1=marked), CONSTRAINTS, {})

    assert [violation.kind for violation in found.violations] == kinds


def test_ordinary_words_are_counted_by_where_they_stand() -> None:
    notes = gold("b", b1="<HOSPITAL>Rice Clinic</HOSPITAL>, likes rice and Rice; Halvorsen syndrome")

    found = find_violations(notes, CONSTRAINTS, {})

    assert found.ordinary == {("rice", "HOSPITAL"): 1, ("rice", ""): 2, ("halvorsen", ""): 1}


def test_a_place_tells_the_new_text_and_no_repr_shows_the_word() -> None:
    [note] = notes = gold("b", b1="<DATE>3/4</DATE> saw Halvorsen")

    [violation] = find_violations(notes, CONSTRAINTS, {}).violations

    assert note.text[violation.start : violation.end] == "Halvorsen"
    assert "Halvorsen" not in repr(violation)


def test_a_value_of_the_same_patient_may_not_come_back() -> None:
    notes = gold("b", b1="<MEDICALRECORD>48-213</MEDICALRECORD>", b2="<MEDICALRECORD>48-213</MEDICALRECORD>")

    found = find_violations(notes, CONSTRAINTS, {"b1": frozenset({"48213"})})

    assert [(violation.note, violation.kind) for violation in found.violations] == [("b1", "original value")]


@pytest.mark.parametrize(
    ("patient", "text", "is_ordinary"),
    [
        pytest.param("b", "He wore a halvorsen hat", True, id="of-another-patient"),
        pytest.param("b", "he wore a halvorsen hat", False, id="all-in-lower-case"),
        pytest.param("b", "He wore a Halvorsen hat", False, id="capital"),
        pytest.param("a", "He wore a halvorsen hat", False, id="of-who-bears-the-name"),
    ],
)
def test_a_name_is_a_word_where_others_write_it_small(patient: str, text: str, is_ordinary: bool) -> None:
    notes = [*ORIGINALS, *gold(patient, b1=text)]

    constraints = make_constraints(notes, collect_originals(notes, {}))

    assert ("halvorsen" in constraints.ordinary) is is_ordinary


def test_a_person_may_judge_a_name_to_be_a_word() -> None:
    constraints = make_constraints(ORIGINALS, collect_originals(ORIGINALS, {}), ["HALVORSEN", "Elm St"])

    assert find_violations(gold("b", b1="Halvorsen 8 on Elm St"), constraints, {}).violations == []
    assert find_violations(gold("b", b1="<PATIENT>Halvorsen</PATIENT>"), constraints, {}).violations
