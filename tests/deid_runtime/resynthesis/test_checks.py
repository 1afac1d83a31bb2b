from collections import Counter

import pytest

from deid_runtime.resynthesis.checks import check_corpus, form_of
from deid_runtime.resynthesis.constraints import Violation, Violations
from deid_runtime.resynthesis.report import render
from tests.deid_runtime.resynthesis.notes import gold


@pytest.mark.parametrize(
    ("label", "value", "form"),
    [
        ("PATIENT", "SMITH-Jones, 14", "A-Aa, 99"),
        ("PATIENT", "McDonald  jr", "aA a"),
        ("DATE", "14 March 2019", "9 Aa 9999"),
        ("DATE", "3/4/19", "9/9/9"),
        ("AGE", "7", "9"),
        ("IDNUM", "A-00.7", "A-99.9"),
        ("STREET", "a " * 9, "a a a a a a …"),
    ],
)
def test_a_form_tells_how_and_not_what_is_written(label: str, value: str, form: str) -> None:
    assert form_of(label, value) == form


def test_counts_forms_and_consistency_are_told_by_label() -> None:
    before = gold("p", n1="<DOCTOR>Quist</DOCTOR> <DOCTOR>Quist</DOCTOR> <DOCTOR>Orr</DOCTOR> <AGE>9</AGE>")
    after = gold("p", n1="<DOCTOR>Voss</DOCTOR> <DOCTOR>VOSS</DOCTOR> <DOCTOR>Falk</DOCTOR> <AGE>9</AGE>")

    checks = check_corpus(before, after, 2, Violations([], Counter({("rice", ""): 2, ("rice", "HOSPITAL"): 1})))

    doctor = checks.labels["DOCTOR"]
    assert (doctor.spans_before, doctor.spans_after, doctor.unique_before, doctor.unique_after) == (3, 3, 2, 3)
    assert doctor.same_form == pytest.approx(2 / 3)
    assert (checks.repeated, checks.consistent) == (1, 1)
    assert (checks.ordinary_words, checks.ordinary_outside, checks.ordinary_inside) == (1, 2, 1)
    assert checks.is_clean
    assert max(map(len, render(checks).splitlines())) <= 100


def test_ages_over_89_have_no_part_in_the_forms() -> None:
    before = gold("p", n1="<AGE>93</AGE> <AGE>ninety-one</AGE> <AGE>95th</AGE> <AGE>41</AGE> <AGE>7th</AGE>")
    after = gold(
        "p", n1="<AGE>90+</AGE> <AGE>ninety or older</AGE> <AGE>90th or later</AGE> <AGE>41</AGE> <AGE>7</AGE>"
    )

    assert check_corpus(before, after, 0, Violations([], Counter())).labels["AGE"].same_form == pytest.approx(1 / 2)


def test_a_violation_and_a_lost_span_are_not_clean() -> None:
    notes = gold("p", n1="<DOCTOR>Quist</DOCTOR> <DOCTOR>Orr</DOCTOR>")
    lost = gold("p", n1="<DOCTOR>Voss</DOCTOR> <AGE>7</AGE>")
    violation = Violation("n1", 0, 5, "street", "", "Elm St")

    assert not check_corpus(notes, notes, 0, Violations([violation], Counter())).is_clean
    assert not check_corpus(notes, lost, 0, Violations([], Counter())).is_clean
