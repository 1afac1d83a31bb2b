"""Hypothesis strategies of the tests: texts as clinical systems write them, and spans in them."""

from hypothesis import strategies as st

from deid_runtime.labels import LABELS, SOURCE_RANK
from deid_runtime.spans import Span

_PIECES = (
    "Smith", "JOHN", "o'Neil", "Åsa", "İnci", "05/06/2031", "MRN:", "120/80", "Dr.", "pt", "c/o", "-", ",", ".", "...",
    "\n", "\r\n", "\t", "  ", " ", "(", ")", "#", "e\u0301", "ﬁ", "漢字", "🙂", "Age:39Sex:F", "x5512",
)  # fmt: skip

#: Any text that UTF-8 can encode, and sequences of the typical parts of notes.
texts = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=80),
    st.lists(st.sampled_from(_PIECES), max_size=40).map("".join),
)


@st.composite
def spans(draw: st.DrawFn, length: int) -> Span:
    """Draw a span of any label and source in a text of ``length`` code points, at least one."""
    start = draw(st.integers(0, length - 1))
    end = draw(st.integers(start + 1, min(length, start + 12)))
    sources = draw(st.lists(st.sampled_from(sorted(SOURCE_RANK)), min_size=1, max_size=2, unique=True))
    score = draw(st.sampled_from((0.25, 0.5, 1.0)))
    return Span(start, end, draw(st.sampled_from(LABELS)), score, tuple(sources))


@st.composite
def texts_with_spans(draw: st.DrawFn) -> tuple[str, list[Span]]:
    """Draw a text and spans in it, in any order, possibly overlapping."""
    text = draw(texts.filter(bool))
    return text, draw(st.lists(spans(len(text)), max_size=12))
