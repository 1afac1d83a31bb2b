"""Test clinical facts that are no identifiers, and identifiers that look like them."""

import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.detectors.clinical import GRAMMAR, find_clinical, without_clinical
from deid_runtime.detectors.clinical.rows import ClinicalRow, Grammar
from deid_runtime.detectors.clinical.terms import _terms
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.people import find_people
from deid_runtime.labels import LABELS
from deid_runtime.lexicon.name_cues import is_listed_name
from deid_runtime.spans import Span


def marked(text: str, label: str, *, score: float = 0.9, source: str = "model:x") -> tuple[str, list[Span]]:
    """Return ``text`` without its brackets, and a span over the content of each pair of brackets."""
    spans, plain = [], ""
    for number, part in enumerate(re.split(r"[\[\]]", text)):
        if number % 2:
            spans.append(Span(len(plain), len(plain) + len(part), label, score, (source,)))
        plain += part
    return plain, spans


def stays(text: str, label: str, score: float = 0.9) -> bool:
    plain, spans = marked(text, label, score=score)
    assert spans, "mark a value with brackets"
    kept = without_clinical(plain, spans)
    assert kept in ([], spans)
    return kept == spans


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Sats now [94] on 2, was [92] last night", "AGE"),
        ("SpO2 dipped to [88] on room air", "AGE"),
        ("Na [138] K 4.1 Cl [101]", "AGE"),
        ("ferritin [2019], LDH [1998]", "DATE"),
        ("D-dimer [1985] ng/mL", "DATE"),
        ("Nottingham grade 2 ([6/9]), ER positive", "DATE"),
        ("Ranson [3/11] on admission", "DATE"),
        ("GCS [14/15], pain [7/10]", "DATE"),
        ("[3/14] axillary nodes positive", "DATE"),
        ("axilla [4/17] positive", "DATE"),
        ("[5/5] strength throughout, [2/6] systolic murmur", "DATE"),
        ("vision [20/40] OD", "DATE"),
        ("VA R [6/9] L [6/12]", "DATE"),
        ("RTC [3/12] with bloods", "DATE"),
        ("Feeds 60 ml [3/24] via NGT", "DATE"),
        ("neuro obs and turns [2/24] overnight", "DATE"),
        ("strategy meeting, teams, [1400-1440]", "PHONE"),
        ("shift [0730-2000] on ward", "IDNUM"),
        ("[@MEDSCURRENT@] @VITALS24@ ***", "EMAIL"),
        ("NAPPI [703427001] rejected, resubmit", "IDNUM"),
        ("DIN [02242903] etanercept 50 mg weekly", "IDNUM"),
        ("66984-LT today, [66984-79-RT] planned", "IDNUM"),
        ("[44204] vs 44207 discussed with the coder", "IDNUM"),
        ("CAT II: [0518F], 1101F, 3288F", "IDNUM"),
        ("ACHI 49518-00 [1489], anaes [92514-29]", "IDNUM"),
        ("histology [T-81230] M-81202", "IDNUM"),
        ("rolled 5/12, talking by [20/12]", "DATE"),
        ("crawled 10/12, cruised [13/12], no words as yet at 19/12", "DATE"),
        ("gene therapy for [Christmas] disease", "DATE"),
        ("SBR at [6/24], ring NICU if over 250", "DATE"),
        ("SBR at [6/24] then [12/24], feeds as tolerated", "DATE"),
        ("NPO, TRANSPORT SET FOR TOMORROW [A.M.], BLS", "DOCTOR"),
        ("passed at the day unit, home [2/24] later", "DATE"),
        ("Hazelbaker [7/11], necroinflam [7/18]", "DATE"),
        ("pT3 pN1b ([3/22]) V1 L1", "DATE"),
        ("[3/14] globally sclerosed", "DATE"),
        ("[3/7] of amoxicillin, then [2/52] of rest", "DATE"),
        ("Shingrix [2/2] given", "DATE"),
        ("per [2013] ACC/AHA guideline", "DATE"),
        ("WHO [2016] grade II; AJCC 8th edition [2017]", "DATE"),
        ("SNOMED [44054006] recorded", "IDNUM"),
        ("CPT [99214] billed", "IDNUM"),
        ("L[4/5] stenosis, C[5/6] disc", "DATE"),
        ("a [338] m walk", "AGE"),
        ("AC [14/450/5/40]", "DATE"),
        ("G3P2 at [38]w4d", "AGE"),
        ("EF [55]-[60]", "AGE"),
        ("BP [94]/60, HR [94]", "AGE"),
        ("heparin gtt at [12]", "AGE"),
        ("[20] Fr Foley", "AGE"),
        ("age [340] by error of the scale", "AGE"),
        ("[22/30] today", "DATE"),
        ("called son x[2], no answer", "PHONE"),
        ("emesis x [3] overnight", "IDNUM"),
        ("fracture of [the 4th] and 5th fingers", "DATE"),
        ("low on [the 3rd], 4th or 5th ribs", "DATE"),
        ("on [the 5th] postoperative day", "DATE"),
        ("change [TTS] patch every 72 h", "DATE"),
        ("serial [7s] and pentagon copy", "DEVICE"),
        ("Right eye [6/9], left counting fingers", "DATE"),
        ("recalled [2/3] words", "DATE"),
        ("completed [6/6] R-CHOP", "DATE"),
        ("[4/4] bed rails up", "DATE"),
        ("[African] [American] man", "COUNTRY"),
        ("speaks [Arabic] at home", "COUNTRY"),
        ("not to Teresa'[s], please", "ORGANIZATION"),
        ("speaks only [Aymara], interpreter used", "PATIENT"),
        ("Not married. Family is [Dinka], here since age 4", "PATIENT"),
        ("prefers [Dinka]; husband reads some English", "PATIENT"),
        ("[Vietnamese] interpreter", "COUNTRY"),
        ("[Irish] Catholic", "COUNTRY"),
        ("[Hispanic] woman", "COUNTRY"),
        ("took [Accutane] as a teen", "PATIENT"),
        ("Pt [Quaker], prefers silence", "PATIENT"),
        ("wants a [Catholic] Mass", "ORGANIZATION"),
        ("[Hinchey] Ib on CT", "DOCTOR"),
        ("[De Winter] T waves in V2", "PATIENT"),
        ("[Jamshidi] needle biopsy", "DOCTOR"),
        ("Lasix per cards [NP]", "DOCTOR"),
        ("cleaned per [reg] on call", "DOCTOR"),
        ("meeting at [half two], aunt too upset", "AGE"),
        ("[Shingrix] due", "DOCTOR"),
        ("[2/6] ESM at LSE, no radiation", "DATE"),
        ("[3/6] PSM at the apex", "DATE"),
        ("[6/9] R [6/36] L, pinhole improves both", "DATE"),
        ("R [6/9] L [6/18] unaided", "DATE"),
        ("completed [10/11] of the home exercises", "DATE"),
        ("Antibiotics for a further [10/7], then stop", "DATE"),
        ("went to the park and enjoyed [the sun]", "DATE"),
        ("off feeds since [yday]", "DATE"),
        ("pt seen [yday] in clinic", "DOCTOR"),
        ("seen [yday, rv] tmw.", "DOCTOR"),
        ("bloods ok, [rv] tmrw", "PATIENT"),
        ("none [tday], reviewed [last wk]", "DATE"),
        ("sat out in the [sun]", "DATE"),
        ("[Sat] up for lunch", "DATE"),
        ("Discussed with [NOK], happy with plan", "DOCTOR"),
        ("reviewed by [ANP], [TVN] to see", "DOCTOR"),
        ("reviewed by [ANP, TVN]", "DOCTOR"),
        ("d/w [SHO] re fluids", "DOCTOR"),
    ],
)  # fmt: skip
def test_clinical_facts_are_taken_back(text: str, label: str) -> None:
    assert not stays(text, label)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Sats stable, [67]-year-old man", "AGE"),
        ("Hgb 9.2, wife [67], son 40", "AGE"),
        ("Cr 0.9, [67]M", "AGE"),
        ("mother Grace ([82]) died of a stroke", "AGE"),
        ("Mrs. Norton [82] came alone", "AGE"),
        ("d/w [TMW] re scan", "DOCTOR"),
        ("d/w [tmw] re scan", "DOCTOR"),
        ("breast ca [44]", "AGE"),
        ("aged [94]", "AGE"),
        ("she is [97] and walks daily", "AGE"),
        ("seen on [3/14] for nodes", "DATE"),
        ("BCx [1/19] MRSA", "DATE"),
        ("[3/14] labs reviewed, Na 138", "DATE"),
        ("cholecystectomy [2016], stent [2019]", "DATE"),
        ("dx [2013] in Dundas", "DATE"),
        ("trip to Paris [2019]", "DATE"),
        ("T [9/27]", "DATE"),
        ("RTC [3/14]", "DATE"),
        ("CPAP to [3/10], then room air", "DATE"),
        ("MRN [4417] in the CT log", "MEDICALRECORD"),
        ("lot [CK4417]", "DEVICE"),
        ("serial [CI532]", "DEVICE"),
        ("ck [5517] paid", "IDNUM"),
        ("a [Dutch] tourist", "COUNTRY"),
        ("born in [Norway]", "COUNTRY"),
        ("fled [Sudan] in winter", "COUNTRY"),
        ("call x[4417]", "PHONE"),
        ("617 726 0139 x[2]", "PHONE"),
        ("[Grant] is better", "PATIENT"),
        ("[Allegra] called back", "PATIENT"),
        ("Dr. [Accutane] saw her", "DOCTOR"),
        ("sister [Shingrix] Lee", "PATIENT"),
        ("signed [ADR]/mq", "DOCTOR"),
        ("[Glasgow] agreed", "DOCTOR"),
        ("seen [2/14] of this year", "DATE"),
        ("seen by [TVN] Karlsson", "DOCTOR"),
        ("Dr. [ANP] will call", "DOCTOR"),
        ("next shift [Sun]", "DATE"),
        ("Home [2213-2345], work 2234-1123", "PHONE"),
        ("ring the ward clerk on [1805-2215] after lunch", "PHONE"),
        ("slides [L-12345], L-12346 reviewed", "IDNUM"),
        ("ID band [48213] vs 48231 mismatch", "IDNUM"),
        ("consent forms [1234F], 1235F signed", "IDNUM"),
        ("NIV [8/14] started", "DATE"),
        ("walked unaided [9/12], fell 10/12", "DATE"),
        ("PAC [3/24] placed", "DATE"),
        ("[@SMITH@] called", "EMAIL"),
    ],
)  # fmt: skip
def test_identifiers_beside_clinical_facts_stay(text: str, label: str) -> None:
    assert stays(text, label)


@pytest.mark.parametrize("text", ["review in [3/12]", "lisinopril [3/12] daily"])
def test_a_very_sure_model_outvotes_a_form_that_dates_have_too(text: str) -> None:
    assert stays(text, "DATE", score=0.99)
    assert not stays(text, "DATE", score=0.8)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("[3/14] axillary nodes", "DATE"),
        ("Amsel ([1983]) 3/4 met", "DATE"),
        ("per AASLD [2023], HCC surveillance", "DATE"),
        ("Chicago v4 [2020], EGJOO", "DATE"),
        ("meets Rotterdam [2003]", "DATE"),
        ("seen at [31/40], well", "AGE"),
        ("Billing: [66984-LT], H25.12", "IDNUM"),
        ("LOINC 2345-7, [2951-2] and 2823-3", "IDNUM"),
        ("[38341003] |hypertensive disorder|", "IDNUM"),
        ("[I10, E78.5], Z79.4", "IDNUM"),
    ],
)
def test_no_model_outvotes_a_form_that_only_facts_have(text: str, label: str) -> None:
    assert not stays(text, label, score=0.999)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("moved to Rotterdam in [2003]", "DATE"),
        ("Bethesda IV in [2015] at home", "DATE"),
        ("born [4/40]", "DATE"),
        ("ID bands [77420] x4", "IDNUM"),
        ("PT #[11207-24]", "LICENSE"),
        ("Rx# [77120-4] mirtazapine", "IDNUM"),
        ("MRN [93938115] | CSN 5", "MEDICALRECORD"),
        ("son Bill [68], in Iowa", "AGE"),
        ("dates 2/24, [6/24], 9/24", "DATE"),
        ("500 ml given on [3/24]", "DATE"),
        ("as discussed at [3/24] visit", "DATE"),
        ("A1c at [3/24] was 7.2", "DATE"),
        ("signed by [A.M.]", "DOCTOR"),
        ("quiz 19/20. Limit 10 lb to [8/20]", "DATE"),
    ],
)
def test_identifiers_of_such_forms_stay(text: str, label: str) -> None:
    assert stays(text, label)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("21/28 days on and [7/28] off", "DATE"),
        ("INR 1.4 on [5/5/5]/7.5", "DATE"),
        ("[last spring] and again in the [fall]", "DATE"),
        ("restarted [Yaz]", "DATE"),
        ("held [30] s", "AGE"),
        ("his [10]-year risk is 12", "AGE"),
        ("bone age [11]", "AGE"),
        ("[SGLT2] added", "USERNAME"),
        ("the [charge nurse] was told", "DOCTOR"),
        ("seen by the [Fracture Clinic]", "HOSPITAL"),
        ("lives in a [halfway hostel]", "ORGANIZATION"),
        ("seen with [OT], PA and SW", "DOCTOR"),
        ("[Camila] refilled x 12", "PATIENT"),
        ("switched to [Yasmin] in spring", "PATIENT"),
        ("[SHANK3] del 22q13", "DOCTOR"),
        ("[HOPE] trial criteria met", "PATIENT"),
        ("on [KEYNOTE]-522", "DOCTOR"),
        ("[Rose] from the chair", "PATIENT"),
        ("walks with a [cane]", "PATIENT"),
        ("[Brucella] titre sent", "DOCTOR"),
        ("[alvarado] 8/10, surgery called", "DOCTOR"),
        ("Reported per [Bethesda] 2023 category III", "CITY"),
    ],
)
def test_words_around_say_that_it_is_a_fact(text: str, label: str) -> None:
    assert not stays(text, label)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("[Camila] is better", "PATIENT"),
        ("started [Ella] on iron", "PATIENT"),
        ("daughter [Yasmin] refilled it", "PATIENT"),
        ("[Hope] called", "PATIENT"),
        ("told [Rose] from records", "DOCTOR"),
        ("Nurse [Coach] left", "DOCTOR"),
        ("Riverside [Fracture Clinic]", "HOSPITAL"),
        ("the [Medical Center]", "HOSPITAL"),
        ("page [SW] tonight", "DOCTOR"),
        ("in [fall 2019]", "DATE"),
        ("seen in [Oct]", "DATE"),
        ("[8/20]/8/21/19", "DATE"),
    ],
)
def test_without_such_words_a_name_stays(text: str, label: str) -> None:
    assert stays(text, label)


def test_a_brand_beside_words_for_drugs_is_no_person_for_the_rules() -> None:
    brand, person = find_people(["Camila worked well for cramps", "Camila denies cramps"])

    assert brand == []
    assert len(person) == 1


@pytest.mark.parametrize(
    ("text", "label", "least"),
    [
        ("came home [6/12] again", "DATE", 0.4),
        ("gave [3] of them", "DATE", 0.5),
        ("form [96-11] sent", "DATE", 0.3),
        ("then [41] more", "AGE", 0.25),
        ("Tysabri [EID] q6w", "DATE", 0.3),
        ("MYD88 L[265P] found", "DEVICE", 0.3),
        ("[Haven]'t got one", "PATIENT", 0.5),
        ("raised on the [first] evening", "DATE", 0.2),
        ("M. Sobolewski RN 0655[hrs]", "DOCTOR", 0.5),
        ("seen by the team, 0.9 [PMC] 2", "LICENSE", 0.3),
        ("agreed with [2010] while waiting", "PHONE", 0.15),
        ("slept from [nine] to five", "AGE", 0.6),
    ],
)
def test_a_bare_figure_wants_a_cue_or_a_model_that_means_it(text: str, label: str, least: float) -> None:
    assert not stays(text, label, score=least - 0.05)
    assert stays(text, label, score=least + 0.05)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("seen on [6/12] again", "DATE"),
        ("moved in [1996] again", "DATE"),
        ("since [early march] again", "DATE"),
        ("she is [41] now", "AGE"),
    ],
)
def test_a_cue_or_a_year_needs_no_sure_model(text: str, label: str) -> None:
    assert stays(text, label, score=0.1)


def test_a_number_over_89_wants_a_cue_or_a_model_that_means_it() -> None:
    assert not stays("now [96] again", "AGE", score=0.1)
    assert not stays("now [96] again", "AGE", score=0.7)
    assert stays("now [96] again", "AGE", score=0.85)
    assert not stays("sugar 61, had juice, now [96]", "AGE", score=0.5)
    assert stays("he is [96] again", "AGE", score=0.1)


@pytest.mark.parametrize("source", ["template", "record", "propagation"])
def test_what_a_strong_finder_touches_stays(source: str) -> None:
    text = "Sats 94 on 2"
    model = Span(5, 7, "AGE", 0.9, ("model:age",))
    strong = Span(5, 7, "AGE", 1.0, (source,))

    assert without_clinical(text, [model, strong]) == [model, strong]
    assert without_clinical(text, [model]) == []


def test_a_year_or_day_that_a_pattern_was_sure_of_gives_way_to_a_value() -> None:
    text = "hCG 1240 -> 1980 at 48 h"
    year = Span(12, 16, "DATE", 1.0, ("pattern",))

    assert without_clinical(text, [year]) == []
    assert without_clinical("married 1980", [Span(8, 12, "DATE", 1.0, ("pattern",))]) != []


def test_parts_of_a_name_stay_together() -> None:
    text = "seen with Kim Mirena today"
    first, second = Span(10, 13, "PATIENT", 0.9, ("model:name",)), Span(14, 20, "PATIENT", 0.9, ("model:name",))

    assert without_clinical(text, [first, second]) == [first, second]


_PIECES = st.lists(
    st.sampled_from(
        ["Sats", "94", "3/14", "nodes", "on", "Hgb", "9.2", "67", "yo", "2013", "ACC/AHA", "Grace", "Accutane", ",",
         "\n", "Dr.", "Irish", "Catholic", "T", "L4/5", "é", "#", "-"]
    ),
    max_size=30,
)  # fmt: skip


@given(_PIECES, st.data())
def test_spans_are_only_ever_taken_away_and_never_strong_ones(pieces: list[str], data: st.DataObject) -> None:
    text = " ".join(pieces) or "."
    ends = st.integers(0, len(text))
    drawn = data.draw(
        st.lists(
            st.tuples(ends, ends, st.sampled_from(LABELS), st.floats(0, 1),
                      st.sampled_from(["model:x", "pattern:weak", "record"])),
            max_size=8,
        )
    )  # fmt: skip
    spans = [Span(min(a, b), max(a, b), label, score, (source,)) for a, b, label, score, source in drawn if a != b]

    kept = without_clinical(text, spans)

    assert [span for span in spans if span in kept] == kept
    assert all(span in kept for span in spans if span.sources == ("record",))
    assert without_clinical(text, kept) == kept or len(without_clinical(text, kept)) < len(kept)
    for stretch in find_clinical(text):
        assert 0 <= stretch.start < stretch.end <= len(text)
        assert stretch.excludes <= set(LABELS)


@pytest.mark.parametrize(
    "piece",
    [
        "Sats 94 ",
        "9 ",
        "1/2 ",
        "Na 138, ",
        "to 94 ",
        "Irish ",
        "a",
        "9",
        "BP 94/60 P 94 ",
        "GCS 14/15, ",
        "2013 the the ",
        "(",
        "T1 ",
        "-> ",
    ],
)
def test_time_is_linear_in_the_length_of_a_text(piece: str) -> None:
    def seconds(times: int) -> float:
        text = piece * times
        spans = [Span(at, at + 1, "AGE", 0.5, ("model:age",)) for at in range(0, len(text), 50)]
        taken = []
        for _ in range(3):  # take the minimum: garbage collection or loading a list may slow one of them
            begun = time.process_time()
            without_clinical(text, spans)
            find_clinical(text)
            taken.append(time.process_time() - begun)
        return min(taken)

    count = 4_000 // len(piece)
    assert seconds(4 * count) < 12 * max(seconds(count), 0.02)


def test_rows_are_reached_and_have_names_of_their_own() -> None:
    assert {row.kind for row in GRAMMAR.rows} >= {"lab", "vital sign", "score", "amount", "code", "edition", "people"}
    assert len({row.name for row in GRAMMAR.rows}) == len(GRAMMAR.rows)
    with pytest.raises(ValueError, match="must differ"):
        Grammar([GRAMMAR.rows[0], GRAMMAR.rows[0]])
    with pytest.raises(ValueError, match="words or numbers"):
        ClinicalRow(name="x", kind="x", pattern=GRAMMAR.rows[0].pattern)


def test_no_clinical_term_is_a_listed_name() -> None:
    words = [word for word in _terms() if not word.isupper()]

    assert len(words) > 4_000
    assert [word for word in words if is_listed_name(word)] == []


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ("the ratio 3/14 rose", [0.3]),
        ("seen 3/14", [1.0]),
        ("3/14 axillary nodes", [0.5]),
        ("RTC 3/12", [0.5]),
        ("RTC 3/14", [1.0]),
        ("Sats now low", []),
        ("closed Sats and Suns", [1.0]),
    ],
)
def test_how_sure_patterns_are_of_days_without_a_year(text: str, scores: list[float]) -> None:
    [found] = find_patterns([text])

    assert [
        span.score for span in found if text[span.start] in "3S" and text[span.start : span.end] != "Suns"
    ] == scores


def test_the_order_of_spans_does_not_matter() -> None:
    plain, spans = marked("Sats [94], [67] yo, Hgb [9], on [3/14]", "AGE")
    shuffled = random.Random(1).sample(spans, len(spans))

    assert sorted(without_clinical(plain, shuffled)) == without_clinical(plain, spans)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Bloods handed to the night [JMO], aware", "DOCTOR"),
        ("seen by the [reg] and the boss", "DOCTOR"),
        ("[Lachman] neg, pivot neg", "DOCTOR"),
        ("[Nissen], then Toupet", "DOCTOR"),
        ("[Osgood Schlatter], settled", "PATIENT"),
        ("[PTEN], STK11 negative", "DOCTOR"),
        ("[MYH7] and TTN reported", "USERNAME"),
        ("[ODYSSEY, FOURIER] cited", "DOCTOR"),
        ("on the basis of [ARISTOTLE], start", "PATIENT"),
        ("SNOMED 195967001 asthma, [84229001] fatigue", "IDNUM"),
        ("ATC N02BE01, [C09AA05]", "IDNUM"),
        ("[9/21] LN, 3/3 sent", "DATE"),
        ("9/21 [LN], 3/3 sent", "DOCTOR"),
        ("NEWS2 [9/20], lactate 5", "DATE"),
        ("[Turkish] Cypriot, thal trait", "COUNTRY"),
        ("NICE NG28 2015, updated [2022]", "DATE"),
        ("since [6-8] mths", "DATE"),
        ("Delivered at [37] and 4", "AGE"),
        ("mum of [four], works", "AGE"),
        ("a [20]-yr history of gout", "AGE"),
    ],
)
def test_knowledge_of_facts_takes_back_what_looks_like_an_identifier(text: str, label: str) -> None:
    assert not stays(text, label, score=0.7)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Dr. [Lachman], Lachman neg", "DOCTOR"),
        ("[Toupet] is here with her son", "PATIENT"),
        ("[Burch, McCall]", "PATIENT"),
        ("[Diane] stopped Diane 35", "PATIENT"),
        ("[Molly] and her sister visited", "PATIENT"),
        ("[Will] called from work", "PATIENT"),
        ("SNOMED 73211009, MRN [5562019]", "IDNUM"),
        ("delivered, age [37]", "AGE"),
        ("PHQ-9 [9/14]: 12", "DATE"),
        ("Works at [NHS] Lothian", "ORGANIZATION"),
        ("Signed [LN]", "DOCTOR"),
    ],
)
def test_the_same_words_without_such_facts_stay(text: str, label: str) -> None:
    assert stays(text, label, score=0.7)


def test_a_role_that_begins_a_sentence_is_nobody() -> None:
    assert not stays("[Aide] reports a skin tear", "PATIENT", score=0.7)
    assert stays("[Aide] reports a skin tear", "PATIENT", score=0.95)
    assert stays("Told [Aide] to call", "PATIENT", score=0.7)


def test_a_count_that_only_a_weak_form_took_for_a_date_is_none() -> None:
    def kept(text: str) -> bool:
        plain, spans = marked(text, "DATE", score=0.5, source="pattern:weak")
        assert without_clinical(plain, spans, has_models=False) == spans  # without models, the form must do
        return without_clinical(plain, spans) == spans

    assert not kept("sticker [12/14] in place")
    assert not kept("in isolation [14/7], FFP3 worn")
    assert kept("review on [12/14]")
    assert kept("Prolia [10/2]")


def test_half_of_a_day_before_a_name_on_the_next_line_is_no_person() -> None:
    text = "Ready tomorrow A.M.\nHADLEY reviewed"
    half, name = Span(15, 19, "DOCTOR", 0.93, ("model:name",)), Span(20, 26, "DOCTOR", 0.99, ("model:name",))

    assert without_clinical(text, [half, name]) == [name]


def test_a_sure_model_is_believed_that_a_date_stands_behind_a_volume() -> None:
    assert stays("received 500 ml [3/24]", "DATE", score=0.99)
    assert not stays("feeds 60 ml [3/24]", "DATE", score=0.6)
