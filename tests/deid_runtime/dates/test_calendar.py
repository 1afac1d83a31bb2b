"""Test that all dates of a note agree in time: partial dates, ranges, weekdays, months, seasons, years, holidays."""

import random
import re
from datetime import date, timedelta
from hashlib import sha256
from itertools import combinations

import pytest

from deid_runtime.dates.calendar import settle
from deid_runtime.dates.holiday_days import holiday_names
from deid_runtime.dates.holidays import find_holiday
from deid_runtime.dates.parse import parse_date
from deid_runtime.dates.parts import DateStyle, single_dates
from deid_runtime.dates.replace import moved_date, read_dates
from deid_runtime.lexicon.numbers import ordinal_ending
from deid_runtime.surrogates.context import read_context
from tests.deid_runtime.surrogates.marked import read, surrogates_of

KEYS = [sha256(f"time {number}".encode()).digest() for number in range(12)]
STYLE = DateStyle(2023)


def settled(*values: str, style: DateStyle = STYLE) -> list[date]:
    """Return the days of the dates of a note."""
    parts = settle([parse_date(value, style) for value in values], style)
    return [date(day.year, day.month, day.day) for one in parts if one is not None for day in single_dates(one)]


def day_of(value: str) -> date:
    month, day, year = map(int, value.split("/"))
    return date(year, month, day)


@pytest.mark.parametrize(
    ("values", "place", "day"),
    [
        (["1/5/2024", "7/23"], 1, date(2023, 7, 23)),
        (["1/5/2024", "2/20"], 1, date(2024, 2, 20)),
        (["7/23", "07/23/2023", "10/5/2024", "12/6/2024"], 0, date(2023, 7, 23)),
        (["10/2/2023", "1/5", "4/10/2024"], 1, date(2024, 1, 5)),
        (["1/5/2024", "Sun 12/31"], 1, date(2023, 12, 31)),
        (["3/1/2023", "3/8/2024", "Thu 3/7"], 2, date(2024, 3, 7)),
        (["8/29/2025", "Mon 9/2"], 1, date(2025, 9, 2)),  # a wrong weekday does not move it by a year
        (["12/31-1/1", "1/5/2024"], 0, date(2023, 12, 31)),
        (["12/31-1/1", "1/5/2024"], 1, date(2024, 1, 1)),
        (["12/28 to 1/3/2024"], 0, date(2023, 12, 28)),
        (["6/1-11/20", "12/1/2023"], 1, date(2023, 11, 20)),
        (["Christmas 2023 to New Year's"], 1, date(2024, 1, 1)),
        (["1/9/2025", "Thanksgiving"], 1, date(2024, 11, 28)),
        (["07/28/2023", "the 3rd", "08/04/2023"], 1, date(2023, 8, 3)),
        (["08/04/2023", "the 3rd"], 1, date(2023, 8, 3)),
        (["03/28/2023", "the 3rd"], 1, date(2023, 4, 3)),
        (["7/15/2024", "Sept 4", "the 15th"], 2, date(2024, 7, 15)),
        (["02/11/2022", "02/19/2022", "Thanksgiving", "Friday the 11th"], 3, date(2022, 2, 11)),
        (["4/19/2023", "January", "the 11th"], 2, date(2023, 1, 11)),
        (["3/5/2024", "the 31st"], 1, date(2024, 3, 31)),
        (["March 2019", "22, 2019"], 1, date(2019, 3, 22)),
        (["2/10/2023", "2/29"], 1, date(2020, 2, 29)),
        (["5/1/1951", "3/4", "3/5/2019", "6/1/2019"], 1, date(2019, 3, 4)),
    ],
)
def test_what_a_date_leaves_out_comes_from_the_other_dates(values, place, day):
    assert settled(*values)[place] == day


@pytest.mark.parametrize("values", [["3/4"], ["Tuesday", "the 5th"], ["MWF"], ["2/30", "3/4/2023"], ["2023"], []])
def test_what_nothing_tells_stays_as_it_was_read(values):
    parts = [parse_date(value, STYLE) for value in values]

    assert settle(parts, STYLE) == parts


def test_a_full_date_does_not_depend_on_the_note():
    for key in KEYS:
        alone = surrogates_of("<DATE>07/23/2023</DATE>", key=key)
        for other in ("<DATE>1/5/2019</DATE>", "<DATE>the 3rd</DATE>", "<DATE>Tue 2/3</DATE> <DATE>2/3/2030</DATE>"):
            assert surrogates_of(f"{other} <DATE>07/23/2023</DATE>", key=key)[-1:] == alone


@pytest.mark.parametrize("key", KEYS, ids=range(12))
def test_a_range_over_the_new_year_keeps_its_length(key):
    seen, nights = surrogates_of("<DATE>1/5/2024</DATE>: slept badly <DATE>12/31-1/1</DATE>", key=key)
    first, second = (day_of(seen) - timedelta(days=days) for days in (5, 4))

    assert nights == f"{first.month}/{first.day}-{second.month}/{second.day}"


@pytest.mark.parametrize("key", KEYS, ids=range(12))
def test_a_day_of_the_stay_is_never_after_the_discharge(key):
    marked = "Adm <DATE>07/28/2023</DATE>; febrile on <DATE>the 3rd</DATE>; discharged <DATE>08/04/2023</DATE>"
    _, febrile, discharged = surrogates_of(marked, key=key)
    day = day_of(discharged) - timedelta(days=1)

    assert febrile == f"the {day.day}{ordinal_ending(day.day)}"


@pytest.mark.parametrize("key", KEYS, ids=range(12))
def test_the_same_day_with_and_without_its_year_agrees(key):
    marked = "<DATE>7/23</DATE>, signed <DATE>07/23/2023</DATE>; seen <DATE>2/2/2024</DATE>, <DATE>3/2/2024</DATE>"
    partial, full, *_ = surrogates_of(marked, key=key)

    assert partial == f"{day_of(full).month}/{day_of(full).day}"


@pytest.mark.parametrize("key", KEYS, ids=range(12))
def test_holidays_keep_their_order_and_interval(key):
    [stay] = surrogates_of("<DATE>Christmas 2023 to New Year's 2024</DATE>", key=key)
    [first, second] = [(day.year, day.month, day.day) for day in single_dates(parse_date(stay, STYLE))]

    assert (date(*second) - date(*first)).days == 7


@pytest.mark.parametrize("key", KEYS, ids=range(12))
def test_generated_timelines_keep_intervals_order_and_weekdays(key):
    """Test that every date of a note, in whatever form, is written as its day plus the shift of the patient."""
    chance = random.Random(key)
    for _ in range(40):
        admitted = date(2015, 1, 1) + timedelta(days=chance.randrange(3650))
        discharged = admitted + timedelta(days=chance.randrange(1, 27))
        events = [(admitted, f"{admitted:%m/%d/%Y}", "%m/%d/%Y")]
        for day in sorted(admitted + timedelta(days=chance.randrange((discharged - admitted).days)) for _ in range(8)):
            events.append((day, *written(day, chance, FORMS)))
        events.append((discharged, f"{discharged:%m/%d/%Y}", "%m/%d/%Y"))
        for _ in range(4):
            day = discharged + timedelta(days=chance.randrange(-120, 60))
            events.append((day, *written(day, chance, FAR_FORMS)))
        made = surrogates_of("; ".join(f"<DATE>{text}</DATE>" for _, text, _ in events), key=key)
        shift = day_of(made[0]) - admitted

        expected = [in_form(day + shift, form) for day, _, form in events]
        assert [plain(text) for text in made] == [plain(text) for text in expected]


FAR_FORMS = ["%m/%d/%Y", "%Y-%m-%d", "%B %d, %Y", "%m/%d", "%a %m/%d", "%d %b", "range", "%A"]
FORMS = [*FAR_FORMS, "day"]


def plain(text):
    """Return a date without leading zeros, with months of three letters: these follow the style of the note."""
    return re.sub(r"\b0", "", re.sub(r"([A-Z][a-z]{2})[a-z]*(?=\W)|(?<=\d )([A-Z][a-z]{2})[a-z]*", r"\1\2", text))


def written(day, chance, forms):
    form = chance.choice(forms)
    return in_form(day, form), form


def in_form(day, form):
    if form == "day":
        return f"the {day.day}{ordinal_ending(day.day)}"
    if form == "range":
        return f"{day:%m/%d}-{day + timedelta(days=3):%m/%d}"
    return day.strftime(form)


@pytest.mark.parametrize("key", KEYS, ids=range(12))
def test_months_quarters_seasons_and_years_keep_their_order(key):
    """Test that intervals of a kind stay the same, and that nothing that was wholly before another is behind it."""
    chance = random.Random(key)
    for _ in range(20):
        start = date(2012, 1, 1) + timedelta(days=chance.randrange(3650))
        days = [start + timedelta(days=chance.randrange(900)) for _ in range(12)]
        forms = [chance.choice(["%B %Y", "%m/%Y", "%Y", "Q", "%m/%d/%Y"]) for _ in days]
        texts = [coarse(day, form) for day, form in zip(days, forms, strict=True)]
        made = surrogates_of("; ".join(f"<DATE>{text}</DATE>" for text in texts), key=key)
        pairs = [(period(old), period(new)) for old, new in zip(texts, made, strict=True)]

        for (old, new), (other_old, other_new) in combinations(pairs, 2):
            assert not (old[1] < other_old[0] and new[0] > other_new[1])
            assert not (old[0] > other_old[1] and new[1] < other_new[0])
        for form in set(forms):
            moves = {
                months_between(old, new)
                for (old, new), used in zip(pairs, forms, strict=True)
                if used == form != "%m/%d/%Y"
            }
            assert len(moves) <= 1


def coarse(day, form):
    return f"Q{(day.month + 2) // 3} {day.year}" if form == "Q" else day.strftime(form)


def months_between(old, new):
    return 12 * (new[0].year - old[0].year) + new[0].month - old[0].month


def period(text):
    """Return the first and last day that a text names."""
    months = {f"{date(2000, month, 1):%B}": month for month in range(1, 13)}
    words = text.split(" ")
    if text.count("/") == 2:
        return day_of(text), day_of(text)
    if text.isdecimal():
        return date(int(text), 1, 1), date(int(text), 12, 31)
    if text[0] == "Q":
        first, size = date(int(words[1]), 3 * int(text[1]) - 2, 1), 3
    elif "/" in text:
        first, size = date(int(text.split("/")[1]), int(text.split("/")[0]), 1), 1
    else:
        first, size = date(int(words[1]), months[words[0]], 1), 1
    following = first.year * 12 + first.month - 1 + size
    return first, date(following // 12, following % 12 + 1, 1) - timedelta(days=1)


@pytest.mark.parametrize(
    ("name", "locale", "day"),
    [
        ("Thanksgiving 2023", "US", date(2023, 11, 23)),
        ("Thanksgiving 2023", "CA", date(2023, 10, 9)),
        ("Mother's Day 2024", "US", date(2024, 5, 12)),
        ("Mother's Day 2024", "GB", date(2024, 3, 10)),
        ("Father's Day 2024", "AU", date(2024, 9, 1)),
        ("Labour Day 2024", "NZ", date(2024, 10, 28)),
        ("Independence Day 2024", "IN", date(2024, 8, 15)),
        ("Christmas 2023", "other", date(2023, 12, 25)),
    ],
)
def test_a_holiday_is_on_its_day_in_the_country_of_the_note(name, locale, day):
    assert settled(name, style=DateStyle(2023, locale=locale)) == [day]
    assert find_holiday(name, locale=locale).on(day.year) == day


def test_an_unknown_feast_becomes_a_holiday_of_the_country():
    assert {"Thanksgiving", "Black Friday"} <= set(holiday_names("US"))
    assert "Boxing Day" in holiday_names("GB")
    assert not {"Thanksgiving", "Black Friday", "Juneteenth"} & set(holiday_names("GB"))


def test_a_weekday_in_place_of_a_holiday_agrees_with_its_date():
    for key in KEYS:
        [named, full] = surrogates_of("seen <DATE>Victory Day May 9</DATE>, <DATE>6/1/2024</DATE>", key=key)
        day = date(2024, 5, 9) + (day_of(full) - date(2024, 6, 1))

        assert named == f"{day:%A %B} {day.day}"


def test_what_begins_with_a_weekday_is_no_range_of_days():
    [parts] = read_dates(["Fri 02-09"], DateStyle(2018, padded=True))

    assert moved_date(parts, 3) == "Mon 02-12"


def test_a_note_without_years_takes_that_of_the_patient_when_all_notes_are_known():
    first, second = read("seen <DATE>2/20/2024</DATE>"), read("again <DATE>3/5</DATE>", note="n2")

    assert read_context([first, second]).year == 2024
    assert read_context([second]).year is None
