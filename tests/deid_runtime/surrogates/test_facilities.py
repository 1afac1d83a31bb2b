import re

import pytest

from deid_runtime.lexicon.clinical_initials import clinical_initials
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.known_words import is_known_word, ordinary_words
from tests.deid_runtime.surrogates.marked import surrogates_of


@pytest.mark.parametrize(
    ("label", "value", "pattern"),
    [
        ("HOSPITAL", "Wasatch Crest Sports Medicine", r"[A-Z]\w+ [A-Z]\w+ Sports Medicine"),
        ("HOSPITAL", "Larchmere Dental", r"[A-Z]\w+ Dental"),
        ("HOSPITAL", "St. Brigid's Medical Center", r"St\. [A-Z]\w+'s Medical Center"),
        ("HOSPITAL", "Our Lady of Mercy Assisted Living", r"Our Lady of (the )?[A-Z]\w+( [A-Z]\w+)? Assisted Living"),
        ("HOSPITAL", "Royal Wessex Infirmary", r"Royal [A-Z]\w+ Infirmary"),
        ("HOSPITAL", "Center for Advanced Orthopedics", r"[A-Z]\w+ Center for Advanced Orthopedics"),
        ("HOSPITAL", "Cleveland Clinic", r"[A-Z]\w+ Clinic"),
        ("ORGANIZATION", "St Cuthbert's C of E Primary School", r"St [A-Z]\w+'s C of E Primary School"),
        ("ORGANIZATION", "Pruitt's Hardware & Feed", r"[A-Z]\w+'s Hardware & Feed"),
        ("ORGANIZATION", "Teamsters Local 412", r"(?!Teamsters)[A-Z][\w ]+ Local [1-9]\d\d"),
        ("ORGANIZATION", "Congregation Beth Shalom", r"Congregation (?!Beth Shalom)(Beth|B'nai) [A-Z]\w+"),
        ("ORGANIZATION", "Masjid Al-Noor", r"Masjid Al-(?!Noor)[A-Z]\w+"),
        ("HOSPITAL", "ST. IGNATIUS HOSPITAL", r"ST\. [A-Z]+ HOSPITAL"),
        ("HOSPITAL", "blue ridge neurology", r"[a-z]+ [a-z]+ neurology"),
        ("HOSPITAL", "Magnolia Bone and Joint, LLC", r"[A-Z]\w+ Bone and Joint, LLC"),
        ("HOSPITAL", "Midtown Kidney Ctr", r"[A-Z]\w+ Kidney Ctr"),
        ("HOSPITAL", "Ozark Radiologists", r"[A-Z]\w+ Radiologists"),
        ("HOSPITAL", "CVS", r"[A-Z].*"),
        ("HOSPITAL", "the Clinic", r"the [A-Z]\w+ Clinic"),
        ("HOSPITAL", "the university", r"the [a-z]+ university"),
        ("HOSPITAL", "the Center for Heart", r"the [A-Z]\w+ Center for Heart"),
        ("HOSPITAL", "University Hospital", r"[A-Z]\w+ Hospital"),
        ("ORGANIZATION", "Foster & Lay", r"[A-Z][\w']+ & [A-Z][\w']+"),
        ("ORGANIZATION", "Brookline High School", r"[A-Z][\w']+ High School"),
        ("ORGANIZATION", "Troop 82, First Lutheran", r"Troop \d\d, [A-Z]\w+ Lutheran"),
        ("ORGANIZATION", "Blackburn's", r"[A-Z][\w']+'s"),
        ("ORGANIZATION", "Galway Blazers", r"[A-Z]\w+ [A-Z]\w*[^s]s?"),
        ("ORGANIZATION", "USS Nimitz", r"USS [A-Z]\w+"),
        ("ORGANIZATION", "Humana ", r"[A-Z]\w+ "),
        ("ORGANIZATION", "Stickney PD", r"[A-Z][\w']+ PD"),
        ("ORGANIZATION", "Army", r"[A-Z][\w ]+"),
        ("STREET", "14 Quarry Hill Ct", r"[1-9]\d \w+ Hill Ct"),
        ("STREET", "11680 SW 82nd Ter", r"[1-9]\d{4} SW \d\d(st|nd|rd|th) Ter"),
        ("STREET", "2217 E ORMAN AVE APT 4", r"[1-9]\d{3} E [A-Z]+ AVE APT \d"),
        ("STREET", "P.O. Box 1880", r"P\.O\. Box [1-9]\d{3}"),
        ("STREET", "overton rd", r"[a-z]+ rd"),
        ("LOCATION-OTHER", "4th floor, rm 318", r"\d(st|nd|rd|th) floor, rm [1-9]\d\d"),
        ("LOCATION-OTHER", "bed 22A", r"bed [1-9]\d[A-Z]"),
        ("LOCATION-OTHER", "Bevan Ward", r"[A-Z]\w+ Ward"),
        ("LOCATION-OTHER", "I-84 E", r"I-[1-9]\d E"),
        ("LOCATION-OTHER", "second floor", r"\w+ floor"),
    ],
)
def test_the_kind_and_form_stay_and_the_rest_changes(label, value, pattern):
    for patient in range(4):
        [made] = surrogates_of(f"at <{label}>{value}</{label}>.", patient=f"p{patient}")
        assert re.fullmatch(pattern, made)
        assert made != value


def test_short_mentions_and_abbreviations_follow_the_full_name():
    full, short, letters = surrogates_of(
        "<HOSPITAL>Harrow Creek Medical Center</HOSPITAL>, <HOSPITAL>Harrow Creek</HOSPITAL>, <HOSPITAL>HCMC</HOSPITAL>"
    )

    assert full == f"{short} Medical Center"
    assert letters == "".join(word[0] for word in full.split())


def test_a_town_in_a_name_follows_the_town():
    city, hospital = surrogates_of("<CITY>Fresno</CITY>: <HOSPITAL>Fresno General Hospital</HOSPITAL>")

    assert hospital == f"{city} General Hospital"


def test_the_road_in_the_name_of_a_clinic_stays_a_road():
    [made] = surrogates_of("<HOSPITAL>Pocklington Road Surgery</HOSPITAL>")

    assert re.fullmatch(r"\w+ Road Surgery", made)
    assert "Pocklington" not in made


def test_an_abbreviation_in_a_longer_name_follows_the_full_name():
    full, longer = surrogates_of("<HOSPITAL>Larkfield Cape Mercy Hospital</HOSPITAL>, <HOSPITAL>LCMH Rehab</HOSPITAL>")

    assert longer == "".join(word[0] for word in full.split()) + " Rehab"


def test_a_town_of_the_gazetteer_in_a_name_is_replaced_alike_with_and_without_the_town_beside_it():
    [alone] = surrogates_of("<HOSPITAL>Worcester General Hospital</HOSPITAL>")
    beside, town = surrogates_of("<HOSPITAL>Worcester General Hospital</HOSPITAL> in <CITY>Worcester</CITY>")

    assert alone == beside == f"{town} General Hospital"


def test_an_abbreviation_follows_a_full_name_whose_town_has_two_words():
    for number in range(20):
        full, short = surrogates_of(
            "<HOSPITAL>Worcester Mercy Hospital</HOSPITAL> (<HOSPITAL>WMH</HOSPITAL>)", patient=f"p{number}"
        )

        letters = "".join(word[0] for word in full.split()).upper()
        # Otherwise it would be the original, or read as a finding.
        assert short == letters or letters == "WMH" or letters.lower() in clinical_initials()


def test_words_run_together_follow_the_words_apart():
    joined, apart, lower = surrogates_of(
        "<ORGANIZATION>LifeFlight</ORGANIZATION>, <ORGANIZATION>Life Flight</ORGANIZATION>, "
        "<ORGANIZATION>lifeflight</ORGANIZATION>"
    )

    assert joined == apart.replace(" ", "")
    assert lower == joined.lower()


@pytest.mark.parametrize("plural", ["Cruikshanks", "CRUIKSHANKS", "Zqvorblatts"])
def test_a_possessive_without_its_apostrophe_follows_the_one_with_it(plural):
    owner = plural[:-1].capitalize()
    possessive, made = surrogates_of(f"<ORGANIZATION>{owner}'s</ORGANIZATION>, <ORGANIZATION>{plural}</ORGANIZATION>")

    assert made.lower() == possessive.replace("'", "").lower()
    assert made.isupper() == plural.isupper()


@pytest.mark.parametrize("name", ["Heʻeia", "Pāʼia", "O'Fallon", "Coeur d’Alene"])
def test_a_name_with_an_apostrophe_of_any_kind_is_replaced_alike_with_and_without_it(name):
    plain = re.sub("['’ʻʼ]", "", name)
    written, made = surrogates_of(f"<ORGANIZATION>{name}</ORGANIZATION>, <ORGANIZATION>{plain}</ORGANIZATION>")

    assert written != name
    assert made == re.sub("['’ʻʼ]", "", written)


def test_a_plural_of_a_family_name_is_one_of_another():
    [alone] = surrogates_of("<ORGANIZATION>Hendersons</ORGANIZATION>")
    [possessive] = surrogates_of("<ORGANIZATION>Henderson's</ORGANIZATION>")

    assert alone == possessive.replace("'", "")


def test_the_letters_of_a_full_name_are_never_those_of_the_original():
    for patient in range(60):
        full, letters = surrogates_of(
            "<HOSPITAL>SOUTHERN RESEARCH TRANSPLANT INSTITUTE</HOSPITAL> (<HOSPITAL>SRTI</HOSPITAL>)",
            patient=f"p{patient}",
        )
        assert letters == "".join(word[0] for word in full.split())
        assert letters != "SRTI"


def test_a_letter_is_replaced_in_lower_case_too():
    upper, lower, room = surrogates_of(
        "<HOSPITAL>St E</HOSPITAL> <HOSPITAL>st e</HOSPITAL> <LOCATION-OTHER>conf rm b</LOCATION-OTHER>"
    )

    assert lower == upper.lower() != "st e"
    assert room[:-1] == "conf rm "


def test_capitals_within_and_possessives_stay():
    for patient in range(12):
        joined, owned = surrogates_of(
            "<ORGANIZATION>BreatheWell</ORGANIZATION>, <ORGANIZATION>Rosalie's Bakehouse</ORGANIZATION>",
            patient=f"p{patient}",
        )

        assert re.fullmatch(r"[A-Z][a-z]+([A-Z][a-z]+)?", joined)
        assert re.fullmatch(r"[A-Z][a-z]+'s [A-Z][a-z]+", owned)


@pytest.mark.parametrize("chain", ["Rite Aid", "Coast Guard", "Starbucks"])
def test_a_chain_becomes_one_of_as_many_words(chain):
    for patient in range(12):
        made, shouted = surrogates_of(
            f"<ORGANIZATION>{chain}</ORGANIZATION> <ORGANIZATION>{chain.upper()}</ORGANIZATION>", patient=f"p{patient}"
        )

        assert len(made.split()) == len(chain.split())
        assert shouted == made.upper()


@pytest.mark.parametrize(
    ("value", "town"),
    [
        ("Winston-Salem Regional Hospital", "Salem"),
        ("Mercy Hospital of Providence", "Providence"),
        ("Trinity Health Salem", "Salem"),
    ],
)
def test_the_town_of_a_facility_does_not_stay(value, town):
    [replaced] = surrogates_of(f"<HOSPITAL>{value}</HOSPITAL>")

    assert town not in replaced


@pytest.mark.parametrize(
    ("label", "value", "name"),
    [
        ("STREET", "123 Park Ave", "Park"),
        ("STREET", "1200 Main St", "Main"),
        ("STREET", "3 West St", "West"),
        ("STREET", "1418 MILL ST", "MILL"),
        ("STREET", "Main & 5th", "Main"),
        ("HOSPITAL", "Sacred Heart Clinic 3", "Sacred"),
        ("HOSPITAL", "TRINITY HOSPITAL 3RD FLOOR", "TRINITY"),
        ("HOSPITAL", "Mercy Clinic 12", "Mercy"),
    ],
)
def test_a_number_beside_a_name_made_of_words_of_kind_does_not_keep_it(label, value, name):
    [made] = surrogates_of(f"<{label}>{value}</{label}>")

    assert name not in made.split()


@pytest.mark.parametrize("value", ["4412 County Rd 12", "State Rd 7", "US Highway 12 W", "Hwy 61"])
def test_roads_that_are_numbered_keep_their_words(value):
    [made] = surrogates_of(f"<STREET>{value}</STREET>")

    assert re.sub(r"\d", "0", made) == re.sub(r"\d", "0", value)


@pytest.mark.parametrize("brand", ["CordStar", "MedBridge", "WestGate"])
def test_no_half_of_a_brand_stays(brand):
    halves = set(re.findall("[A-Z][a-z]+", brand))
    for patient in range(20):
        alone, clinic = surrogates_of(
            f"<ORGANIZATION>{brand}</ORGANIZATION>, <HOSPITAL>{brand} Clinic</HOSPITAL>", patient=f"p{patient}"
        )

        assert re.fullmatch(r"[A-Z][a-z]+[A-Z][a-z]+", alone)
        assert not halves & set(re.findall("[A-Z][a-z]+", alone))
        assert clinic == f"{alone} Clinic"


@pytest.mark.parametrize(
    ("note", "brand", "others"),
    [
        (
            "NHS, <ORGANIZATION>Tesco</ORGANIZATION>",
            "Tesco",
            {"Sainsbury's", "Asda", "Morrisons", "Aldi", "Lidl", "Waitrose"},
        ),
        ("<ORGANIZATION>CVS</ORGANIZATION>", "CVS", {"Walgreens", "Rite Aid", "Bartell"}),
    ],
)
def test_a_chain_becomes_one_of_its_kind_and_country(note, brand, others):
    made = {surrogates_of(note, patient=f"p{number}")[0] for number in range(40)}

    assert brand not in made
    assert made & others
    assert not made & {"Kroger", "Publix", "Tesco", "Boots"}


def test_rooms_of_a_floor_stay_on_one_floor():
    for patient in range(12):
        made = surrogates_of(
            " ".join(f"<LOCATION-OTHER>{room}</LOCATION-OTHER>" for room in ("Rm 412", "Rm 418", "room 409", "Rm 512")),
            patient=f"p{patient}",
        )
        digits = [re.sub(r"\D", "", room) for room in made]

        assert len({room[0] for room in digits[:3]}) == 1
        assert digits[0][0] != digits[3][0]
        assert len(set(digits)) == 4
        assert all(int(room[1:]) < 40 for room in digits)


def test_no_letters_of_a_facility_read_as_a_clinical_abbreviation():
    made = {
        surrogates_of("<HOSPITAL>QZK</HOSPITAL>, <LOCATION-OTHER>ward QZ</LOCATION-OTHER>", patient=f"p{number}")[0]
        for number in range(200)
    }

    assert not {letters.lower() for letters in made} & clinical_initials()


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("ORGANIZATION", "Fralvick Gumlorst"),
        ("HOSPITAL", "St. Zemmbrick Hospital"),
        ("LOCATION-OTHER", "Zemmbrick Ward"),
        ("STREET", "14 Fralvick Zemmbrick Rd"),
        ("CITY", "Port Zemmbrick"),
    ],
)
def test_a_word_of_a_place_in_no_list_becomes_a_word_in_no_list(label, value):
    def unlisted(name):
        return [not is_known_word(normal_form(word)) for word in re.findall(r"[^\W\d_]{3,}", name)]

    made = [surrogates_of(f"at <{label}>{value}</{label}>.", patient=f"p{number}")[0] for number in range(8)]

    assert sum(unlisted(each) == unlisted(value) for each in made) >= 6  # letters do not always give a new word


def test_an_ordinary_word_becomes_an_ordinary_word():
    kept, lower = surrogates_of(
        "<ORGANIZATION>Fralvick Seaways</ORGANIZATION>, the <LOCATION-OTHER>quilting room</LOCATION-OTHER>"
    )

    assert normal_form(kept.split()[1]) in ordinary_words()
    assert normal_form(lower.split()[0]) in ordinary_words()


def test_a_full_name_gets_no_abbreviation_that_reads_as_a_finding_where_the_notes_have_it():
    for patient in range(40):
        full, letters = surrogates_of(
            "<HOSPITAL>Jackson Memorial Hospital</HOSPITAL> (<HOSPITAL>JMH</HOSPITAL>)", patient=f"p{patient}"
        )
        assert letters == "".join(word[0] for word in full.split())
        assert letters.lower() not in clinical_initials()


def test_a_hospital_called_after_a_person_is_called_after_another_one():
    made, small = surrogates_of("<HOSPITAL>Rajiv Chaturvedi Hospital</HOSPITAL>, <HOSPITAL>Rajiv</HOSPITAL>")
    given, family, kind = made.split()

    assert kind == "Hospital"
    assert is_known_word(normal_form(given))
    assert is_known_word(normal_form(family))
    assert {given, family}.isdisjoint({"Rajiv", "Chaturvedi"})
    assert small != "Rajiv"
