"""Test which of two figures is the day, where no date of the note has a figure over 12."""

from datetime import date

import pytest

from deid_runtime.dates.forms import read_order, read_style
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.context import read_context
from tests.deid_runtime.surrogates.marked import KEY, read

BORN = date(1931, 3, 12)


@pytest.mark.parametrize(
    ("values", "locale", "is_day_first"),
    [
        (["12/3/1931"], "GB", True),
        (["12/3/1931"], "IE", True),
        (["12/3/1931"], "US", False),
        (["12/3/1931"], "CA", False),
        (["12/3/1931", "3/25/2020"], "GB", False),  # a date of the note tells more than its country
        (["12/3/1931", "25/3/2020"], "US", True),
        (["Thu 5/3/2020"], "US", True),  # so does a weekday: 5 March 2020 was a Thursday
        (["Thu 3/5/20"], "GB", False),
        (["12/3/1931", "1931-03-12"], "US", True),
        (["3/12/1931", "12 March 1931"], "GB", False),
        (["Thu 5/3/2020", "Thu 3/5/2020"], "US", False),  # as many signs for one as for the other
        (["Thu 3/5"], "GB", True),  # without a year, no weekday tells
        (["2/30/1931", "31/2/1931"], "GB", True),
    ],
)
def test_dates_tell_and_else_the_country(values: list[str], locale: str, is_day_first: bool) -> None:
    assert read_style(values, 2020, locale).day_first is is_day_first


@pytest.mark.parametrize(("values", "is_day_first"), [(["12/3/1931"], True), (["3/12/1931"], False)])
def test_the_date_of_birth_on_record_tells(values: list[str], is_day_first: bool) -> None:
    for locale in ("US", "GB"):
        assert read_style(values, 2020, locale, days=(BORN,)).day_first is is_day_first


def test_other_notes_of_the_patient_tell_more_than_the_country() -> None:
    assert read_order(["3/4/2020", "12/25/2020"]) is False
    assert read_order(["3/4/2020"]) is None
    assert read_style(["3/4/2020"], 2020, "GB", usual=False).day_first is False


def test_six_figures_follow_the_order_of_the_note() -> None:
    note, spans = read("NHS clinic, <DATE>25/3/2020</DATE> and <DATE>120331</DATE>")
    _, made = Surrogates(KEY, given_date_shifts={"p1": 31}).replacements(note, spans, None)

    assert made == "120431"


def test_a_british_note_keeps_its_intervals() -> None:
    note, spans = read("Seen by her GP in the NHS, <DATE>5/3/2020</DATE> and <DATE>9/4/2020</DATE>")
    made = Surrogates(KEY, given_date_shifts={"p1": 10}).replacements(note, spans, None)

    assert made == ["15/3/2020", "19/4/2020"]


def test_notes_of_a_patient_are_read_in_one_order() -> None:
    notes = [read(text) for text in ("<DATE>3/25/2020</DATE>", "Seen in the NHS by her GP, <DATE>5/3/2020</DATE>")]
    surrogates, context = Surrogates(KEY, given_date_shifts={"p1": 10}), read_context(notes)
    made = [surrogates.replacements(note, spans, None, context=context) for note, spans in notes]

    assert made == [["4/4/2020"], ["5/13/2020"]]
