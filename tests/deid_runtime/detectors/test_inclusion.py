from importlib.resources import files
from pathlib import Path

import pytest

from deid_runtime.detectors.inclusion import MAX_SENTENCE_CHARS, load_inclusion, normalise
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.errors import SettingsError
from deid_runtime.spans import Span


def find_years(texts):
    """Find years, so that the list is tested without the patterns."""
    return [[Span(text.index("2031"), text.index("2031") + 4, "DATE")] if "2031" in text else [] for text in texts]


def load(tmp_path, text):
    path = tmp_path / "list.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_inclusion(path, screen=find_years)


@pytest.mark.parametrize(
    "sentence",
    [
        "Lungs are clear.",
        "LUNGS  ARE\tCLEAR",
        "  - lungs are clear\n",
        "3. Lungs are clear.\r\n",
        "b) lungs are clear;",
        "[x] Lungs are clear",
        "• Lungs are clear",
    ],
)
def test_forms_of_a_known_sentence_are_known(tmp_path, sentence):
    assert sentence in load(tmp_path, "Lungs are clear\n")


@pytest.mark.parametrize(
    "sentence",
    [
        "Lungs are clear, Ann",
        "J. Lungs are clear",
        "Lungs are clear 3",
        "Lungs are clear" + " " * MAX_SENTENCE_CHARS,
        "",
        "\n",
    ],
)
def test_anything_else_is_unknown(tmp_path, sentence):
    assert sentence not in load(tmp_path, "Lungs are clear\n")


def test_digits_are_compared():
    assert normalise("BP 120/80") != normalise("BP 130/80")


def test_comments_and_blank_lines_are_skipped(tmp_path):
    assert len(load(tmp_path, "\ufeff# heading\n\n  \nNo fever\nno fever.\nNo rash\n")) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("No fever\nSeen in 2031\n", r"list\.txt, line 2: .*DATE"),
        ("No fever\nKW\n", r"list\.txt, line 2: fewer than 3 letters"),
        ("x" * (MAX_SENTENCE_CHARS + 1), rf"list\.txt, line 1: {MAX_SENTENCE_CHARS + 1} characters"),
        (b"No fever\n\xff\xfe", r"list\.txt: bad bytes at offset 9"),
    ],
)
def test_a_bad_list_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(SettingsError, match=message) as error:
        load(tmp_path, text)

    assert "Seen in" not in str(error.value)


def test_a_missing_list_is_an_error_that_names_it(tmp_path):
    with pytest.raises(SettingsError, match=r"nowhere\.txt: No such file"):
        load_inclusion(tmp_path / "nowhere.txt", screen=find_years)


def test_the_digest_is_that_of_the_file(tmp_path):
    assert load(tmp_path, "No fever\n").sha256 != load(tmp_path, "No rash\n").sha256
    assert len(load(tmp_path, "No fever\n").sha256) == 64


def test_the_packaged_list_holds_no_identifier_and_knows_common_sentences():
    packaged = Path(str(files("deid_runtime") / "data" / "inclusion.txt"))
    inclusion = load_inclusion(packaged, screen=find_patterns)  # what load_inclusion(None) leaves to this test

    assert inclusion == load_inclusion(None, screen=find_years)

    assert len(inclusion) >= 300
    assert "ROS: Negative except as per HPI.\n" in inclusion
    assert "Lungs: Clear to auscultation bilaterally." in inclusion
