"""Test plain words that a model took for a person."""

import pytest

from deid_runtime.detectors.clinical import without_clinical
from deid_runtime.detectors.people import find_people
from deid_runtime.spans import Span


def person(text: str, value: str, score: float = 0.5) -> Span:
    start = text.index(value)
    return Span(start, start + len(value), "PATIENT", score, ("model:name",))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("immediate resection of jejunum leaving a blind end", "jejunum"),
        ("no clear-cut photic driving was seen", "photic"),
        ("Oozing was encountered at the base.", "Oozing"),
        ("she noted swelling in both hands", "swelling"),
        ("Pericardiocentesis was unremarkable.", "Pericardiocentesis"),  # in no list, of clinical form
        ("degenerative tears of the glenoid labrum", "labrum"),  # a rare family name
        ("Brother angry re wait for bed", "angry"),  # what a relative is or does
        ("wife cues him to swallow", "cues"),
        ("NPO incl meds, SLP eval am", "am"),
        ("pt bk from theatre, drowsy", "bk"),  # a short form
    ],
)
def test_a_word_that_is_no_name_is_nobody(text: str, value: str) -> None:
    assert without_clinical(text, [person(text, value)]) == []


@pytest.mark.parametrize(
    ("text", "value", "score"),
    [
        ("per kowalczyk no findings", "kowalczyk", 0.3),
        ("hope is doing well today", "hope", 0.5),  # a word that is also a name
        ("Labrum is doing well today", "Labrum", 0.5),  # a rare one, with a capital
        ("her sister kowalczyk was present", "kowalczyk", 0.5),
        ("seen by jejunum", "jejunum", 0.5),  # a cue outweighs the vocabulary
        ("Dr. Oozing will follow", "Oozing", 0.5),
        ("resection of jejunum today", "jejunum", 0.97),  # the score of the model is very high
        ("seen with Oozing in clinic", "Oozing", 0.7),  # capitalised inside a sentence
        ("labs sent by rk to lab", "rk", 0.5),  # initials in small letters
        ("time out w/ gh before the start", "gh", 0.5),
        ("retina photo done, mild NPDR kc", "kc", 0.5),
        ("pt bk from theatre, drowsy", "bk", 0.95),
        ("d/w jkt re plan", "jkt", 0.5),
        ("s/b rk this am", "rk", 0.5),
        ("rk: seen pt", "rk", 0.5),
        ("stable kc 14/3", "kc", 0.5),
        ("wife qz at bedside", "qz", 0.5),
    ],
)
def test_what_may_be_a_name_stays(text: str, value: str, score: float) -> None:
    span = person(text, value, score)

    assert without_clinical(text, [span]) == [span]


def test_one_plain_word_in_lower_case_is_rarely_a_place() -> None:
    text = "Girlfriend brought in takeaway; works at takeaway"
    places = [Span(at, at + len("takeaway"), "CITY", 0.5, ("model:location",)) for at in (22, 41)]
    assert [text[span.start : span.end] for span in places] == ["takeaway"] * 2

    assert without_clinical(text, places) == places[1:]


def test_capitals_throughout_count_as_lower_case() -> None:
    assert without_clinical("CALL FOR OOZING 11:35", [person("CALL FOR OOZING 11:35", "OOZING", 0.9)]) == []
    assert without_clinical("CALL TO KOWALCZYK 11:35", [person("CALL TO KOWALCZYK 11:35", "KOWALCZYK", 0.3)]) != []


@pytest.mark.parametrize("text", ["Dictated by: Ann Holm, MD", "Signed by Maria Chen, RN at 0900"])
def test_a_credential_behind_a_comma_is_no_part_of_a_name(text: str) -> None:
    [[span]] = find_people([text])

    assert text[span.start : span.end] in ("Ann Holm", "Maria Chen")
