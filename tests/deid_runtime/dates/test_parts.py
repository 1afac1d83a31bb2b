"""Test each step alone: read a date into its parts, move the parts, write the date again."""

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.dates.parse import parse_date
from deid_runtime.dates.parts import DateParts, DateStyle, Form, Piece
from deid_runtime.dates.render import render
from deid_runtime.dates.shift import shift
from tests.strategies import texts

STYLE = DateStyle(2019)


def day_of(parts):
    return parts.year, parts.month, parts.day


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("3/4/2019", (2019, 3, 4)),
        ("2019-03-04", (2019, 3, 4)),
        ("March 4, 2019", (2019, 3, 4)),
        ("4 marzo", (2019, 3, 4)),
        ("20190304", (2019, 3, 4)),
        ("2/30/2019", (2019, 2, 30)),
        ("13/45/2019", (2019, 13, 45)),
        ("2/29", (2016, 2, 29)),
        ("March 2019", (2019, 3, 15)),
        ("2017", (2017, 7, 2)),
        ("the 80s", (1985, 1, 1)),
        ("Q3 2023", (2023, 8, 15)),
        ("winter 2018", (2018, 1, 15)),
        ("Christmas 2018", (2018, 12, 25)),
        ("May fifth, nineteen sixty-two", (1962, 5, 5)),
        ("Monday", (None, None, None)),
        ("MWF", (None, None, None)),
    ],
)
def test_a_date_stands_for_a_day(value, day):
    assert day_of(parse_date(value, STYLE)) == day


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("M-F", Form.SCHEDULE),
        ("first week of May 2019", Form.WEEK_OF_MONTH),
        ("5-7 September 2019", Form.DAYS_OF_MONTH),
        ("Sep 5-7, 2019", Form.DAYS_BEHIND_MONTH),
        ("1O/l3/1994", Form.DAMAGED),
        ("3/4/2019", Form.IN_ORDER),
    ],
)
def test_the_form_says_how_the_pieces_go_together(value, form):
    assert parse_date(value, STYLE).form is form


def test_two_dates_are_two_parts():
    parts = parse_date("3/4/2019 to 3/9/2019", STYLE)

    first, joint, second = parts.pieces
    assert (day_of(first), joint.text, day_of(second)) == ((2019, 3, 4), " to ", (2019, 3, 9))


@pytest.mark.parametrize("value", ["heart failure", "3.5 mg/dl of it", "x" * 81, ""])
def test_what_is_no_date_has_no_parts(value):
    assert parse_date(value, STYLE) is None


def test_parts_are_frozen_and_show_no_text():
    parts = parse_date("March 4, 2019", STYLE)

    with pytest.raises(FrozenInstanceError):
        parts.day = 5
    assert "March" not in repr(parts)
    assert "day=4" not in repr(parts)


@pytest.mark.parametrize(
    "value", ["3/4/2019", "04-Mar-19", "Monday, March 4th", "Q3 2023", "2019-W12", "MWF", "the '60s", "2018-2019"]
)
def test_what_is_not_moved_is_written_as_it_was(value):
    assert render(parse_date(value, STYLE)) == value


@given(texts, st.integers(-500, 500))
@settings(max_examples=200)
def test_moving_there_and_back_is_no_move(value, days):
    parts = parse_date(value, STYLE)
    if parts is not None and _is_of_the_calendar(parts):
        assert shift(shift(parts, days), -days) == parts


def test_moving_looks_at_no_text():
    parts = DateParts(STYLE, (Piece("anything"),), year=2019, month=12, day=31)

    assert shift(parts, 1) == DateParts(STYLE, (Piece("anything"),), year=2020, month=1, day=1)


@pytest.mark.parametrize("value", ["3/4/2019", "Mon 3/4/2019 - Fri 3/8/2019", "the 29th", "Christmas 2018", "MWF"])
def test_moving_a_real_date_there_and_back_is_no_move(value):
    parts = parse_date(value, STYLE)

    assert shift(parts, 100) != parts
    assert shift(shift(parts, 100), -100) == parts


def _is_of_the_calendar(parts):
    inner = all(_is_of_the_calendar(piece) for piece in parts.pieces if isinstance(piece, DateParts))
    is_day = parts.day is None or (1 <= parts.month <= 12 and 1 <= parts.day <= 28 and 2 < parts.year < 9997)
    return inner and is_day
