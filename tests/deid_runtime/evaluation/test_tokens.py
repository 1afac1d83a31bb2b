import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.evaluation.tokens import (
    CHARACTER,
    CLASSES,
    GROUPS,
    TOKEN,
    Score,
    count_tokens,
    label_tokens,
    token_binary,
    token_offsets,
)
from deid_runtime.labels import LABELS
from deid_runtime.spans import Span


def mark(text, **labels):
    """Return spans of the first occurrence of each word: ``mark(text, Kasson="CITY")``."""
    return tuple(sorted(Span(text.index(word), text.index(word) + len(word), label) for word, label in labels.items()))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Age:39Sex:F", ["Age", "39", "Sex", "F"]),
        ("seen02/20/2087NA 135", ["seen", "02", "20", "2087", "NA", "135"]),
        ("O'Brien-Løvås", ["O", "Brien", "Løvås"]),
        ("JMH_7 x5512", ["JMH", "7", "x", "5512"]),
        ("a@b.org", ["a", "b", "org"]),
        ("--- \n\t", []),
        ("", []),
    ],
)
def test_tokens_are_runs_of_letters_or_of_digits(text, tokens):
    assert [text[start:end] for start, end in token_offsets(text).tolist()] == tokens


def test_worked_example():
    text = "Seen 3/14 by Dr. Lindqvist in Kasson for asthma"
    gold = mark(text, **{"3/14": "DATE", "Lindqvist": "DOCTOR", "Kasson": "CITY"})
    found = mark(text, **{"3/14": "DATE", "Lindqvist": "DOCTOR", "asthma": "CITY"})

    scores = token_binary([AnnotatedNote("n1", "", "", text, gold)], {"n1": found})

    assert scores == {"A": Score(2, 1, 1), "B": Score(3, 1, 1), "C": Score(3, 1, 1)}
    assert scores["A"].precision == scores["A"].recall == scores["A"].f1 == pytest.approx(2 / 3)
    assert scores["B"].precision == scores["B"].recall == pytest.approx(3 / 4)


def test_a_touch_is_enough_and_the_label_does_not_matter():
    text = "Lindqvist-Okafor, 507-555-0139"
    gold = [AnnotatedNote("n1", "", "", text, (Span(0, 16, "DOCTOR"), Span(18, 30, "PHONE")))]

    scores = token_binary(gold, {"n1": [Span(8, 11, "CITY"), Span(26, 27, "IDNUM")]})

    assert scores["C"] == Score(true_positives=3, false_positives=0, false_negatives=2)  # 507 and 555 are missed


@pytest.mark.parametrize(
    ("label", "text", "groups"),
    [
        ("PATIENT", "Ilse", "ABC"),
        ("USERNAME", "Ilse", "BC"),
        ("DOCTOR", "Ilse", "BC"),
        ("HOSPITAL", "Ilse", "C"),
        ("STATE", "Ilse", "C"),
        ("AGE", "89", "C"),
        ("AGE", "90", "ABC"),
        ("AGE", "ninety", "ABC"),
        ("AGE", "old", "C"),
    ],
)
def test_groups(label, text, groups):
    scores = token_binary([AnnotatedNote("n1", "", "", text, (Span(0, len(text), label),))], {})

    assert "".join(group for group, score in scores.items() if score.false_negatives) == groups


def test_groups_hold_the_smaller_ones():
    assert set(GROUPS["A"]) < set(GROUPS["B"]) < set(GROUPS["C"])
    assert GROUPS["C"] == list(range(len(CLASSES)))


def test_nothing_to_divide_by_is_none():
    score = token_binary([AnnotatedNote("n1", "", "", "fever", ())], {"n1": []})["C"]

    assert (score.precision, score.recall, score.f1) == (None, None, None)


def test_the_first_span_that_touches_a_token_gives_its_label():
    offsets = token_offsets("abc def")

    assert label_tokens(offsets, [Span(0, 2, "CITY"), Span(1, 5, "ZIP")], [7, 9]).tolist() == [7, 9]


def test_a_found_span_behind_the_text_is_an_error_without_text():
    with pytest.raises(InputError, match=r"note n1: found span \[0, 9\) CITY ends after a text of 6") as caught:
        count_tokens([AnnotatedNote("n1", "", "", "Kasson", ())], {"n1": [Span(0, 9, "CITY")]})

    assert "Kasson" not in str(caught.value)


texts = st.text(alphabet="ab1 9-.\nÉ", max_size=30)


@st.composite
def marked_texts(draw):
    text = draw(texts)
    bounds = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).filter(lambda pair: pair[0] < pair[1])
    spans = st.lists(st.builds(lambda pair, label: Span(*pair, label), bounds, st.sampled_from(LABELS)), max_size=4)
    return text, (draw(spans), draw(spans)) if text else ([], [])


@given(marked_texts())
def test_counts_agree_with_the_definition(marked):
    text, (gold, found) = marked
    for pattern in (TOKEN, CHARACTER):
        is_gold, is_found = (
            [any(start < span.end and span.start < end for span in spans) for start, end in offsets]
            for spans in (gold, found)
            for offsets in [[match.span() for match in pattern.finditer(text)]]
        )

        counts = count_tokens([AnnotatedNote("n", "", "", text, tuple(sorted(gold)))], {"n": found}, token=pattern)

        assert counts.score("C") == Score(
            sum(a and b for a, b in zip(is_gold, is_found, strict=True)),
            sum(b and not a for a, b in zip(is_gold, is_found, strict=True)),
            sum(a and not b for a, b in zip(is_gold, is_found, strict=True)),
        )
        assert counts.hit.sum() == counts.right.sum()
        assert np.array_equal(counts.by_note("C").sum(0), counts.by_note("C")[0])
