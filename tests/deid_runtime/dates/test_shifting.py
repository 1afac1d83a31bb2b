from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.dates.forms import read_style
from deid_runtime.dates.parts import DateStyle
from deid_runtime.dates.shift import shift_day
from deid_runtime.lexicon.calendar_words import MONTHS
from deid_runtime.lexicon.numbers import cardinal, ordinal, ordinal_ending
from tests.deid_runtime.dates.moving import replace_date

STYLE = DateStyle(2019)


@pytest.mark.parametrize(
    ("value", "moved"),
    [
        ("March 5th, 2014", "April 14th, 2014"),
        ("03-05-2014", "04-14-2014"),
        ("3/5/14", "4/14/14"),
        ("2014-03-05", "2014-04-14"),
        ("2014/12/01", "2015/01/10"),
        ("31/12/2018", "9/2/2019"),
        ("23.02.2012", "03.04.2012"),
        ("20210705", "20210814"),
        ("10.ix", "20.x"),
        ("3.IV.21", "13.V.21"),
        ("25/XI/2019", "4/I/2020"),
        ("17-IV-1966", "27-V-1966"),
        ("Sat 5-V-84", "Thu 14-VI-84"),
        ("Mon 5-XI-84", "Sat 15-XII-84"),
        ("Sun 5-II-84", "Fri 16-III-84"),
        ("02152010", "03272010"),
        ("03MAY16", "12JUN16"),
        ("20Jun2024", "30Jul2024"),
        ("13FEB", "25MAR"),
        ("02-DEC-2015", "11-JAN-2016"),
        ("Tues 3/14/17", "Sun 4/23/17"),
        ("Wednesday, March 15, 2017", "Monday, April 24, 2017"),
        ("07-06-2022, Wed", "08-15-2022, Mon"),
        ("F 3/8", "W 4/17"),
        ("3/14", "4/23"),
        ("12/25", "2/3"),
        ("the 3rd of February", "the 15th of March"),
        ("3/2017", "4/2017"),
        ("2023-11", "2023-12"),
        ("9/'15", "10/'15"),
        ("10/35", "11/35"),
        ("Feb 68", "Mar 68"),
        ("sept. 2016", "oct. 2016"),
        ("may 2019", "june 2019"),
        ("MARCH", "APRIL"),
        ("mid-March", "mid-April"),
        ("May-June 2012", "June-July 2012"),
        ("Dec 3 - 5", "Jan 12 - 14"),
        ("3/14/2019 and 4/5", "4/23/2019 and 5/15"),
        ("2019", "2019"),
        ("'08", "'08"),
        ("Mondays", "Saturdays"),
        ("wed.", "mon."),
        ("M/W/F", "M/W/S"),
        ("MWF", "MWS"),
        ("Mon-Thu", "Sat-Tue"),
        ("Christmas of '18", "February 3, '19"),
        ("T'giving 2019", "January 7, 2020"),
        ("labor day wknd", "october 12 wknd"),
        ("spring of 2018", "spring of 2018"),
        ("fall 2013", "fall 2013"),
        ("1980s", "1980s"),
        ("eighties", "eighties"),
        ("January first", "February tenth"),
        ("third of May, sixty-two", "twelfth of June, sixty-two"),
        ("December twenty sixth twenty twenty one", "February fourth twenty twenty two"),
        ("eight nine fifty five", "nine eighteen fifty five"),
        ("2019-03-14T10:22:00Z", "2019-04-23T10:22:00Z"),
        ("3/14/2019 10:22 pm", "4/23/2019 10:22 pm"),
        ("2023-W12", "2023-W18"),
        ("18 de mayo de 2024", "27 de junio de 2024"),
        ("28 avril", "7 juin"),
        ("1O/l3/1994", "11/22/1994"),
        ("2-29-04", "4-9-04"),
        ("28OCT22", "7DEC22"),
        ("01Jul2024", "10Aug2024"),
        ("lO/13/94", "11/22/94"),
        ("CINCO DE MAYO", "JUNE 14"),
        ("April Fools' Day", "May 11"),
        ("the Fourth of July", "the Thirteenth of August"),
        ("4th of July", "13th of August"),
        ("4th of July 2019", "13th of August 2019"),
        ("Thursday the 4th of July", "Tuesday the 13th of August"),
        ("Victory Day May 9", "Tuesday June 18"),
        ("Tết", "March"),
        ("Twenty-first of June 2012", "Thirty-first of July 2012"),
        ("the second Sunday of January", "the third Friday of February"),
        ("1st week of May", "2nd week of June"),
        ("2023-2024", "2023-2024"),
        ("'18-'19", "'18-'19"),
        ("Q2 2023", "Q2 2023"),
        ("Feb 29", "Apr 9"),
        ("Feb 30, 2019", "Apr 32, 2019"),
        ("2/30/2019", "4/32/2019"),
        ("00/15/2019", "00/26/2019"),
    ],
)  # fmt: skip
def test_a_date_moves_by_forty_days_in_its_own_format(value, moved):
    assert replace_date(value, 40, STYLE) == moved


@pytest.mark.parametrize(
    ("value", "moved"),
    [
        ("2023-2024", "2024-2025"), ("2019-20", "2020-21"), ("'18-'19", "'19-'20"), ("2023-11", "2024-09"),
        ("Q3 2023", "Q2 2024"), ("4Q '22", "3Q '23"), ("Q1", "Q4"), ("Q4/2022", "Q3/2023"), ("1980s", "1980s"),
        ("spring of 2018", "winter of 2019"),
        ("2019", "2020"), ("Easter 2019", "February 15, 2020"),
    ],
)  # fmt: skip
def test_what_is_longer_than_a_day_moves_by_three_hundred_days(value, moved):
    assert replace_date(value, 300, STYLE) == moved


@pytest.mark.parametrize("value", ["xx--7 .", "", "9999-12-31", "Q7", "fish", "00/00/0000", "1" * 500])
def test_what_is_no_date_is_left_to_the_caller(value):
    moved = replace_date(value, 40, STYLE)

    assert moved is None or moved != value or not value


@pytest.mark.parametrize(
    ("values", "style"),
    [
        (["3/4/19", "23/4/19", "2020-01-02", "5 May 2020"], DateStyle(2020, day_first=True, in_figures=True)),
        (["03/04/2018", "12/30/2018"], DateStyle(2018, padded=True, in_figures=True)),
        (["3 Jun 2017", "Sept 9"], DateStyle(2017, short_months=True)),
        (["03 June 2017"], DateStyle(2017, padded_days=True)),
        (["5/6/21", "7/8/21", "1/2/50"], DateStyle(2021, in_figures=True)),
        ([], DateStyle(2016)),
        (["09/02/1978", "1/23/25", "1/25/25"], DateStyle(2025, in_figures=True)),
        (["02/08/1931", "2/8/31"], DateStyle(1931, in_figures=True)),
    ],
)
def test_the_style_of_a_note_is_read_from_its_dates(values, style):
    assert read_style(values, 2016) == style


def test_an_ambiguous_date_follows_the_order_of_the_note():
    assert replace_date("3/4/19", 1, DateStyle(2019, day_first=True)) == "4/4/19"
    assert replace_date("3/4/19", 1, DateStyle(2019)) == "3/5/19"


def words(number: int) -> str:
    return cardinal(number) if number > 9 else f"oh {cardinal(number)}"


#: Maps a name to the function that writes a date in that format; formats of the annotation guidelines and the corpus.
FORMS = {
    **{form: lambda day, form=form: day.strftime(form) for form in (
        "%m/%d/%Y", "%m/%d/%y", "%m-%d-%Y", "%m.%d.%Y", "%m.%d.%y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d",
        "%m%d%Y", "%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%d %b %Y", "%d%b%Y", "%d%b%y", "%b %d, %Y", "%b %d %Y",
        "%b. %d, %Y", "%B %d, %Y", "%A, %B %d, %Y", "%A %d %B %Y", "%a %m/%d/%y", "%a, %d %b %Y", "%m/%d/%Y %a",
        "%Y-%m-%dT10:22:00Z",
        "%m/%d/%Y 10:22 pm", "%m/%d/'%y",
    )},
    "upper case": lambda day: day.strftime("%a %d %b %Y").upper(),
    "lower case": lambda day: day.strftime("%A, %B %d, %Y").lower(),
    "unpadded": lambda day: f"{day.month}/{day.day}/{day.year}",
    "unpadded, short year": lambda day: f"{day.month}/{day.day}/{day.year % 100:02}",
    "unpadded, month in words": lambda day: f"{day:%B} {day.day}, {day.year}",
    "ordinal": lambda day: f"{day:%B} {day.day}{ordinal_ending(day.day)}, {day.year}",
    "ordinal first": lambda day: f"the {day.day}{ordinal_ending(day.day)} of {day:%B}, {day.year}",
    "ordinal in words": lambda day: f"{day:%B} {ordinal(day.day)}, {day.year}",
    "all in words": lambda day: f"{ordinal(day.day)} of {day:%B}, {cardinal(day.year // 100)} {words(day.year % 100)}",
    "weekday and ordinal": lambda day: f"{day:%A} the {day.day}{ordinal_ending(day.day)} of {day:%B} {day.year}",
    "Spanish": lambda day: f"{day.day} de {SPANISH[day.month - 1]} de {day.year}",
    "French": lambda day: f"{day.day} {FRENCH[day.month - 1]} {day.year}",
    "range": lambda day: f"{day:%m/%d/%Y} - {day + timedelta(days=5):%m/%d/%Y}",
    "two dates": lambda day: f"{day:%Y-%m-%d} and {day + timedelta(days=40):%Y-%m-%d}",
}  # fmt: skip
SPANISH, FRENCH = ([month.lower() for month in MONTHS[writing]] for writing in ("spanish", "french"))


@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None, max_examples=12)
@given(day=st.dates(date(1923, 1, 1), date(2018, 12, 31)), shift=st.integers(-365, 365))
def test_full_dates_of_every_format_move_by_exactly_the_date_shift(form, day, shift):
    write = FORMS[form]
    is_padded = not form.startswith(("unpadded", "French", "Spanish"))
    style = DateStyle(2019, padded=is_padded, short_months="%b" in form or form == "upper case", padded_days=is_padded)

    assert replace_date(write(day), shift, style) == write(day + timedelta(days=shift))


@pytest.mark.parametrize(
    ("value", "moved"),
    [
        ("March five nineteen sixty-two", "August two nineteen sixty-two"),
        ("May three, nineteen forty-one", "September thirty, nineteen forty-one"),
        ("June two", "October thirty"),
        ("March twenty-one", "August eighteen"),
        ("March twenty nineteen", "August twenty nineteen"),
        ("March twenty nineteen sixty-two", "August seventeen nineteen sixty-two"),
        ("March sixty-two", "August sixty-two"),
        ("Christmas nineteen sixty-two", "May twenty-fourth nineteen sixty-three"),
        ("Easter two thousand nine", "September ninth two thousand nine"),
        ("two weeks of May", "two weeks of October"),
        ("12:25:1985", "5:24:1986"),
        ("12:06:19", "05:04:20"),
        ("3/4/19 0800", "8/1/19 0800"),
        ("10/5 1200", "3/3 1200"),
        ("05/19/2019@1430", "10/16/2019@1430"),
        ("3/4/19 8 am", "8/1/19 8 am"),
        ("3/4/2019 14:30 EST", "8/1/2019 14:30 EST"),
        ("2019-03-04 08:00:00 UTC", "2019-08-01 08:00:00 UTC"),
        ("20190304143000", "20190801143000"),
        ("Sep 5-7, 2019", "Feb 2-4, 2020"),
        ("Sep 1-3, 2019", "Jan 29-31, 2020"),
        ("Sep 3-5, 2019", "Jan 31-Feb 2, 2020"),
        ("3-5 September 2019", "31 January-2 February 2020"),
        ("24-26 November 2019", "22-24 April 2020"),
        ("3/4, 3/5", "8/1, 8/2"),
        ("03\u201304\u20132019", "08\u201301\u20132019"),
        ("2020-03-04/2020-03-06", "2020-08-01/2020-08-03"),
        ("the fourth of March, 2019", "the first of August, 2019"),
        ("Mar-Apr 2019", "Aug-Sep 2019"),
        ("mar 9 jun", "vie 6 nov"),
        ("last Wednesday", "last Saturday"),
        ("May fifth of '18", "October second of '18"),
        ("the Fourth of July of '18", "the First of December of '18"),
    ],
)
def test_rarer_forms_of_dates_move(value, moved):
    assert replace_date(value, 150, DateStyle(2019)) == moved


@pytest.mark.parametrize(
    "value",
    ["Monday eleven", "10/5 2019", "3/4 '19", "March fifteen millicuries", "Christmas two quist", "May 5 quist"],
)
def test_what_is_not_read_whole_is_not_moved_in_part(value):
    assert replace_date(value, 150, DateStyle(2019)) is None


@settings(deadline=None, max_examples=30)
@given(day=st.dates(date(1923, 1, 1), date(2018, 12, 31)), shift=st.integers(-365, 365))
def test_a_day_first_note_keeps_its_order(day, shift):
    style = DateStyle(2019, day_first=True, padded=True)

    assert replace_date(f"{day:%d/%m/%Y}", shift, style) == f"{day + timedelta(days=shift):%d/%m/%Y}"


@pytest.mark.parametrize("form", ["%m/%d", "%d-%b", "%B %d", "%a %m/%d", "%A, %B %d"])
@settings(deadline=None, max_examples=25)
@given(day=st.dates(date(2019, 1, 1), date(2019, 12, 31)), shift=st.integers(-365, 365))
def test_a_date_without_a_year_moves_within_the_year_of_the_note(form, day, shift):
    style = DateStyle(2019, padded=True, short_months="%b" in form, padded_days=True)

    assert replace_date(day.strftime(form), shift, style) == (day + timedelta(days=shift)).strftime(form)


@pytest.mark.parametrize("form", ["%B %Y", "%b %Y", "%m/%Y", "%Y-%m", "%B '%y"])
@settings(deadline=None, max_examples=25)
@given(month=st.dates(date(1923, 1, 1), date(2018, 12, 31)), shift=st.integers(-365, 365))
def test_a_month_moves_by_whole_months(form, month, shift):
    style = DateStyle(2019, padded=True, short_months="%b" in form)
    place = month.year * 12 + month.month - 1 + round(shift / (365.2425 / 12))

    assert replace_date(month.strftime(form), shift, style) == date(place // 12, place % 12 + 1, 1).strftime(form)


@settings(deadline=None, max_examples=25)
@given(year=st.integers(1923, 2018), shift=st.integers(-365, 365))
def test_a_year_moves_by_whole_years_in_every_form(year, shift):
    moved = year + round(shift / 365.2425)

    assert replace_date(str(year), shift, STYLE) == str(moved)
    assert replace_date(f"'{year % 100:02}", shift, STYLE) == f"'{moved % 100:02}"


@settings(deadline=None, max_examples=50)
@given(st.integers(1900, 2100), st.integers(1, 12), st.integers(29, 99), st.integers(-365, 365))
def test_impossible_days_stay_impossible(year, month, day, shift):
    def exists(y, m, d):
        try:
            date(y, m, d)
        except ValueError:
            return False
        return True

    assert exists(*shift_day(year, month, day, shift)) is exists(year, month, day)


@settings(deadline=None, max_examples=50)
@given(st.text(alphabet="0123456789𝟎٣/-. ',:thMarchFriday", max_size=30), st.integers(-400, 400))
def test_nothing_that_looks_like_a_date_raises(value, shift):
    replace_date(value, shift, STYLE)


def test_a_figure_of_another_script_is_no_harm():
    for value in ("𝟎", "𝟑rd", "٣ March", "𝟑 March 2014"):
        assert replace_date(value, 40, STYLE) != value


def test_a_letter_read_for_zero_stays_where_it_was():
    style = DateStyle(2022)

    assert replace_date("O4-20-22", 139, style) == "O9-06-22"
    assert replace_date("O8/O9/55", 30, style) == "O9/O8/55"
