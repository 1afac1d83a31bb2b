"""Test the text that detectors read, and the mapping back to the original offsets."""

import textwrap
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.errors import InputError
from deid_runtime.spans import Span
from deid_runtime.text.reading.edits import Edit, apply_edits
from deid_runtime.text.reading.view import View, read_marked, read_view
from tests.strategies import texts

_PIECES = (
    "Sister Una", "Gallacher", "the ", "Dr.", "\n", "\r\n", "\n\n", "\n   ", "-\n", "- item", "Label: ", "&nbsp;",
    "&#233;", "&amp;", "&amp;#74;", "&lt;", "<b>", "</b>", "<br>", '<span class="c">', "<td>", "<a href='x'>",
    "J o h n", "S M I T H", "   ", " ", "5 5 5 - 1 2 3 4", "e\u0301", "x\u0336", "\u200b", "\xad", "\xad\n", "\ufe0f",
    "\u202e", "Ｊｏ", "𝐉", "Ⓢ", "ﬁ", "ﬀ", "٤٤", "\xa0", "\u2028", "Sм", "Jо", "βhCG", "漢字", "🙂", "\t", "|", ". ",
    "a long line of plain words without any end that is there",
)  # fmt: skip
odd_texts = st.one_of(texts, st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))

PROSE = (
    "The patient was seen this morning on the ward by Sister Una Gallacher, who changed the dressing on her left heel "
    "and spoke with Mr. Bartholomew Quist about the plan. He agreed that physiotherapy should begin on Monday, and "
    "that the district nurse, Abiola Okonkwo-Reyes, visits twice a week until the wound has closed. Follow-up is with "
    "Dr. Lindqvist."
)


def read(text: str) -> str:
    return read_view(text).text


@pytest.mark.parametrize("width", range(58, 131, 6))
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\n    ", " \n"])
def test_a_wrapped_paragraph_is_read_as_one_line(width: int, line_end: str) -> None:
    wrapped = textwrap.fill(PROSE, width, break_on_hyphens=False).replace("\n", line_end)

    assert read(f"{wrapped}\n\nSigned,\nDr. Lindqvist\n") == f"{PROSE}\n\nSigned,\nDr. Lindqvist\n"


@pytest.mark.parametrize(
    "text",
    [
        "Una Gallacher\n14 Quarry Hill Court\nKasson, MN 55944",
        "Name: Una Gallacher\nDOB: 3/14/1951\nMRN: 4417829\nWard: 7B",
        "Meds:\n- aspirin 81 mg daily with food in the morning and at night\n- metoprolol 25 mg twice daily",
        "1. Hypertension, well controlled on the present doses of two medicines\n2. Diabetes, diet alone\n3. Gout",
        "Na 141\tK 4.1\tCl 101\nBUN 14\tCr 0.9\tGlu 101\nCa 9.1\tMg 2.0\tPhos 3.3",
        "Seen today.\nFeels well.\nNo chest pain.\nBack in two weeks.",
        "Sincerely,\nUna Gallacher, RN\nDistrict nurse\n507-330-0139",
        "PAST MEDICAL HISTORY\nHypertension\nAsthma\nALLERGIES\nNone known",
        "A long first line that says a good deal of what was done in the course of this visit.\nALLERGIES\nNone known.",
        "She was told to come back at once if the pain returns or the leg swells at night.\nAllergies: none known.",
    ],
)
def test_lines_that_stand_alone_keep_their_ends(text: str) -> None:
    assert read(text) == text
    assert read_view(text).layers == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The patient came to the ward of the hos-\npital on Monday.", "hospital on"),
        ("She is looked after at home by Mrs. Ander-\n  son, who came along.", "Mrs. Anderson, who"),
        ("She is looked after at home by Mrs. Ander\xad\nson, who came along.", "Mrs. Anderson, who"),
        ("SHE IS LOOKED AFTER AT HOME BY MRS. ANDER-\nSON, WHO CAME ALONG.", "MRS. ANDERSON, WHO"),
        ("to-\nday Ms. Smi-\nth saw Mr. Oko-\nro", "today Ms. Smith saw Mr. Okoro"),
        ("This is a pleasant and well kept lady of the 65-year-\nold kind.", "65-year-old kind"),
        ("This is about the wound of the late Mr. Smith-\nJones.", "Smith-\nJones"),
        ("Seen by the whole team this morning and by the\nconsultant.", "the consultant"),
        ("Referred to us by Dr.\nGallacher.", "by Dr. Gallacher."),
        ("Pt with pain-\nalso nausea.", "pain-\nalso"),
    ],
)
def test_words_broken_at_a_line_end(text: str, expected: str) -> None:
    assert expected in read(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A long line of 1 2 3 4 5 6 7 on a scale", None),
        ("scores 0 1 2 3 4 5 6 7 8 9 10", None),
        ("NIHSS 0 0 1 0 2 0 0 0 1 0 = 4", None),
        ("kHz .5 1 2 3 4 6 8", None),
        ("A B C D", None),
        ("Y N N Y Y", None),
        ("J.R.R. Tolkien, b.i.d., q.i.d., U.S.A.", None),
        ("H.v.d.H.", None),
        ("βhCG, µg, χ2, 5′ of arc, Ω", "βhCG, µg, χ2, 5' of arc, Ω"),
        ("BP <140/90 and > 120, p<b and c>d, R&D, AT&T;", None),
        ("<a href='mailto:x'>", None),
        ("<b title='John Quist'>", None),
        ("Москва", None),
        ("10–12 mg — “well”, O’Brien", None),
        ("m² and CO₂, ½ tab, 37 °C", None),
    ],
)
def test_what_is_no_odd_form_stays(text: str, expected: str | None) -> None:
    assert read(text) == (text if expected is None else expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("John\u200bSmith", "John Smith"),
        ("Jo\u200bhn", "John"),
        ("a\u200bb\u200bc\u200bd", "a b c d"),
        ("R&amp;amp;D", "R&D"),
        ("F E R R A N T E", "FERRANTE"),
        ("( 2 1 2 ) 5 5 5 - 1 2 1 2", "( 212)555-1212"),
        ("S\u0336m\u0336i\u0336th", "Smith"),
        ("Smith<br/>John", "Smith\nJohn"),
        ("\u202enhoJ\u202c", "\u202enhoJ\u202c"),
        ("ΜΑRΙΑ", "MARIA"),
        ("сор", "cop"),
    ],
)
def test_odd_forms_are_read_plainly(text: str, expected: str) -> None:
    assert read(text) == expected


def test_a_span_maps_to_all_that_it_covers() -> None:
    text = "by Sister <b>Una</b>\r\n   Galla\u200bcher."
    view = View(*_wrap(text))

    at = view.text.index("Una")
    start, end = view.original(at, at + len("Una Gallacher"))
    assert text[start:end] == "Una</b>\r\n   Galla\u200bcher"
    assert view.seen(start, end) == (at, at + len("Una Gallacher"))
    with pytest.raises(InputError):
        view.original(3, 3)


def _wrap(text: str) -> tuple[str, tuple[object, ...]]:
    view = read_view(text)
    at = view.text.index("\r\n")
    joined, layer = apply_edits(view.text, [Edit(at, at + 5, " ")])
    return joined, (*view.layers, layer)


@given(odd_texts)
def test_the_map_is_monotone_and_exact_outside_changed_places(text: str) -> None:
    view = read_view(text)
    places = [view.original(at, at + 1) for at in range(len(view.text))]

    assert all(left[0] <= right[0] and left[1] <= right[1] for left, right in pairwise(places))
    assert all(0 <= start < end <= len(text) for start, end in places)
    for at, (start, end) in enumerate(places):
        if end - start == 1 and text[start].isascii() and text[start].isalnum():
            assert view.text[at] == text[start]
    if not view.layers:
        assert view.text == text
    if text.isascii():  # only gaps, markup and line ends are removed: each letter read is in the original
        assert len(view.text) <= len(text)


@given(odd_texts, st.data())
def test_spans_keep_their_order_and_cover_what_they_covered(text: str, data: st.DataObject) -> None:
    view = read_view(text)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(view.text)), max_size=8)))
    spans = [Span(start, end, "PATIENT") for start, end in pairwise(cuts)]

    pairs = view.located(spans)

    originals = [original for _, original in pairs]
    assert all(left.end <= right.start for left, right in pairwise(originals))
    covered = {at for span in originals for at in range(span.start, span.end)}
    for span in spans:
        for at in range(span.start, span.end):
            assert covered.issuperset(range(*view.original(at, at + 1)))
    for span in spans:
        start, end = view.seen(*view.original(span.start, span.end))
        assert start <= span.start
        assert span.end <= end


@given(odd_texts, st.data())
def test_marked_spans_come_along(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [Span(start, end, "DATE") for start, end in pairwise(cuts)]

    read_text, marked = read_marked(text, spans)

    assert read_text == read(text)
    assert all(left.end <= right.start for left, right in pairwise(marked))
    assert all(span.end <= len(read_text) for span in marked)
    if read_text == text:
        assert marked == tuple(spans)


def test_plain_text_is_its_own_view() -> None:
    assert read_view(PROSE) == View(PROSE)
    assert "Gallacher" not in repr(read_view(PROSE))


@pytest.mark.parametrize(
    "piece", [*_PIECES, "&", "&#", "&amp;", "<", "<b ", "<b class=", "a ", "A ", "1 ", "a-", "\n", " ", "\t"]
)
def test_time_grows_with_length_alone(piece: str) -> None:
    text = piece * (2**17 // len(piece))
    begun = time.process_time()

    view = read_view(text)
    if view.text:
        view.original(0, len(view.text))

    assert time.process_time() - begun < 18  # quadratic time takes minutes
