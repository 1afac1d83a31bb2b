"""Annotations beside the text: i2b2 2014 XML and brat."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from deid_runtime.errors import InputError
from deid_runtime.labels import HEADS, LABELS
from deid_runtime.spans import Span

#: Label to the element of i2b2 2014 that it is a TYPE of; all others are an ID.
_ELEMENTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(HEADS["name"], "NAME"),
    **dict.fromkeys((*HEADS["location"], *HEADS["organization"]), "LOCATION"),
    **dict.fromkeys(("PHONE", "FAX", "EMAIL", "URL", "IPADDR"), "CONTACT"),
    "AGE": "AGE",
    "DATE": "DATE",
}

#: What brat must find beside the notes to show our labels.
BRAT_CONFIGURATION: Final = (
    "[entities]\n" + "".join(f"{label}\n" for label in LABELS) + "[relations]\n[events]\n[attributes]\n"
)


def render_i2b2(text: str, spans: Sequence[Span]) -> bytes:
    """Return an i2b2 2014 file. Raises InputError for a text that XML cannot hold."""
    for at, char in enumerate(text):
        if unicodedata.category(char) == "Cc" and char not in "\t\n\r":
            raise InputError(f"XML cannot hold the control character at offset {at}; give out jsonl or brat")
    body = escape(text, {"\r": "&#13;"})
    tags = "".join(
        f'<{_ELEMENTS.get(span.label, "ID")} id="P{number}" start="{span.start}" end="{span.end}" '
        f'text={_attribute(text[span.start : span.end])} TYPE="{span.label}" comment="" />\n'
        for number, span in enumerate(spans)
    )
    document = f"<deIdi2b2>\n<TEXT>{body}</TEXT>\n<TAGS>\n{tags}</TAGS>\n</deIdi2b2>\n"
    return f'<?xml version="1.0" encoding="UTF-8" ?>\n{document}'.encode()


def _attribute(value: str) -> str:
    return quoteattr(value, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def render_brat(text: str, spans: Sequence[Span]) -> bytes:
    """Return a brat ``.ann``, whose text lies beside it as it is."""
    lines = []
    for number, span in enumerate(spans, start=1):
        pieces = list(line_pieces(text, span))
        if not pieces:
            continue  # white space, which brat cannot mark
        offsets = ";".join(f"{start} {end}" for start, end in pieces)
        shown = " ".join(text[start:end] for start, end in pieces)
        lines.append(f"T{number}\t{span.label} {offsets}\t{shown}\n")
    return "".join(lines).encode()


def line_pieces(text: str, span: Span) -> Iterator[tuple[int, int]]:
    """Yield the half-open offsets of each line of a span, without the blanks at its ends: brat cuts it so."""
    start = span.start
    for line in text[span.start : span.end].splitlines(keepends=True):
        kept = line.strip()
        if kept:
            first = start + len(line) - len(line.lstrip())
            yield first, first + len(kept)
        start += len(line)
