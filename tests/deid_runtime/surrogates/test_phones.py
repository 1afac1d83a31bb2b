import re

import pytest

from deid_runtime.surrogates.gazetteer import places
from deid_runtime.surrogates.phone_plans import read_number
from tests.deid_runtime.surrogates.marked import surrogates_of

KEYS = [bytes([number]) * 32 for number in range(12)]


@pytest.mark.parametrize(
    ("before", "value", "reserved"),
    [
        ("NHS, ", "07700 418 226", r"07700 900 \d{3}"),
        ("NHS, ", "07911288407", r"07700900\d{3}"),
        ("NHS, ", "+44 7400 823 834", r"\+44 7700 900 \d{3}"),
        ("NHS, ", "0117 945 0340", r"01(?:1[3-8]|[2-6]1|91) 49[68] 0\d{3}"),
        ("NHS, ", "01433 651 208", r"01632 960 \d{3}"),
        ("NHS, ", "020 7946 1183", r"02(?:0 7946 0\d{3}|8 9649 6\d{3}|9 2018 0\d{3})"),
        ("NHS, ", "+44 (0)20 3299 4118", r"\+44 \(0\)2(?:0 7946 0\d{3}|8 9649 6\d{3}|9 2018 0\d{3})"),
        ("HSE, Eircode, ", "087 660 4127", r"020 91\d \d{4}"),
        ("HSE, Eircode, ", "01 878 4455", r"01 0\d{2} \d{4}"),
        ("Centrelink, ", "0412 883 107", r"0491 57\d \d{3}"),
        ("Centrelink, ", "03 9482 0117", r"0[2378] (?:5550|7010) \d{4}"),
        ("Centrelink, ", "(08) 8227 4410", r"\(0[2378]\) (?:5550|7010) \d{4}"),
        ("Whānau, DHB, ", "021 448 2093", r"025 \d{3} \d{4}"),
        ("Whānau, DHB, ", "06 835 7112", r"0[34679] 0\d{2} \d{4}"),
        ("Aadhaar, ", "98491 57340", r"55501 \d{5}"),
        ("Aadhaar, ", "+91 94430 77218", r"\+91 55501 \d{5}"),
        ("Aadhaar, ", "0484-241 7736", r"0\d{3}-1\d{2} \d{4}"),
        ("OHIP, ", "705-261-7743", r"\d{3}-555-01\d{2}"),
        ("", "+49 8821 77 04 18", r"\+49 3023 12 5\d \d{2}"),
        ("", "+65 9144 2083", r"\+65 0\d{3} \d{4}"),
        ("", "+39 06 9541 2083", r"\+39 1\d \d{4} \d{4}"),
    ],
)
def test_a_number_becomes_one_that_nobody_has(before, value, reserved):
    for key in KEYS:
        [made] = surrogates_of(f"{before}call <PHONE>{value}</PHONE>", key=key)
        assert re.fullmatch(reserved, made), made
        assert made != value


def test_mobile_numbers_of_one_patient_differ():
    values = [f"0412 883 {number:03}" for number in range(100, 112)]
    made = surrogates_of("Centrelink. " + " ".join(f"<PHONE>{value}</PHONE>" for value in values))

    assert len(set(made)) == len(values)


def test_an_area_code_of_canada_follows_the_province():

    state, phone = surrogates_of("<STATE>Ontario</STATE>, <PHONE>613-549-0081</PHONE>")

    [province] = [each for each in places().provinces if each.name == state]
    assert phone[:3] in province.dials


def test_a_misread_number_reaches_nobody_either():
    [made] = surrogates_of("call <PHONE>52O 325 l188</PHONE>")

    digits = made.translate(str.maketrans("OoIl", "0011"))
    assert re.fullmatch(r"\d{3} 555 01\d\d", digits)


def test_a_british_mobile_is_one_in_a_note_that_shows_no_country():
    mobile, nigerian = read_number("07911 288407", "other"), read_number("0703 288 4071", "other")

    assert mobile is not None
    assert mobile.code == "44"
    assert nigerian is not None
    assert nigerian.code == ""
