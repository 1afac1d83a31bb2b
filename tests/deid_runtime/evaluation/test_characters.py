from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.characters import CharacterCounts, count_characters
from deid_runtime.spans import Span

TEXT = "Ann Oyelaran, 47, saw 93 y/o aunt"
NOTE = AnnotatedNote("n", "", "", TEXT, (Span(0, 12, "PATIENT"), Span(14, 16, "AGE"), Span(22, 24, "AGE")))


def test_identifying_characters_found_and_others_redacted():
    counts = count_characters([NOTE], {"n": [Span(0, 3, "PATIENT"), Span(14, 16, "AGE"), Span(18, 21, "CITY")]})

    # 11 letters of the name and two ages of two digits; 3 + 2 of them found. White space counts nowhere.
    assert counts == CharacterCounts(identifying=15, found=5, other=12, redacted=3)
    assert (counts.found_share, counts.redacted_share) == (5 / 15, 3 / 12)


def test_ages_under_90_are_neither_identifying_nor_other():
    found = {"n": [Span(14, 16, "AGE"), Span(22, 24, "AGE")]}

    assert count_characters([NOTE], found, ages_under_90=False) == CharacterCounts(13, 2, 12, 0)


def test_no_characters_at_all_have_no_share():
    counts = count_characters([AnnotatedNote("n", "", "", " \n\u00a0", ())], {})

    assert (counts.found_share, counts.redacted_share) == (None, None)
