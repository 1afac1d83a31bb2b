import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_export.adapt.harvest.collect import HarvestSettings, harvest, screen_with
from deid_export.adapt.harvest.masks import TOKEN
from deid_export.adapt.harvest.passages import passages
from deid_export.adapt.harvest.terms import TermList
from deid_runtime.detectors.inclusion import InclusionList, load_inclusion
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.templates import Templates, compile_template
from deid_runtime.errors import SourceError
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.settings import Settings
from tests.export.adapt.harvest.marked import NAMES, note, notes_of, ward_rows

NOTHING = InclusionList(frozenset(), "")
SEALED = "Ordered via Zephyr by {DOCTOR}, {credential} on {DATE} at {clock}"


def screen(texts):
    return [bool(spans) for spans in find_patterns(texts)]


def run(rows, *, inclusion=NOTHING, templates=(), terms=(), **wanted):
    return harvest(
        notes_of(rows),
        inclusion=inclusion,
        templates=Templates([compile_template(line) for line in templates]),
        screen=screen,
        terms=TermList(terms),
        settings=HarvestSettings(**({"min_patients": 3} | wanted)),
    )


def lines(candidates):
    return [candidate.line for candidate in candidates]


def repeated(tagged, patients=4):
    return [(f"p{i}", tagged) for i in range(patients)]


def test_a_ward_is_harvested():
    result = run(ward_rows(), terms=["warfarin"], top=1)

    assert [(c.kind, c.line, c.patients) for c in result.inclusion] == [
        ("frequent", "Breath sounds equal on both sides", 5), ("term", "Warfarin held", 5),
    ]  # fmt: skip
    result = run(ward_rows())
    assert set(lines(result.templates)) == {SEALED, "- Rass score {number:1}", "Cuff {number:3}/{number:2}"}
    assert all(c.patients == c.notes == c.occurrences == 5 for c in result.templates)
    assert result.counts["sentences"] == 40
    assert result.complete_from_patients == 0


def test_what_introduces_a_name_stays_with_the_models():
    result = run(ward_rows())

    assert "Cordially yours" not in lines(result.inclusion)
    assert result.dropped["sentence: it stands next to identifiers and may be what tells them"] == 1


@pytest.mark.parametrize(("min_patients", "expected"), [(4, ["Warfarin held"]), (5, [])])
def test_a_line_has_patients_enough(min_patients, expected):
    rows = repeated("Warfarin held.") + [("p0", "Warfarin held.")] * 10

    assert lines(run(rows, min_patients=min_patients).inclusion) == expected


def test_an_identifier_in_one_occurrence_is_enough_to_drop_a_sentence():
    rows = [*repeated("Hope is well."), ("p9", "<PATIENT>Hope</PATIENT> is well.")]

    result = run(rows)

    assert result.inclusion == []
    assert result.dropped["sentence: an identifier was found in it"] == 1
    assert lines(run(rows, agreement=0.7).inclusion) == ["Hope is well"]


def test_a_sentence_of_name_words_is_dropped_and_one_with_some_is_marked():
    rows = [*repeated("Hope Young\nHope remains good."), ("p9", "<PATIENT>Hope Young</PATIENT> ate.")]

    result = run(rows)

    assert lines(result.inclusion) == ["Hope remains good"]
    assert result.inclusion[0].evidence["words_also_in_names"] == ["hope"]


def test_what_a_detector_finds_alone_is_dropped():
    result = run(repeated("Call 212-867-4410 when worse."))

    assert result.inclusion == []
    assert result.dropped["sentence: a detector finds something in it alone"] == 1


def test_what_is_known_is_passed_over(tmp_path):
    (tmp_path / "list.txt").write_text("Warfarin held\n", encoding="utf-8")
    known = load_inclusion(tmp_path / "list.txt", screen=find_patterns)

    result = run(repeated("- Warfarin held.\nRass 2\n"), inclusion=known, templates=["Rass {number:1}"])

    assert (result.inclusion, result.templates) == ([], [])
    assert result.counts["sentences_on_the_present_list"] == 4
    assert result.counts["sentences_of_the_present_templates"] == 4


def signed(name, label="DOCTOR"):
    return f"Sealed by <{label}>{name}</{label}> here"


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        pytest.param("Sealed by Podiatry Group here", "it matches sentences with other identifiers", id="over-redacts"),
        pytest.param(signed("Elm Grove", "HOSPITAL"), "it matches sentences with other identifiers", id="other-label"),
        pytest.param("Sealed by nobody known here", "one syntax mask has several entity masks", id="syntax-mask"),
    ],
)
def test_one_contradiction_is_enough_to_drop_a_template(other, reason):
    rows = [(f"p{i}", signed(f"Ann {name}")) for i, name in enumerate(("Quist", "Orr", "Falk", "Roe"))]

    assert lines(run(rows).templates) == ["Sealed by {DOCTOR} here"]
    result = run([*rows, ("p9", other)])

    assert result.templates == []
    assert result.dropped[f"template: {reason}"] == 1
    [tolerated] = run([*rows, ("p9", other)], agreement=0.7).templates
    assert tolerated.evidence["sentences_matched_with_a_leak"] == 0
    assert tolerated.occurrences == 4 + (reason != "one syntax mask has several entity masks")


def test_a_slot_has_held_more_than_one_value():
    result = run(repeated(signed("Ann Quist")))

    assert result.templates == []
    assert result.dropped["template: an identifier in it is always the same"] == 1


def test_a_template_must_fit_what_stood_there():
    rows = [(f"p{i}", f"Sealed by <DOCTOR>{name}</DOCTOR> here") for i, name in enumerate(("ann", "bea", "cy", "di"))]

    result = run(rows)

    assert result.templates == []
    assert result.dropped["template: its slots do not fit what stood there"] == 1


def test_a_template_without_identifier_beside_names_is_dropped():
    result = run([(f"p{i}", f"Team {i}\n<DOCTOR>{name}</DOCTOR>") for i, name in enumerate(NAMES)])

    assert result.templates == []
    assert result.dropped["template: it stands next to identifiers and may be what tells them"] == 1


def test_joined_numbers_that_may_be_a_date_are_dropped():
    result = run([(f"p{i}", f"Flow {i + 2}/1{i}") for i in range(4)])

    assert result.templates == []
    assert result.dropped["template: two joined numbers may be a date"] == 1


def test_when_memory_is_short_the_summary_says_so():
    odd = [f"Odd line {a}{b} of" for a in "abcd" for b in "wxyz"]
    rows = [
        (f"p{i}", "\n".join(["Warfarin held.", *(f"{line} {letter}" for line in odd)]))
        for i, letter in enumerate("abcdefgh")
    ]

    assert run(rows, tracked=1_000).complete_from_patients == 0
    assert run(rows, tracked=6).complete_from_patients > 3


def test_no_notes_are_an_error():
    with pytest.raises(SourceError, match="no note"):
        run([])


def test_the_screen_is_the_pipeline():
    with load_pipeline(Settings(use_models=False), key=None, records={}) as pipeline:
        assert screen_with(pipeline)(["Warfarin held", "Call 212-867-4410", "Bad \0 line"]) == [False, True, True]


#: Parts of a sentence: the same for every patient, or one of two values.
PIECES = (
    ("sealed", "sealed"), ("Hope", "HOPE"), ("by:", "by :"), ("Rass", "Rass"), ("(", "("), ("|#[", "|#["),
    ("T12", "T12"), ("3", "14"), ("9", "9"), ("120/80", "131/92"), ("2031", "2031"), ("10:42", "9:05 PM"),
    ("<DOCTOR>Ann Quist</DOCTOR>", "<DOCTOR>ORR, B.</DOCTOR>"),
    ("<DOCTOR>Bea Falk</DOCTOR>, MD", "<DOCTOR>Cy Roe</DOCTOR>, RN, BSN"),
    ("<DATE>3/4/2031</DATE>", "<DATE>May 4</DATE>"), ("<AGE>39</AGE>", "<AGE>41</AGE>"),
    ("<CITY>Elko</CITY>", "<CITY>Dell Rapids</CITY>"),
)  # fmt: skip
FREE_WORDS = {"MD", "RN", "BSN", "PM"}


@given(st.lists(st.lists(st.sampled_from(PIECES), min_size=2, max_size=6), min_size=1, max_size=5))
def test_a_template_leaves_nothing_in_the_text_but_its_own_words(sentences):
    rows = [(f"p{i}", " ".join(piece[i] for piece in pieces)) for pieces in sentences for i in range(2)]

    result = run(rows, min_patients=2, max_beside=1.0)

    for candidate in result.templates:
        template = Templates([compile_template(candidate.line)])
        own = {token.casefold() for token in TOKEN.findall(candidate.line)}
        matched = 0
        for part in (part for patient, tagged in rows for part in passages(note(tagged, patient))):
            found = template.match(part.text)
            if found is None:
                continue
            matched += 1
            assert [(s.start, s.end, s.label) for s in found] == [(s.start, s.end, s.label) for s in part.spans]
            left = part.text
            for span in reversed(found):
                left = left[: span.start] + " " + left[span.end :]
            words = {token for token in TOKEN.findall(left) if not token.isdigit() and token.isalnum()}
            assert {word for word in words - FREE_WORDS if word.casefold() not in own} == set()
        assert matched >= 2
