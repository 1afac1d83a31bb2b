"""Annotated notes in brat stand-off: the text in ``name.txt``, the annotations in ``name.ann`` in the same folder."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from deid_runtime.annotations.note import AnnotatedNote, errors_in
from deid_runtime.annotations.type_names import label_of_type
from deid_runtime.errors import SourceError
from deid_runtime.formats.byte_lines import reading
from deid_runtime.labels import LABELS
from deid_runtime.spans import Span

SUFFIX: Final = ".ann"
#: Content of ``annotation.conf``, which brat needs in the folder of the notes to show our labels.
BRAT_CONFIGURATION: Final = (
    "[entities]\n" + "".join(f"{label}\n" for label in LABELS) + "[relations]\n[events]\n[attributes]\n"
)


def read_brat(path: Path, note_id: str) -> AnnotatedNote:
    """Return the note whose annotations are in the ``.ann`` file ``path``. Patient and type are empty in brat.

    Raises SourceError when the text is missing, for malformed annotations and for unknown types. Raises InputError for
    a span that cannot be in its note.
    """
    beside = path.with_suffix(".txt")
    if not beside.exists() and path.exists():
        raise SourceError(f"{path}: its text {beside.name} is missing; put it into the same folder, as brat does")
    try:
        with reading(str(path)):
            # Not read_text: it turns \r\n into \n, which moves every later offset.
            text = beside.read_bytes().decode("utf-8")
            lines = path.read_bytes().decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path}: annotations or text are not UTF-8 (byte {error.start}); save both as UTF-8"
        ) from None
    spans: list[Span] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith("T"):  # other lines are relations, events and notes
            spans += _spans_of_line(f"{path}:{number}", line, text)
    with errors_in(str(path)):
        return AnnotatedNote(note_id, "", "", text, tuple(sorted(spans)))


def _spans_of_line(place: str, line: str, text: str) -> Iterator[Span]:
    try:
        _, body, *_ = line.split("\t")
        name, offsets = body.split(" ", 1)
        # "12 20;24 28" is one entity in several pieces: each piece becomes a span.
        pieces = [(int(start), int(end)) for start, end in (piece.split() for piece in offsets.split(";"))]
    except ValueError:
        raise SourceError(f"{place}: expected 'T1<tab>LABEL start end<tab>text'") from None
    label = label_of_type(place, name)
    if label is not None:
        for start, end in _joined(text, pieces):
            with errors_in(place):
                span = Span(start, end, label)
            yield span


def _joined(text: str, pieces: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pieces of an entity. Join pieces with only a line end between them: brat marks values line by line."""
    joined: list[tuple[int, int]] = []
    for start, end in pieces:
        between = text[joined[-1][1] : start] if joined else ""
        if between.isspace() and "\n" in between:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def render_brat(text: str, spans: Sequence[Span]) -> bytes:
    """Return the content of the ``.ann`` file for the spans of ``text``."""
    lines = []
    for number, span in enumerate(spans, start=1):
        pieces = list(line_pieces(text, span))
        if not pieces:
            continue  # brat cannot mark white space
        offsets = ";".join(f"{start} {end}" for start, end in pieces)
        shown = " ".join(text[start:end] for start, end in pieces)
        lines.append(f"T{number}\t{span.label} {offsets}\t{shown}\n")
    return "".join(lines).encode()


def line_pieces(text: str, span: Span) -> Iterator[tuple[int, int]]:
    """Yield the half-open offsets of each line of a span, without white space at both ends, as brat requires."""
    start = span.start
    for line in text[span.start : span.end].splitlines(keepends=True):
        kept = line.strip()
        if kept:
            first = start + len(line) - len(line.lstrip())
            yield first, first + len(kept)
        start += len(line)
