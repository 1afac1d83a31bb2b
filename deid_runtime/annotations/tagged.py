"""Tagged text: a file with the notes of one or more patients, and each span between ``<LABEL>`` and ``</LABEL>``.

::

    %% patient id=P1 given=Alma family=Orr
    %% note id=P1-1 type="Phone note"
    <PATIENT>Alma Orr</PATIENT> called on <DATE>3/14/2019</DATE>.

Spans never nest. A span can contain one line end, but no blank line. Line ends are LF. Empty lines at the start and end
of a note are not part of it.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError, SourceError
from deid_runtime.formats.byte_lines import reading
from deid_runtime.labels import LABELS
from deid_runtime.spans import PatientRecord, Span
from deid_runtime.system.shown_ids import shown_id

_IN_BROKEN: Final = r"(?:(?!</?[A-Z])[^\n])"  # a character of a span over two lines, which has no other tag in it
_TAG: Final = re.compile(
    rf"<({'|'.join(map(re.escape, LABELS))})>([^\n]*?|{_IN_BROKEN}*\n(?![ \t]*\n){_IN_BROKEN}*)</\1>"
)
#: The rest of a tag that was not closed, is misspelt or is split between lines.
_TAG_LIKE: Final = re.compile(
    rf"<[ \t]*/[ \t]*[A-Z][A-Z-]+|<(?:{'|'.join(map(re.escape, LABELS))})[ \t]*>|<[A-Z][A-Z-]{{3,}}>"
)
_SAFE_ATTRIBUTE: Final = re.compile(r"[\w@%+:,./~&-]+")


def parse_tagged(marked: str) -> tuple[str, tuple[Span, ...]]:
    """Return the text without its ``<LABEL>...</LABEL>`` tags, and the spans that they marked."""
    parts: list[str] = []
    spans: list[Span] = []
    at = length = 0
    for match in _TAG.finditer(marked):
        parts += marked[at : match.start()], match[2]
        start = length + match.start() - at
        length = start + len(match[2])
        if match[2]:
            spans.append(Span(start, length, match[1]))
        at = match.end()
    parts.append(marked[at:])
    return "".join(parts), tuple(spans)


def parse_header(line: str) -> tuple[str, dict[str, str]]:
    """Return the kind, ``patient`` or ``note``, and the attributes of a ``%%`` line of a tagged file.

    Raises ValueError for unbalanced quotes.
    """
    kind, _, rest = line.removeprefix("%%").strip().partition(" ")
    return kind, dict(part.split("=", 1) for part in shlex.split(rest) if "=" in part)


def read_tagged(path: Path) -> Iterator[AnnotatedNote]:
    """Yield the notes of one file.

    Raises SourceError for a ``%%`` line that cannot be read, for the rest of a broken tag, and for text before the
    first ``%% note`` line of a patient. Such text belongs to no note, so an identifier in it would not be found.
    """
    patient: dict[str, str] = {}
    note: dict[str, str] | None = None
    lines: list[str] = []
    opened = 1

    def close() -> Iterator[AnnotatedNote]:
        if note is None:
            if any(line.strip() for line in lines):
                raise SourceError(f"{path}:{opened}: text before a %% note line; tagged text has one before each note")
            return
        text, spans = parse_tagged("\n".join(lines).strip("\n"))
        left = _TAG_LIKE.search(text)
        if left is not None:
            raise SourceError(
                f"{path}: note {shown_id(note.get('id', ''))}: an incomplete tag at offset {left.start()} of its "
                "text; expected <LABEL>...</LABEL> over one line end at most, with a label of this library"
            )
        yield AnnotatedNote(note.get("id", ""), patient.get("id", ""), note.get("type", ""), text, spans)

    for number, line in enumerate(_lines(path), start=1):
        if not line.startswith("%%"):
            lines.append(line)
            continue
        yield from close()
        kind, attributes = _header(path, number, line)
        if kind == "patient":
            patient, note = attributes, None
        else:
            note = attributes
        lines = []
        opened = number + 1
    yield from close()


def read_tagged_records(path: Path) -> Iterator[PatientRecord]:
    """Yield the structured record of every ``%% patient`` line of a file. Raises SourceError."""
    for number, line in enumerate(_lines(path), start=1):
        if line.startswith("%%"):
            kind, attributes = _header(path, number, line)
            if kind == "patient":
                patient = attributes.pop("id", "")
                yield PatientRecord(patient, attributes)


def _lines(path: Path) -> list[str]:
    try:
        with reading(str(path)):
            return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not UTF-8 from byte {error.start} on; save it as UTF-8") from None


def _header(path: Path, number: int, line: str) -> tuple[str, dict[str, str]]:
    try:
        return parse_header(line)
    except ValueError:  # from None: the error of shlex contains part of the line
        raise SourceError(f"{path}:{number}: unbalanced quotes in a %% line; close each quote") from None


def render_tagged(patient: str, record: Mapping[str, str], notes: Sequence[AnnotatedNote]) -> str:
    """Return the notes of one patient as tagged text, with ``record`` (field to value) in the first line.

    To write several patients, concatenate their texts. Raises InputError for a note that would be read back
    differently. Such a note has a span over several line ends, tags or lines with ``%%`` in its text, line ends other
    than LF, or empty lines at its start or end.
    """
    lines = [_header_line("patient", {"id": patient, **record})]
    for note in notes:
        marked = _marked(note)
        has_marks = _TAG_LIKE.search(note.text) or any(line.startswith("%%") for line in marked.split("\n"))
        unlike = parse_tagged(marked) != (note.text, note.spans) or "\n".join(note.text.splitlines()) != note.text
        if unlike or note.text.strip("\n") != note.text or has_marks:
            raise InputError(
                f"note {shown_id(note.id)}: tagged text cannot hold it as it is (a span over several line ends, tags "
                "or %% in the text, line ends other than LF, or empty lines at an end); write jsonl",
                stage="write",
            )
        lines += _header_line("note", {"id": note.id, "type": note.type}), marked
    return "\n".join(lines) + "\n"


def _marked(note: AnnotatedNote) -> str:
    pieces: list[str] = []
    at = 0
    for span in note.spans:
        pieces += note.text[at : span.start], f"<{span.label}>{note.text[span.start : span.end]}</{span.label}>"
        at = span.end
    pieces.append(note.text[at:])
    return "".join(pieces)


def _header_line(kind: str, attributes: Mapping[str, str]) -> str:
    pairs = " ".join(f"{name}={_quoted(value)}" for name, value in attributes.items() if value)
    return f"%% {kind} {pairs}"


def _quoted(value: str) -> str:
    """Return ``value`` in the form that :func:`parse_header` reads. Line ends and other white space become spaces."""
    value = " ".join(value.split())
    if _SAFE_ATTRIBUTE.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
