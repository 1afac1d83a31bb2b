import time

import pytest
from hypothesis import given, settings

from deid_runtime.detectors.templates import MAX_SENTENCE_CHARS, Templates, compile_template, escape, load_templates
from deid_runtime.errors import SettingsError
from deid_runtime.text.regexes import compiled
from tests.strategies import texts

PACKAGED = load_templates(None)


def match(template, sentence):
    """Return ``[(value, label)]`` of the slots, or None without a match."""
    return values(Templates([compile_template(template)]), sentence)


def values(templates, sentence):
    found = templates.match(sentence)
    return None if found is None else [(sentence[span.start : span.end], span.label) for span in found]


@pytest.mark.parametrize(
    ("template", "sentence", "expected"),
    [
        pytest.param("Seen by {DOCTOR}", "Seen by Ann Quist", [("Ann Quist", "DOCTOR")], id="slot"),
        pytest.param(
            "Seen by {DOCTOR}", "  SEEN BY  Ann Quist.\n", [("Ann Quist", "DOCTOR")], id="case-space-full-stop"
        ),
        pytest.param("Seen by {DOCTOR}", "Seen by Ann Quist today", None, id="only-whole-sentences"),
        pytest.param("Seen by {DOCTOR}", "Was seen by Ann Quist", None, id="only-from-the-start"),
        pytest.param("MRN: {MEDICALRECORD}", "MRN:WB-44-17", [("WB-44-17", "MEDICALRECORD")], id="no-space-at-a-colon"),
        pytest.param("MRN: {MEDICALRECORD}", "MRN: none", None, id="a-number-has-a-digit"),
        pytest.param("[Seen|Read] on {DATE}", "on 3/4/2031", [("3/4/2031", "DATE")], id="left-out"),
        pytest.param("(Seen|Read) on {DATE}", "read on 3 Mar 2031", [("3 Mar 2031", "DATE")], id="one-of"),
        pytest.param("(Seen|Read) on {DATE}", "on 3/4/2031", None, id="one-is-needed"),
        pytest.param("[at [about] {time} ]seen", "at about 14:20 seen", [], id="nested-and-without-identifier"),
        pytest.param(r"\[{PATIENT}\] left", "[Ann Quist] left", [("Ann Quist", "PATIENT")], id="escaped"),
        pytest.param(
            "{DOCTOR}, {credential}", "Quist, Ann C., M.D., FACP", [("Quist, Ann C.", "DOCTOR")], id="slot-first"
        ),
        pytest.param("By {DOCTOR}, MD", "By Ann van der Quist, MD", [("Ann van der Quist", "DOCTOR")], id="particle"),
        pytest.param("By {DOCTOR}", "By Attending Physician", None, id="a-role-is-no-name"),
        pytest.param("{PATIENT} DOB {DATE}", "Mother DOB 3/4/1971", None, id="kin-are-no-name"),
        pytest.param(
            "{PATIENT} DOB {DATE}", "Office Triage Sheet DOB 3/4/1971", None, id="a-name-first-must-be-listed"
        ),
        pytest.param(
            "{PATIENT} DOB {DATE}",
            "Ann Quist DOB 3/4/1971",
            [("Ann Quist", "PATIENT"), ("3/4/1971", "DATE")],
            id="a-listed-name",
        ),
        pytest.param(
            "{DOCTOR}, {credential}", "Zzyq Vroo, MD", [("Zzyq Vroo", "DOCTOR")], id="a-credential-vouches-for-it"
        ),
        pytest.param("Age {AGE} {sex}", "Age 39 F", [("39", "AGE")], id="free-slot"),
        pytest.param("Fax: {FAX}", "Fax: (212) 867-4410", [("(212) 867-4410", "FAX")], id="fax"),
        pytest.param("Rass {number:2}", "Rass 12.", [], id="two-digits"),
        pytest.param("Rass {number:2}", "Rass 1", None, id="not-fewer-digits"),
        pytest.param("Rass {number:1-2}", "Rass 123", None, id="not-more-digits"),
        pytest.param("Rass {number:1-2}", "Rass 1.5", None, id="whole-numbers"),
        pytest.param("At {clock} seen", "At 2:20 p.m. seen", [], id="clock"),
        pytest.param("At {clock} seen", "At 2031 seen", None, id="a-year-is-no-clock-time"),
        pytest.param("{DATE} {clock} rass {number:1}", "3/4/31 14:20 RASS 2", [("3/4/31", "DATE")], id="by-its-anchor"),
        pytest.param("{DATE} rass[ score]", "3/4/31 rass score", [("3/4/31", "DATE")], id="anchor-before-a-choice"),
        pytest.param("{DATE}rass", "3/4/31rass", [("3/4/31", "DATE")], id="no-anchor-where-words-run-together"),
    ],
)
def test_matching(template, sentence, expected):
    assert match(template, sentence) == expected


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("Seen by {DOCTER}", "unknown slot {DOCTER}"),
        ("Rass {number:0}", "unknown slot {number:0}"),
        ("Rass {number:3-2}", "unknown slot {number:3-2}"),
        ("Seen [by {DOCTOR}", "not closed"),
        ("Seen by {DOCTOR}]", "stray ']' at character 17"),
        ("Seen by {DOCTOR", "stray '{'"),
        ("a | b {DATE}", "stray '|'"),
        ("{DOCTOR}", "too general"),
        ("[Seen]", "too general"),
    ],
)
def test_a_malformed_template_is_refused_with_its_line(tmp_path, template, message):
    path = tmp_path / "site.txt"
    path.write_text(f"# signatures\nDate: {{DATE}}\n{template}\n", encoding="utf-8")

    with pytest.raises(SettingsError) as error:
        load_templates(path)

    assert str(error.value).startswith(f"template file {path}, line 3: ")
    assert message in str(error.value)


@given(texts.filter(lambda text: text.strip() and len(text) <= MAX_SENTENCE_CHARS))
def test_escaped_text_stands_for_itself(text):
    text = " ".join(text.split())
    template = compile_template(escape(text) + " {DATE}")

    assert compiled(template.pattern).fullmatch(f"{text} 3/4/2031")


def test_every_template_that_matches_is_told_the_first_first():
    templates = Templates(
        [compile_template(line) for line in ("{DATE} seen", "{DATE} [was ]seen", "3/4 seen", "3/4 (seen|read)")]
    )

    assert [number for number, _ in templates.matches("3/4 seen")] == [2, 3, 0, 1]
    assert templates.match("3/4 seen") == []


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path):
    (tmp_path / "bytes.txt").write_bytes(b"\xff")

    with pytest.raises(SettingsError, match=r"bytes\.txt: bad bytes at offset 0"):
        load_templates(tmp_path / "bytes.txt")
    with pytest.raises(SettingsError, match=r"nowhere\.txt: No such file"):
        load_templates(tmp_path / "nowhere.txt")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Electronically signed by: Ann C. Quist, M.D. on 03/04/2031 at 14:20", ["Ann C. Quist", "03/04/2031"]),
        ("Dictated by QUIST, ANN, MD 3/4/31 1420", ["QUIST, ANN", "3/4/31"]),
        ("Attending: Dr. Quist", ["Quist"]),
        ("Patient Name: Quist, Ann   MRN: 8841207", ["Quist, Ann", "8841207"]),
        ("DOB: 3/4/1971   Age: 60   Sex: F", ["3/4/1971", "60"]),
        ("Date of Service: March 4, 2031", ["March 4, 2031"]),
        ("Collected: 25/3", ["25/3"]),
        ("Received: 03/11/2019 08:15 EST", ["03/11/2019"]),
        ("Page 2 of 7", []),
        ("Phone: 212-867-4410  Fax: 212-867-4411", ["212-867-4410", "212-867-4411"]),
        ("Dear Dr. Quist,", ["Quist"]),
        ("14 Elm Grove Ct, Kasson, MN 55944", ["14 Elm Grove Ct", "Kasson", "MN", "55944"]),
    ],
)
def test_packaged_templates(sentence, expected):
    assert [value for value, _ in values(PACKAGED, sentence)] == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "Assessment and plan: continue",
        "Signed out to the night team",
        "Attending: pending",
        "WHAT TO DO",
        "Collected: 2/52",
        "Dictated on 03/11/2019 at 10:30 Quist",
        "",
    ],
)
def test_other_sentences_are_left_to_the_models(sentence):
    assert PACKAGED.match(sentence) is None


@settings(deadline=None)
@given(texts)
def test_slots_lie_within_the_sentence(text):
    for span in PACKAGED.match(text) or []:
        assert text[span.start : span.end].strip() == text[span.start : span.end] != ""


@pytest.mark.parametrize(
    "piece", ["A. ", "Ann ", "de la ", "Mc'", "1-", "12/", "MD, ", "on at ", "Electronically signed by A ", "a" * 50]
)
def test_hostile_sentences_take_bounded_time(piece):
    sentences = [
        start + piece * (380 // len(piece)) for start in ("", "Signed by ", "Dear Dr. ", "Address: 1 ", "MRN: ")
    ]
    started = time.process_time()

    for sentence in sentences:
        PACKAGED.match(sentence)

    assert time.process_time() - started < 12
