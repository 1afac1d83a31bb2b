import re

import pytest

from deid_runtime.dates.parts import DateStyle
from deid_runtime.dates.stated import stated_years
from deid_runtime.errors import InputError, SettingsError
from deid_runtime.labels import LABELS
from deid_runtime.spans import PatientRecord
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.areas import known_area
from deid_runtime.surrogates.gazetteer import places
from deid_runtime.surrogates.safe_harbor import restricted_zip3, year_alone, zip3
from tests.deid_runtime.surrogates.marked import KEY, read

#: One value of each label, and what Safe Harbor keeps of it; None: nothing.
ONE_OF_EACH = {
    "PATIENT": ("Ida Norwood", None),
    "DOCTOR": ("Whitlock", None),
    "USERNAME": ("kbw12", None),
    "AGE": ("67", "67"),
    "DATE": ("3/14/2017", "2017"),
    "PHONE": ("775-664-0134", None),
    "FAX": ("775-664-0135", None),
    "EMAIL": ("ida.norwood@mail.com", None),
    "URL": ("www.norwoods.org/ida", None),
    "IPADDR": ("84.12.7.9", None),
    "SSN": ("489-22-4810", None),
    "MEDICALRECORD": ("0044-1182", None),
    "HEALTHPLAN": ("WXK88214", None),
    "ACCOUNT": ("700118264", None),
    "LICENSE": ("AB1234563", None),
    "VEHICLE": ("7PX 1150", None),
    "DEVICE": ("SN 2961-AF02", None),
    "BIOID": ("FP-0022-R1", None),
    "IDNUM": ("S19-04417", None),
    "STREET": ("14 Alder Ct", None),
    "CITY": ("Reno", None),
    "STATE": ("NV", "NV"),
    "COUNTRY": ("Norway", "Norway"),
    "ZIP": ("89501", "895"),
    "HOSPITAL": ("Pine Bend Clinic", None),
    "ORGANIZATION": ("Silver Creek Lumber", None),
    "LOCATION-OTHER": ("3 West", None),
}
MARKED = " ; ".join(f"<{label}>{value}</{label}>" for label, (value, _) in ONE_OF_EACH.items())


def replaced(marked: str, record: dict[str, str] | None = None, **settings: object) -> list[str]:
    note, spans = read(marked)
    known = PatientRecord("p1", record) if record else None
    return Surrogates(KEY, **settings).replacements(note, spans, known)  # type: ignore[arg-type]


def test_every_label_is_decided():
    assert set(ONE_OF_EACH) == set(LABELS)


@pytest.mark.parametrize("operator", ["surrogate", "tag", "redact"])
def test_what_may_stay_stays_and_all_else_goes(operator):
    made = replaced(MARKED, operator=operator, safe_harbor=True)

    for (label, (value, stays)), new in zip(ONE_OF_EACH.items(), made, strict=True):
        if stays is not None:
            assert new == stays
        elif operator == "surrogate":
            assert value not in new
        else:
            assert new == (f"[{label}-1]" if operator == "tag" else "[***]")


def test_a_surrogate_town_is_another_one_of_the_same_state():
    codes = {state.code: state for state in places().states}
    for city, state in (("Reno", "NV"), ("Kasson", "Minnesota"), ("Albany", "NY")):
        town, kept, prefix = replaced(
            f"<CITY>{city}</CITY>, <STATE>{state}</STATE> <ZIP>55944</ZIP>", operator="surrogate", safe_harbor=True
        )
        found = known_area(state, "US")
        assert found is not None
        assert kept == state
        assert prefix == "559"
        assert town != city
        assert town in dict(codes[places().states[found[0].index].code].cities)


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("89501", "895"),
        ("89501-1234", "895"),
        ("895", "895"),
        ("03601", "000"),
        ("10201", "000"),
        ("893", "000"),
        ("89001-4417", "000"),
        ("SW1A 1AA", None),
        ("K1A 0B1", None),
        ("8950", None),
        ("", None),
    ],
)
def test_postal_codes(value, left):
    assert zip3(value) == left


def test_the_restricted_list_is_the_one_of_the_census_of_2000():
    assert sorted(restricted_zip3()) == ("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893".split())


def test_a_postal_code_abroad_is_replaced():
    [made] = replaced("<ZIP>SW1A 1AA</ZIP>", safe_harbor=True)

    assert made != "SW1A 1AA"
    assert not made.startswith("SW1")


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("Tues 3/14/17", "2017"),
        ("March 5th, 2014", "2014"),
        ("2019-03-14T10:22:00Z", "2019"),
        ("'08", "2008"),
        ("spring of 2018", "2018"),
        ("Christmas 2016", "2016"),
        ("3/14/2018 and 4/5/2019", "2018-2019"),
        ("2018-2019", "2018-2019"),
        ("1980s", "1980s"),
        ("02/08/1929", "1929 or earlier"),
        ("1911", "1929 or earlier"),
        ("1920s", "1929 or earlier"),
        ("1930", "1930"),
        ("3/14", None),
        ("Tuesday", None),
        ("M/W/F", None),
        ("the 29th", None),
        ("March", None),
        ("Easter", None),
        ("08/:5", None),
    ],
)
def test_dates_keep_their_year_alone(value, left):
    style = DateStyle(2019)

    assert year_alone(value, stated_years(value, style), style, 2019) == left


@pytest.mark.parametrize(("operator", "gone"), [("surrogate", "[DATE]"), ("tag", "[DATE-2]"), ("redact", "[***]")])
def test_only_years_without_safe_harbor(operator, gone):
    made = replaced("<DATE>3/14/2017</DATE> <DATE>Tuesday</DATE> <STATE>NV</STATE>", operator=operator, dates="year")

    assert made[:2] == ["2017", gone]
    assert made[2] != "NV"


@pytest.mark.parametrize(
    ("value", "after", "left"),
    [("89", " yo", "89"), ("90", " yo", "90+"), ("ninety-four", "", "ninety or older"), ("92", " M", "90+")],
)
def test_ages_over_89_are_one_group(value, after, left):
    assert replaced(f"<AGE>{value}</AGE>{after}", operator="tag", safe_harbor=True) == [left]


def test_a_year_of_birth_alone_in_a_note_is_grouped_as_if_the_note_were_of_today():
    [made] = replaced("DOB <DATE>02/08/1938</DATE>", safe_harbor=True)

    assert re.fullmatch(r"\d{4} or earlier", made)


def test_no_part_of_a_date_more_than_its_year_is_left():
    values = ["3/14/2017", "Tues 3/14", "14 March 2017", "20170314", "Mar 14th", "the 14th", "14MAR17", "March '17"]
    made = replaced(" ".join(f"<DATE>{value}</DATE>" for value in values), safe_harbor=True)

    assert set(made) <= {"2017", "[DATE]"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"dates": "month"},
        {"given_date_shifts": {"p1": 5}, "safe_harbor": True},
        {"given_date_shifts": {"p1": 5}, "dates": "year"},
        {"given_date_shifts": {"p1": 5}, "operator": "tag"},
        {"given_date_shifts": {"p1": 0}},
    ],
)
def test_settings_that_contradict_each_other_are_refused(wrong):
    with pytest.raises(SettingsError):
        Surrogates(KEY, **wrong)


def test_date_shifts_from_elsewhere_move_the_dates():
    moved = replaced("<DATE>3/14/2017</DATE> <DATE>2017-03-20</DATE>", given_date_shifts={"p1": 10})

    assert moved == ["3/24/2017", "2017-03-30"]


@pytest.mark.parametrize(("patient", "message"), [("p2", "no row"), ("", "no patient id")])
def test_a_patient_without_a_given_date_shift_is_not_served(patient, message):
    note, spans = read("<DATE>3/14/2017</DATE>", patient=patient)

    with pytest.raises(InputError, match=message) as caught:
        Surrogates(KEY, given_date_shifts={"p1": 10}).replacements(note, spans, None)

    assert caught.value.stage == "surrogates"
    assert "p2" not in str(caught.value)
