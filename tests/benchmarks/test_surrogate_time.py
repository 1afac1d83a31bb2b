"""Test the check of time: it reads plain dates, and reports each fault that it exists for."""

import importlib.util
import sys
from datetime import date
from pathlib import Path

import pytest

from tests.deid_runtime.surrogates.marked import read

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def check():
    before = list(sys.path)
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("surrogate_time", FOLDER / "surrogate_time.py")
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def faults(check, marked, made, dob=""):
    """Return the faults of one note whose dates and ages became ``made``."""
    note, spans = read(marked)
    counts = check.Counts()
    labelled = check.AnnotatedNote(note.id, note.patient, "", note.text, tuple(spans))
    pairs = check._pairs(labelled, made, dob, counts)
    shift = check._check_timeline(pairs, counts)
    check._check_births(labelled, pairs, dob, shift, counts)
    return {kind.split(": ")[1] for kind in counts.faults} - {"any"}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("3/4/2019", "day"),
        ("3/4/19", "day"),
        ("Mon, March 4, 2019", "day"),
        ("2019-03-04", "day"),
        ("3/4", "day of year"),
        ("Christmas", "day of year"),
        ("the 3rd", "day of month"),
        ("March 2019", "month"),
        ("2019", "year"),
        ("Tuesdays", "weekday"),
    ],
)
def test_plain_dates_are_read(check, value, kind):
    assert [mention.kind for mention in check.read_mentions(value, False, 2020)] == [kind]


@pytest.mark.parametrize("value", ["13/13/2019", "3/4/28", "spring", "4 marzo", "2/30/2019"])
def test_what_is_not_plain_is_not_read(check, value):
    assert check.read_mentions(value, False, 2020) == []


def test_the_order_of_figures_is_that_of_the_note(check):
    assert check.is_day_first(["23/4/2019", "3/4/2019"]) is True
    assert check.is_day_first(["4/23/2019"]) is False
    assert check.is_day_first(["4/23/2019", "23/4/2019"]) is None
    assert check.read_mentions("3/4/2019", True, 2020)[0].day == date(2019, 4, 3)


NOTE = "<DATE>2/20/2024</DATE>; <DATE>3/4/2024</DATE>; <DATE>{}</DATE>"


@pytest.mark.parametrize(
    ("value", "right", "wrong", "fault"),
    [
        ("3/1/2024", "3/11/2024", "3/12/2024", "interval"),
        ("2/28", "3/9", "3/10", "interval"),
        ("2/27-3/1", "3/8-3/11", "3/8-3/10", "range"),
        ("Tue 2/27", "Fri 3/8", "Sat 3/8", "weekday"),
        ("Tuesday", "Friday", "Saturday", "weekday"),
        ("December 2023", "January 2024", "April 2024", "order"),
        ("2023", "2023", "2025", "order"),
    ],
)
def test_a_fault_of_time_is_reported(check, value, right, wrong, fault):
    def found(made):
        return faults(check, NOTE.format(value).replace("; ", " and later ; "), ["3/1/2024", "3/14/2024", made])

    assert found(right) == set()
    assert fault in found(wrong)


def test_ages_and_births_that_disagree_are_reported(check):
    marked = (
        "DOB <DATE>2/8/1951</DATE>, <DATE>1951</DATE>, <AGE>67</AGE>, <DATE>3/1/2018</DATE>, seen <DATE>3/4/2018</DATE>"
    )
    visits = ["67", "3/11/2018", "3/14/2018"]

    assert faults(check, marked, ["2/18/1951", "1951", *visits]) == set()
    assert faults(check, marked, ["2/18/1951", "1952", *visits]) == {"year disagrees"}
    assert "age disagrees" in faults(check, marked, ["2/18/1947", "1947", *visits])
    assert faults(check, marked, ["2/18/1951", "1952", *visits], dob="1931-02-08") == set()
