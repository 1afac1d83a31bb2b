import numpy as np
import pytest

from deid_runtime.audit.attack import Guesses
from deid_runtime.audit.plant import Released
from deid_runtime.audit.report import render
from deid_runtime.audit.score import _leaks_drawn, score
from deid_runtime.spans import Span


def guesses(may_be: str, guessed: str, leak: list[int]) -> Guesses:
    """Return guesses from rows of 0 and 1, one digit per token."""
    rows = [np.array([mark == "1" for mark in row]) for row in (may_be, guessed, may_be)]
    return Guesses(*rows, np.array(leak, np.int64))


#: Ten words in each note; the first has a leak of two words and one of a word.
NOTES = [
    Released("a", "p", "w " * 10, (), (Span(0, 3, "PATIENT"), Span(8, 9, "DATE")), (0, 1)),
    Released("b", "q", "w " * 10, (), (Span(0, 1, "DATE"),), (2,)),
]
GUESSES = [
    guesses("1111111111", "1000000011", [0, 0, -1, -1, 1, -1, -1, -1, -1, -1]),
    guesses("1111111110", "1000000000", [0, *[-1] * 9]),
]


def test_guesses_are_counted_by_word_and_leaks_by_span() -> None:
    made = score(NOTES, GUESSES)

    assert (made.guesses, made.right, made.precision) == (4, 2, 0.5)
    assert (made.leaks, made.leaks_found, made.values_found) == (3, 2, 2)
    assert made.labels == {"DATE": (2, 1), "PATIENT": (1, 1)}
    assert (made.notes, made.patients, made.leak_values) == (2, 2, 3)


def test_chance_guesses_among_what_the_attacker_chooses_from() -> None:
    made = score(NOTES, GUESSES)

    assert made.chance.tokens == 19
    assert made.chance.precision == pytest.approx(4 / 19)
    assert made.lift == pytest.approx(0.5 / (4 / 19))
    # 4 of 19: a leak of one word is drawn with 4/19, one of two with 1 - (15*14)/(19*18).
    assert made.chance.leaks_found == pytest.approx(2 * 4 / 19 + 1 - 15 * 14 / (19 * 18), abs=0.05)


def test_draws_of_everything_find_everything_and_of_nothing_nothing() -> None:
    leak_of = np.array([0, 0, 1])

    assert set(_leaks_drawn(leak_of, 10, 10, 0).tolist()) == {2}
    assert set(_leaks_drawn(leak_of, 10, 0, 0).tolist()) == {0}


def test_without_known_leaks_there_is_nothing_to_be_found() -> None:
    notes = [Released("a", "p", "w " * 10, ())]
    made = score(notes, [guesses("1111111111", "1100000000", [-1] * 10)])

    assert (made.leaks, made.found, made.found_interval, made.lift) == (0, None, None, None)
    assert made.guesses == 2
    assert "none known" in render([("release", made)])


def test_the_report_fits_a_terminal_and_holds_both_kinds_of_chance() -> None:
    text = render([("5.0% insider", score(NOTES, GUESSES))])

    assert max(map(len, text.splitlines())) <= 100
    assert "PATIENT 1/1" in text
    assert "19 words with a capital or digit" in text
