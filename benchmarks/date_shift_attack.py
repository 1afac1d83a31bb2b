"""How much of a patient's date shift can a reader guess from the surrogates of visits and of named holidays?

    python benchmarks/date_shift_attack.py [--patients 500]

Method: patients are simulated, their dates replaced by ``deid_runtime.surrogates`` under a random key. The attacker
has the output and this code, and knows how visits and holidays are distributed, but not the key (Kerckhoffs). For every
shift that a patient can have he computes how likely the output is, and so the probability of the shift. Reported are
``guessed``, the share of patients whose most likely shift is the true one, ties counted in part; and ``candidates``,
the median number of shifts that together have 90 % of the probability. Both are measured for shifts in days, the
default, and for whole weeks (``--date-shift-weeks``).

*visits*: n dates over two years, on days drawn by ``_VISITS``, the weights of Monday to Sunday of two kinds of places,
with few visits on holidays when clinics close. ``named`` is the share of patients whose shift modulo 7 has a
probability above 0.9 by the weekdays alone, and is right.

*holidays*: 1, 2 or 3 holidays of different years, as often as people named them in the annotated notes (train and dev,
10,416 notes: ``_HOLIDAYS``). The note has the holiday with its year, with its own date, or without a year beside the
date of discharge 1 to 10 days later. What stands for the holiday:

``day``: the day it moves to, as ``deid`` writes it. It looks like any other date. The patient has 17 other dates for
each holiday, as in the annotated notes, where 5.6 % of the dates are holidays (``_SHARE``), and the attacker weighs for
every shift how many of all dates would have been holidays.
``day, holiday told``: the same for a reader to whom the words around it tell that it was a holiday, but not which.
``day, which one told``: the same when they tell which ("burnt by a turkey fryer").
``part of the month``: "early", "mid-" or "late" with the month it moves to, a form that tells that it was a holiday.
``nearest holiday``: the nearest other holiday to where it moves, as ``deid`` wrote it before; ``nearest, which one
told`` as above.
``keyed holiday``: another holiday that does not depend on the shift.

``error`` is the mean distance in days between where the text puts the holiday and where the other dates put it: what an
interval in the text is wrong by.
"""

import argparse
import random
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from statistics import mean, median
from typing import Any, Final, cast

import numpy as np
from measuring import RESULTS, describe_machine, write_results
from numpy.typing import NDArray

from deid_runtime.dates.holiday_days import HOLIDAY_OF, HOLIDAYS, Holiday
from deid_runtime.spans import Note, Span
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.patient import possible_shifts

Floats = NDArray[np.float64]

#: Weights of Monday to Sunday by kind of place.
_VISITS: Final = {
    "clinic": (0.205, 0.210, 0.205, 0.200, 0.175, 0.003, 0.002),
    "clinic and emergencies": (0.200, 0.205, 0.200, 0.190, 0.165, 0.025, 0.015),
}
_CLOSED: Final = ("new years day", "memorial day", "independence day", "labor day", "thanksgiving", "christmas")
_CLOSED_WEIGHT: Final = 0.05  # visits on such a day, of those on another day of its weekday
_VISIT_COUNTS: Final = (2, 4, 8, 16, 32)
_VISIT_SPAN_DAYS: Final = 730
_HOLIDAYS: Final = {
    "Christmas": 129, "Thanksgiving": 129, "Easter": 118, "Labor Day": 109, "New Year's Day": 68, "Halloween": 65,
    "Independence Day": 58, "Memorial Day": 56, "Christmas Eve": 47, "Valentine's Day": 45, "New Year's Eve": 32,
    "Veterans Day": 31, "St. Patrick's Day": 26, "Presidents' Day": 26, "Mother's Day": 25, "Ash Wednesday": 24,
    "Mardi Gras": 21, "Good Friday": 21, "Columbus Day": 20, "Palm Sunday": 16, "Father's Day": 15, "MLK Day": 14,
    "Groundhog Day": 13, "Juneteenth": 9, "Cinco de Mayo": 9,
}  # fmt: skip
_SHARE: Final = 0.056
_OTHER_DATES: Final = 17  # for each holiday: so many are _SHARE
_YEARS: Final = tuple(range(2013, 2027))  # that a date may be of, for the attacker; patients have those in the middle
_STAY_DAYS: Final = range(1, 11)
_SURE: Final = 0.9
_FIRST: Final = date(2011, 1, 1)
_DAYS: Final = (date(2029, 1, 1) - _FIRST).days
_UNITS: Final = ("days", "weeks")
_SCENARIOS: Final = ("with its year", "with its own date", "beside a discharge")
_BY_NAME: Final = {holiday.name: holiday for holiday in HOLIDAYS if holiday.name}


def main() -> None:
    """Attack, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "date_shift_attack.json")
    options = parser.parse_args()
    results: dict[str, Any] = {"question": __doc__.splitlines()[0], "machine": describe_machine()}
    results |= {"patients": options.patients, "seed": options.seed} | measure(options.patients, options.seed)
    print(render(results))
    write_results(options.results, results)


def measure(patients: int, seed: int) -> dict[str, Any]:
    """Return the figures of both attacks, by kind of shift."""
    found: dict[str, Any] = {"possible_shifts": {}, "visits": {}, "holidays": {}}
    for unit in _UNITS:
        shifts = np.array(possible_shifts(365, whole_weeks=unit == "weeks"))
        found["possible_shifts"][unit] = len(shifts)
        chance = random.Random(seed)  # the same patients for both
        found["visits"][unit] = {
            kind: {str(n): attack_visits(kind, n, patients, shifts, chance) for n in _VISIT_COUNTS} for kind in _VISITS
        }
        found["holidays"][unit] = {
            scenario: {str(n): attack_holidays(scenario, n, patients, shifts, chance) for n in (1, 2, 3)}
            for scenario in _SCENARIOS
        }
    return found


def replaced(surrogates: Surrogates, patient: str, *values: str) -> list[str]:
    """Return what stands for ``values``, dates of one note of the patient, each with words around it."""
    text, spans = "", []
    for value in values:
        text += "seen then, on "
        spans.append(Span(len(text), len(text) + len(value), "DATE"))
        text += value + ", for it. "
    return surrogates.replacements(Note("n", text, patient), spans, None)


def surrogates_for(shifts: NDArray[np.int_], chance: random.Random) -> Surrogates:
    """Return surrogates under a key of their own, with shifts of the same kind."""
    return Surrogates(chance.randbytes(32), date_shift_whole_weeks=bool((shifts % 7 == 0).all()))


def attack_visits(
    kind: str, count: int, patients: int, shifts: NDArray[np.int_], chance: random.Random
) -> dict[str, float]:
    """Return what an attacker learns from ``count`` visits of each patient."""
    surrogates, log_weights = surrogates_for(shifts, chance), np.log(visit_weights(kind))
    weekday_logs = np.log(_VISITS[kind])
    residues, prior = np.unique(shifts % 7, return_counts=True)
    named, rows = 0, []
    for number in range(patients):
        start = day_number(date(2016, 1, 1)) + chance.randrange(365)
        weights = visit_weights(kind)[start : start + _VISIT_SPAN_DAYS]
        true = [start + each for each in chance.choices(range(_VISIT_SPAN_DAYS), weights=weights.tolist(), k=count)]
        shown = np.array([read_day(text) for text in replaced(surrogates, f"p{number}", *map(written, true))])
        shift = int(shown[0] - true[0])
        weekdays = np.array([(_FIRST + timedelta(days=int(day))).weekday() for day in shown])
        by_residue = posterior(np.array([weekday_logs[(weekdays - r) % 7].sum() for r in residues]) + np.log(prior))
        best = int(by_residue.argmax())
        named += len(residues) > 1 and bool(by_residue[best] > _SURE and residues[best] == shift % 7)
        rows.append((posterior(log_weights[shown[None, :] - shifts[:, None]].sum(axis=1)), shift))
    return {"named": named / patients, **summary(rows, shifts)}


@lru_cache(maxsize=2)
def visit_weights(kind: str) -> Floats:
    """Return how likely a visit is on each day, from ``_FIRST`` on."""
    days = [_FIRST + timedelta(days=number) for number in range(_DAYS)]
    closed = {HOLIDAY_OF[name].on(year) for name in _CLOSED for year in range(_FIRST.year, 2029)}
    return np.array([_VISITS[kind][day.weekday()] * (_CLOSED_WEIGHT if day in closed else 1) for day in days])


def attack_holidays(
    scenario: str, count: int, patients: int, shifts: NDArray[np.int_], chance: random.Random
) -> dict[str, dict[str, float]]:
    """Return, by what stands for a holiday, what an attacker learns from ``count`` of them, and the error in days."""
    surrogates = surrogates_for(shifts, chance)
    rows: dict[str, list[tuple[Floats, int]]] = {}
    errors: dict[str, list[int]] = {}
    for number in range(patients):
        patient = f"p{number}"
        total: dict[str, Floats] = {}
        names = chance.choices(list(_HOLIDAYS), weights=list(_HOLIDAYS.values()), k=count)
        for name, year in zip(names, chance.sample(range(2016, 2024), count), strict=True):
            stay, true = chance.choice(_STAY_DAYS), day_number(_BY_NAME[name].on(year))
            shown, discharged = show(surrogates, patient, scenario, name, year, stay)
            shift = discharged - stay - true
            days = [
                day_number(date(chance.randrange(2016, 2024), 1, 1)) + chance.randrange(365)
                for _ in range(_OTHER_DATES)
            ]
            others = map(read_day, replaced(surrogates, patient, *map(written, days)))
            nearest, keyed = int(nearest_holidays(name)[true + shift]), keyed_holiday(name, chance)
            put = {
                "day": shown,
                "part of the month": middle_of_part(true + shift),
                "nearest holiday": int(all_holidays()[1][nearest]),
                "keyed holiday": put_near(keyed, shown),
            }
            told = {
                "day": blind(np.array([shown, *others]), shifts),
                "day, holiday told": holiday_days()[shown - shifts],
                "day, which one told": holiday_days(name)[shown - shifts],
            }
            for told_name in (None, name):
                key = "nearest holiday" if told_name is None else "nearest, which one told"
                told[key] = of_nearest(scenario, nearest, shown, discharged, shifts, told_name)
            told["part of the month"] = of_part(scenario, true + shift, shown, discharged, shifts)
            told["keyed holiday"] = of_keyed(scenario, keyed, shown, discharged, shifts)
            with np.errstate(divide="ignore"):
                for key, likelihood in told.items():
                    total[key] = total.get(key, np.zeros(1)) + np.log(likelihood)
            for key, day in put.items():
                errors.setdefault(key, []).append(abs(day - (true + shift)))
        for key, logs in total.items():
            rows.setdefault(key, []).append((posterior(logs), shift))
    found = {key: summary(of_key, shifts) for key, of_key in rows.items()}
    for key, days in errors.items():
        found[key]["error_days"] = round(mean(days), 1)
    return found


def show(surrogates: Surrogates, patient: str, scenario: str, name: str, year: int, stay: int) -> tuple[int, int]:
    """Return the day that stands for the holiday in the output, and the day of discharge there."""
    day = _BY_NAME[name].on(year)
    discharge = written(day_number(day) + stay)
    if scenario == "with its own date":
        shown, discharged = replaced(surrogates, patient, f"{name} {written(day_number(day))}", discharge)
        return read_day(shown.partition(" ")[2]), read_day(discharged)
    if scenario == "with its year":
        shown, discharged = replaced(surrogates, patient, f"{name} {year}", discharge)
        return read_day(shown), read_day(discharged)
    discharged, shown = replaced(surrogates, patient, discharge, name)
    last = _FIRST + timedelta(days=read_day(discharged))
    month, day_of_month = map(int, shown.split("/"))
    near = [day_number(last) - days for days in range(1, 366)]
    told = (month, day_of_month)
    return next(day for day in near if _month_and_day(day) == told), read_day(discharged)


def _month_and_day(day: int) -> tuple[int, int]:
    shown = _FIRST + timedelta(days=day)
    return shown.month, shown.day


def blind(shown: NDArray[np.int_], shifts: NDArray[np.int_]) -> Floats:
    """Return how likely days are each of which may be of a holiday or, more often, any other; in proportion."""
    ordinary = (1 - _SHARE) / (365 * len(_YEARS))
    ratios = 1 + _SHARE * holiday_days()[shown[None, :] - shifts[:, None]] / ordinary
    return np.asarray(ratios.prod(axis=1))


@lru_cache(maxsize=1)
def parts_of_months() -> NDArray[np.int_]:
    """Return for each day the number of its third of a month."""
    days = [_FIRST + timedelta(days=number) for number in range(_DAYS)]
    return np.array([36 * day.year + 3 * day.month + min((day.day - 1) // 10, 2) for day in days])


def middle_of_part(day: int) -> int:
    """Return the middle of the third of a month that a day is in: where a reader puts it."""
    same = np.flatnonzero(parts_of_months() == parts_of_months()[day])
    return int(same[len(same) // 2])


def of_part(scenario: str, true: int, shown: int, discharged: int, shifts: NDArray[np.int_]) -> Floats:
    """Return how likely a part of a month that stands for a holiday, and the dates beside it, are by shift."""
    days = holiday_days()
    if scenario == "with its own date":
        return cast(Floats, days[shown - shifts])
    possible = np.flatnonzero(parts_of_months() == parts_of_months()[true])
    if scenario == "beside a discharge":
        possible = possible[np.isin(discharged - possible, _STAY_DAYS)]
    return np.asarray(days[possible[None, :] - shifts[:, None]].sum(axis=1))


@lru_cache(maxsize=64)
def holiday_days(name: str | None = None) -> Floats:
    """Return how likely each day is meant by a holiday, or by the one called ``name``."""
    days = np.zeros(_DAYS)
    for each, weight in _HOLIDAYS.items():
        if name in (None, each):
            for year in _YEARS:
                days[day_number(_BY_NAME[each].on(year))] += weight / len(_YEARS)
    shares: Floats = days / days.sum()
    return shares


@lru_cache(maxsize=1)
def all_holidays() -> tuple[list[str], NDArray[np.int_]]:
    """Return name and day of each holiday of every year that can stand for another."""
    found = [(name, day_number(_BY_NAME[name].on(year))) for name in _BY_NAME for year in range(_FIRST.year, 2029)]
    return [name for name, _ in found], np.array([day for _, day in found])


@lru_cache(maxsize=64)
def nearest_holidays(name: str) -> NDArray[np.int_]:
    """Return, for each day, which of ``all_holidays`` is the nearest that is not ``name``, as ``deid`` chose before."""
    names, days = all_holidays()
    distances = np.abs(np.arange(_DAYS)[:, None] - days[None, :])
    distances[:, [each == name for each in names]] = _DAYS
    return np.asarray(distances.argmin(axis=1))


def of_nearest(
    scenario: str, nearest: int, shown: int, discharged: int, shifts: NDArray[np.int_], told: str | None
) -> Floats:
    """Return how likely the nearest holiday, and the dates beside it, are under each shift."""
    found = np.zeros(len(shifts))
    for name, weight in _HOLIDAYS.items():
        if told not in (None, name):
            continue
        moved = np.array([day_number(_BY_NAME[name].on(year)) for year in _YEARS])[:, None] + shifts[None, :]
        fits = nearest_holidays(name)[moved] == nearest
        if scenario == "with its own date":
            fits &= moved == shown
        elif scenario == "beside a discharge":
            fits &= np.isin(discharged - moved, _STAY_DAYS)
        found += weight * fits.sum(axis=0)
    return found


def keyed_holiday(holiday: str, chance: random.Random) -> Holiday:
    """Return another holiday, whatever the shift."""
    return _BY_NAME[chance.choice([name for name in _HOLIDAYS if name != holiday])]


def put_near(holiday: Holiday, shown: int) -> int:
    """Return the day of ``holiday`` that is nearest to a day: where a reader puts it."""
    year = (_FIRST + timedelta(days=shown)).year
    days = [day_number(holiday.on(each)) for each in (year - 1, year, year + 1)]
    return min(days, key=lambda day: abs(day - shown))


def of_keyed(scenario: str, keyed: Holiday, shown: int, discharged: int, shifts: NDArray[np.int_]) -> Floats:
    """Return how likely the dates beside a keyed holiday are under each shift: it tells that one was there."""
    days = holiday_days()
    if scenario == "with its own date":
        return cast(Floats, days[shown - shifts])
    if scenario == "beside a discharge":
        return cast(Floats, np.sum([days[discharged - stay - shifts] for stay in _STAY_DAYS], axis=0))
    return np.ones(len(shifts))


def posterior(logs: Floats) -> Floats:
    """Return probabilities that are in proportion to the exponentials of ``logs``."""
    likelihood = np.exp(logs - logs.max())
    return np.asarray(likelihood / likelihood.sum())


def summary(rows: Sequence[tuple[Floats, int]], shifts: NDArray[np.int_]) -> dict[str, float]:
    """Return the share of shifts guessed, and the median number that hold 90 % of the probability."""
    guessed, sizes = 0.0, []
    for probabilities, shift in rows:
        best = probabilities >= probabilities.max() * (1 - 1e-9)
        guessed += float(best[shifts == shift].sum()) / float(best.sum())
        ordered = np.sort(probabilities)[::-1].cumsum()
        sizes.append(int(np.searchsorted(ordered, _SURE - 1e-9)) + 1)
    return {"guessed": round(guessed / len(rows), 4), "candidates": float(median(sizes))}


def day_number(day: date) -> int:
    """Return the days from ``_FIRST`` to ``day``."""
    return (day - _FIRST).days


def written(day: int) -> str:
    """Return the day of a number as the notes write it."""
    return f"{_FIRST + timedelta(days=day):%m/%d/%Y}"


def read_day(text: str) -> int:
    """Return the number of the day that a surrogate names."""
    month, day, year = map(int, text.split("/"))
    return day_number(date(year, month, day))


def render(results: Mapping[str, Any]) -> str:
    """Return the tables of the results in Markdown."""
    holidays = results["holidays"]
    lines = [render_visits(results)]
    for scenario in _SCENARIOS:
        lines.append(
            f"\n| holiday {scenario} | error in days | days: candidates after 1, 2, 3 | guessed after 1, 2, 3 "
            "| weeks: candidates after 1, 2, 3 | guessed after 1, 2, 3 |\n| --- | ---: | ---: | ---: | ---: | ---: |"
        )
        for key, first in holidays["days"][scenario]["1"].items():
            cells = []
            for unit in _UNITS:
                rows = [holidays[unit][scenario][count][key] for count in ("1", "2", "3")]
                cells += [", ".join(f"{row['candidates']:.0f}" for row in rows)]
                cells += [", ".join(f"{row['guessed']:.1%}" for row in rows)]
            lines.append(f"| {key} | {first.get('error_days', '')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def render_visits(results: Mapping[str, Any]) -> str:
    """Return the table of what visits tell."""
    shifts, visits = results["possible_shifts"], results["visits"]
    header = (
        f"| visits | date shift mod 7 named, in days | candidates of {shifts['days']} days, guessed "
        f"| candidates of {shifts['weeks']} whole weeks, guessed |"
    )
    lines = [header, "| --- | ---: | ---: | ---: |"]
    for kind, by_count in visits["days"].items():
        for count, row in by_count.items():
            both = (row, visits["weeks"][kind][count])
            cells = [f"{each['candidates']:.0f}, {each['guessed']:.1%}" for each in both]
            lines.append(f"| {kind}, {count} | {row['named']:.1%} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
