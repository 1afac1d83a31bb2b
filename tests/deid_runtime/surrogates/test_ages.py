import pytest

from deid_runtime.surrogates.ages import replace_age, stated_ages
from tests.deid_runtime.surrogates.marked import surrogates_of


@pytest.mark.parametrize(
    ("value", "after", "expected"),
    [
        ("67", "yo", "67"),
        ("89", " years", "89"),
        ("90", "-year-old", "90+"),
        ("104", "yo", "90+"),
        ("3 and a half", " years", "3 and a half"),
        ("fifty-one", "", "fifty-one"),
        ("ninety-two", "-year-old", "ninety or older"),
        ("NINETY-ONE", "", "NINETY OR OLDER"),
        ("Ninety", "", "Ninety or older"),
        ("a hundred and one", "", "ninety or older"),
        ("hundred-and-first", " birthday", "ninetieth or later"),
        ("95th", " birthday", "90th or later"),
        ("60s", "", "60s"),
        ("90s", "", "90s or older"),
        ("nineties", "", "nineties or older"),
        ("96", " months", "96"),
        ("92", " days old", "92"),
        ("69.4", "", "69.4"),
        (" and three quarters", "", " and three quarters"),
        ("and a half", "", "and a half"),
        ("92", " M with chest pain", "90+"),
        ("95", " w/ CHF", "90+"),
        ("91", " h/o stroke", "90+"),
        ("93", "d", "90+"),
        ("96 months", "", "96 months"),
        ("late 90s", "", "late 90s or older"),
        ("late eighties", "", "late eighties"),
        ("2½", " yo", "2½"),
        ("92½", " yo", "90+"),
        ("92 to 94", "", "90+ to 90+"),
        ("88-92", "", "88-90+"),
        ("xyz", "", None),
        ("4417", "", None),
        ("", "", None),
    ],
)
def test_ages(value, after, expected):
    assert replace_age(value, after) == expected


@pytest.mark.parametrize(
    ("value", "after", "expected"),
    [("92", "yo", (92,)), ("88-92", "", (88, 92)), ("ninety-four", "", (94,)), ("96", " months", ()), ("944", "", ())],
)
def test_stated_ages_are_years(value, after, expected):
    assert stated_ages(value, after) == expected


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Age: <AGE>94</AGE>\nHR: 88", "90+"),
        ("<AGE>94</AGE> HR 88 BP 130/70", "90+"),
        ("<AGE>92</AGE> Day 3 of admission", "90+"),
        ("<AGE>93</AGE> MO 63101", "90+"),
        ("<AGE>98</AGE>\nMo.  Wt", "90+"),
        ("<AGE>ninety-two</AGE>\nDay 2", "ninety or older"),
        ("<AGE>94</AGE> days old", "94"),
        ("<AGE>95</AGE> HRS OLD", "95"),
        ("<AGE>93</AGE> mo", "93"),
    ],
)
def test_what_stands_behind_an_age_over_89_makes_it_smaller_only_as_its_unit(text, made):
    assert surrogates_of(text) == [made]


@pytest.mark.parametrize(
    ("before", "value", "expected"),
    [
        ("I turned ", "90", "90-something"),
        ("I turned ", "ninety-one", "ninety-something"),
        ("as she turns ", "94", "90-something"),
        ("he will be ", "90", "90-something"),
        ("she is ", "90", "90+"),
        ("I turned ", "85", "85"),
    ],
)
def test_an_age_that_is_reached_reads_as_english(before, value, expected):
    assert replace_age(value, " in January", before) == expected


def test_i_turned_90_in_january():
    assert surrogates_of("I turned <AGE>90</AGE> in <DATE>January</DATE>")[0] == "90-something"


@pytest.mark.parametrize(
    ("before", "expected"), [("here since the ", "90s"), ("from the late '", "90s"), ("in her ", "90s or older")]
)
def test_a_decade_of_the_calendar_is_no_age(before, expected):
    assert replace_age("90s", "", before) == expected


def test_the_patient_stays_as_old_in_two_spans():
    years, rest = surrogates_of("aged <AGE>ninety four</AGE><AGE> and three quarters</AGE>")

    assert (years, rest) == ("ninety or older", " and three quarters")
