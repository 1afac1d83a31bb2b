"""Test shifts of whole weeks: weekdays stay the same, and reveal nothing about the shift."""

import pytest

from deid_runtime.errors import SettingsError
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.patient import shift_of
from tests.deid_runtime.surrogates.marked import KEY, read

_PATIENTS = 2_000


def shifts(days: int, *, whole_weeks: bool) -> list[int]:
    keyed = Keyed(KEY)
    return [
        shift_of(keyed.derive("patient", str(number)), days, whole_weeks=whole_weeks) for number in range(_PATIENTS)
    ]


def test_shifts_are_every_multiple_of_seven_but_zero():
    assert set(shifts(365, whole_weeks=True)) == {7 * weeks for weeks in range(-52, 53) if weeks}


def test_the_most_days_are_cut_to_whole_weeks():
    assert set(shifts(20, whole_weeks=True)) == {-14, -7, 7, 14}


def test_without_whole_weeks_no_shift_is_one():
    assert all(days % 7 for days in shifts(365, whole_weeks=False))


def test_a_shift_in_weeks_tells_nothing_of_the_shift_in_days_under_the_same_key():
    days, weeks = shifts(365, whole_weeks=False), shifts(365, whole_weeks=True)
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
        ({"given_date_shifts": {"p1": 14, "p2": 10}}, "1 of 2 date shifts are not a multiple of 7"),
    ],
)
def test_what_cannot_be_had_with_whole_weeks_is_refused(settings, message):
    with pytest.raises(SettingsError, match=message) as error:
        Surrogates(KEY, date_shift_whole_weeks=True, **settings)

    assert "p2" not in str(error.value)


def test_shifts_of_a_table_may_be_whole_weeks():
    note, spans = read("seen <DATE>Tuesday, 03/04/2014</DATE>")

    surrogates = Surrogates(KEY, date_shift_whole_weeks=True, given_date_shifts={"p1": 14})

    assert surrogates.replacements(note, spans, None) == ["Tuesday, 03/18/2014"]
