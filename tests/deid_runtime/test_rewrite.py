import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.errors import InputError
from deid_runtime.rewrite import rewrite
from deid_runtime.spans import Span


def test_replaces_spans_and_says_where_they_went():
    text = "Seen by Ann Lee\r\non 3/14.\n"

    made, offsets = rewrite(text, [Span(8, 15, "DOCTOR"), Span(20, 24, "DATE")], ["Josephine Ott", "4/2"])

    assert made == "Seen by Josephine Ott\r\non 4/2.\n"
    assert [made[start:end] for start, end in offsets] == ["Josephine Ott", "4/2"]


def test_no_spans_leave_the_text_alone():
    assert rewrite("as it was\x00\r", [], []) == ("as it was\x00\r", ())


@pytest.mark.parametrize(
    ("spans", "replacements"),
    [
        pytest.param([Span(0, 3, "DATE")], [], id="one-replacement-missing"),
        pytest.param([Span(0, 3, "DATE"), Span(2, 5, "DATE")], ["a", "b"], id="overlap"),
        pytest.param([Span(4, 5, "DATE"), Span(0, 3, "DATE")], ["a", "b"], id="out-of-order"),
        pytest.param([Span(4, 50, "DATE")], ["a"], id="past-the-end"),
    ],
)
def test_spans_that_cannot_be_placed_stop_the_note(spans, replacements):
    with pytest.raises(InputError, match="expected"):
        rewrite("3/14 ok", spans, replacements)


@settings(deadline=None)
@given(st.text(max_size=60), st.data())
def test_text_outside_the_spans_is_untouched_and_offsets_fit(text, data):
    cuts = sorted(set(data.draw(st.lists(st.integers(0, len(text)), max_size=8))))
    spans = [Span(start, end, "IDNUM") for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    replacements = data.draw(st.lists(st.text(max_size=5), min_size=len(spans), max_size=len(spans)))

    made, offsets = rewrite(text, spans, replacements)

    assert [made[start:end] for start, end in offsets] == replacements
    edges_old = [0, *(edge for span in spans for edge in (span.start, span.end)), len(text)]
    edges_new = [0, *(edge for pair in offsets for edge in pair), len(made)]
    kept_old = [text[a:b] for a, b in zip(edges_old[::2], edges_old[1::2], strict=True)]
    assert kept_old == [made[a:b] for a, b in zip(edges_new[::2], edges_new[1::2], strict=True)]
