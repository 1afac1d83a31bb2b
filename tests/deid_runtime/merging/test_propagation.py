import time

import pytest
from hypothesis import given, settings

from deid_runtime.merging.fusion import fuse_spans
from deid_runtime.merging.propagation import MIN_SCORE, propagate
from deid_runtime.spans import Span
from tests.strategies import texts_with_spans


def repeated(text, *found, score=1.0, source="model:name"):
    """Return, as texts, what is propagated in ``text`` from the first occurrence of each ``(value, label)``."""
    spans = [Span(text.index(value), text.index(value) + len(value), label, score, (source,)) for value, label in found]
    return [(text[span.start : span.end], span.label) for span in propagate(text, spans)]


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        pytest.param("Rosa Okafor seen. Okafor left.", ("Rosa Okafor", "PATIENT"), ["Okafor"], id="family-name"),
        pytest.param(
            "Zelda Okafor seen. zelda ate.", ("Zelda Okafor", "PATIENT"), ["zelda"], id="lower-case-of-a-capital"
        ),
        pytest.param("zelda ate, zelda slept", ("zelda", "PATIENT"), ["zelda"], id="lower-case-as-found"),
        pytest.param("OKAFOR, ZELDA\nZelda Okafor", ("OKAFOR, ZELDA", "PATIENT"), ["Zelda Okafor"], id="other-order"),
        pytest.param(
            "A. Okafor-Bright ... Okafor", ("A. Okafor-Bright", "DOCTOR"), ["Okafor"], id="part-of-a-double-name"
        ),
        pytest.param("J. Quillon. then Dr. J. Quillon", ("J. Quillon", "DOCTOR"), ["J. Quillon"], id="with-initial"),
        pytest.param("Will Price ate. Price high, will see", ("Will Price", "PATIENT"), [], id="words-alone"),
        pytest.param(
            'Ana "Pip" Quist came. Pip tripped. Pip on film',
            ('Ana "Pip" Quist', "PATIENT"),
            ["Pip"],
            id="word-that-acts",
        ),
        pytest.param("Will Price ate. Then Will Price", ("Will Price", "PATIENT"), ["Will Price"], id="words-together"),
        pytest.param("Will Price ate. Mr. Price slept", ("Will Price", "PATIENT"), ["Price"], id="word-after-a-title"),
        pytest.param("Dr. Parkinson: Parkinson's disease", ("Parkinson", "DOCTOR"), [], id="eponym"),
        pytest.param("Dr Fleischer: Kayser-Fleischer ring", ("Fleischer", "DOCTOR"), [], id="half-of-an-eponym"),
        pytest.param("Vela Quist, Quist. Ordo came", ("Vela Quist", "PATIENT"), ["Quist"], id="stops-at-a-full-stop"),
        pytest.param("Li Wu here. Li+ 0.8", ("Li Wu", "PATIENT"), [], id="short-parts"),
        pytest.param("at the Quillon. Quillon paid", ("the Quillon", "ORGANIZATION"), ["Quillon"], id="article"),
        pytest.param("at the School. the school", ("the School", "ORGANIZATION"), [], id="word-after-an-article"),
        pytest.param("call 212-867-4410 or 212-867-4410", ("212-867-4410", "PHONE"), ["212-867-4410"], id="phone"),
        pytest.param("x5512, WBC 5512", ("5512", "PHONE"), [], id="short-number"),
        pytest.param("id 8841207 vs 88412075", ("8841207", "IDNUM"), [], id="number-within-a-number"),
        pytest.param("age 39, 39 mg", ("39", "AGE"), [], id="ages-do-not-spread"),
        pytest.param("2031 and 2031", ("2031", "DATE"), [], id="dates-do-not-spread"),
        pytest.param(
            "at Elm Grove Clinic; ELM GROVE CLINIC", ("Elm Grove Clinic", "HOSPITAL"), ["ELM GROVE CLINIC"], id="place"
        ),
        pytest.param(
            "from Home Care. home care; HOME CARE", ("Home Care", "ORGANIZATION"), ["HOME CARE"], id="words-of-a-place"
        ),
        pytest.param("Amy Levy. A. Levy, M.D.", ("Amy Levy", "DOCTOR"), ["A. Levy"], id="degree-behind"),
        pytest.param("at ECG. ECG normal", ("ECG", "HOSPITAL"), [], id="short-abbreviation"),
        pytest.param("to KVMC, KVMC ED", ("KVMC", "HOSPITAL"), ["KVMC"], id="longer-abbreviation"),
        pytest.param("from Reading. Reading glasses", ("Reading", "CITY"), [], id="city-that-is-a-word"),
        pytest.param("sent qkw12@x.org qkw12@x.org", ("qkw12@x.org", "EMAIL"), ["qkw12@x.org"], id="e-mail"),
    ],
)
def test_propagation(text, found, expected):
    assert [value for value, _ in repeated(text, found)] == expected


def test_a_title_of_staff_decides_the_label():
    assert repeated("Ms. Quillon. Dr. Quillon", ("Quillon", "PATIENT")) == [("Quillon", "DOCTOR")]


@pytest.mark.parametrize(
    ("score", "source"), [(MIN_SCORE - 0.1, "model:name"), (1.0, "pattern:weak"), (1.0, "propagation")]
)
def test_only_sure_spans_are_repeated(score, source):
    assert repeated("Quillon, Quillon", ("Quillon", "PATIENT"), score=score, source=source) == []


def test_what_is_found_already_is_not_found_again():
    text = "Quillon and Quillon"
    spans = [Span(0, 7, "PATIENT", 1.0, ("model:name",)), Span(12, 19, "PATIENT", 1.0, ("model:name",))]

    assert propagate(text, spans) == []


def test_a_person_whose_role_is_not_known_takes_it_from_another_mention():
    text = "Dr. Quist saw her. Then quist left."
    spans = [Span(4, 9, "DOCTOR", 0.9, ("rule:people",)), Span(24, 29, "PATIENT", 0.7, ("rule:people:alone",))]

    found = propagate(text, spans)

    assert [(span.start, span.end, span.label) for span in found] == [(24, 29, "DOCTOR")]
    assert [(span.start, span.label) for span in fuse_spans(text, [*spans, *found])] == [
        (4, "DOCTOR"),
        (24, "DOCTOR"),
    ]


def test_a_person_whose_role_is_not_known_is_repeated_in_other_cases():
    text = "Then quist left. QUIST is back."

    assert [
        (span.start, span.end, span.label)
        for span in propagate(text, [Span(5, 10, "PATIENT", 0.7, ("rule:people:alone",))])
    ] == [(17, 22, "PATIENT")]


def test_the_source_is_propagation_and_the_score_that_of_the_origin():
    assert propagate("Quillon ... Quillon", [Span(0, 7, "PATIENT", 0.8, ("model:name",))]) == [
        Span(12, 19, "PATIENT", 0.8, ("propagation",))
    ]


def test_offsets_hold_where_lower_case_is_longer():
    text = "İİİ call 212-867-4410, Quist; QUIST 212-867-4410"

    assert repeated(text, ("212-867-4410", "PHONE"), ("Quist", "PATIENT")) == [
        ("QUIST", "PATIENT"),
        ("212-867-4410", "PHONE"),
    ]


@settings(deadline=None)
@given(texts_with_spans())
def test_any_text_gives_spans_within_it_in_any_order_of_the_found(text_and_spans):
    text, found = text_and_spans
    spans = propagate(text, found)

    assert spans == sorted(spans) == propagate(text, found[::-1])
    assert all(span.end <= len(text) and span.sources == ("propagation",) for span in spans)


def test_time_is_linear_in_a_long_note_with_many_names():
    names = [f"Qu{'abcdefghij'[i // 100]}{'klmnopqrst'[i // 10 % 10]}{'uvwxyzabcd'[i % 10]}on" for i in range(1000)]
    text = (" saw ".join(names) + " 212-867-4410\n") * 20
    spans = [
        Span(at, at + len(name), "PATIENT", 1.0, ("model:name",))
        for name in names
        if (at := text.index(name)) is not None
    ]
    started = time.process_time()

    assert len(propagate(text, spans)) == 19 * 1000
    assert time.process_time() - started < 15
