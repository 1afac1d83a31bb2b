import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.errors import InputError
from deid_runtime.labels import LABELS
from deid_runtime.merging.fusion import KINDS, fuse_spans, rank_of
from deid_runtime.spans import Span, covered
from tests.strategies import texts_with_spans


def find(text, *found):
    """Return spans of ``(value, label, source)``, each at the first such value in ``text``."""
    return [
        Span(text.index(value), text.index(value) + len(value), label, 1.0, (source,)) for value, label, source in found
    ]


@settings(deadline=None)
@given(texts_with_spans(), st.randoms())
def test_fusion_keeps_every_covered_character_in_any_order(text_and_spans, random):
    text, found = text_and_spans
    fused = fuse_spans(text, found)

    assert covered(fused) == covered(found)
    assert all(left.end <= right.start for left, right in pairwise(fused))
    assert fuse_spans(text, fused) == fused
    random.shuffle(found)
    assert fuse_spans(text, found) == fused


@settings(deadline=None)
@given(texts_with_spans())
def test_sources_and_scores_are_those_of_what_was_found(text_and_spans):
    text, found = text_and_spans

    for span in fuse_spans(text, found):
        touching = [other for other in found if other.overlaps(span)]
        assert {source for other in touching for source in other.sources} >= set(span.sources) or any(
            left.end == right.start for left, right in pairwise(fuse_spans(text, found))
        )
        assert span.label in {other.label for other in found}
        assert span.score in {other.score for other in found}


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        pytest.param(
            "seen by Smith",
            [("Smith", "PATIENT", "record"), ("Smith", "DOCTOR", "model:name")],
            [("Smith", "PATIENT")],
            id="priority-chooses-the-label",
        ),
        pytest.param(
            "John Smith",
            [("Smith", "PATIENT", "record"), ("John Smith", "DOCTOR", "model:name")],
            [("John Smith", "PATIENT")],
            id="a-name-is-one-span-under-the-best-label",
        ),
        pytest.param(
            "John C Smith",
            [("John C", "PATIENT", "model:name"), ("C Smith", "PATIENT", "model:name")],
            [("John C Smith", "PATIENT")],
            id="overlapping-parts-of-a-name-join",
        ),
        pytest.param(
            "Rochester General Hospital",
            [("Rochester", "CITY", "record"), ("Rochester General Hospital", "HOSPITAL", "model:organization")],
            [("Rochester General Hospital", "HOSPITAL")],
            id="a-part-is-taken-up-by-its-whole",
        ),
        pytest.param(
            "Kasson MN 55944",
            [("55944", "ZIP", "pattern"), ("Kasson MN 55944", "CITY", "model:location")],
            [("Kasson MN ", "CITY"), ("55944", "ZIP")],
            id="a-pattern-is-not-taken-up",
        ),
        pytest.param(
            "8 Quay Row",
            [("8", "AGE", "pattern"), ("8 Quay Row", "STREET", "model:location")],
            [("8 Quay Row", "STREET")],
            id="a-house-number-is-no-age",
        ),
        pytest.param(
            "54, 12 High St",
            [("54", "AGE", "pattern"), ("4, 12 High St", "STREET", "model:location")],
            [("54", "AGE"), (", 12 High St", "STREET")],
            id="an-age-before-a-street-stays-one",
        ),
        pytest.param(
            "Tues 3/14/17",
            [("3/14/17", "DATE", "pattern"), ("Tues 3/14/17", "DATE", "model:identifier")],
            [("Tues 3/14/17", "DATE")],
            id="a-model-completes-a-pattern",
        ),
        pytest.param(
            "3/14 - 3/16",
            [("3/14", "DATE", "pattern"), ("3/16", "DATE", "pattern"), ("3/14 - 3/16", "DATE", "model:identifier")],
            [("3/14 - ", "DATE"), ("3/16", "DATE")],
            id="a-model-does-not-join-two-patterns",
        ),
        pytest.param(
            "3/14, Wed 3/16",
            [("3/14", "DATE", "pattern"), ("3/16", "DATE", "pattern"), ("3/14, Wed 3/16", "DATE", "model:identifier")],
            [("3/14", "DATE"), (", Wed 3/16", "DATE")],
            id="a-leftover-joins-its-kind-on-the-right",
        ),
        pytest.param(
            "14 Elm St, Kasson",
            [("14 Elm St, Kasson", "STREET", "model:location"), ("Kasson", "CITY", "pattern")],
            [("14 Elm St, ", "STREET"), ("Kasson", "CITY")],
            id="streets-and-cities-stay-apart",
        ),
        pytest.param(
            "WB 44-17",
            [("44-17", "MEDICALRECORD", "pattern"), ("WB 44-17", "IDNUM", "model:identifier")],
            [("WB 44-17", "MEDICALRECORD")],
            id="numbers-are-one-kind",
        ),
        pytest.param(
            "(555-0139)",
            [("555-0139)", "PHONE", "pattern"), ("(555-0139", "IDNUM", "model:identifier")],
            [("(555-0139)", "PHONE")],
            id="a-leftover-without-letter-or-digit-is-absorbed",
        ),
        pytest.param(
            "May Hill",
            [("May", "DATE", "pattern:weak"), ("May Hill", "PATIENT", "model:name")],
            [("May Hill", "PATIENT")],
            id="weak-patterns-give-way",
        ),
        pytest.param(
            "Ann Lee 3/4",
            [("Ann Lee", "PATIENT", "model:name"), ("3/4", "DATE", "pattern")],
            [("Ann Lee", "PATIENT"), ("3/4", "DATE")],
            id="disjoint-spans-stay-as-they-are",
        ),
        pytest.param(
            "LeeSmith",
            [("Lee", "PATIENT", "model:name"), ("Smith", "PATIENT", "model:name")],
            [("Lee", "PATIENT"), ("Smith", "PATIENT")],
            id="touching-spans-stay-apart",
        ),
    ],
)
def test_fusion(text, found, expected):
    fused = fuse_spans(text, find(text, *found))

    assert [(text[span.start : span.end], span.label) for span in fused] == expected


def test_sources_are_united_and_the_highest_score_kept():
    found = [Span(0, 5, "PATIENT", 0.4, ("propagation",)), Span(0, 5, "PATIENT", 0.9, ("model:name",))]

    assert fuse_spans("Smith", found) == [Span(0, 5, "PATIENT", 0.9, ("model:name", "propagation"))]


def test_equal_ranks_are_settled_by_score():
    found = [Span(0, 5, "PATIENT", 0.4, ("model:name",)), Span(0, 5, "DOCTOR", 0.9, ("model:name",))]

    assert [span.label for span in fuse_spans("Smith", found)] == ["DOCTOR"]


def test_a_span_behind_the_text_is_an_error_that_shows_no_text():
    with pytest.raises(InputError, match="5 characters") as error:
        fuse_spans("Smith", [Span(0, 6, "PATIENT")])

    assert "Smith" not in str(error.value)


def test_a_further_part_of_a_source_does_not_change_its_rank():
    assert rank_of(("model:name:v3",)) == rank_of(("model:name",)) < rank_of(("nobody",))


def test_every_label_has_a_kind():
    assert KINDS.keys() == set(LABELS)
    assert set(KINDS.values()) <= set(LABELS)


def test_time_is_bounded_when_one_span_covers_many():
    text = "1/2 " * 50_000
    found = [Span(at, at + 3, "DATE", 1.0, ("pattern",)) for at in range(0, len(text), 4)]
    found += [Span(0, len(text), "STREET", 0.9, ("model:location",))]
    started = time.process_time()

    fused = fuse_spans(text, found)

    assert time.process_time() - started < 24
    assert covered(fused) == [(0, len(text))]
