import pytest

from deid_runtime.detectors.people.typos import is_like_a_word
from deid_runtime.detectors.people.words import Case, NameGrade, read_words
from deid_runtime.lexicon.word_codes import EPONYM, FAMILY, GIVEN, PLACE, WORD, WORD_SHIFT, load_lexicon, word_key


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("O'Brien", "obrien"),
        ("D’Angelo", "dangelo"),
        ("Min-Jun", "minjun"),
        ("Łukasz", "lukasz"),
        ("Søren", "soren"),
        ("Nguyễn", "nguyen"),
        ("Villaseñor", "villasenor"),
        ("Groß", "gross"),
    ],
)
def test_word_key(word: str, key: str) -> None:
    assert word_key(word) == key


@pytest.mark.parametrize(
    ("word", "part", "is_listed"),
    [
        ("fatima", GIVEN, True),
        ("okafor", FAMILY, True),
        ("fatima", WORD, False),
        ("pao", GIVEN, True),
        ("gebremariam", FAMILY, True),
        ("houston", PLACE, True),
        ("carolina", PLACE, True),
        ("foley", EPONYM, True),
        ("april", EPONYM, True),
        ("metformin", WORD, True),
        ("metformin", GIVEN | FAMILY, False),
        ("catheter", WORD, True),
        ("lasix", WORD, True),
    ],
)
def test_lists(word: str, part: int, is_listed: bool) -> None:
    assert bool(load_lexicon().get(word, 0) & part) is is_listed


def test_keys_of_the_lists_are_keys() -> None:
    assert all(word_key(word) == word for word in load_lexicon())
    assert max(code >> WORD_SHIFT for code in load_lexicon().values()) < 8


@pytest.mark.parametrize(
    ("word", "case", "grade"),
    [
        ("Rosalind", Case.TITLE, NameGrade.STRONG),
        ("rosalind", Case.LOWER, NameGrade.STRONG),
        ("ROSALIND", Case.CAPS, NameGrade.STRONG),
        ("McDonald", Case.TITLE, NameGrade.WEAK),
        ("LaShawn", Case.TITLE, NameGrade.STRONG),
        ("Min-jun", Case.TITLE, NameGrade.STRONG),
        ("Al-Masri", Case.TITLE, NameGrade.STRONG),
        ("Brown", Case.TITLE, NameGrade.WEAK),
        ("Xqorvella", Case.TITLE, NameGrade.UNKNOWN),
        ("Catheter", Case.TITLE, NameGrade.NONE),
        ("x-ray", Case.LOWER, NameGrade.NONE),
        ("J", Case.INITIAL, NameGrade.INITIAL),
        ("de", Case.LOWER, NameGrade.PARTICLE),
        ("pH", Case.NONE, NameGrade.NONE),
        ("January", Case.TITLE, NameGrade.NONE),
    ],
)
def test_words(word: str, case: Case, grade: NameGrade) -> None:
    [found] = read_words(word)

    assert (found.facts.case, found.facts.grade) == (case, grade)


def test_a_possessive_is_no_part_of_its_word() -> None:
    [first, second] = read_words("Maria's foot")

    assert (first.start, first.end, first.is_possessive) == (0, 5, True)
    assert not second.is_possessive


def test_words_that_touch_a_digit_are_no_names() -> None:
    assert [word.facts.grade for word in read_words("Maria2 maria_lopez @Maria")] == [NameGrade.NONE] * 4


@pytest.mark.parametrize("word", ["statess", "deneis", "paitent", "catheters", "nonbilious", "reevaluated"])
def test_forms_and_misspellings_are_like_words(word: str) -> None:
    assert is_like_a_word(word)


@pytest.mark.parametrize("word", ["xochitl", "venkataraghavan", "qwestfield", "kaczander"])
def test_new_words_are_not(word: str) -> None:
    assert not is_like_a_word(word)
