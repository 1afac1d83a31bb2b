import re

import pytest

from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.countries import country_for
from deid_runtime.surrogates.forms import normal_form, without_accents
from deid_runtime.surrogates.gazetteer import places, world_towns
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.patient import make_patient
from deid_runtime.surrogates.places import _band
from tests.deid_runtime.surrogates.marked import KEY, read, surrogates_of

RECORD = {"given": "Rosa", "family": "Villa", "city": "Socorro", "state": "NM", "zip": "87801"}


def towns_of(country):
    """Return the towns of a country, as the lists write them and without accents."""
    towns = {*places().countries[country].cities, *world_towns()[1].get(country, ())}
    return towns | set(map(without_accents, towns))


def test_cambridge_ma_02139():
    for patient in range(12):
        city, state, postal = surrogates_of(
            "lives in <CITY>Cambridge</CITY> <STATE>MA</STATE>, <ZIP>02139</ZIP>", patient=f"p{patient}"
        )
        found = next(known for known in places().states if known.code == state)
        assert state != "MA"
        assert city in dict(found.cities)
        assert postal[:3] == dict(found.cities)[city]
        assert re.fullmatch(r"\d{5}", postal)


def test_a_town_alone_follows_the_record_and_the_address():
    alone, city, state = surrogates_of(
        "back to <CITY>SOCORRO</CITY>. Address: <CITY>Socorro</CITY>, <STATE>New Mexico</STATE>", RECORD
    )

    assert alone == city.upper()
    assert normal_form(city) in {normal_form(c) for s in places().states if s.name == state for c, _ in s.cities}


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("MA", r"[A-Z]{2}"),
        ("mn", r"[a-z]{2}"),
        ("Texas", r"[A-Z][a-z]+( [a-zA-Z]+)*"),
        ("WEST VIRGINIA", r"[A-Z ]+"),
        ("N.C.", r"[A-Z][A-Za-z. ]+"),
        ("Mich.", r"[A-Z][A-Za-z. ]+"),
        ("QC", r"[A-Z]{2}"),
        ("Co. Kerry", r"Co\. [A-Z]\w+"),
    ],
)
def test_states_keep_their_form(value, pattern):
    [made] = surrogates_of(f"in <STATE>{value}</STATE>")

    assert re.fullmatch(pattern, made)
    assert made != value


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("Twiggs County", r"[A-Z].* County"),
        ("County of Riverside", r"County of [A-Z].*"),
        ("boston", r"[a-z. -]+"),
        ("Zzyzx Corners", r"[A-Z].*"),
    ],
)
def test_towns_keep_their_form(value, pattern):
    [made] = surrogates_of(f"from <CITY>{value}</CITY>")

    assert re.fullmatch(pattern, made)
    assert made != value


@pytest.mark.parametrize("value", ["M13 9ZZ", "H2T 2S3", "68822-1187", "2022", "3511 NP"])
def test_postal_codes_keep_their_shape(value):
    [made] = surrogates_of(f"<ZIP>{value}</ZIP>")

    assert re.sub(r"\d", "9", re.sub("[A-Z]", "A", made)) == re.sub(r"\d", "9", re.sub("[A-Z]", "A", value))
    assert made != value


def test_countries_and_demonyms_stay_apart():
    country, demonym, people, short = surrogates_of(
        "from <COUNTRY>Kenya</COUNTRY>, a <COUNTRY>Dutch</COUNTRY> tourist, two <COUNTRY>Somalis</COUNTRY>, "
        "now in the <COUNTRY>US</COUNTRY>"
    )

    assert country in {known.name for known in places().countries} - {"Kenya"}
    assert demonym in {known.demonym for known in places().countries} - {"Dutch"}
    assert people != "Somalis"
    assert short == "USA"  # as in an address: its states stay in the same country


@pytest.mark.parametrize("written", ["the Netherlands", "The Gambia", "the Republic of the Congo", "the Ukraine"])
def test_a_country_with_an_article_goes_to_one_without(written):
    made, other = surrogates_of(f"from <COUNTRY>{written}</COUNTRY>, a <COUNTRY>Dutch</COUNTRY> tourist")

    [known] = [known for known in places().countries if known.name == made]
    assert known.name not in {"Netherlands", "Gambia", "Philippines", "Bahamas"}
    assert (known.demonym == other) == (written == "the Netherlands")


def test_an_article_stays_before_what_has_one():
    made = surrogates_of(
        "in <COUNTRY>the US</COUNTRY>, in <COUNTRY>the UK</COUNTRY>, with <COUNTRY>the Danish</COUNTRY>, "
        "<COUNTRY>THE NETHERLANDS</COUNTRY>"
    )

    assert made[:2] == ["the USA", "the United Kingdom"]
    assert made[2].removeprefix("the ") in {known.demonym for known in places().countries} - {"Danish"}
    assert made[3].isupper()
    assert not made[3].startswith("THE")


def test_one_country_has_one_stand_in_by_whatever_name():
    names = ("Bosnia", "Bosnia and Herzegovina", "the Republic of Bosnia and Herzegovina")
    made = surrogates_of(" or ".join(f"<COUNTRY>{name}</COUNTRY>" for name in names))

    assert len(set(made)) == 1


def test_an_area_code_agrees_with_the_state():
    state, phone = surrogates_of("<STATE>New Mexico</STATE>, <PHONE>575-555-0164</PHONE>", RECORD)

    assert phone[:3] in next(known.area_codes for known in places().states if known.name == state)


def test_the_gazetteer_agrees_with_itself():
    for state in places().states:
        assert {zip3 for _, zip3 in state.cities} <= set(state.zip3), state.code


def test_a_town_abroad_goes_to_the_country_that_stands_for_its_own():
    town, country, demonym, again = surrogates_of(
        "<CITY>Tijuana</CITY>, <COUNTRY>Mexico</COUNTRY>; <COUNTRY>Mexican</COUNTRY> food, born in <CITY>Tijuana</CITY>"
    )

    [index] = [index for index, known in enumerate(places().countries) if known.name == country]
    known = places().countries[index]
    assert country != "Mexico"
    assert town in {*known.cities, *world_towns()[1].get(index, ())}
    assert demonym == known.demonym
    assert again == town


def test_an_address_in_the_states_stays_there():
    *_, state, _, country, dotted = surrogates_of(
        "<STREET>4 Elm St</STREET>, <CITY>Cambridge</CITY>, <STATE>MA</STATE> <ZIP>02139</ZIP>, "
        "<COUNTRY>USA</COUNTRY>, in the <COUNTRY>U.S.</COUNTRY>"
    )

    assert state in {known.code for known in places().states} - {"MA"}
    assert normal_form(country) in {"unitedstates", "unitedstatesofamerica", "america"}  # US is an original here
    assert normal_form(dotted) != "us"


def test_a_postal_code_alone_is_that_of_the_address():
    _, _, in_address, alone = surrogates_of(
        "<CITY>Cambridge</CITY>, <STATE>MA</STATE> <ZIP>02139</ZIP>, so <ZIP>02139</ZIP>"
    )

    assert in_address == alone


def test_a_province_that_the_note_holds_does_not_stand_in():
    for number in range(12):
        one, other = surrogates_of("<STATE>Assam</STATE>, <STATE>Kerala</STATE>", patient=f"p{number}")

        assert not {one, other} & {"Assam", "Kerala"}


@pytest.mark.parametrize("town", ["Fort Collins", "NEW HAVEN", "Bangor", "walla walla"])
def test_a_town_becomes_one_of_as_many_words(town):
    for patient in range(20):
        [made] = surrogates_of(f"from <CITY>{town}</CITY>", patient=f"p{patient}")

        assert len(made.split()) == len(town.split()) or made.lower() == "washington"  # the only town in its district
        assert made.replace(" ", "").isalpha()


def test_the_emirates_have_many_name_words_and_none_that_the_note_has():
    made = [surrogates_of("<COUNTRY>UAE</COUNTRY> <COUNTRY>KSA</COUNTRY>", patient=f"p{n}")[0] for n in range(9)]

    assert len(set(made)) > 2
    assert "KSA" not in made


def test_a_town_stays_in_a_country_that_is_written_after_it_outside_all_spans():
    for patient in range(12):
        [made] = surrogates_of("served near <CITY>Da Nang</CITY>, Vietnam.", patient=f"p{patient}")

        [vietnam] = [index for index, known in enumerate(places().countries) if known.name == "Vietnam"]
        assert made != "Da Nang"
        assert made in towns_of(vietnam)


def test_a_town_and_its_country_agree_where_safe_harbor_keeps_the_country():
    note, spans = read("<CITY>Da Nang</CITY>, <COUNTRY>Vietnam</COUNTRY>")
    town, country = Surrogates(KEY, safe_harbor=True).replacements(note, spans, None)

    [vietnam] = [index for index, known in enumerate(places().countries) if known.name == "Vietnam"]
    assert country == "Vietnam"
    assert town in towns_of(vietnam)


def test_no_two_towns_of_a_note_share_a_surrogate():
    towns = ["Norfolk", "Larchmont", "Zzyzx", "Qwertyville", "Boston", "Worcester", "Lowell", "Salem", "Lynn", "Quincy"]
    marked = ", ".join(f"<CITY>{town}</CITY>" for town in towns)
    for patient in range(20):
        made = surrogates_of(f"{marked}; <HOSPITAL>Springfield General</HOSPITAL>", patient=f"p{patient}")

        assert len(set(made)) == len(made)
        assert not {f"{town} General" for town in made[:-1]} & {made[-1]}


def test_listed_towns_of_one_state_differ_in_separate_notes():
    towns = [town.name for town in places().states[0].offered if town.name.isalpha()]
    for patient in range(6):
        made = [
            surrogates_of(f"from <CITY>{town}</CITY>, <STATE>AL</STATE>", patient=f"p{patient}") for town in towns[:20]
        ]

        assert len({town for town, _ in made}) == 20


def test_no_town_that_stands_in_is_called_like_a_given_name():
    offered = {normal_form(town.name) for area in (*places().states, *places().provinces) for town in area.offered}

    assert not offered & {"joanne", "lawrence", "elizabeth", "virginia", "douglas", "salina", "colon"}
    assert len(offered) > 5000


def test_every_area_offers_towns_enough():
    for area in (*places().states, *places().provinces):
        assert len(area.offered) >= 3, area.name


def test_a_county_becomes_a_county():
    for patient in range(8):
        county, town = surrogates_of("<CITY>Co. Clare</CITY>, <CITY>Ennistymon</CITY>, HSE", patient=f"p{patient}")

        [area] = [each for each in places().provinces if each.name == county]
        assert area.locale == "IE"
        assert town in area.cities


@pytest.mark.parametrize("size", [1, 5, 8, 9, 15, 16, 33, 40, 200, 600])
def test_bands_of_towns_cover_all_places_and_none_is_small(size):
    first = 0
    while first < size:
        assert {_band(place, size) for place in range(*_band(first, size))} == {_band(first, size)}
        start, last = _band(first, size)
        assert start == first
        assert last - first >= min(8, size)
        first = last


def test_a_large_town_becomes_a_large_one_of_the_surrogate_state():
    for patient in range(12):
        city, code = surrogates_of(
            "from <CITY>Albuquerque</CITY>, <STATE>NM</STATE>", patient=f"p{patient}", key=bytes(32)
        )
        found = next(known for known in places().states if known.code == code)
        alike = [town.name for town in found.offered if town.name.isalpha() and town.name.istitle()]
        assert city in alike[:9]  # one of the first eight may be an original of the note


def test_a_state_follows_the_country_and_the_postal_code_of_its_address():
    city, state, postal, _ = surrogates_of(
        "<CITY>Clarkson</CITY>, <STATE>WA</STATE> <ZIP>6030</ZIP>, <COUNTRY>Australia</COUNTRY>"
    )
    [area] = [known for known in places().provinces if known.country == "Australia" and state in known.shorts]

    assert city in area.cities
    assert re.fullmatch(r"\d{4}", postal)


def test_an_american_address_in_a_foreign_note_keeps_its_zip_in_its_state():
    record = {"city": "Utrecht", "country": "Netherlands", "zip": "3511 NP"}
    state, postal = surrogates_of("<STATE>Idaho</STATE> <ZIP>83333</ZIP>", record)

    assert postal[:3] in next(known.zip3 for known in places().states if known.name == state)


def test_small_towns_of_the_states_are_known_and_a_foreign_town_stays_abroad():
    town, state, abroad = surrogates_of(
        "in <CITY>Denmark</CITY>, <STATE>ME</STATE>; born in <CITY>Perth</CITY>, lives in <STATE>Ohio</STATE>"
    )[:3]

    assert town in dict(next(known.cities for known in places().states if known.code == state))
    assert any(abroad in known.cities for known in places().provinces if known.country == "Australia")


@pytest.mark.parametrize("town", ["Ouagadougou", "Lyon", "Antananarivo", "Bratislava"])
def test_a_town_abroad_becomes_a_town_of_another_country(town):
    [made] = surrogates_of(f"moved here from <CITY>{town}</CITY>")

    assert normal_form(made) in world_towns()[0] or made in {
        name for each in places().countries for name in each.cities
    }


def test_a_country_and_its_towns_stay_in_their_part_of_the_world():
    countries = places().countries
    region = {country.name: country.region for country in countries}
    for number in range(8):
        key = Keyed(bytes([number]) * 32)
        patient = make_patient(key, {}, {}, 1)
        for name in ("Kenya", "Peru", "Vietnam", "Fiji", "Haiti", "Nepal"):
            index = next(index for index, country in enumerate(countries) if country.name == name)
            other = countries[country_for(patient, index, frozenset())]
            assert other.name != name
            assert other.region == region[name]


@pytest.mark.parametrize("text", ["<CITY>Lima</CITY>, born in <COUNTRY>Peru</COUNTRY>", "<CITY>Valparaíso</CITY>"])
def test_a_town_abroad_is_not_taken_for_a_namesake_in_the_country_of_the_note(text):
    made = surrogates_of(f"Seen in <CITY>Columbus</CITY>, <STATE>OH</STATE>. From {text}.")
    town = made[2]

    latin = {index for index, country in enumerate(places().countries) if country.region.startswith("Latin America")}
    assert any(town in towns_of(index) for index in latin)


@pytest.mark.parametrize(("before", "is_far"), [("born in", True), ("back from", True), ("works in", False)])
def test_a_town_to_which_someone_travelled_is_abroad(before, is_far):
    made = surrogates_of(f"Seen in <CITY>Columbus</CITY>, <STATE>OH</STATE>, {before} <CITY>Lima</CITY>")

    latin = {index for index, country in enumerate(places().countries) if country.region.startswith("Latin America")}
    assert any(made[2] in towns_of(index) for index in latin) == is_far


def test_a_city_at_home_stays_there_whoever_travelled():
    made = surrogates_of("Seen in <CITY>Atlanta</CITY>, <STATE>GA</STATE>, flew to <CITY>Athens</CITY>")

    assert any(made[2] == name for state in places().states for name, _ in state.cities)


def test_a_town_that_is_a_given_name_is_known_and_never_offered():
    country_of, towns_of = world_towns()

    assert places().countries[country_of["lima"]].name == "Peru"
    assert all("Lima" not in towns for towns in towns_of.values())
    assert not any(town.startswith("-") for towns in towns_of.values() for town in towns)


def test_the_stops_of_a_journey_are_towns_each():
    [made, alone] = surrogates_of("flew <CITY>Lagos-Accra-Cairo</CITY>, from <CITY>Lagos</CITY>")

    stops = made.split("-")
    assert len(stops) == 3
    assert stops[0] == alone
    assert not {"Lagos", "Accra", "Cairo"} & set(stops)


def test_a_town_without_accents_gets_one_without():
    for patient in range(12):
        [made] = surrogates_of("moved from <CITY>Iquitos</CITY>", patient=f"p{patient}")
        assert made.isascii()
