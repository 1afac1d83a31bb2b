import pytest
from hypothesis import given

from deid_export.adapt.harvest.masks import TOKEN, Masks, entity_mask, syntax_mask
from deid_runtime.spans import Span
from tests.export.adapt.harvest.marked import passage
from tests.strategies import texts_with_spans


@pytest.mark.parametrize(
    ("tagged", "syntax", "entity"),
    [
        (
            "Signed by: <DOCTOR>Ann Quist</DOCTOR>, RN <DATE>4/7/31</DATE>",
            "W W : W W , W N / N / N",
            "O O O B-DOCTOR I-DOCTOR O O B-DATE I-DATE I-DATE I-DATE I-DATE",
        ),
        ("T12 at 98.6", "A W N . N", "O O O O O"),
        ("Age:<AGE>39</AGE>Sex:F", "W : A : W", "O O B-AGE O O"),
        ("<DATE>3/14</DATE>-<DATE>3/16</DATE>", "N / N - N / N", "B-DATE I-DATE I-DATE O B-DATE I-DATE I-DATE"),
        ("a_b", "W _ W", "O O O"),
    ],
)
def test_masks(tagged, syntax, entity):
    sentence = passage(tagged)

    assert " ".join(syntax_mask(sentence.text)) == syntax
    assert " ".join(entity_mask(sentence.text, sentence.spans)) == entity


def test_fixed_words_are_those_that_a_template_keeps():
    sentence = passage("Sealed by <DOCTOR>Ann Quist</DOCTOR>, MD, on T12, sex F, 14")

    assert Masks.of(sentence.text, sentence.spans).fixed == ("sealed", "by", "on", "t12", "sex")


@given(texts_with_spans())
def test_every_token_has_a_tag_in_both_masks(drawn):
    text, spans = drawn
    ends = [0]
    disjoint: list[Span] = []
    for span in sorted(spans):
        if span.start >= ends[-1]:
            disjoint.append(span)
            ends.append(span.end)

    assert len(syntax_mask(text)) == len(entity_mask(text, disjoint)) == len(TOKEN.findall(text))
