"""Test which tags may follow each other."""

import itertools

import pytest

from deid_runtime.audit.word_tags import SentenceWords, tag_words
from deid_runtime.spans import Span
from tests.benchmarks.scripts import load_script

schemes = load_script("baselines/tag_schemes")


@pytest.mark.parametrize(
    ("scheme", "before", "after", "may"),
    [
        ("BIO", "O", "I-AGE", False),
        ("BIO", "B-AGE", "I-AGE", True),
        ("BIO", "I-AGE", "I-DATE", False),
        ("BIO", "I-AGE", "B-DATE", True),
        ("BIESO", "B-AGE", "O", False),
        ("BIESO", "B-AGE", "S-AGE", False),
        ("BIESO", "B-AGE", "E-AGE", True),
        ("BIESO", "E-AGE", "E-AGE", False),
        ("BIESO", "S-AGE", "B-AGE", True),
    ],
)
def test_rules(scheme: str, before: str, after: str, may: bool) -> None:
    names = schemes.tag_names(scheme)

    assert bool(schemes.allowed(scheme).follows[names.index(before), names.index(after)]) is may


def test_where_spans_may_begin_and_end() -> None:
    names, rules = schemes.tag_names("BIESO"), schemes.allowed("BIESO")

    assert {names[i].partition("-")[0] for i in rules.begins.nonzero()[0]} == {"O", "B", "S"}
    assert {names[i].partition("-")[0] for i in rules.ends.nonzero()[0]} == {"O", "E", "S"}


@pytest.mark.parametrize("scheme", ["BIO", "BIESO"])
def test_tags_of_spans_are_allowed(scheme: str) -> None:
    words = SentenceWords([0, 3, 6, 9, 12], [2, 5, 8, 11, 14])
    tags = tag_words(words, [Span(0, 5, "AGE"), Span(6, 14, "DATE")], scheme)  # type: ignore[arg-type]
    rules, names = schemes.allowed(scheme), schemes.tag_names(scheme)
    numbers = [names.index(tag) for tag in tags]

    assert rules.begins[numbers[0]]
    assert rules.ends[numbers[-1]]
    assert all(rules.follows[a, b] for a, b in itertools.pairwise(numbers))
