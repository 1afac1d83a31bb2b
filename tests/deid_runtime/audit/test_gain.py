import numpy as np
import pytest

from deid_runtime.audit.attack import Guesses
from deid_runtime.audit.gain import Gain, measure_gain, within
from deid_runtime.audit.gate import JudgedAttack, is_passed
from deid_runtime.audit.plant import Released
from deid_runtime.audit.report import render_gate
from deid_runtime.evaluation.significance import Interval
from deid_runtime.spans import Span


def draw(generator: np.random.Generator, patients: int, *, chance: float, lift: float = 1.0) -> tuple:
    """Return notes of 20 words, of which a tenth is leaked, and guesses that hit leaks ``lift`` times as often."""
    released, guesses = [], []
    for number in range(patients):
        leak = np.where(generator.random(20) < 0.1, 0, -1)
        guessed = generator.random(20) < np.where(leak == 0, lift * chance, chance)
        released.append(Released(f"n{number}", f"p{number}", "", ()))
        guesses.append(Guesses(np.ones(20, np.bool_), guessed, np.ones(20, np.bool_), leak))
    return released, guesses


def test_the_gain_is_precision_over_that_of_random_marks() -> None:
    may_be = np.array([True] * 8 + [False] * 2)
    guessed = np.array([True, True, False, False, False, False, False, False, True, True])
    leak = np.array([0, -1, 1, -1, -1, -1, -1, -1, 2, 2])
    notes = [Released("n", "p", "", ()), Released("m", "q", "", ())]

    gain = measure_gain([(notes, [Guesses(may_be, guessed, may_be, leak)] * 2)])

    assert (gain.words, gain.leaked, gain.guesses, gain.right) == (16, 4, 4, 2)  # words out of reach do not count
    assert (gain.precision, gain.chance, gain.gain) == (0.5, 0.25, 2.0)
    assert gain.interval == Interval(2.0, 2.0)


def test_random_marks_have_a_gain_of_one_within_the_interval_as_often_as_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deid_runtime.audit.gain._RESAMPLES", 500)
    generator = np.random.default_rng(7)
    inside = 0
    for _ in range(120):
        gain = measure_gain([draw(generator, 60, chance=0.3)])
        assert gain.interval is not None
        inside += gain.interval.low <= 1 <= gain.interval.high

    assert 0.88 <= inside / 120 <= 1


def test_draws_are_counted_together_and_narrow_the_interval() -> None:
    generator = np.random.default_rng(3)
    draws = [draw(generator, 60, chance=0.2, lift=2.0) for _ in range(6)]
    one, six = measure_gain(draws[:1]), measure_gain(draws)

    assert (one.draws, six.draws) == (1, 6)
    assert six.patients == 60
    assert six.interval is not None
    assert one.interval is not None
    assert six.interval.high - six.interval.low < (one.interval.high - one.interval.low) / 1.5
    assert six.interval.low > 1.2


def test_the_same_seed_makes_the_same_interval() -> None:
    drawn = draw(np.random.default_rng(1), 30, chance=0.3)

    assert measure_gain([drawn], seed=1) == measure_gain([drawn], seed=1) != measure_gain([drawn], seed=2)


@pytest.mark.parametrize(
    ("gain", "interval", "verdict"),
    [
        (1.0, Interval(0.9, 1.2), "pass"),
        (1.1, Interval(0.9, 1.3), "not shown"),
        (1.3, Interval(0.9, 1.7), "fail"),
        (0.0, None, "not shown"),
        (None, None, "not shown"),
    ],
)
def test_the_gate_fails_closed(gain: float | None, interval: Interval | None, verdict: str) -> None:
    made = Gain(1, 2, 16, 4, 4, 2, 0.5, 0.25, gain, interval)

    assert made.verdict(1.2) == verdict
    judged = [JudgedAttack("list", 0.05, made, made.verdict(1.2), {"people": made})]
    assert is_passed(judged) == (verdict == "pass")
    assert f"verdict: {'PASS' if verdict == 'pass' else 'FAIL'}" in render_gate(judged, 1.2)


def test_the_gain_of_a_part_is_that_of_its_words() -> None:
    spans = (Span(0, 3, "PATIENT"), Span(4, 8, "CITY"), Span(9, 14, "CITY"))
    note = Released("n", "p", "Ann Elko Turku x", (spans[0], spans[2]), (spans[1],), (0,))
    every = np.array([True, True, True, False])
    made = Guesses(every, np.array([True, True, False, False]), every, np.array([-1, 0, -1, -1]))

    gain = measure_gain([([note], within([note], [made], {"CITY"}))])

    assert (gain.words, gain.leaked, gain.guesses, gain.right, gain.gain) == (2, 1, 1, 1, 2.0)


def test_nothing_judged_is_not_passed() -> None:
    assert not is_passed([])


def test_without_a_guess_or_a_leak_there_is_no_gain() -> None:
    drawn = draw(np.random.default_rng(1), 30, chance=0.0)

    gain = measure_gain([drawn])

    assert (gain.gain, gain.interval, gain.verdict(1.2)) == (None, None, "not shown")
