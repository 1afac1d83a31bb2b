"""The last step: put the replacements into the text and copy everything else unchanged."""

from collections.abc import Sequence

from deid_runtime.errors import InputError
from deid_runtime.spans import Span


def rewrite(text: str, spans: Sequence[Span], replacements: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return ``text`` with each span replaced, and the offsets ``[start, end)`` of each replacement in the new text.

    ``spans`` must be sorted, disjoint and inside ``text``. ``replacements`` has one string per span, in the same order.
    The text outside the spans is copied unchanged, line ends included.

    Raises InputError otherwise: a span with wrong offsets must stop the note, or its text stays in the output.
    """
    if len(spans) != len(replacements):
        raise InputError(
            f"{len(spans)} spans and {len(replacements)} replacements; expected one for each", stage="rewrite"
        )
    pieces: list[str] = []
    offsets: list[tuple[int, int]] = []
    read = written = 0
    for span, replacement in zip(spans, replacements, strict=True):
        if span.start < read or span.end > len(text):
            raise InputError(
                f"span [{span.start}, {span.end}) overlaps the one before it, which ends at {read}, or ends after "
                f"the text of {len(text)} characters; expected sorted, disjoint spans",
                stage="rewrite",
            )
        start = written + span.start - read
        written = start + len(replacement)
        pieces += (text[read : span.start], replacement)
        offsets.append((start, written))
        read = span.end
    pieces.append(text[read:])
    return "".join(pieces), tuple(offsets)
