"""Test the splitting of run-together text into words, and word shapes."""

import re
import time

import pytest
from hypothesis import given

from deid_runtime.lexicon.word_codes import CLASS_COUNT
from deid_runtime.text.words import MAX_WORD_CHARS, SHAPES, TYPE_COUNT, shape_of, split_words, type_id, without_class
from tests.strategies import texts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Age:39Sex:F", ["Age", ":", "39", "Sex", ":", "F"]),
        ("seen02/20/2087NA 135", ["seen", "02", "/", "20", "/", "2087", "NA", "135"]),
        ("JMH.Does", ["JMH", ".", "Does"]),
        ("PsychiatryChief", ["Psychiatry", "Chief"]),
        ("MRNSmith", ["MRN", "Smith"]),
        ("McDonald's", ["Mc", "Donald", "'", "s"]),
        ("SMITH,JOHN", ["SMITH", ",", "JOHN"]),
        ("snake_case", ["snake", "_", "case"]),
        ("Rene\u0301e ÅSA", ["Rene\u0301e", "ÅSA"]),
        ("漢字12", ["漢字", "12"]),
        ("\u00a0\t \n", []),
        ("", []),
    ],
)
def test_words_end_where_the_kind_changes(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in split_words(text)] == words


@given(texts)
def test_words_cover_all_but_white_space_in_order(text: str) -> None:
    words = split_words(text)
    outside = "".join(
        text[a:b] for a, b in zip([0, *(e for _, e in words)], [*(s for s, _ in words), len(text)], strict=True)
    )

    assert not outside.strip()
    assert all(0 < end - start <= MAX_WORD_CHARS for start, end in words)
    assert words == sorted(words)


@pytest.mark.parametrize(
    ("word", "shape"),
    [("abc", "lower"), ("Abc", "title"), ("ABC", "upper"), ("J", "upper"), ("12", "digits"), ("/", "punctuation"),
     ("漢字", "lower"), ("ʼ", "lower")],
)  # fmt: skip
def test_shapes(word: str, shape: str) -> None:
    assert SHAPES[shape_of(word)] == shape


def test_type_ids_are_distinct_and_below_the_count() -> None:
    unlisted = [(shape, spacing, 0) for shape in range(len(SHAPES)) for spacing in range(3)]
    listed = [
        (SHAPES.index(shape), spacing, word_class)
        for shape in ("lower", "title", "upper", "mixed")
        for spacing in range(3)
        for word_class in range(1, CLASS_COUNT)
    ]
    ids = [type_id(*parts) for parts in unlisted + listed]

    assert sorted(ids) == list(range(TYPE_COUNT))
    assert [without_class(kind) for kind in ids] == [type_id(shape, at) for shape, at, _ in unlisted + listed]


@pytest.mark.parametrize(
    "line", ["a" * 100_000, "A" * 100_000, "Aa" * 50_000, "1" * 100_000, "." * 100_000, "漢" * 100_000]
)
def test_hostile_lines_are_cut_in_linear_time(line: str) -> None:
    begun = time.process_time()
    words = split_words(line)

    assert time.process_time() - begun < 12
    assert sum(end - start for start, end in words) == len(re.sub(r"\s", "", line))
