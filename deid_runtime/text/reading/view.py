"""What detectors read of a note: its text as a person reads it, and the exact way back to the note's own offsets.

Wrapped paragraphs are joined, HTML is read through, letters and digits in odd forms are read as the usual ones, what
is spelled with gaps is closed up. Each form has a module of its own (``reading_*``) and a pass of its own; a text that
shows none of them is its own view.

Training reads the same view: :func:`read_marked` takes the spans of an annotated note along.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from deid_runtime.errors import InputError
from deid_runtime.spans import Span
from deid_runtime.text.reading.edits import Edit, Layer, apply_edits
from deid_runtime.text.reading.forms import read_composed, read_lookalikes, read_styles
from deid_runtime.text.reading.lines import read_lines
from deid_runtime.text.reading.markup import read_markup
from deid_runtime.text.reading.spelled import read_spelled

#: The passes in their order: each reads what the one before wrote.
_PASSES: Final[Sequence[Callable[[str], list[Edit]]]] = (
    read_markup, read_styles, read_composed, read_lookalikes, read_spelled, read_lines,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class View:
    """The text that detectors read. Its offsets are half-open code points, as those of the original are."""

    text: str = field(repr=False)
    layers: tuple[Layer, ...] = field(default=(), repr=False)

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the smallest stretch of the original that holds every character of the view's ``[start, end)``.

        Dropped characters between two of them are inside it. Raises InputError for an empty or reversed stretch, and
        for one that ends behind the view.
        """
        if not 0 <= start < end <= len(self.text):
            raise InputError(f"[{start}, {end}) is no stretch of a view of {len(self.text)} characters")
        last = end - 1
        for layer in reversed(self.layers):
            start = layer.origin(start)[0]
            last = layer.origin(last)[1] - 1
        return start, last + 1

    def located(self, spans: Iterable[Span]) -> list[tuple[Span, Span]]:
        """Return sorted, disjoint spans of the view, each with its place in the original, sorted and disjoint too.

        Where two share a character of the original (half a ligature each), the first has it; a span with nothing left
        is dropped: the ones before it cover all that it stands for.
        """
        if not self.layers:
            return [(span, span) for span in spans]
        pairs: list[tuple[Span, Span]] = []
        covered = 0
        for span in spans:
            start, end = self.original(span.start, span.end)
            start = max(start, covered)
            if start < end:
                pairs.append((span, replace(span, start=start, end=end)))
                covered = end
        return pairs

    def seen(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the view that holds all that comes from ``[start, end)`` of the original.

        It is empty where nothing of that is read, as of a tag of HTML.
        """
        for layer in self.layers:
            start, end = layer.first_from(start), layer.last_before(end)
        return start, max(start, end)


def read_view(text: str) -> View:
    """Return what detectors read of ``text``. Takes time in proportion to its length."""
    layers: list[Layer] = []
    for find in _PASSES:
        edits = find(text)
        if edits:
            text, layer = apply_edits(text, edits)
            layers.append(layer)
    return View(text, tuple(layers))


def read_marked(text: str, spans: Sequence[Span]) -> tuple[str, tuple[Span, ...]]:
    """Return the view of an annotated text and its ``spans`` in offsets of that, sorted and disjoint as they were.

    A span of which nothing is read is left out.
    """
    view = read_view(text)
    if not view.layers:
        return text, tuple(spans)
    marked: list[Span] = []
    covered = 0
    for span in spans:
        start, end = view.seen(span.start, span.end)
        start = max(start, covered)
        if start < end:
            marked.append(replace(span, start=start, end=end))
            covered = end
    return view.text, tuple(marked)
