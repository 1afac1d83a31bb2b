import re
import time

import pytest

from deid_runtime.merging.initials import INTRODUCED, InitialsFinder, find_listed
from deid_runtime.merging.propagation import propagate
from deid_runtime.spans import Span


def found(text, *names):
    """Return, as (text, offset), the initials found in ``text`` next to the first occurrences of ``names``."""
    spans = [Span(text.index(name), text.index(name) + len(name), "DOCTOR", 0.9, ("model:name",)) for name in names]
    words = [match.span() for match in re.finditer(r"[^\W_]+", text)]
    return [text[span.start : span.end + 1] for span in InitialsFinder(text, spans).find(words)]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        pytest.param("Mr. Paget-Lewis (PL) was seen", "Paget-Lewis", ["PL)"], id="halves-of-a-double-name"),
        pytest.param("Fiona Grant (FG, NOK): FG, FG.", "Fiona Grant", ["FG,", "FG,", "FG."], id="introduced-once"),
        pytest.param("Grant, Fiona [FG]", "Grant, Fiona", ["FG]"], id="family-name-first"),
        pytest.param('Vera de la Cruz ("VC")', "Vera de la Cruz", ['VC"'], id="without-particles"),
        pytest.param("Élise Bénard (EB)", "Élise Bénard", ["EB)"], id="without-accents"),
        pytest.param("Susan Lee (SL). GTN SL. SL agreed.", "Susan Lee", ["SL)", "SL "], id="a-clinical-abbreviation"),
        pytest.param("Dr Susan Lee. GTN SL given. SL agreed.", "Susan Lee", [], id="not-introduced"),
        pytest.param("Paula Thompson (PT). PT to see.", "Paula Thompson", [], id="a-credential"),
        pytest.param("Sarah Jane Pryce. SJP low in mood. SP.", "Sarah Jane Pryce", ["SJP "], id="three-letters"),
        pytest.param("Henrietta Walsh-Brand. HWB to review.", "Henrietta Walsh-Brand", ["HWB "], id="will-do"),
        pytest.param("Henrietta Walsh-Brand. HWB warm.", "Henrietta Walsh-Brand", [], id="a-hot-water-bottle"),
        pytest.param("Zoe Quartermain. ZQ to call, by ZQ. ZQ 5", "Zoe Quartermain", ["ZQ ", "ZQ."], id="a-person"),
        pytest.param("Sarah Jane Pryce. Reviewed. SJP 14/3/21", "Sarah Jane Pryce", ["SJP "], id="signed-and-dated"),
        pytest.param("Dr Gillian Parker (GP). D/w GP.", "Gillian Parker", [], id="a-role"),
        pytest.param("Brian Boyle, managed with BB and ACEi", "Brian Boyle", [], id="a-drug"),
        pytest.param("Zoe Quartermain\nZQ: I feel well\nZQ now", "Zoe Quartermain", ["ZQ:"], id="a-speaker"),
        pytest.param("Zoe Quartermain (ZQ): ZQ-1, ZQ2, a/ZQ", "Zoe Quartermain", ["ZQ)"], id="parts-of-longer-codes"),
        pytest.param("Zoe Quartermain and (ZQ). (ZQ)", "Zoe Quartermain", [], id="brackets-elsewhere"),
        pytest.param("Tendai (TM) rang. TM says no. TM red.", "Tendai", ["TM)", "TM "], id="a-given-name-alone"),
        pytest.param("Paula (PT), Tendai (RM), Ana (AF, sinus now)", "Paula", [], id="a-role-behind-it"),
        pytest.param("Ivy Smart. IS he well? IS", "Ivy Smart", [], id="an-ordinary-word"),
    ],
)
def test_initials_of_a_name(text, name, expected):
    assert found(text, name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Present 4: AK, J.C., MWN, PO.\n- PO quiet\nAK late, CK 40", ["AK", "J.C.", "MWN", "PO", "PO", "AK"]),
        ("Attendees: Consultant, HB, CPN, KD and TQ (mother)", ["HB", "KD", "TQ"]),
        ("Present: SW, OT, CPN, RN", []),
        ("Attended: CT, MRI, ECG. Absent: AR, MR, TR", []),
        ("Present: ZB since birth", []),
        ("Present: AK, JC, MWN. Apologies: TQ, ZB.", ["AK", "JC", "MWN", "TQ", "ZB"]),
        ("Present: JH, MWN\r\nnext", ["JH", "MWN"]),
        ("Reflexes present: BJ, TJ, KJ", []),
    ],
)
def test_initials_in_a_list_of_those_present(text, expected):
    assert [text[span.start : span.end] for span in sorted(find_listed(text))] == expected


def test_initials_behind_their_name_count_more_than_another_label():
    text = "Dr Thomas Mann (TM) agreed."
    spans = [Span(3, 14, "DOCTOR", 0.9, ("model:name",)), Span(16, 18, "HOSPITAL", 0.2, ("model:organization",))]

    assert propagate(text, spans) == [Span(16, 18, "DOCTOR", 0.9, (INTRODUCED,))]


def test_a_shorter_span_of_the_same_name_takes_no_initials_away():
    text = "Fiona Grant (FG)"
    spans = [Span(0, 11, "PATIENT", 0.9, ("model:name",)), Span(6, 11, "PATIENT", 0.9, ("record",))]

    assert [text[span.start : span.end] for span in propagate(text, spans) if span.start > 11] == ["FG"]


def test_time_is_linear_in_names_and_words():
    def seconds(count):
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        names = [f"{letters[i % 26]}nna {letters[i // 26 % 26]}ork" for i in range(count)]
        text = " ".join(f"{name} ({name[0]}{name.split()[1][0]}) ZQX" for name in names)
        spans, at = [], 0
        for name in names:
            at = text.index(name, at)
            spans.append(Span(at, at + len(name), "DOCTOR", 0.9, ("model:name",)))
        words = [match.span() for match in re.finditer(r"[^\W_]+", text)]
        begin = time.perf_counter()
        list(InitialsFinder(text, spans).find(words))
        return time.perf_counter() - begin

    few, many = min(seconds(500) for _ in range(3)), min(seconds(2000) for _ in range(3))
    assert many < 12 * few
