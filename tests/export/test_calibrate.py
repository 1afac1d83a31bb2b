"""Choosing thresholds where they buy the most."""

import numpy as np

from deid_export.calibrate import Tokens, choose


def tokens(gold: str, ruled: str, **scores: list[float]) -> Tokens:
    return Tokens(
        np.array([c == "1" for c in gold]),
        np.array([c == "1" for c in ruled]),
        {head: np.array(row, dtype=np.float32) for head, row in scores.items()},
    )


def test_the_head_that_gains_most_for_least_is_lowered() -> None:
    rows = tokens(
        "11110000",
        "10000000",
        name=[0, 0.9, 0.35, 0.01, 0, 0, 0, 0],
        age=[0, 0, 0.45, 0.4, 0.45, 0.45, 0.4, 0],
    )

    choice = choose(rows, 0.75)

    assert choice.thresholds == {"name": 0.3, "age": 0.5}
    assert choice.recall == 0.75
    assert choice.precision == 1.0


def test_recall_that_is_there_changes_nothing() -> None:
    choice = choose(tokens("10", "10", name=[0, 0.4]), 1.0)

    assert choice.thresholds == {"name": 0.5}


def test_recall_out_of_reach_ends_at_what_can_be_had() -> None:
    choice = choose(tokens("110", "100", name=[0, 0.01, 0.2]), 1.0)

    assert choice.recall == 0.5
    assert choice.thresholds == {"name": 0.5}, "lowering it would cost precision for nothing"
