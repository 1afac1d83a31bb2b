import re
from datetime import date, timedelta

import pytest

from deid_runtime.dates.parts import DateStyle
from deid_runtime.surrogates.over_89 import year_of_note, years_of_dates
from tests.deid_runtime.surrogates.marked import surrogates_of

SEEN = "<DATE>03/04/2019</DATE> <DATE>05/01/2019</DATE>"


def year(value: str) -> int:
    return int(re.findall(r"\d{4}", value)[-1])


@pytest.mark.parametrize("born", [1899, 1909, 1919, 1925, 1929])
def test_a_year_of_birth_does_not_tell_an_age_over_89(born):
    """Test that every year of birth gets the same surrogate, so that it reveals none."""
    for patient in range(8):
        marked = f"{SEEN} DOB <DATE>02/08/{{}}</DATE> <DATE>{{}}</DATE> <DATE>Feb 8, {{}}</DATE> <AGE>{{}}</AGE> yo"
        made = surrogates_of(marked.format(born, born, born, 2019 - born), patient=f"p{patient}")
        expected = surrogates_of(marked.format(1915, 1915, 1915, 104), patient=f"p{patient}")

        assert abs(year(made[2]) - year(expected[2])) <= 1
        assert year(made[3]) == year(expected[3])
        assert all(89 < year(made[0]) - year(value) <= 101 for value in made[2:5])
        assert made[5] == "90+"


def test_a_grouped_date_moves_in_day_and_month_with_the_others():
    for patient in range(8):
        first, born = surrogates_of("<DATE>03/04/2019</DATE> DOB <DATE>02/08/1921</DATE>", patient=f"p{patient}")
        month, day, moved_year = map(int, first.split("/"))
        expected = date(1921, 2, 8) + (date(moved_year, month, day) - date(2019, 3, 4))
        made = date(year(born), *map(int, born.split("/")[:2]))

        assert abs((made - expected.replace(year=made.year)).days) <= 2


def test_notes_of_the_same_five_years_agree_on_a_grouped_year():
    made = [surrogates_of(f"<DATE>03/04/{seen}</DATE> DOB <DATE>02/08/1921</DATE>")[1] for seen in range(2015, 2020)]

    assert len(set(made)) == 1


@pytest.mark.parametrize("born", [1930, 1950, 2001])
def test_a_date_of_birth_under_90_moves_like_every_other(born):
    for patient in range(8):
        seen, dob = surrogates_of(f"<DATE>03/04/2019</DATE> DOB <DATE>02/08/{born}</DATE>", patient=f"p{patient}")
        first, second = (date(year(v), *map(int, v.split("/")[:2])) for v in (seen, dob))

        assert first - second == date(2019, 3, 4) - date(born, 2, 8)


@pytest.mark.parametrize("dob", ["1951-01-03", "1951-12-30", "1951-07-02"])
def test_the_year_or_month_of_birth_alone_follows_the_date_of_birth(dob):
    born = date.fromisoformat(dob)
    for patient in range(12):
        marked = (
            f"b. <DATE>1951</DATE>, <DATE>{born:%B} 1951</DATE>, i.e. <DATE>{dob}</DATE>, seen <DATE>3/4/2019</DATE>"
        )
        alone, month, whole, _ = surrogates_of(marked, {"dob": dob}, patient=f"p{patient}")
        moved = date.fromisoformat(whole)

        assert (alone, month) == (f"{moved.year}", f"{moved:%B %Y}")
        assert moved != born


def test_age_and_year_of_birth_stay_coherent():
    for patient in range(30):
        marked = "<AGE>67</AGE> yo, born <DATE>1951</DATE>, DOB <DATE>02/08/1951</DATE>, seen <DATE>03/04/2018</DATE>"
        age, alone, dob, seen = surrogates_of(marked, {"dob": "1951-02-08"}, patient=f"p{patient}")
        born, now = (date(year(v), *map(int, v.split("/")[:2])) for v in (dob, seen))
        birthdays = now.year - born.year - ((now.month, now.day) < (born.month, born.day))

        assert age == "67"
        assert birthdays in (66, 67)  # years differ in length
        assert now - born == date(2018, 3, 4) - date(1951, 2, 8)
        assert int(alone) == born.year


@pytest.mark.parametrize(
    ("before", "value", "years"),
    [
        ("seen ", "05/20/23", (2023,)),  # later than the main year of the note, not 98 years earlier
        ("seen ", "26 Mar 24", (2024,)),
        ("DOB: ", "02/08/23", (1923,)),
        ("D.O.B. ", "02/08/23", (1923,)),
        ("was born on ", "Feb 8 '23", (1923,)),
        ("aka ", "02/08/31", (1931,)),  # the date of birth in the record
        ("seen ", "05/20/31", (2031,)),  # only its year
        ("seen ", "02/08/58", (1958,)),
        ("seen ", "02/08/1923", (1923,)),
    ],
)
def test_the_century_of_a_year_of_two_digits(before, value, years):
    date_in_note = (before, value)

    assert years_of_dates([date_in_note], DateStyle(2020), date(1931, 2, 8)) == {date_in_note: years}


def test_a_visit_in_a_note_that_names_the_year_of_birth_alone_is_of_this_century():
    visit = ("seen ", "1/6/21")

    # Such a note has the style of the year of birth, because it has no other year.
    assert years_of_dates([visit], DateStyle(2004), date(2004, 2, 29)) == {visit: (2021,)}
    assert years_of_dates([visit], DateStyle(1955), date(1955, 12, 24)) == {visit: (2021,)}


def test_a_visit_in_a_note_that_mostly_tells_of_earlier_years_is_not_taken_for_a_birth():
    made = surrogates_of("device of <DATE>2011</DATE>; seen <DATE>05/20/13</DATE>")

    assert made[1][-2:] in ("12", "13", "14")


@pytest.mark.parametrize(
    ("years", "ages", "note_year"),
    [
        ([1931, 2019, 2018], [], 2019),
        ([1931], [], 2017),  # no possible year is in the note
        ([], [], 2017),
        ([1921, 2005], [92], 2013),  # written in 2013 or later, and mentions 2005
        ([1969, 2019], [94], 2019),  # the age of another person
        ([1931, 2919], [], 2017),
        ([1944, 2025], [80, 81, 90], 2025),  # "until ninety" is no present age
        ([1931, 2011], [80, 80, 91], 2022),  # 80 at the one visit whose year it names
    ],
)
def test_the_year_that_ages_are_counted_to(years, ages, note_year):
    assert year_of_note(years, ages, None, 2017) == note_year


def test_the_age_of_another_patient_of_a_list_is_not_the_patients():
    assert year_of_note([1929, 2004], [75, 82, 90], date(1929, 1, 5), 2017) == 2004
    assert year_of_note([1929, 2018], [89, 90], date(1929, 1, 5), 2017) == 2019  # turned 90 after the last visit


def test_births_of_a_list_of_patients_tell_no_time_of_the_note():
    seen, *births = surrogates_of(
        "run <DATE>05/01/2025</DATE>\nLundeen | <DATE>1/14/40</DATE>\nOdegaard | <DATE>2/27/44</DATE>\n"
        "Bluestone | <DATE>12/30/39</DATE>\nXiong | <DATE>7/7/51</DATE>"
    )
    read = [[int(part) for part in value.split("/")] for value in (seen, *births)]
    moved = [date(1900 + year % 100, month, day) for month, day, year in read]
    shift = moved[0] - date(1925, 5, 1)

    assert moved[1:] == [
        date(1940, 1, 14) + shift,
        date(1944, 2, 27) + shift,
        date(1939, 12, 30) + shift,
        date(1951, 7, 7) + shift,
    ]


@pytest.mark.parametrize("aside", ["mother died at", "Her sister,", "PGM (", "means to drive until"])
def test_only_the_age_of_the_patient_moves_the_date_of_birth_out_of_line(aside):
    seen, dob, _, _ = surrogates_of(
        f"<DATE>03/04/2019</DATE> DOB <DATE>02/08/1940</DATE>, <AGE>79</AGE>, {aside} <AGE>91</AGE>"
    )
    first, second = (date(year(v), *map(int, v.split("/")[:2])) for v in (seen, dob))

    assert first - second == date(2019, 3, 4) - date(1940, 2, 8)


def test_no_date_shift_is_whole_weeks_or_years():
    for patient in range(60):
        [moved] = surrogates_of("<DATE>2019-03-04</DATE>", patient=f"p{patient}", days=1100)
        days = (date.fromisoformat(moved) - date(2019, 3, 4)).days

        assert days % 7
        assert abs(days) not in (0, 365, 366, 730, 731, 1095, 1096)
        assert timedelta(days=-1100) <= timedelta(days=days) <= timedelta(days=1100)
