"""Test the decoding of tags and scores to spans."""

from pathlib import Path

import numpy as np
import pytest

from deid_runtime.errors import ModelError
from deid_runtime.labels import HEADS
from deid_runtime.models.decoding import decode_traces, decode_words
from deid_runtime.models.engines import TokenScores
from deid_runtime.models.manifest import Graph, HeadVersion, Profile
from deid_runtime.models.tagger import SpanDecoder
from deid_runtime.spans import Span
from deid_runtime.text.windows import Window
from deid_runtime.text.words import split_words

NAMES = ("B-PATIENT", "I-PATIENT", "B-DOCTOR", "I-DOCTOR")


def decode(text: str, tags: list[int], scores: list[float], threshold: float = 0.5) -> list[tuple[str, str]]:
    words = split_words(text)
    starts, ends = [s for s, _ in words], [e for _, e in words]
    spans = decode_words(text, starts, ends, tags, scores, NAMES, threshold, "model:name")
    return [(span.label, text[span.start : span.end]) for span in spans]


@pytest.mark.parametrize(
    ("text", "tags", "scores", "expected"),
    [
        ("John Smith seen", [0, 1, 0], [0.9, 0.9, 0.1], [("PATIENT", "John Smith")]),
        ("John Smith seen", [0, 0, 0], [0.9, 0.9, 0.1], [("PATIENT", "John"), ("PATIENT", "Smith")]),
        ("John Smith seen", [0, 3, 0], [0.9, 0.9, 0.1], [("PATIENT", "John"), ("DOCTOR", "Smith")]),
        ("Smith, John seen", [0, 1, 1, 0], [0.9, 0.3, 0.9, 0.1], [("PATIENT", "Smith, John")]),
        ("Smith was John", [0, 1, 1], [0.9, 0.3, 0.9], [("PATIENT", "Smith"), ("PATIENT", "John")]),
        ("Smith\nJohn", [0, 1], [0.9, 0.9], [("PATIENT", "Smith\nJohn")]),
        ("Smith\r\n  John", [0, 1], [0.9, 0.9], [("PATIENT", "Smith\r\n  John")]),
        ("Smith\nJohn", [0, 0], [0.9, 0.9], [("PATIENT", "Smith"), ("PATIENT", "John")]),
        ("Smith\n\nJohn", [0, 1], [0.9, 0.9], [("PATIENT", "Smith"), ("PATIENT", "John")]),
        ("Smith,\nJohn", [0, 1, 1], [0.9, 0.3, 0.9], [("PATIENT", "Smith"), ("PATIENT", "John")]),
        ("Smith, seen", [0, 1, 0], [0.9, 0.9, 0.1], [("PATIENT", "Smith")]),
        ("J. seen", [2, 3, 0], [0.9, 0.9, 0.1], [("DOCTOR", "J.")]),
        (", seen", [0, 0], [0.9, 0.1], []),
        ("seen", [1], [0.9], [("PATIENT", "seen")]),
        ("the Smith clan", [0, 0, 0], [0.6, 0.9, 0.1], [("PATIENT", "Smith")]),
        ("The Smith clan", [2, 0, 1], [0.6, 0.9, 0.7], [("PATIENT", "The Smith clan")]),
        ("the\nSmith", [2, 0], [0.6, 0.9], [("PATIENT", "Smith")]),
        ("The\nSmith", [2, 1], [0.6, 0.9], [("DOCTOR", "The"), ("PATIENT", "Smith")]),
        ("the, Smith", [0, 0, 0], [0.6, 0.1, 0.9], [("PATIENT", "Smith")]),
        ("the seen", [0, 0], [0.9, 0.1], []),
        ("The seen", [0, 0], [0.9, 0.1], [("PATIENT", "The")]),
    ],
)
def test_spans_of_tagged_words(
    text: str, tags: list[int], scores: list[float], expected: list[tuple[str, str]]
) -> None:
    assert decode(text, tags, scores) == expected


def test_a_lower_threshold_finds_all_that_a_higher_one_does() -> None:
    text, tags, scores = "a b c d", [0, 0, 2, 0], [0.9, 0.4, 0.2, 0.6]
    low, high = decode(text, tags, scores, 0.2), decode(text, tags, scores, 0.5)

    assert set(high) < set(low)


def test_a_span_carries_its_best_score_and_source() -> None:
    [span] = decode_words("John Smith", [0, 5], [4, 10], [0, 1], [0.6, 0.8], NAMES, 0.5, "model:name")

    assert span == Span(0, 10, "PATIENT", 0.8, ("model:name",))


def test_words_that_nobody_asked_of_part_a_span() -> None:
    spans = decode_words("John is well. Smith", [0, 14], [4, 19], [0, 1], [0.9, 0.9], NAMES, 0.5, "model:name")

    assert [(span.start, span.end) for span in spans] == [(0, 4), (14, 19)]


def test_scores_that_are_no_numbers_are_an_error() -> None:
    heads = (HeadVersion("name", "v0", "name", ("B-PATIENT", "I-PATIENT")),)
    graph = Graph("v0", Path("none"), heads)
    decoder = SpanDecoder([graph], Profile("fast", (graph,), dict.fromkeys(HEADS, 0.5), False), {})
    batch = [(0, Window([1, 2, 3], [0, 0, 0], [1], [0], [4]))]
    scores = np.full((1, 3), np.nan, np.float32)

    with pytest.raises(ModelError, match="not numbers"):
        decoder.decode(batch, {"name": TokenScores(np.zeros((1, 3), np.uint8), scores)}, ["Alma"], [[]])


def test_a_word_that_is_neither_found_nor_denied_leaves_a_trace() -> None:
    scores = {"name": np.array([0.9, 0.3, 0.01, 0.01]), "age": np.array([0.01, 0.1, 0.029, 0.03])}

    traces = decode_traces([0, 2, 4, 6], [1, 3, 5, 7], scores, {"name": 0.5, "age": 0.2})

    assert [(span.start, span.end, span.score, span.sources) for span in traces] == [
        (2, 3, 0.3, ("model:trace",)),
        (6, 7, 0.03, ("model:trace",)),
    ]
