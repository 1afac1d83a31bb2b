"""Test the choice of thresholds that gain most."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the manifest is written beside exports, which need torch")
pytest.importorskip("transformers", reason="exports need transformers, which the runtime does without")

from deid_export.train.calibrate import Tokens, choose


def tokens(labels: str, ruled: str, **scores: list[float]) -> Tokens:
    """Return tokens with gold labels P, A or none (a dot)."""
    names = np.array([c.strip(".") for c in labels])
    return Tokens(
        names != "",
        names,
        np.array([c == "1" for c in ruled]),
        {head: np.array(row, dtype=np.float32) for head, row in scores.items()},
    )


ROWS = tokens(
    "PPPP....",
    "10000000",
    name=[0, 0.9, 0.35, 0.01, 0.32, 0, 0, 0],
    age=[0, 0, 0.45, 0.41, 0.45, 0.45, 0.41, 0],
)


def test_the_best_precision_that_reaches_the_recall_is_taken() -> None:
    choice = choose(ROWS, 0.75)

    assert choice.thresholds == {"name": 0.3, "age": 0.7}
    assert choice.recall == 0.75
    assert choice.precision == 0.75


def test_recall_that_is_there_costs_nothing() -> None:
    choice = choose(tokens("P.", "10", name=[0, 0.4]), 1.0)

    assert choice.thresholds == {"name": 0.7}
    assert choice.precision == 1.0


def test_recall_out_of_reach_ends_where_least_is_missed() -> None:
    choice = choose(tokens("PP.", "100", name=[0, 0.01, 0.2]), 1.0)

    assert (choice.precision, choice.recall) == (1.0, 0.5)


def test_a_frequent_label_can_ask_for_its_own_recall() -> None:
    labels, ruled = "P" * 90 + "A" * 10 + "." * 10, "1" * 90 + "0" * 20
    rows = tokens(labels, ruled, age=[0] * 90 + [0.6] * 5 + [0.35] * 5 + [0.35] * 10)

    assert choose(rows, 0.9).thresholds == {"age": 0.7}
    assert choose(rows, 0.9, 0.8).thresholds == {"age": 0.3}
