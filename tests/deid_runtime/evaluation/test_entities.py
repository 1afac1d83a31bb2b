"""Test the scores; the expected figures follow from the rules of the i2b2 2014 script, as the module states them."""

import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.entities import score_entities
from deid_runtime.evaluation.tokens import Score
from deid_runtime.spans import Span

TEXT = "Mrs. Okafor-Bright's son rang 507 555 0139 re MRN A44/17829, 91yo"
NAME = Span(5, 18, "PATIENT")
PHONE = Span(30, 42, "PHONE")
MRN = Span(50, 59, "MEDICALRECORD")
AGE = Span(61, 63, "AGE")


def micro(gold, found):
    return {
        name: score.micro
        for name, score in score_entities([AnnotatedNote("n", "", "", TEXT, gold)], {"n": found}).items()
    }


def test_spans_stand_where_the_cases_need_them():
    assert [TEXT[span.start : span.end] for span in (NAME, PHONE, MRN, AGE)] == [
        "Okafor-Bright", "507 555 0139", "A44/17829", "91",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("gold", "found", "right"),
    [
        pytest.param(NAME, Span(5, 18, "PATIENT"), "strict relaxed binary_strict", id="equal"),
        pytest.param(NAME, Span(5, 20, "PATIENT"), "relaxed", id="end-two-behind"),
        pytest.param(NAME, Span(5, 16, "PATIENT"), "relaxed", id="end-two-before"),
        pytest.param(NAME, Span(5, 21, "PATIENT"), "", id="end-three-behind"),
        pytest.param(NAME, Span(4, 18, "PATIENT"), "", id="start-counts-exactly"),
        pytest.param(NAME, Span(5, 18, "DOCTOR"), "binary_strict", id="other-type"),
        pytest.param(NAME, Span(5, 19, "DOCTOR"), "", id="other-type-and-end"),
    ],
)
def test_one_span(gold, found, right):
    scores = micro((gold,), [found])

    assert [name for name in ("strict", "relaxed", "binary_strict") if scores[name].true_positives] == right.split()
    assert all(
        scores[name] == (Score(1, 0, 0) if name in right.split() else Score(0, 1, 1))
        for name in ("strict", "relaxed", "binary_strict")
    )


def test_tokens_hold_letters_and_digits_together_and_stop_at_the_span():
    scores = micro((NAME, MRN), [Span(5, 14, "PATIENT"), Span(50, 59, "IDNUM")])

    assert scores["token"] == Score(1, 3, 3)  # Okafor is right; the found "Br", "A44" and "17829" are not gold tokens
    assert scores["binary_token"] == Score(3, 1, 1)


def test_equal_spans_count_once():
    assert micro((NAME,), [NAME, NAME])["strict"] == Score(1, 0, 0)


def test_hipaa_leaves_out_other_types_on_both_sides():
    scores = micro((AGE, Span(50, 59, "IDNUM"), Span(0, 3, "STATE")), [Span(50, 59, "IDNUM"), Span(5, 18, "DOCTOR")])

    assert scores["strict"] == Score(1, 1, 2)
    assert scores["hipaa_strict"] == Score(0, 0, 1)  # only the age: the script's pattern for IDNUM never matches


def test_macro_averages_are_means_over_notes_and_nothing_counts_zero():
    gold = [
        AnnotatedNote("a", "", "", TEXT, (NAME, PHONE)),
        AnnotatedNote("b", "", "", TEXT, (MRN,)),
        AnnotatedNote("c", "", "", TEXT, ()),
    ]

    strict = score_entities(gold, {"a": [NAME], "b": [MRN, AGE], "c": []})["strict"]

    assert strict.micro == Score(2, 1, 1)
    assert strict.macro_precision == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert strict.macro_recall == pytest.approx((1 / 2 + 1 + 0) / 3)


def test_no_notes():
    assert score_entities([], {})["strict"].macro_recall == 0.0
