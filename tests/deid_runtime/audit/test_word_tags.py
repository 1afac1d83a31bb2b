"""Test the conversion of spans to tags and back."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.audit.word_tags import (
    MAX_WORDS,
    Scheme,
    SentenceWords,
    sentence_words,
    spans_of_tags,
    tag_words,
)
from deid_runtime.labels import LABELS
from deid_runtime.spans import Span

SCHEMES: tuple[Scheme, ...] = ("BIO", "BIESO")
TEXT = "Dr. Orr of Dell Rapids Clinic called."


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("BIO", "O O B-DOCTOR O B-CITY I-CITY B-HOSPITAL O O"),
        ("BIESO", "O O S-DOCTOR O B-CITY E-CITY S-HOSPITAL O O"),
    ],
)
def test_words_get_the_tag_of_their_span(scheme: Scheme, expected: str) -> None:
    [words] = sentence_words(TEXT)
    spans = [
        Span(TEXT.index(v), TEXT.index(v) + len(v), label)
        for v, label in (("Orr", "DOCTOR"), ("Dell Rapids", "CITY"), ("Clinic", "HOSPITAL"))
    ]

    assert tag_words(words, spans, scheme) == expected.split()


def test_a_word_that_two_spans_touch_belongs_to_the_first() -> None:
    assert tag_words(SentenceWords([0], [6]), [Span(0, 3, "AGE"), Span(3, 6, "DATE")], "BIO") == ["B-AGE"]


def test_a_span_that_begins_before_the_words_begins_with_the_first_of_them() -> None:
    words = SentenceWords([10, 15], [14, 18])

    assert tag_words(words, [Span(0, 18, "STREET")], "BIESO") == ["B-STREET", "E-STREET"]


def test_long_sentences_are_tagged_in_pieces_that_leave_nothing_out() -> None:
    text = "word " * (2 * MAX_WORDS + 3)
    pieces = sentence_words(text)

    assert [len(piece.starts) for piece in pieces] == [MAX_WORDS, MAX_WORDS, 3]
    assert [start for piece in pieces for start in piece.starts] == list(range(0, len(text), 5))


@given(st.data(), st.sampled_from(SCHEMES))
def test_spans_survive_their_tags(data: st.DataObject, scheme: Scheme) -> None:
    size = data.draw(st.integers(1, 12))
    words = SentenceWords([3 * word for word in range(size)], [3 * word + 2 for word in range(size)])
    edges = sorted(data.draw(st.sets(st.integers(0, size), max_size=6)))
    spans = [
        Span(words.starts[first], words.ends[last - 1], data.draw(st.sampled_from(LABELS[:3])), 1.0, ("x",))
        for first, last in pairwise(edges)
        if data.draw(st.booleans())
    ]
    tags = tag_words(words, spans, scheme)

    assert spans_of_tags(words, tags, "x") == spans


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O I-AGE I-AGE", [(3, 8, "AGE")]),
        ("B-AGE I-DATE O", [(0, 2, "AGE"), (3, 5, "DATE")]),
        ("B-AGE B-AGE S-AGE", [(0, 2, "AGE"), (3, 5, "AGE"), (6, 8, "AGE")]),
        ("E-AGE I-AGE O", [(0, 2, "AGE"), (3, 5, "AGE")]),
        ("B-AGE I-AGE O", [(0, 5, "AGE")]),
    ],
)
def test_broken_sequences_lose_no_word(tags: str, expected: list[tuple[int, int, str]]) -> None:
    found = spans_of_tags(SentenceWords([0, 3, 6], [2, 5, 8]), tags.split(), "x")

    assert [(span.start, span.end, span.label) for span in found] == expected
