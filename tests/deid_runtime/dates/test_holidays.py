"""Test named holidays: the day they move to, in the note's way of writing dates; never another holiday."""

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.dates.holiday_days import HOLIDAY, HOLIDAYS, easter, holiday_names, orthodox_easter
from deid_runtime.dates.holidays import plain_letters
from deid_runtime.dates.parts import DateStyle
from deid_runtime.lexicon.calendar_words import MONTHS
from tests.deid_runtime.dates.moving import replace_date
from tests.deid_runtime.surrogates.marked import read, surrogates_of

WORDS = DateStyle(2019)
FIGURES = DateStyle(2019, in_figures=True)


def months_apart(made: str, day: date) -> int:
    year, month = (int(made[-4:]), MONTHS["english"].index(made.split()[0]) + 1)
    return abs(12 * (year - day.year) + month - day.month)


@pytest.mark.parametrize("holiday", [each for each in HOLIDAYS if each.is_day], ids=lambda each: each.known[0])
@settings(deadline=None, max_examples=10)
@given(year=st.integers(1990, 2030), shift=st.integers(-365, 365))
def test_a_holiday_moves_by_exactly_the_date_shift(holiday, year, shift):
    moved = holiday.on(year) + timedelta(days=shift)
    for name in (holiday.name, *holiday.known):
        if not name or "fourth" in name or "4th" in name:
            continue  # already a date in words
        assert replace_date(f"{name} {year}", shift, FIGURES) == f"{moved.month}/{moved.day}/{moved.year}"


@pytest.mark.parametrize("holiday", [each for each in HOLIDAYS if not each.is_day], ids=lambda each: each.known[0])
def test_a_season_or_feast_of_the_moon_becomes_the_month_it_moves_to(holiday):
    for name in holiday.known:
        assert months_apart(replace_date(f"{name.title()} 2019", 40, WORDS), holiday.on(2019) + timedelta(days=40)) == 0


@pytest.mark.parametrize(
    ("value", "words", "figures"),
    [
        ("Thanksgiving 2019", "January 7, 2020", "1/7/2020"),
        ("Thanksgiving, 2019", "January 7, 2020", "1/7/2020"),
        ("Thanksgiving Day 2019", "January 7, 2020", "1/7/2020"),
        ("2019 Thanksgiving", "January 7, 2020", "1/7/2020"),
        ("Thanksgiving 19", "January 7, '20", "1/7/20"),
        ("Christmas of '18", "February 3, '19", "2/3/19"),
        ("Christmas", "February 3", "2/3"),
        ("christmas day", "february 3", "2/3"),
        ("XMAS", "FEBRUARY 3", "2/3"),
        ("MLK", "March 2", "3/2"),
        ("the New Year", "February 10", "2/10"),
        ("Thanksgiving eve", "January 6", "1/6"),
        ("the eve of Thanksgiving", "the eve of January 7", "the eve of 1/7"),
        ("last Christmas", "last February 3", "last 2/3"),
        ("Labor Day weekend", "October 12 weekend", "10/12 weekend"),
        ("the week after Easter", "the week after May 31", "the week after 5/31"),
        ("Easter Saturday", "May 30", "5/30"),
        ("Monday before Thanksgiving", "Saturday before January 7", "Saturday before 1/7"),
        ("Khmer New Year", "May 23", "5/23"),
        ("Bavarian Christmas", "February 3", "2/3"),
        ("Orthodox Easter 2019", "June 7, 2019", "6/7/2019"),
        ("Ramadan 2019", "May 2019", "May 2019"),
        ("18th of Ramadan", "May", "May"),
        ("2nd night Chanukah", "January", "January"),
        ("Christmas 2018 to New Year's 2019", "February 3, 2019 to February 10, 2019", "2/3/2019 to 2/10/2019"),
        ("Christmas and New Year's", "February 3 and February 10", "2/3 and 2/10"),
        ("Christmas-New Year's 2019", "February 3-February 10, 2019", "2/3-2/10/2019"),
        ("Christmas Day through 12/28/2018", "February 3 through 2/6/2019", "2/3 through 2/6/2019"),
        ("12/22/2018 - Christmas", "1/31/2019 - February 3", "1/31/2019 - 2/3"),
    ],
)  # fmt: skip
def test_a_holiday_is_written_as_the_note_writes_dates(value, words, figures):
    assert replace_date(value, 40, WORDS) == words
    assert replace_date(value, 40, FIGURES) == figures


def test_order_padding_and_short_months_are_those_of_the_note():
    assert replace_date("Christmas 2018", 40, DateStyle(2019, day_first=True)) == "3 February 2019"
    assert replace_date("Christmas 2018", 40, DateStyle(2019, short_months=True)) == "Feb 3, 2019"
    assert replace_date("Christmas 2018", 40, DateStyle(2019, day_first=True, padded=True, in_figures=True)) == (
        "03/02/2019"
    )


@pytest.mark.parametrize(
    ("value", "moved"),
    [
        ("Christmas 12/25/2018", "Sunday 2/3/2019"),
        ("12/25/2018 (Christmas Day)", "2/3/2019 (Sunday)"),
        ("Easter Sunday 21/04/2019", "Friday 31/05/2019"),
        ("Easter Monday 22 April 2019", "Saturday 1 June 2019"),
        ("Victory Day May 9", "Tuesday June 18"),
        ("THANKSGIVING 11/28", "TUESDAY 1/7"),
    ],
)
def test_a_holiday_beside_its_own_date_becomes_the_weekday(value, moved):
    """Test that no second date is added, because it would show that the first one was a holiday."""
    assert replace_date(value, 40, WORDS) == moved


def test_a_holiday_beside_its_own_date_in_another_span_becomes_the_weekday_too():
    holiday, dated = surrogates_of("seen <DATE>Christmas</DATE> <DATE>12/25/2018</DATE>")
    assert dated.count("/") == 2
    month, day, year = map(int, dated.split("/"))
    assert holiday == f"{date(year, month, day):%A}"

    dated, holiday = surrogates_of("<DATE>05/10/2026</DATE>  <DATE>Mother's Day</DATE>")
    month, day, year = map(int, dated.split("/"))
    assert holiday == f"{date(year, month, day):%A}"


def test_cinco_de_mayo_is_no_date_in_words_that_decides_how_dates_are_written():
    assert surrogates_of("<DATE>12/28/2023</DATE>: <DATE>Cinco de Mayo 2023</DATE>")[1].count("/") == 2


def test_intervals_to_the_other_dates_of_the_note_hold():
    admitted, discharged = surrogates_of(
        "admitted on <DATE>Christmas Day 2023</DATE>, discharged <DATE>12/28/2023</DATE>"
    )
    first, second = (date(int(y), int(m), int(d)) for m, d, y in (each.split("/") for each in (admitted, discharged)))

    assert (second - first).days == 3


@pytest.mark.parametrize(
    ("note", "year"),
    [
        ("<DATE>4/2/2024</DATE>, last use <DATE>Easter</DATE>", 2024),
        ("<DATE>1/9/2025</DATE>: since <DATE>Thanksgiving</DATE>", 2024),
        ("<DATE>1/9/2025</DATE>: cough since <DATE>Easter</DATE>", 2024),
        ("<DATE>6/9/2024</DATE>, <DATE>6/1/2024</DATE>; born <DATE>3/4/1951</DATE>; since <DATE>Easter</DATE>", 2024),
    ],
)
def test_a_holiday_without_a_year_is_the_last_one_before_the_date_before_it(note, year):
    *_, first, last = surrogates_of(note, days=20)
    _, spans = read(note)
    holiday = easter(year) if "Easter" in note else date(2024, 11, 28)
    text, _ = read(note)
    before = text.text[spans[-2].start : spans[-2].end]
    old, new = (date(int(y), int(m), int(d)) for m, d, y in (each.split("/") for each in (before, first)))
    expected = holiday + (new - old)

    assert last == f"{expected.month}/{expected.day}"


@settings(deadline=None, max_examples=150)
@given(
    holiday=st.sampled_from([name for each in HOLIDAYS for name in each.known]),
    form=st.sampled_from(["{}", "{} 2019", "{} of '19", "{} weekend", "the {}", "{} eve", "last {}"]),
    shift=st.integers(-365, 365).filter(bool),
    style=st.sampled_from([WORDS, FIGURES]),
)
def test_no_holiday_is_named_after_the_shift(holiday, form, shift, style):
    moved = replace_date(form.format(holiday.title()), shift, style)

    assert moved is not None
    named = HOLIDAY.search(plain_letters(moved)[0])
    # "The fourth" alone is the fourth of July; for a moved date it is the fourth of any month.
    assert named is None or "fourth" in named[0]


def test_orthodox_easter_is_that_of_the_julian_calendar():
    assert [orthodox_easter(year) for year in (2019, 2021, 2024, 2025)] == [
        date(2019, 4, 28), date(2021, 5, 2), date(2024, 5, 5), date(2025, 4, 20),
    ]  # fmt: skip


def test_a_day_that_no_list_knows_becomes_a_holiday_in_the_moved_year():
    [bare], [dated] = (
        surrogates_of(f"surgery on <DATE>{value}</DATE>") for value in ("feast of St Zebulon", "St Zebulon 2019")
    )

    assert bare.lower() in {name.lower() for name in holiday_names("US")}
    assert 2018 <= int(dated[-5:]) <= 2020
    assert dated[:-5] in holiday_names("US")
