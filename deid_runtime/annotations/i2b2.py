"""Annotated notes in i2b2 2014 XML, one note per file: ``<deIdi2b2><TEXT>...</TEXT><TAGS>...</TAGS></deIdi2b2>``."""

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.sax.saxutils import escape, quoteattr

from deid_runtime.annotations.note import AnnotatedNote, errors_in
from deid_runtime.annotations.type_names import label_of_type
from deid_runtime.errors import InputError, SourceError
from deid_runtime.formats.byte_lines import reading
from deid_runtime.formats.i2b2 import patient_of_file
from deid_runtime.labels import HEADS
from deid_runtime.spans import Span

SUFFIX: Final = ".xml"
#: Elements of the 2014 heart disease track, which can be in the same file.
_NOT_IDENTIFIERS: Final = frozenset(
    {"CAD", "DIABETES", "FAMILY_HIST", "HYPERLIPIDEMIA", "HYPERTENSION", "MEDICATION", "OBESE", "SMOKER"}
)
#: Label to the element that has it as TYPE. All other labels are in an ID element.
_ELEMENTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(HEADS["name"], "NAME"),
    **dict.fromkeys((*HEADS["location"], *HEADS["organization"]), "LOCATION"),
    **dict.fromkeys(("PHONE", "FAX", "EMAIL", "URL", "IPADDR"), "CONTACT"),
    "AGE": "AGE",
    "DATE": "DATE",
}


class _DoctypeError(Exception):
    pass


class _NoDoctype(TreeBuilder):
    """Stops at a document type, because it could define entities that expand without limit. No i2b2 file has one."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise _DoctypeError("remove the document type")


def read_i2b2(path: Path, note_id: str) -> AnnotatedNote:
    """Return the note of a file. The patient of ``123-04.xml`` is ``123``; other file names give no patient.

    Raises SourceError for other XML, for unknown types and for tags without offsets. Raises InputError for a span that
    cannot be in its note.
    """
    root = _parse(path)
    text = root.findtext("TEXT")
    if text is None:
        raise SourceError(f"{path}: no <TEXT>; expected an i2b2 2014 file with <TEXT> and <TAGS>")
    with errors_in(str(path)):
        spans = tuple(sorted(span for tag in root.iterfind("TAGS/*") if (span := _span(path, tag))))
        return AnnotatedNote(note_id, patient_of_file(path.name), "", text, spans)


def _parse(path: Path) -> Element:
    parser = XMLParser(target=_NoDoctype())
    with reading(str(path)):
        content = path.read_bytes()
    try:
        parser.feed(content)
        root: Element = parser.close()
    except (
        ParseError,
        _DoctypeError,
        LookupError,
        ValueError,
    ) as error:  # an unknown encoding raises one of the last two
        raise SourceError(f"{path}: not well-formed XML without a document type: {error}") from None
    return root


def _span(path: Path, tag: Element) -> Span | None:
    """Return the span of a tag, or None for a tag that marks no identifier. Raises SourceError."""
    if tag.tag in _NOT_IDENTIFIERS:
        return None
    # TYPE may be missing on elements with only one type, such as <AGE> and <DATE>.
    label = label_of_type(f"{path}: {tag.tag}", tag.get("TYPE") or tag.tag, tag.tag)
    if label is None:
        return None
    try:
        start, end = int(tag.attrib["start"]), int(tag.attrib["end"])
    except (KeyError, ValueError):  # the message of int() quotes its input
        start = end = 0
    if not 0 <= start < end:
        raise SourceError(f"{path}: a {tag.tag} tag lacks whole numbers 'start' < 'end'")
    return Span(start, end, label)


def render_i2b2(text: str, spans: Sequence[Span]) -> bytes:
    """Return the content of an i2b2 file. Raises InputError for a text with characters that XML cannot hold."""
    for at, char in enumerate(text):
        if unicodedata.category(char) == "Cc" and char not in "\t\n\r":
            raise InputError(f"XML cannot represent the control character at offset {at}; write jsonl or brat instead")
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
