import time

import pytest
from hypothesis import given, settings

from deid_runtime.detectors.record import RecordFinder
from deid_runtime.records.fields import FIELD_NAMES
from deid_runtime.spans import PatientRecord
from tests.strategies import texts

QUIST = {
    "given": "Rosalind Mae", "middle": "Tove", "family": "Okafor-Quist", "nickname": "Roz",
    "dob": "1971-03-04", "mrn": "WB 004-417-829", "phone": "212 867 4410", "ssn": "219-09-9999", "ssn_last4": "9999",
    "email": "r.quist@mailhost.net", "street": "14 N Elm Grove Ave, Apt 3B", "city": "Kasson", "state": "MN",
    "zip": "55944", "country": "Norway", "employer": "Harlan Tool & Die",
}  # fmt: skip


def values(text, fields=QUIST):
    found = RecordFinder().find(text, PatientRecord("p1", fields))
    return [(text[span.start : span.end], span.label) for span in found]


def found(text, fields=QUIST):
    return [value for value, _ in values(text, fields)]


@pytest.mark.parametrize(
    "name",
    [
        "Rosalind Okafor-Quist",
        "ROSALIND OKAFOR-QUIST",
        "rosalind okafor-quist",
        "Okafor-Quist, Rosalind",
        "OKAFOR-QUIST, ROSALIND MAE T.",
        "Rosalind M. Okafor-Quist",
        "Rosalind X. Okafor-Quist",
        "R. Okafor",
        "R Quist",
        "Rosalind",
        "rosalind",
        "Okafor",
        "Quist",
        "Roz",
        "R.O.",
        "R. T. Q.",
        "Rosalnd",
        "Rosallind",
        "Roslaind",
        "Rosalint Okafor",
    ],
)
def test_every_form_of_the_name(name):
    assert values(f"We saw {name} at noon") == [(name, "PATIENT")]


@pytest.mark.parametrize(
    "text", ["the rosy color", "a quest", "OK for now", "Ros was negative", "at ROZEREM dose", "R.N. came"]
)
def test_what_is_no_form_of_the_name(text):
    assert found(text) == []


def test_the_possessive_and_titles_stay_outside():
    assert found("Ms. Quist's son") == ["Quist"]


def test_a_member_of_staff_of_the_same_name_is_one():
    assert values("seen by Dr. Quist") == [("Quist", "DOCTOR")]
    assert values("Quist, MD") == [("Quist", "DOCTOR")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Mark on the skin. Will follow, will see.", [], id="sentence-start-or-lower-case"),
        pytest.param("she says Will came by", ["Will"], id="capital-in-a-sentence"),
        pytest.param("Mr. Brown; brown sputum", ["Brown"], id="after-a-title"),
        pytest.param("Will Brown ate", ["Will Brown"], id="both-parts"),
        pytest.param("will brown ate", [], id="both-parts-in-lower-case"),
        pytest.param("W. Brown ate", ["W. Brown"], id="with-initial"),
        pytest.param("a Brown Sequard lesion", [], id="beside-a-capital"),
        pytest.param("has Brown's syndrome", [], id="eponym"),
        pytest.param("BROWN SPUTUM, WILL WATCH", [], id="in-capitals"),
    ],
)
def test_names_that_are_words(text, expected):
    assert found(text, {"given": "Will", "family": "Brown"}) == expected


def test_months_are_no_names_alone():
    assert found("seen in May, the May visit", {"given": "May", "family": "Quillon"}) == []
    assert found("May Quillon", {"given": "May", "family": "Quillon"}) == ["May Quillon"]


@pytest.mark.parametrize("text", ["Salmonella Quist", "a Quist catheter", "Quist disease"])
def test_germs_and_eponyms_are_not_the_patient(text):
    assert found(text) == []


def test_accents_may_be_left_out():
    fields = {"given": "Zoë", "family": "Villaseñor"}

    assert found("ZOE VILLASENOR, Zoë Villasen\u0303or", fields) == ["ZOE VILLASENOR", "Zoë Villasen\u0303or"]


def test_other_people_of_the_record():
    fields = {"contact": "Quillon, Astrid", "mother": "Berit Holmquist", "pcp": "Tove Aspelund"}

    assert values("Astrid Quillon, Berit; Aspelund", fields) == [
        ("Astrid Quillon", "PATIENT"),
        ("Berit", "PATIENT"),
        ("Aspelund", "DOCTOR"),
    ]


@pytest.mark.parametrize(
    "birth",
    [
        "03/04/1971", "3/4/71", "03-04-1971", "3.4.71", "1971-03-04", "1971/3/4", "19710304", "March 4, 1971",
        "Mar 4 1971", "MAR. 4TH, 1971", "4 March 1971", "04-Mar-71", "4th of March 1971",
    ],
)  # fmt: skip
def test_every_form_of_the_birth_date(birth):
    assert values(f"DOB:{birth}F") == [(birth, "DATE")]


@pytest.mark.parametrize("text", ["13/04/1971", "3/4/719", "3/4/1972", "120/3/4/71", "1971"])
def test_other_dates(text):
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("WB 004-417-829", "MEDICALRECORD"),
        ("WB004417829", "MEDICALRECORD"),
        ("004417829", "MEDICALRECORD"),
        ("4417829", "MEDICALRECORD"),
        ("(212) 867-4410", "PHONE"),
        ("+1 212.867.4410", "PHONE"),
        ("2128674410", "PHONE"),
        ("867-4410", "PHONE"),
        ("219 09 9999", "SSN"),
        ("219099999", "SSN"),
        ("R.QUIST@MAILHOST.NET", "EMAIL"),
        ("14 N Elm Grove Ave, Apt 3B", "STREET"),
        ("14 north elm grove avenue", "STREET"),
        ("14 N. ELM GROVE AVE. #3B", "STREET"),
        ("Kasson", "CITY"),
        ("KASSON", "CITY"),
        ("Minnesota", "STATE"),
        ("55944-1207", "ZIP"),
        ("Norway", "COUNTRY"),
        ("Harlan Tool & Die", "ORGANIZATION"),
    ],
)
def test_numbers_and_places(text, label):
    assert (text, label) in values(f"x {text} y")


@pytest.mark.parametrize(
    "text", ["1004417829", "44178290", "867441", "1867-44102", "5594", "155944", "55944.5", "9999"]
)
def test_other_numbers(text):
    assert found(f"x {text} y") == []


def test_the_last_four_need_their_label():
    assert ("9999", "SSN") in values("last four of SSN 9999")
    assert ("9999", "SSN") in values("xxx-xx-9999")
    assert found("WBC 9999") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kasson, MN 55944", ["Kasson", "MN", "55944"]),
        ("lives in Kasson MN", ["Kasson", "MN"]),
        ("MN block", []),
        ("Kasson-Sequard", []),
    ],
)
def test_codes_of_states_need_an_address(text, expected):
    assert found(text) == expected


def test_a_state_code_behind_a_name_may_be_a_degree():
    assert found("Ann Holm, MD", {"city": "Kasson", "state": "MD"}) == []


def test_cities_that_are_words_need_their_state():
    fields = {"city": "Reading", "state": "PA"}

    assert found("Reading glasses. From Reading, PA", fields) == ["Reading", "PA"]


def test_unknown_and_empty_fields_are_ignored():
    assert found("F x", {"sex": "F", "shoe_size": "x", "given": " "}) == []


def test_every_field_of_the_patients_file_that_can_stand_in_a_note_is_looked_for():
    samples = {
        "dob": "1971-03-04", "ssn_last4": "9999", "street": "14 Elm Grove Ave", "state": "Minnesota", "zip": "55944",
        "email": "r.quist@mailhost.net", "city": "Kasson", "county": "Kasson", "country": "Norway",
    }  # fmt: skip
    numbers = {
        "mrn",
        "account",
        "csn",
        "member_id",
        "policy",
        "ssn",
        "phone",
        "mobile",
        "home_phone",
        "work_phone",
        "fax",
    }

    for field in set(FIELD_NAMES) - {"sex", "suffix"}:
        value = samples.get(field, "2128674410" if field in numbers else "Zelda Quillon")
        text = f"last four {value}"
        assert found(text, {field: value}), field


def test_records_do_not_mix():
    assert found("Quist and Lindqvist", {"family": "Lindqvist"}) == ["Lindqvist"]
    assert found("Quist and Lindqvist") == ["Quist"]


def test_a_record_shows_nothing_of_itself():
    assert "Quist" not in repr(PatientRecord("p1", QUIST))


@settings(deadline=None)
@given(texts)
def test_any_text_gives_sorted_spans_within_it(text):
    spans = RecordFinder().find(text, PatientRecord("p1", QUIST))

    assert spans == sorted(spans)
    assert all(span.end <= len(text) and span.sources == ("record",) for span in spans)


@settings(deadline=None)
@given(texts, texts)
def test_any_value_compiles(value, text):
    RecordFinder().find(text, PatientRecord("p1", dict.fromkeys(FIELD_NAMES, value)))


#: Field, two values, and a text that contains both unchanged.
LISTS = [
    *(
        (field, ("Rosalind", "Quillon"), "We saw Rosalind and Quillon at noon")
        for field in ("given", "middle", "nickname", "family", "former_name")
    ),
    *(
        (field, ("Rosalind Quist", "Tove Lindqvist"), "We saw Rosalind Quist and Tove Lindqvist at noon")
        for field in (
            "name", "aka", "contact", "next_of_kin", "guardian", "mother", "father", "spouse", "pcp", "provider",
        )
    ),
    *(
        (field, ("WB 004-417", "7731904"), "on file: WB 004-417 and 7731904 here")
        for field in ("mrn", "account", "csn", "member_id", "policy")
    ),
    *(
        (field, ("212 867 4410", "(646) 867-9981"), "call 212 867 4410 or (646) 867-9981 now")
        for field in ("phone", "mobile", "home_phone", "work_phone", "fax")
    ),
    ("ssn", ("219-09-9999", "219-08-8888"), "numbers 219-09-9999 and 219-08-8888"),
    ("ssn_last4", ("9999", "8888"), "SSN 9999, SSN 8888"),
    ("email", ("r.quist@mailhost.net", "q@mailhost.net"), "r.quist@mailhost.net or q@mailhost.net"),
    ("street", ("14 N Elm Grove Ave", "2 Harlan Road"), "lives at 14 N Elm Grove Ave, then 2 Harlan Road"),
    *((field, ("Kasson", "Wanamingo"), "from Kasson to Wanamingo") for field in ("city", "county")),
    ("state", ("Minnesota", "Oregon"), "from Minnesota to Oregon"),
    ("zip", ("55944", "K1A 0B1"), "codes 55944 and K1A 0B1"),
    ("country", ("Norway", "Iceland"), "from Norway to Iceland"),
    *((field, ("Harlan Tool & Die", "Quarrybank Mill"), "Harlan Tool & Die, Quarrybank Mill")
      for field in ("employer", "school")),
]  # fmt: skip


def test_the_lists_below_have_every_field():
    assert {field for field, _, _ in LISTS} == set(FIELD_NAMES) - {"sex", "suffix", "dob"}


@pytest.mark.parametrize("mark", ["|", ";", " | ", "; ", "||", "\n"])
@pytest.mark.parametrize(("field", "both", "text"), LISTS)
def test_every_value_of_a_list_is_found(field, both, text, mark):
    assert found(text, {field: mark.join(both)}) == list(both)


@pytest.mark.parametrize(
    "mark", ["|", "||", "(", ")", "[", "]", "{2}", "*", "+", "?", "\\", "^", "$", ".", "\\d", "(?P<"]
)
@pytest.mark.parametrize(("field", "both", "text"), LISTS)
def test_marks_of_regular_expressions_in_a_value_are_plain_characters(field, both, text, mark):
    address = {"city": "Reading", "state": "MN", "zip": "55944"}
    for value in (f"{both[0]}{mark}", f"{mark}{both[0]}", mark):
        fields = {**address, field: value}
        # Every pattern must compile, also if its value is not in the text.
        RecordFinder().find(f"{text} {value} Reading, MN 55944", PatientRecord("p1", fields))
        if mark in ("|", "||") and value != mark:
            assert both[0] in found(text, {field: value})


def test_the_place_before_a_zip_with_a_mark_is_found():
    # The town is also an ordinary word and counts only before its state or ZIP.
    assert "Reading" in found("from Reading 55944 today", {"city": "Reading", "zip": "55944|"})


def test_a_number_that_holds_a_mark_is_found():
    assert found("MRN 123|456.", {"mrn": "123|456"}) == ["123|456"]
    assert found("MRN 123456.", {"mrn": "123|456"}) == ["123456"]


@pytest.mark.parametrize(
    "piece", ["Rosalind ", "R. ", "0", "2 1 2 8 6 7 4 ", "14 N Elm ", "3/4/", "Kasson, ", "Okafor-"]
)
def test_hostile_text_takes_linear_time(piece):
    text = piece * (100_000 // len(piece))
    started = time.process_time()

    RecordFinder().find(text, PatientRecord("p1", QUIST))

    assert time.process_time() - started < 15


def test_a_mark_that_folds_to_nothing_is_no_word():
    assert found("\uff9e Quist") == ["Quist"]
    assert found("\uff9e Quist", {"given": "\uff9e", "family": "Quist"}) == ["Quist"]


@pytest.mark.parametrize("dob", ["3/4/1971 0:00", "Mar 4, 1971", "19710304", "1971-03-04T00:00:00Z"])
def test_a_date_of_birth_is_found_however_the_record_writes_it(dob):
    assert found("born 3/4/1971", {"dob": dob}) == ["3/4/1971"]


@pytest.mark.parametrize(
    ("city", "text", "expected"),
    [
        ("High Point", "at the high point of pain", []),
        ("High Point", "lives in high point; moved to High Point", ["high point", "High Point"]),
        ("Dublin", "Salmonella Dublin, S. Dublin; from Dublin", ["Dublin"]),
    ],
)
def test_words_and_germs_that_are_towns(city, text, expected):
    assert found(text, {"city": city}) == expected
