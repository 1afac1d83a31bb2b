"""Test offsets of whole weeks: weekdays stay the same, and reveal nothing about the offset."""

import pytest

from deid_runtime.errors import SettingsError
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.patient import offset_of
from tests.deid_runtime.surrogates.marked import KEY, read

_PATIENTS = 2_000


def offsets(days: int, *, whole_weeks: bool) -> list[int]:
    keyed = Keyed(KEY)
    return [
        offset_of(keyed.derive("patient", str(number)), days, whole_weeks=whole_weeks) for number in range(_PATIENTS)
    ]


def test_offsets_are_every_multiple_of_seven_but_zero():
    assert set(offsets(365, whole_weeks=True)) == {7 * weeks for weeks in range(-52, 53) if weeks}


def test_the_most_days_are_cut_to_whole_weeks():
    assert set(offsets(20, whole_weeks=True)) == {-14, -7, 7, 14}


def test_without_whole_weeks_no_offset_is_one():
    assert all(days % 7 for days in offsets(365, whole_weeks=False))


def test_an_offset_in_weeks_tells_nothing_of_the_offset_in_days_under_the_same_key():
    days, weeks = offsets(365, whole_weeks=False), offsets(365, whole_weeks=True)
    agreeing = sum((one > 0) == (other > 0) for one, other in zip(days, weeks, strict=True))

    assert 0.45 * _PATIENTS < agreeing < 0.55 * _PATIENTS
    assert len({(one % 2, other // 7 % 2) for one, other in zip(days, weeks, strict=True)}) == 4


def test_weekdays_stay_and_dates_move():
    note, spans = read(
        "seen <DATE>Tuesday, 03/04/2014</DATE>, dialysis <DATE>MWF</DATE>, back <DATE>Friday</DATE> <DATE>3/14</DATE>"
    )

    dated, dialysis, weekday, partial = Surrogates(KEY, date_shift_whole_weeks=True).replacements(note, spans, None)

    assert dated.startswith("Tuesday, ")
    assert "03/04/2014" not in dated
    assert (dialysis, weekday) == ("MWF", "Friday")
    assert partial != "3/14"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operator": "tag"}, "dates are not shifted"),
        ({"operator": "redact"}, "dates are not shifted"),
        ({"dates": "year"}, "dates are not shifted"),
        ({"safe_harbor": True}, "dates are not shifted"),
        ({"date_shift_days": 6}, "7 or more"),
        ({"offsets": {"p1": 14, "p2": 10}}, "1 of 2 date shifts are not a multiple of 7"),
    ],
)
def test_what_cannot_be_had_with_whole_weeks_is_refused(settings, message):
    with pytest.raises(SettingsError, match=message) as error:
        Surrogates(KEY, date_shift_whole_weeks=True, **settings)

    assert "p2" not in str(error.value)


def test_offsets_of_a_table_may_be_whole_weeks():
    note, spans = read("seen <DATE>Tuesday, 03/04/2014</DATE>")

    assert Surrogates(KEY, date_shift_whole_weeks=True, offsets={"p1": 14}).replacements(note, spans, None) == [
        "Tuesday, 03/18/2014"
    ]
