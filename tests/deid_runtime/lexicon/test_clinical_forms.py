"""Words of clinical form, and names that are of none."""

import pytest

from deid_runtime.lexicon.clinical_forms import has_clinical_form
from deid_runtime.lexicon.word_codes import FAMILY, GIVEN, load_lexicon


@pytest.mark.parametrize(
    "word",
    [
        "pericardiocentesis", "arthralgia", "myocarditis", "laparotomy", "cholecystectomies", "hyperparathyroidism",
        "ureterolithiasis", "bronchoscopic", "retroperitoneal", "thrombocytopenic", "osteochondromas",
        "spirometric", "ventriculoperitoneal",
    ],
)  # fmt: skip
def test_clinical_words(word: str) -> None:
    assert has_clinical_form(word)


def test_names_rarely_have_a_clinical_form() -> None:
    names = [key for key, code in load_lexicon().items() if code & (GIVEN | FAMILY) and len(key) > 6]
    assert len(names) > 50_000
    assert sum(map(has_clinical_form, names)) / len(names) < 0.003


@pytest.mark.parametrize("word", ["", "itis", "oma", "smithson", "o" * 500, "cardi" * 6, "micro" * 5 + "x"])
def test_no_clinical_words(word: str) -> None:
    assert not has_clinical_form(word)
