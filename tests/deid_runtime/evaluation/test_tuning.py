import tomllib

import numpy as np
import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.evaluation.breakdown import patients_of
from deid_runtime.evaluation.token_table import tabulate
from deid_runtime.evaluation.tuning import Wanted, config_text, propose
from deid_runtime.spans import Span


def notes_of(scores_right, scores_wrong, *, head="name", label="PATIENT", missed=0):
    """Return one note a word: gold words found by one head with these scores, wrong words, and missed gold words."""
    notes, found = [], {}
    rows = [(score, True) for score in scores_right] + [(score, False) for score in scores_wrong]
    rows += [(None, True)] * missed
    for number, (score, is_gold) in enumerate(rows):
        span = Span(0, 4, label)
        notes.append(AnnotatedNote(f"{head}{number}", f"{head}p{number}", "", "word", (span,) if is_gold else ()))
        found[f"{head}{number}"] = [] if score is None else [Span(0, 4, label, score, (f"model:{head}",))]
    return notes, found


def proposal(notes, found, **wanted):
    return propose(tabulate(notes, found), patients_of(notes), Wanted(**wanted))


def test_the_highest_precision_that_reaches_the_recall():
    notes, found = notes_of([0.9] * 8 + [0.35, 0.05], [0.25] * 5 + [0.03] * 5)

    chosen = proposal(notes, found, recall=0.9)
    assert chosen.thresholds == {"name": 0.3}
    assert chosen.is_reached
    assert (chosen.expected.missed, chosen.expected.wrong) == (1, 0)
    assert proposal(notes, found, recall=1.0).thresholds == {"name": 0.04}


def test_a_recall_out_of_reach_is_said():
    chosen = proposal(*notes_of([0.9, 0.05], [0.03], missed=3), recall=0.9)

    assert not chosen.is_reached
    assert chosen.thresholds == {"name": 0.04}  # misses fewest, and then the fewest wrong


def test_a_target_for_a_label_goes_beyond_that_for_all():
    notes, found = notes_of([0.9] * 50, [])
    others, found_others = notes_of([0.25, 0.9], [0.22], head="location", label="CITY")
    notes, found = notes + others, found | found_others

    assert proposal(notes, found, recall=0.95).thresholds["location"] == 0.7
    assert proposal(notes, found, recall=0.95, label_recall={"CITY": 1.0}).thresholds["location"] == 0.2
    with pytest.raises(InputError, match="no annotated ZIP"):
        proposal(notes, found, label_recall={"ZIP": 1.0})


def test_the_cost_of_a_miss_weighs_misses_against_wrong_words():
    notes, found = notes_of([0.9, 0.9, 0.25], [0.25] * 4)

    assert proposal(notes, found, cost_of_miss=10).thresholds == {"name": 0.2}
    assert proposal(notes, found, cost_of_miss=2).thresholds == {"name": 0.7}


def test_figures_of_notes_that_had_no_part_in_the_choice():
    rng = np.random.default_rng(1)
    chosen = proposal(*notes_of(rng.random(200) ** 0.2, rng.random(100) * 0.5), recall=0.97)

    assert chosen.elsewhere.gold == 200
    assert chosen.elsewhere.recall == pytest.approx(0.97, abs=0.03)
    assert proposal(*notes_of([0.9], [])).elsewhere is None


def test_what_others_find_needs_no_threshold():
    note = AnnotatedNote("n", "", "", "Ilse", (Span(0, 4, "PATIENT"),))

    chosen = proposal([note], {"n": [Span(0, 4, "PATIENT", 1.0, ("record",))]})
    assert (chosen.thresholds, chosen.is_reached) == ({}, True)
    with pytest.raises(InputError, match="no annotated identifier"):
        proposal([AnnotatedNote("n", "", "", "Ilse", ())], {"n": []})


def test_the_file_is_toml():
    chosen = proposal(*notes_of([0.9], []), recall=0.5)

    text = config_text(chosen, "full", ["first", "second"])
    assert tomllib.loads(text) == {"profile": "full", "threshold": {"name": 0.7}}
    assert text.startswith("# first\n# second\n")
