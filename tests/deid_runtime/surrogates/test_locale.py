import re

import pytest

from deid_runtime.spans import Note
from deid_runtime.surrogates.context import read_context
from deid_runtime.surrogates.gazetteer import COUNTRY_OF, places
from deid_runtime.surrogates.locale import LOCALES, locale_of
from tests.deid_runtime.surrogates.marked import read, surrogates_of


def locale(marked: str, record: dict[str, str] | None = None) -> str:
    note, spans = read(marked)
    return locale_of(read_context([(note, spans)]).evidence, record or {})


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("Seen in <CITY>Boston</CITY>, <STATE>MA</STATE> <ZIP>02139</ZIP>", "US"),
        ("lives in <CITY>Hebden Bridge</CITY> <ZIP>HX7 8AB</ZIP>", "GB"),
        ("NHS referral to haematology", "GB"),
        ("mobile <PHONE>07700 900123</PHONE>, GP informed, paracetamol", "GB"),
        ("<CITY>Ennistymon</CITY>, <STATE>Co. Clare</STATE>, call <PHONE>087 229 6655</PHONE>", "IE"),
        ("HSE, <ZIP>V95 X2K1</ZIP>", "IE"),
        ("<CITY>Sudbury</CITY>, <STATE>Ontario</STATE> <ZIP>P3E 5J1</ZIP>", "CA"),
        ("<PHONE>705-555-0160</PHONE>", "CA"),
        ("<CITY>Footscray</CITY> <STATE>VIC</STATE> <ZIP>3011</ZIP> <PHONE>0412 883 107</PHONE>", "AU"),
        ("<CITY>Whangārei</CITY>, NHI known to the DHB", "NZ"),
        ("<CITY>Coimbatore</CITY>, <STATE>Tamil Nadu</STATE> <ZIP>641012</ZIP>", "IN"),
        ("<PHONE>+49 8821 77 04 18</PHONE>", "other"),
        ("nothing that tells", "US"),
    ],
)
def test_the_signs_of_a_note_tell_its_locale(marked, expected):
    assert locale(marked) == expected
    assert expected in LOCALES


def test_the_record_counts_more_than_one_note():
    assert locale("flew from <CITY>Boston</CITY>, <STATE>MA</STATE>", {"zip": "LS1 4AP", "city": "Leeds"}) == "GB"


def test_a_british_address_stays_british():
    towns = [town for area in places().provinces if area.locale == "GB" for town in area.towns]
    for number in range(12):
        street, town, postcode, phone, hospital = surrogates_of(
            "<STREET>3 Tannery Cottages</STREET>, <CITY>Bakewell</CITY> <ZIP>DE45 1QX</ZIP>, "
            "<PHONE>01433 651 208</PHONE>, <HOSPITAL>Chesterfield Royal Infirmary</HOSPITAL>",
            patient=f"p{number}",
        )
        assert re.fullmatch(r"[1-9] \w+ Cottages", street)
        assert re.fullmatch(r"[A-Z]{1,2}\d{1,2} \d[A-Z]{2}", postcode)
        assert re.match(r"[A-Z]+", postcode)[0] in {each.post for each in towns if each.name == town}
        assert re.fullmatch(r"01632 960 \d{3}", phone)
        assert hospital.endswith("Royal Infirmary")
        assert "Chesterfield" not in hospital


@pytest.mark.parametrize(
    ("address", "country", "postcode"),
    [
        ("<CITY>Tralee</CITY>, <STATE>Co. Kerry</STATE> <ZIP>V92 X3P8</ZIP>", "IE", r"[A-Z]\d[\dW] [0-9A-Z]{4}"),
        ("<CITY>Kingston</CITY>, <STATE>ON</STATE> <ZIP>K7L 2V7</ZIP>", "CA", r"[A-Z]\d[A-Z] \d[A-Z]\d"),
        ("<CITY>Geelong</CITY> <STATE>VIC</STATE> <ZIP>3220</ZIP>", "AU", r"\d{4}"),
        ("<CITY>Madurai</CITY>, <STATE>Tamil Nadu</STATE> <ZIP>625 002</ZIP>", "IN", r"\d{3} \d{3}"),
    ],
)
def test_town_state_and_postal_code_agree(address, country, postcode):
    for number in range(8):
        town, state, code = surrogates_of(address, patient=f"p{number}")
        [area] = [each for each in places().provinces if each.locale == country and state in (each.name, *each.shorts)]
        posts = [each.post for each in area.towns if each.name == town]
        assert len(posts) == 1
        assert re.fullmatch(postcode, code)
        assert code.startswith(posts[0]) or code[:2] == posts[0][:2]


def test_names_of_the_own_country_stay_names_of_it():
    _, province, country = surrogates_of(
        "<CITY>Kingston</CITY>, <STATE>ON</STATE>, <COUNTRY>Canada</COUNTRY>", patient="p3"
    )

    assert country == "CAN"
    assert province in {each.short for each in places().provinces if each.country == COUNTRY_OF["CA"]}
    [moved] = surrogates_of("Born in <COUNTRY>Canada</COUNTRY>, lives in Ohio with his mom. Medicaid.")
    assert moved != "CAN"


def test_a_listed_british_town_is_british_in_every_note():
    british = surrogates_of("NHS: <CITY>Hebden Bridge</CITY>", patient="p")
    american = surrogates_of("Medicaid, HMO: <CITY>Hebden Bridge</CITY>", patient="p")

    assert british == american


@pytest.mark.parametrize("place", ["Western Australia", "WA"])
def test_an_ambiguous_state_is_that_of_the_locale(place):
    [made, _] = surrogates_of(f"<STATE>{place}</STATE> 6000, Centrelink, call <PHONE>0412 883 107</PHONE>")

    assert made in {form for each in places().provinces if each.locale == "AU" for form in (each.name, *each.shorts)}


def test_the_locale_of_an_empty_note_is_american():
    assert locale_of(read_context([(Note("n", "", "p"), [])]).evidence, {}) == "US"
