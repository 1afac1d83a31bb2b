"""The view of a note: its text as a person reads it, with an exact map back to the original offsets.

The view joins wrapped paragraphs, removes HTML, replaces unusual letters and digits by the usual ones, and closes the
gaps in spelled-out words. Each of these forms has its own pass; the modules of this folder define the passes. A text
with none of these forms equals its view.

Training uses the same view: :func:`read_marked` also converts the spans of an annotated note.
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

#: The passes in order: each reads the output of the pass before.
_PASSES: Final[Sequence[Callable[[str], list[Edit]]]] = (
    read_markup, read_styles, read_composed, read_lookalikes, read_spelled, read_lines,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class View:
    """The text that detectors read. Offsets of the view and of the original are half-open code points."""

    text: str = field(repr=False)
    layers: tuple[Layer, ...] = field(default=(), repr=False)

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the smallest stretch of the original that contains all characters of ``[start, end)`` of the view.

        It includes dropped characters in between. Raises InputError for an empty or reversed stretch, and for one that
        ends after the view.
        """
        if not 0 <= start < end <= len(self.text):
            raise InputError(f"[{start}, {end}) is not a stretch of a view of {len(self.text)} characters")
        last = end - 1
        for layer in reversed(self.layers):
            start = layer.origin(start)[0]
            last = layer.origin(last)[1] - 1
        return start, last + 1

    def located(self, spans: Iterable[Span]) -> list[tuple[Span, Span]]:
        """Return pairs: a span of the view, and the same span with offsets of the original.

        ``spans`` must be sorted and disjoint; the spans of the original then are too. When two spans share a character
        of the original (half a ligature each), the first span gets it. A span with no character left is dropped,
        because the spans before it cover its characters.
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
        """Return the stretch of the view that comes from ``[start, end)`` of the original.

        It is empty when the view has no character of it, for example for an HTML tag.
        """
        for layer in self.layers:
            start, end = layer.first_from(start), layer.last_before(end)
        return start, max(start, end)


def read_view(text: str) -> View:
    """Return the view of ``text``. The time is proportional to its length."""
    layers: list[Layer] = []
    for find in _PASSES:
        edits = find(text)
        if edits:
            text, layer = apply_edits(text, edits)
            layers.append(layer)
    return View(text, tuple(layers))


def read_marked(text: str, spans: Sequence[Span]) -> tuple[str, tuple[Span, ...]]:
    """Return the view of an annotated text, and its ``spans`` with offsets of the view.

    ``spans`` must be sorted and disjoint; the result is too. A span without a character in the view is dropped.
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
