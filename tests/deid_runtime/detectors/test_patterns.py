"""Test the whole pattern detector: what it finds, what it leaves, and its time on any text."""

import random
import time
from itertools import pairwise

import pytest

from deid_runtime.detectors.patterns import find_patterns


def found(text: str) -> list[tuple[str, str]]:
    [spans] = find_patterns([text])
    return [(text[span.start : span.end], span.label) for span in spans]


@pytest.mark.parametrize(
    "text",
    [
        "BP 120/80, HR 76, RR 16, T 98.6, SpO2 95% RA",
        "GCS 15, NIHSS 4, MMSE 22/30, Apgars 8/9, pain 7/10, strength 5/5, reflexes 2+/4",
        "metoprolol 25 mg 1/2 tab bid, heparin 5000 units, NS 1000 mL",
        "Na 138 K 4.2 Cl 101 BUN 14 Cr 0.9, WBC 8.4, Hgb 13.2, Plt 240,000, TSH 1.85",
        "ICD-10 E11.65, I10; CPT 99214, 43239; HCPCS J2505",
        "pT2 N1b M0, stage IIB, Gleason 3+4=7, margins 2 mm",
        "L4-5 and C5/6 discs, T12 fracture, S1 root",
        "seen at 0830, left at 14:30, back by 6 pm",
        "mass 2 x 3 cm, 4 mm nodule, 18 gauge IV, 6F sheath, 14 Fr Foley",
        "VA 20/40 OD, 20/25 OS, IOP 14/16",
        "for 3 weeks, q6h x 10 days, every 2-3 hours",
        "GA 36w2d, day of life 3, 37+1 weeks",
        "ranges 135-145, 3.5-5.0, 150-400",
        "software v 2.10.17, Epic 2.0",
        "screen everyone over 50 years old, age > 65",
        "she may march on; sat up; OCT normal; dec breath sounds",
        "Parkinson's disease, Foley, Glasgow score 6, Braden 18",
    ],
)
def test_clinical_numbers_and_words_are_no_identifiers(text):
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Tues 3/14/17 seen, MRN: 004417829, x5512",
            [("Tues 3/14/17", "DATE"), ("004417829", "MEDICALRECORD"), ("5512", "PHONE")],
            id="weekday-belongs-to-the-date-and-labels-stay-outside",
        ),
        pytest.param("3/14-3/16", [("3/14", "DATE"), ("3/16", "DATE")], id="a-range-is-two-dates"),
        pytest.param("Age:39Sex:F", [("39", "AGE")], id="run-together-age"),
        pytest.param("seen02/20/2087NA 135", [("02/20/2087", "DATE")], id="run-together-date"),
        pytest.param("MRN\n004417829", [("004417829", "MEDICALRECORD")], id="label-on-the-line-before"),
        pytest.param(
            "14 Quarry Hill Ct, Kasson, MN 55944",
            [("14 Quarry Hill Ct", "STREET"), ("MN", "STATE"), ("55944", "ZIP")],
            id="address-by-kind",
        ),
        pytest.param(
            "Tel 312-555-0143 Fax 312-555-0144",
            [("312-555-0143", "PHONE"), ("312-555-0144", "FAX")],
            id="phone-and-fax",
        ),
        pytest.param("MRN 312-555-0143", [("312-555-0143", "MEDICALRECORD")], id="the-label-beats-the-form"),
    ],
)
def test_spans_and_labels(text, expected):
    assert found(text) == expected


def test_spans_are_sorted_disjoint_and_say_how_sure_they_are():
    [spans] = find_patterns(["Seen 3/14/17 and 7/8. Lot U4418CA, leads PJN7120044, Kim 559-0117, MRN 7719348, age 67."])

    assert all(left.end <= right.start for left, right in pairwise(spans))
    assert {span.sources for span in spans} == {("pattern",), ("pattern:weak",)}


def test_a_text_is_answered_alike_alone_and_among_others():
    texts = ["on 3/14/17", "", "MRN 7719348\r\nAge: 39", "Ça va, né le 3 mai 2014"]

    assert find_patterns(texts) == [find_patterns([text])[0] for text in texts]


HOSTILE = [
    "7", " ", "a", "A", "\t", "\n", "a.a.a.a", "@@@@", "x@x.", "1/1/1/1/", "1/1 ", "Rm Rm Rm ", "1-2/3-4.5/",
    "ab:cd:12:", "::", "(", "(555) (", "A1", "A-1-", "A 1 ", "MRN: # ", "MRN ", "1 2 3 ", "123 456 ", "Aa Bb Cc ",
    "12 Aa Bb Cc Dd St ", "May 1 ", "may ", "the 1", " at ", "age ", "hundred and ", "son Ab, ", "$1,", "#1-", "'1",
    "00 ", "tel ((1", "phone no is at ", "http://", "www.a", ", 1", "é", "٣/٣ ", "A1b2C3d4", "+1 ", "1.1.1.1.",
    "x1", "fax ab cd ef ", "St. ", "PO Box ", "serial A1,", "s/n ", "lot a1, b2 & ", "xxx-xx-", "id....", "1st of ",
    "mon, 1-1 ",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_line_of_100_kb_takes_a_moment(unit):
    text = (unit * (100_000 // len(unit) + 1))[:100_000]

    started = time.process_time()
    find_patterns([text])

    # Some seconds on a slow, busy machine; minutes when a pattern backtracks.
    assert time.process_time() - started < 20


def test_time_grows_with_length_and_no_faster():
    generator = random.Random(17)
    pieces = [
        "3/14/17 ",
        "MRN 7719348 ",
        "Dr. Lee ",
        "age 67, ",
        "(312) 555-0143 ",
        "x" * 40,
        "1" * 40,
        "12 Oak St, ",
        "May 3 ",
    ]
    short = "".join(generator.choices(pieces, k=1_500))

    def seconds(text: str) -> float:
        measured = []
        for _ in range(3):
            started = time.process_time()
            find_patterns([text])
            measured.append(time.process_time() - started)
        return min(measured)

    # Five times the text takes five times the time, with a margin for a busy machine; a quadratic row takes 25 times.
    assert seconds(short * 5) < 12 * seconds(short) + 0.01


def test_addresses_of_the_web_in_a_row_take_linear_time():
    started = time.process_time()
    [spans] = find_patterns(["www.quist.org/" * 20_000])
    assert time.process_time() - started < 12
    assert [(span.start, span.end) for span in spans] == [(0, 20_000 * len("www.quist.org/"))]


@pytest.mark.parametrize("begin", ["https://portal.quist.org/v?t=", "www.quist.org/v?t=", "quist.org/v?t="])
def test_a_long_address_is_found_to_its_end(begin):
    url = begin + "0123456789abcdef" * 60 + "&u=ihalvorsen@quist.org&k=Zq81x"

    [spans] = find_patterns([f"link {url}, sent on 3/4/2031"])

    assert [(span.start, span.end, span.label) for span in spans][:1] == [(5, 5 + len(url), "URL")]
    assert [span.label for span in spans] == ["URL", "DATE"]


def test_letters_that_count_as_others_where_case_does_not_are_no_error():
    [spans] = find_patterns(["seen 4 Apr\u0131l 2019, \u017feptember 4, 2019"])

    assert [span.label for span in spans] == ["DATE", "DATE"]


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("Junel Fe 1/20 daily", []),
        ("Ortho-Novum 10/11", []),
        ("LOESTRIN 1/20", []),
        ("Junel begun 1/20", ["pattern"]),
        ("seen 1/20", ["pattern"]),
        ("Junel 1/22", ["pattern:weak"]),
    ],
)
def test_the_strength_of_a_pill_is_a_date_only_to_the_models(text: str, sources: list[str]) -> None:
    [found] = find_patterns([text])

    assert [(span.label, *span.sources) for span in found] == [("DATE", source) for source in sources]
