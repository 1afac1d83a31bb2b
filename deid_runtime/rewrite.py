"""The last step: replacements put into the text, everything else untouched."""

from collections.abc import Sequence

from deid_runtime.errors import InputError
from deid_runtime.spans import Span


def rewrite(text: str, spans: Sequence[Span], replacements: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return ``text`` with each span replaced, and where each replacement is in the new text, ``[start, end)``.

    ``spans`` are sorted, disjoint and inside ``text``; ``replacements`` has one string for each, in the same order.
    What
    is outside the spans is copied code point by code point, line ends included.

    Raises InputError otherwise: a span that cannot be placed must stop the note, not leave its text in the output.
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
                f"span [{span.start}, {span.end}) overlaps the one before it, which ends at {read}, or reaches past "
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
