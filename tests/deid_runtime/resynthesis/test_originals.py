import pytest

from deid_runtime.resynthesis.originals import Town, collect_originals, street_pairs, words_of
from deid_runtime.spans import PatientRecord
from tests.deid_runtime.resynthesis.notes import gold


@pytest.mark.parametrize(
    ("marked", "families"),
    [
        ("<PATIENT>Alma Halvorsen</PATIENT>", {"halvorsen"}),
        ("<PATIENT>HALVORSEN, ALMA C</PATIENT>", {"halvorsen"}),
        ("Dr. <DOCTOR>Halvorsen</DOCTOR>", {"halvorsen"}),
        ("<PATIENT>Alma</PATIENT>", set()),
        ("<PATIENT>Maria de la Cruz-Pike Jr</PATIENT>", {"cruz", "pike"}),
        ("<DOCTOR>J. O'Leary</DOCTOR>", {"oleary"}),
        ("<DOCTOR>Löwe's</DOCTOR>", {"lowe"}),
        ("<HOSPITAL>Halvorsen Clinic</HOSPITAL>", set()),
    ],
)
def test_family_names_are_told_from_given_names_and_particles(marked: str, families: set[str]) -> None:
    originals = collect_originals(gold(n1=marked), {})

    assert set(originals.bearers) == families


def test_the_record_of_a_patient_has_originals_too() -> None:
    record = PatientRecord("p", {"family": "Quill", "pcp": "Dana Voss", "street": "4 Elm Ave", "city": "Elko",
                                 "state": "Nevada", "zip": "89801-1234"})  # fmt: skip

    originals = collect_originals(gold(n1="nothing"), {"p": record})

    assert originals.bearers == {"quill": frozenset({"p"}), "voss": frozenset({"p"})}
    assert originals.streets == {("elm", "avenue")}
    assert originals.towns == {Town("elko", "NV", "89801")}


def test_an_address_in_a_note_has_one_form_however_it_is_written() -> None:
    notes = gold(
        n1="<CITY>Elko</CITY>, <STATE>NV</STATE> <ZIP>89801</ZIP>",
        n2="<CITY>ELKO</CITY> <STATE>Nevada</STATE>\n<ZIP>89801-1234</ZIP>",
        n3="<CITY>Elko</CITY> is in <STATE>NV</STATE> <ZIP>89801</ZIP>",
    )

    assert collect_originals(notes, {}).towns == {Town("elko", "NV", "89801")}
    assert collect_originals(notes[2:], {}).towns == frozenset()


@pytest.mark.parametrize(
    ("value", "pairs"),
    [
        ("12 Elm St", [("elm", "street")]),
        ("1200 N. Elm Street, Apt 4", [("elm", "street")]),
        ("Calle Alegre 9", [("calle", "alegre", "9")]),
        ("P.O. Box 12", []),
        ("Elm", []),
        ("5th Ave", [("5th", "avenue")]),
    ],
)
def test_a_street_is_its_name_and_kind(value: str, pairs: list[tuple[str, ...]]) -> None:
    assert list(street_pairs(value)) == pairs


def test_words_have_no_possessive_and_no_digits() -> None:
    text = "O'Leary's e\u0301t\u00e9 p.quist07_x"

    assert [(text[word.start : word.end], word.form) for word in words_of(text)] == [
        ("O'Leary", "oleary"), ("e\u0301t\u00e9", "ete"), ("p", "p"), ("quist", "quist"), ("07", "07"), ("x", "x"),
    ]  # fmt: skip
