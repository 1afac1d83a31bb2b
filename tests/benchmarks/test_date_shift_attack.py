"""Test the attack on date shifts: it must find what can be found, and nothing in the other cases."""

import json
import random

import numpy as np
import pytest

from deid_runtime.surrogates.patient import possible_shifts
from tests.benchmarks.scripts import FOLDER, load_script

_RESULTS = FOLDER / "results" / "date_shift_attack.json"
_PATIENTS = 12


@pytest.fixture(scope="module")
def attack():
    return load_script("date_shift_attack")


def shifts(unit):
    return np.array(possible_shifts(365, whole_weeks=unit == "weeks"))


def test_many_visits_name_the_shift_modulo_seven_in_days(attack):
    found = attack.attack_visits("clinic", 32, _PATIENTS, shifts("days"), random.Random(1))

    assert found["named"] > 0.9
    assert found["candidates"] < 110  # at most a sixth of the possible shifts


def test_whole_weeks_leave_nothing_of_the_weekdays_to_be_named(attack):
    found = attack.attack_visits("clinic", 8, _PATIENTS, shifts("weeks"), random.Random(1))

    assert found["named"] == 0
    assert found["candidates"] > 70


@pytest.mark.parametrize("scenario", ["with its year", "with its own date", "beside a discharge"])
def test_a_holiday_that_is_told_names_the_shift_and_one_that_is_not_does_not(attack, scenario):
    found = attack.attack_holidays(scenario, 2, _PATIENTS, shifts("days"), random.Random(1))

    assert found["day, which one told"]["candidates"] <= 3
    assert found["day"]["candidates"] > 200 > found["nearest, which one told"]["candidates"]
    assert found["day"]["error_days"] == 0
    assert found["nearest holiday"]["error_days"] > 1
    assert found["keyed holiday"]["error_days"] > 20


def test_ties_are_counted_in_part(attack):
    even = attack.posterior(np.zeros(4))

    assert attack.summary([(even, 2)], np.array([1, 2, 3, 4])) == {"guessed": 0.25, "candidates": 4.0}


def test_the_page_on_date_shifts_has_the_committed_figures(attack):
    page = (FOLDER.parent / "docs" / "date-shifts.md").read_text(encoding="utf-8")

    table = attack.render_visits(json.loads(_RESULTS.read_text(encoding="utf-8")))
    assert table in page
