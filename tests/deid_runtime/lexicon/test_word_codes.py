"""Word classes: what the models are told of the lists."""

import pytest

from deid_runtime.lexicon.word_codes import CLASS_COUNT, UNLISTED, load_lexicon, word_class


def test_every_listed_word_has_a_class_in_range_and_most_words_one_of_their_own() -> None:
    classes = {word_class(word) for word in load_lexicon()}

    assert min(classes) > UNLISTED  # no word of a list passes for one in no list
    assert max(classes) < CLASS_COUNT
    assert len(classes) > 60


@pytest.mark.parametrize("word", ["qzxv", "Qzxv", "", "12", "漢字"])
def test_a_word_in_no_list_has_no_class(word: str) -> None:
    assert word_class(word) == UNLISTED


@pytest.mark.parametrize(
    ("word", "alike"), [("Smith", "SMITH"), ("josé", "Jose"), ("Metformin", "metformin"), ("Parkinson", "PARKINSON")]
)
def test_case_and_accents_do_not_change_the_class(word: str, alike: str) -> None:
    assert word_class(word) == word_class(alike) > UNLISTED


def test_names_words_and_eponyms_differ() -> None:
    assert len({word_class(word) for word in ("Gallagher", "Priya", "kidney", "the", "Babinski", "Boston")}) == 6
