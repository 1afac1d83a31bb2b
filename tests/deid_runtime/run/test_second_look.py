"""Test the verdicts of a second look on notes with planted leaks."""

import pytest

from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.rewrite import rewrite
from deid_runtime.run.second_look import Looked, Reason, Verdict, look_again
from deid_runtime.spans import Span

ORIGINAL = "Seen by Okonkwo, MRN 4471902, for cough. Hope is high."


def released(*pairs: tuple[str, str], label: str = "DOCTOR") -> Deidentified:
    spans = tuple(
        Span(ORIGINAL.index(word), ORIGINAL.index(word) + len(word), "IDNUM" if word[0].isdigit() else label)
        for word, _ in pairs
    )
    text, places = rewrite(ORIGINAL, spans, [new for _, new in pairs])
    return Deidentified("n1", text, "N-1", "P-1", spans, places)


def found(outcome: Deidentified, word: str, label: str, *sources: str, score: float = 0.9) -> Span:
    at = outcome.text.index(word)
    return Span(at, at + len(word), label, score, sources)


def test_surrogates_alone_pass() -> None:
    outcome = released(("Okonkwo", "Nwosu"), ("4471902", "3360118"))

    looked = look_again(ORIGINAL, outcome, [found(outcome, "Nwosu", "DOCTOR", "model:name")])

    assert looked == Looked("n1")
    assert looked.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("word", "label", "source", "score", "reason", "verdict"),
    [
        ("cough", "DOCTOR", "model:name", 0.9, Reason.SECOND_SEARCH, Verdict.REVIEW),
        ("cough", "DOCTOR", "model:name", 0.3, None, Verdict.PASS),
        ("cough", "PHONE", "pattern", 1.0, Reason.FORM, Verdict.FAIL),
        ("cough", "DATE", "pattern", 1.0, Reason.SECOND_SEARCH, Verdict.REVIEW),
        ("Nwosu, MRN", "DOCTOR", "model:name", 0.9, Reason.SECOND_SEARCH, Verdict.REVIEW),  # longer than the surrogate
        ("Nwosu", "PATIENT", "record", 1.0, Reason.RECORD, Verdict.FAIL),  # a surrogate must not equal the record
        ("by", "PATIENT", "model:name", 0.9, None, Verdict.PASS),  # tells nothing
    ],
)
def test_each_kind_of_find(
    word: str, label: str, source: str, score: float, reason: Reason | None, verdict: Verdict
) -> None:
    outcome = released(("Okonkwo", "Nwosu"), ("4471902", "3360118"))

    looked = look_again(ORIGINAL, outcome, [found(outcome, word, label, source, score=score)])

    assert looked.verdict is verdict
    assert looked.reasons == ({reason: 1} if reason else {})


def test_a_word_of_an_original_elsewhere_in_the_note_fails() -> None:
    outcome = released(("4471902", "3360118"))
    twice = Deidentified("n1", outcome.text + " Chart 4471902.", "N-1", "", outcome.spans, outcome.replacements)

    assert look_again(ORIGINAL, outcome, []).verdict is Verdict.PASS
    assert look_again(ORIGINAL, twice, []).reasons == {Reason.ORIGINAL: 1}


def test_an_ordinary_word_that_is_also_a_name_is_no_leak() -> None:
    outcome = released(("Hope", "Faith"), label="PATIENT")
    twice = Deidentified("n1", outcome.text + " Hope it helps.", "N-1", "", outcome.spans, outcome.replacements)

    assert look_again(ORIGINAL, twice, []).verdict is Verdict.PASS
