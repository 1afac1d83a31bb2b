import pytest

from deid_export.adapt.harvest.templates import TemplateTally, key_of, skeleton_of
from deid_runtime.detectors.templates import Templates, compile_template
from tests.export.adapt.harvest.marked import passage


def tally_of(*tagged):
    """Return the tally of sentences, which must all have the same skeleton."""
    rows = [(sentence := passage(text), skeleton_of(sentence)) for text in tagged]
    assert len({key_of(parts) for _, parts in rows}) == 1
    tally = TemplateTally(rows[0][1])
    for number, (sentence, parts) in enumerate(rows):
        tally.add(sentence, parts, number, number)
    return tally


@pytest.mark.parametrize(
    ("tagged", "line"),
    [
        (
            ["Sealed by: <DOCTOR>Ann Quist</DOCTOR>, MD on <DATE>3/4/2031</DATE> at 10:42 AM.",
             "SEALED BY:<DOCTOR>ORR, B</DOCTOR> , RN, BSN on <DATE>May 4</DATE> at 9:05"],
            "Sealed by: {DOCTOR} , {credential} on {DATE} at {clock}",
        ),
        (["Rass score 4", "Rass score 12", "rass score 3."], "Rass score {number:1-2}"),
        (["INR 1.2", "INR 13.4"], "INR {number:1-2}.{number:1}"),
        (["Pain 3/10", "Pain 7/10"], "Pain {number:1}/10"),
        (["Cuff 120/80", "Cuff 131/92"], "Cuff {number:3}/{number:2}"),
        (["Gender: F, rass 2", "Gender: male, rass 3"], "Gender: {sex}, rass {number:1}"),
        (["Age:<AGE>39</AGE>yo", "Age: <AGE>41</AGE>yo"], "Age: {AGE}yo"),
        (["[x] seen (by) <DOCTOR>Quist</DOCTOR>|{a}\\"], r"\[x\] seen \(by\) {DOCTOR}\|\{a\}\\"),
        (["# Hip rass 3", "# Hip rass 4"], r"\# Hip rass {number:1}"),
        (["Since 2031 rass 3", "Since 2031 rass 4"], "Since 2031 rass {number:1}"),
    ],
)  # fmt: skip
def test_what_is_fixed_and_what_is_a_slot(tagged, line):
    tally = tally_of(*tagged)

    assert tally.line() == line
    template = Templates([compile_template(tally.line())])
    for text in tagged:
        sentence = passage(text)
        found = template.match(sentence.text)
        assert [(s.start, s.end, s.label) for s in found] == [(s.start, s.end, s.label) for s in sentence.spans]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("Seen by Ann 3", "Seen by Bea 3", id="words"),
        pytest.param("Seen by <DOCTOR>Ann</DOCTOR>", "Seen by <PATIENT>Ann</PATIENT>", id="labels"),
        pytest.param("Cuff 98/60", "Cuff 120/60", id="digits-of-a-pair"),
        pytest.param("Rass 2", "Rass: 2", id="punctuation"),
        pytest.param("Room since 2031 of 3", "Room since 2032 of 3", id="long-numbers"),
        pytest.param("Lead V2 of 3", "Lead V3 of 3", id="codes"),
        pytest.param("Age <AGE>39</AGE> yo", "Age <AGE>39</AGE>yo", id="run-together"),
        pytest.param("Rass 2 MD", "Rass 2 RN", id="credentials-only-behind-names"),
    ],
)
def test_what_keeps_sentences_apart(one, other):
    first, second = (skeleton_of(passage(tagged)) for tagged in (one, other))

    assert first is not None
    assert second is not None
    assert key_of(first) != key_of(second)


@pytest.mark.parametrize(
    "tagged",
    [
        pytest.param("No fever", id="nothing-changes"),
        pytest.param("3. No fever", id="nothing-but-the-number-of-an-item"),
        pytest.param("<DOCTOR>Ann Quist</DOCTOR>, MD", id="no-words"),
        pytest.param("P: <DOCTOR>Ann Quist</DOCTOR>", id="too-few-letters"),
        pytest.param("Seen 3/4/2031 by <DOCTOR>Quist</DOCTOR>", id="a-date-nobody-marked"),
        pytest.param("Call 212-867-4410 for 3", id="a-phone-nobody-marked"),
        pytest.param("Seen by\x1b[2J <DOCTOR>Quist</DOCTOR>", id="steers-the-terminal"),
        pytest.param("word " * 90 + "3", id="too-long"),
    ],
)
def test_what_can_be_no_template(tagged):
    assert skeleton_of(passage(tagged)) is None


@pytest.mark.parametrize(
    ("tagged", "expected"),
    [
        (["Flow 3/14", "Flow 4/15"], True),
        (["Flow 3-14", "Flow 4-15"], True),
        (["Flow 3/10", "Flow 4/10"], False),
        (["Flow 120/80", "Flow 131/92"], False),
        (["Flow 3.14", "Flow 4.15"], False),
        (["Flow 3/14", "Flow 3/14"], False),
    ],
)
def test_two_joined_numbers_that_change_may_be_a_date(tagged, expected):
    assert tally_of(*tagged).may_be_date is expected


def test_what_never_changes_is_no_template():
    assert tally_of("Rass 4", "Rass 4").line() == ""


def test_an_example_is_matched_and_holds_no_value_seen():
    tally = tally_of("Rass 5 at 10:33, cuff 139/87", "Rass 17 at 11:33, cuff 138/96")

    assert tally.example() == "Rass 12 at 10:40, cuff 124/12"
    assert Templates([compile_template(tally.line())]).match(tally.example()) == []


def test_values_and_words_tell_the_reviewer():
    tally = tally_of(
        "Ward <HOSPITAL>Elm Grove</HOSPITAL>, nurse <DOCTOR>Orr</DOCTOR>",
        "Ward <HOSPITAL>elm grove</HOSPITAL>, nurse <DOCTOR>Falk</DOCTOR>",
    )

    assert tally.values == [("HOSPITAL", 1), ("DOCTOR", 2)]
    assert tally.words == {"ward", "nurse"}
