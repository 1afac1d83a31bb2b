"""Test the scores; the expected figures follow from the rules of the i2b2 2014 script, as the module states them."""

import pytest

from deid_runtime.annotations.found import read_found
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_gold
from deid_runtime.evaluation.entities import printed, score_entities
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


def write_i2b2(path, text, *tags):
    """Write a document of i2b2 2014: TYPE, start and end of each tag."""
    names = {
        "PATIENT": "NAME",
        "DOCTOR": "NAME",
        "PHONE": "CONTACT",
        "MEDICALRECORD": "ID",
        "AGE": "AGE",
        "DATE": "DATE",
    }
    rows = "".join(
        f'<{names[label]} id="P{number}" start="{start}" end="{end}" text="" TYPE="{label}" comment=""/>'
        for number, (label, start, end) in enumerate(tags)
    )
    path.write_text(f'<?xml version="1.0"?><deIdi2b2><TEXT><![CDATA[{text}]]></TEXT><TAGS>{rows}</TAGS></deIdi2b2>')


def test_figures_of_files_are_printed_as_the_script_prints_them(tmp_path):
    gold, found = tmp_path / "gold", tmp_path / "found"
    gold.mkdir()
    found.mkdir()
    text = "Mrs. Okafor-Bright's son rang 507 555 0139 re MRN A44/17829, 91yo"
    name, phone, mrn, age = ("PATIENT", 5, 18), ("PHONE", 30, 42), ("MEDICALRECORD", 50, 59), ("AGE", 61, 63)
    write_i2b2(gold / "100-01.xml", text, name, phone, mrn)
    write_i2b2(found / "100-01.xml", text, ("PATIENT", 5, 20), phone, ("DATE", 61, 65))
    write_i2b2(gold / "100-02.xml", text, mrn)
    write_i2b2(found / "100-02.xml", text, mrn, age, ("DOCTOR", 0, 3))
    write_i2b2(gold / "100-03.xml", text)  # nothing to find and nothing found: precision and recall are 0
    write_i2b2(found / "100-03.xml", text)

    scores = score_entities(read_gold(gold), read_found(found))

    # Strict: 1 of 3 right in the first note, 1 of 3 found and 1 of 1 gold in the second.
    assert scores["strict"].micro == Score(2, 4, 2)
    assert printed(scores["strict"]) == {
        "precision": ("0.2222 (0.16)", "0.3333"),  # (1/3 + 1/3 + 0) / 3
        "recall": ("0.4444 (0.42)", "0.5"),  # (1/3 + 1 + 0) / 3
        "f1": ("0.2963", "0.4"),  # of the two means; 2 * (1/3 * 1/2) / (1/3 + 1/2)
    }
    # Relaxed: the end of the name is two characters off, so it is right as well.
    assert printed(scores["relaxed"]) == {
        "precision": ("0.3333 (0.27)", "0.5"),
        "recall": ("0.5556 (0.42)", "0.75"),
        "f1": ("0.4167", "0.6"),
    }
    # HIPAA: DOCTOR is not counted; MEDICALRECORD, DATE, AGE, PATIENT and PHONE are.
    assert scores["hipaa_strict"].micro == Score(2, 3, 2)


def test_the_figures_of_nothing_are_0_and_those_of_all_are_1():
    note = AnnotatedNote("n", "", "", TEXT, (NAME,))

    assert printed(score_entities([note], {"n": []})["strict"])["f1"] == ("0.0", "0.0")
    assert printed(score_entities([note], {"n": [NAME]})["strict"]) == {
        "precision": ("1.0 (0.0)", "1.0"), "recall": ("1.0 (0.0)", "1.0"), "f1": ("1.0", "1.0"),
    }  # fmt: skip
