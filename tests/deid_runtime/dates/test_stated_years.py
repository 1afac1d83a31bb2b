import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.dates.parts import DateStyle
from deid_runtime.dates.stated import stated_decade, stated_years

STYLE = DateStyle(2019)


@pytest.mark.parametrize(
    ("value", "years"),
    [
        ("3/14/17", (2017,)),
        ("2019", (2019,)),
        ("'08", (2008,)),
        ("Feb 68", (1968,)),
        ("10/35", (1935,)),
        ("9/'15", (2015,)),
        ("2-29-04", (2004,)),
        ("14-MAR-16", (2016,)),
        ("14MAR16", (2016,)),
        ("20190514", (2019,)),
        ("020618", (2018,)),
        ("2023-W12", (2023,)),
        ("Q3 2023", (2023,)),
        ("2018-2019", (2018, 2019)),
        ("'18-'19", (2018, 2019)),
        ("May-June 2012", (2012,)),
        ("3/14/2019 and 4/5/2020", (2019, 2020)),
        ("Christmas of '99", (1999,)),
        ("spring of 2018", (2018,)),
        ("3/14/2019 10:22 pm", (2019,)),
        ("2019-03-14T10:22:00Z", (2019,)),
        ("lO/13/94", (1994,)),
        ("March 5th, 2014", (2014,)),
        ("third of May, sixty-two", (1962,)),
        ("nineteen seventy-four", (1974,)),
        ("eight nine fifty five", (1955,)),
        ("December twenty sixth twenty twenty one", (2021,)),
        ("1O/l3/1994", (1994,)),
        ("3/14", ()),
        ("Tues 3/14", ()),
        ("12 May", ()),
        ("the 29th", ()),
        ("M/W/F", ()),
        ("Easter", ()),
        ("31", ()),
        ("1980s", ()),
        ("9" * 200, ()),
    ],
)
def test_the_years_that_a_date_names(value, years):
    assert stated_years(value, STYLE) == years


@pytest.mark.parametrize(("value", "decade"), [("1980s", 1980), ("the '60s", 1960), ("80s", 1980), ("1980", None)])
def test_a_decade(value, decade):
    assert stated_decade(value, STYLE) == decade


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="0123456789/-. ',:thMarchWQFridayOl", max_size=40))
def test_any_text_has_some_years_or_none(value):
    assert all(isinstance(year, int) for year in stated_years(value, STYLE))
