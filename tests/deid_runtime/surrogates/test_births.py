"""Test that years of birth agree with the date of birth and the age, and that only the patient's own age counts."""

from datetime import date
from hashlib import sha256

import pytest

from deid_runtime.dates.parse import parse_date
from deid_runtime.dates.parts import DateStyle
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.births import births_in, likely_birth
from deid_runtime.surrogates.context import read_context
from deid_runtime.surrogates.over_89 import is_of_patient_now, note_year_by_days
from tests.deid_runtime.surrogates.marked import read, surrogates_of

KEYS = [sha256(f"birth {number}".encode()).digest() for number in range(12)]


def birth_told(*marked: str) -> date | None:
    notes = [read(text) for text in marked]
    return likely_birth(
        births_in(note, spans, [note.text[span.start : span.end] for span in spans]) for note, spans in notes
    )


def day_of(value: str) -> date:
    month, day, year = map(int, value.split("/"))
    return date(year, month, day)


@pytest.mark.parametrize(
    ("marked", "born"),
    [
        (["DOB: <DATE>02/08/1951</DATE>"], date(1951, 2, 8)),
        (["born in <DATE>May 1951</DATE>, seen <DATE>3/4/2018</DATE>"], date(1951, 5, 15)),
        (["mother born <DATE>02/08/1931</DATE>, seen <DATE>3/4/2018</DATE>"], None),
        (["her daughter was born on <DATE>02/08/2011</DATE>"], None),
        (["born in <DATE>1951</DATE>, seen <DATE>3/4/2018</DATE>"], None),
        (["born in <DATE>1951</DATE>, seen <DATE>3/4/2018</DATE> at <AGE>67</AGE>"], date(1951, 2, 1)),
        (["born in <DATE>1951</DATE>, seen <DATE>3/4/2018</DATE> with brother, <AGE>67</AGE>"], None),
        (["born <DATE>1951</DATE>", "DOB <DATE>02/08/1951</DATE>", "DOB <DATE>02/08/1951</DATE>"], date(1951, 2, 8)),
        (
            ["DOB <DATE>02/08/1951</DATE>", "DOB <DATE>03/08/1951</DATE>", "DOB <DATE>03/08/1951</DATE>"],
            date(1951, 3, 8),
        ),
        (["no date"], None),
    ],
)
def test_the_notes_tell_the_date_of_birth(marked, born):
    assert birth_told(*marked) == born
    assert birth_told(*reversed(marked)) == born


@pytest.mark.parametrize("key", KEYS, ids=range(12))
@pytest.mark.parametrize("seen", ["1/9/2018", "7/1/2018", "12/28/2018"])
@pytest.mark.parametrize("before_birthday", [0, 1])
def test_a_year_of_birth_agrees_with_the_age(key, seen, before_birthday):
    age = day_of(seen).year - 1951 - before_birthday
    marked = f"Born in <DATE>1951</DATE>. Seen <DATE>{seen}</DATE>, now <AGE>{age}</AGE>."
    year, now, kept = surrogates_of(marked, key=key)

    assert int(kept) == age
    assert day_of(now).year - int(year) in (age, age + 1)


@pytest.mark.parametrize("key", KEYS, ids=range(12))
def test_a_year_of_birth_agrees_with_the_date_of_birth_of_the_note(key):
    dob, year, _ = surrogates_of(
        "DOB <DATE>12/29/1951</DATE>, born in <DATE>1951</DATE>, seen <DATE>3/4/2018</DATE>", key=key
    )

    assert int(year) == day_of(dob).year


@pytest.mark.parametrize("key", KEYS, ids=range(12))
def test_a_year_of_birth_agrees_in_all_notes_of_the_patient(key):
    notes = [
        read("DOB <DATE>12/29/1951</DATE>, seen <DATE>3/4/2018</DATE>"),
        read("born in <DATE>1951</DATE>, seen <DATE>5/4/2018</DATE>", note="n2"),
    ]
    context, surrogates = read_context(notes), Surrogates(key)
    (dob, _), (year, _) = (surrogates.replacements(note, spans, None, context=context) for note, spans in notes)

    assert int(year) == day_of(dob).year


@pytest.mark.parametrize("key", KEYS, ids=range(12))
@pytest.mark.parametrize("other", ["a brother aged <AGE>97</AGE>", "her <AGE>97</AGE>-year-old brother", "no brother"])
def test_the_age_of_a_brother_does_not_move_the_year_of_birth(key, other):
    dob, seen, year, *_ = surrogates_of(
        f"DOB <DATE>05/06/1928</DATE>; seen <DATE>3/4/2012</DATE>; born in <DATE>1928</DATE>; has {other}", key=key
    )

    assert day_of(seen) - day_of(dob) == date(2012, 3, 4) - date(1928, 5, 6)
    assert int(year) == day_of(dob).year


@pytest.mark.parametrize(
    ("before", "after", "is_own"),
    [
        ("", "-year-old man", True),
        ("The patient is ", ", lives with her daughter", True),
        ("Source: daughter Ingrid. ", "F with CKD", True),
        ("Called by the daughter. She is ", ".", True),
        ("mother died at ", "", False),
        ("brother John, aged ", ", in Perth", False),
        ("his wife's ", "th birthday", False),
        ("sister Gwladys (", ") next door", False),
        ("lives with her ", "-year-old brother", False),
        ("an ", " y/o twin sister", False),
        ("great-aunt Birgit, ", ", visits", False),
        ("means to drive until ", "", False),
        ("Daughter called re: ", " F", True),
    ],
)
def test_whose_age_it_is(before, after, is_own):
    assert is_of_patient_now(before, after) is is_own


@pytest.mark.parametrize(
    ("dates", "year"),
    [
        (["3/18/2026"], 2025),  # still 89
        (["3/18/2026", "11/1/2026"], 2026),
        (["2026"], 2026),  # the day is not told
        (["3/18/2025"], 2026),
    ],
)
def test_the_ninetieth_birthday_counts_by_the_day(dates, year):
    parts = [parse_date(value, DateStyle(2026)) for value in dates]

    assert note_year_by_days(2026, date(1936, 10, 30), parts) == year
