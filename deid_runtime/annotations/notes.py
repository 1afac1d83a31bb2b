"""Annotated notes to score against, and found spans: JSON lines, i2b2 2014 XML and brat stand-off.

Reads whole files: annotated sets are small. Errors name file, line, note and offsets, never text.
"""

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import ParseError, TreeBuilder, XMLParser

from deid_runtime.errors import InputError, SourceError
from deid_runtime.labels import LABELS
from deid_runtime.spans import Span
from deid_runtime.system.shown_ids import shown_id


@dataclass(frozen=True, slots=True)
class GoldNote:
    """A note with the spans that a person marked; ``spans`` are sorted, in code points of ``text``."""

    id: str
    text: str = field(repr=False)
    spans: tuple[Span, ...]
    patient: str = field(default="", repr=False)
    type: str = ""

    def __post_init__(self) -> None:
        require_inside(self.id, self.text, self.spans, "gold")


def require_inside(note_id: str, text: str, spans: Sequence[Span], side: str) -> None:
    """Raise InputError when a span ends behind the text: its offsets then belong to another text or another unit."""
    for span in spans:
        if span.end > len(text):
            raise InputError(
                f"note {shown_id(note_id)}: {side} span [{span.start}, {span.end}) {span.label} ends behind a text of "
                f"{len(text)} code points; offsets must be half-open code points of the very text that was annotated",
                stage="evaluate",
            )


#: i2b2 2014 TYPE to our label, where the names differ; None: not an identifier in our scheme, the tag is skipped.
I2B2_TYPES: Final[Mapping[str, str | None]] = {
    **{label: label for label in LABELS},
    "PROFESSION": None,
    "OTHER": None,  # <LOCATION TYPE="OTHER"> is settled by its element, see below
    "ROOM": "LOCATION-OTHER",
    "DEPARTMENT": "LOCATION-OTHER",
    "LOCATION_OTHER": "LOCATION-OTHER",
}
#: Elements of the 2014 heart disease track, which may stand in the same file.
_NOT_IDENTIFIERS: Final = frozenset(
    {"CAD", "DIABETES", "FAMILY_HIST", "HYPERLIPIDEMIA", "HYPERTENSION", "MEDICATION", "OBESE", "SMOKER"}
)
_SOURCE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,39}")
_I2B2_FILE: Final = re.compile(r"(\d+)-\d+")


def read_gold(path: Path) -> list[GoldNote]:
    """Read annotated notes, in the order of the file or by file name.

    ``path`` is a ``.jsonl`` or ``.jsonl.gz`` of ``{"id", "text", "spans": [{"start", "end", "label"}]}`` with optional
    ``patient`` and ``type``; an i2b2 ``.xml``; a brat ``.ann`` with its ``.txt`` beside it; or a folder of the latter
    two. There the id of a note is its path below the folder without suffix; the patient of ``123-04.xml`` is ``123``.

    Raises SourceError when the path cannot be read as any of these or an id comes twice, InputError for a bad note.
    """
    if _is_jsonl(path):
        notes = [_gold_of_object(where, value) for where, value in _json_lines(path)]
    else:
        notes = _standoff(path)
    if not notes:
        raise SourceError(
            f"{path}: no annotated note; expected .jsonl, .jsonl.gz, .xml, .ann or a folder of the latter"
        )
    _require_unique(path, (note.id for note in notes))
    return notes


def read_found(path: Path) -> dict[str, list[Span]]:
    """Read found spans by note id, from what ``deid detect`` writes or from any format of :func:`read_gold`.

    Sources are read from JSON Lines alone, scores are not read.
    """
    if not _is_jsonl(path):
        return {note.id: list(note.spans) for note in read_gold(path)}
    rows = [_spans_of_object(where, value, is_found=True) for where, value in _json_lines(path)]
    _require_unique(path, (note_id for note_id, _ in rows))
    return dict(rows)


def _require_unique(path: Path, ids: Iterator[str]) -> None:
    seen: set[str] = set()
    for note_id in ids:
        if note_id in seen:
            raise SourceError(
                f"{path}: note id {shown_id(note_id)} comes twice; ids must be unique for scores to mean anything"
            )
        seen.add(note_id)


def _is_jsonl(path: Path) -> bool:
    return path.name.endswith((".jsonl", ".jsonl.gz", ".json", ".ndjson"))


def _json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield ("file:line", object) for each line that is not blank."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    value = json.loads(line)
                except ValueError:  # the decoders' errors carry the line, so they are not chained
                    raise SourceError(f"{path}:{number}: not a JSON object in UTF-8") from None
                if not isinstance(value, dict):
                    raise SourceError(f"{path}:{number}: expected a JSON object, found {type(value).__name__}")
                yield f"{path}:{number}", value
    except (OSError, EOFError) as error:
        raise SourceError(f"{path}: cannot be read: {error}") from error


def _string(where: str, value: Mapping[str, Any], name: str, default: str | None = None) -> str:
    found = value.get(name, default)
    if isinstance(found, int) and not isinstance(found, bool) and name in ("id", "patient"):
        return str(found)
    if not isinstance(found, str):
        raise SourceError(f"{where}: field {name!r} must be a string, found {type(found).__name__}")
    return found


def _spans_of_object(where: str, value: Mapping[str, Any], *, is_found: bool = False) -> tuple[str, list[Span]]:
    note_id = _string(where, value, "id")
    named = f"{where}: note {shown_id(note_id)}"
    rows = value.get("spans")
    if not isinstance(rows, list):
        raise SourceError(f"{named} has no list 'spans'; an empty list says that nothing was found")
    spans = []
    for row in rows:
        try:
            start, end, label = row["start"], row["end"], row["label"]
        except (TypeError, KeyError) as error:
            raise SourceError(f"{named}: each span needs 'start', 'end' and 'label'") from error
        if type(start) is not int or type(end) is not int or not isinstance(label, str):
            raise SourceError(f"{named}: 'start' and 'end' must be integers and 'label' a string")
        sources = _sources(named, row) if is_found else ()
        spans.append(Span(start, end, label, sources=sources))
    return note_id, sorted(spans)


def _sources(where: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return who found a span; systems other than ours may not say it."""
    sources = row.get("sources") or []
    # They end in reports, where free text would be a leak.
    if not isinstance(sources, list) or not all(isinstance(name, str) and _SOURCE.fullmatch(name) for name in sources):
        raise SourceError(f"{where}: 'sources' must be a list of names of finders, letters and digits with - _ . :")
    return tuple(sources)


def _gold_of_object(where: str, value: Mapping[str, Any]) -> GoldNote:
    note_id, spans = _spans_of_object(where, value)
    text = _string(where, value, "text")
    note = GoldNote(
        id=note_id,
        text=text,
        spans=tuple(spans),
        patient=_string(where, value, "patient", ""),
        type=_string(where, value, "type", ""),
    )
    for row in value["spans"]:
        if "text" in row and row["text"] != text[row["start"] : row["end"]]:
            raise InputError(
                f"{where}: note {shown_id(note_id)}: the text given with gold span [{row['start']}, {row['end']}) is "
                "not what stands there; offsets must count code points, not bytes or UTF-16 units",
                stage="evaluate",
            )
    return note


def _standoff(path: Path) -> list[GoldNote]:
    if path.is_dir():
        files = sorted(file for suffix in _READERS for file in path.rglob(f"*{suffix}"))
    else:
        files = [path]
    notes = []
    for file in files:
        reader = _READERS.get(file.suffix)
        if reader is None:
            raise SourceError(f"{file}: annotations are read from .jsonl, .jsonl.gz, .xml and .ann")
        try:
            # The ids that `deid detect` gives to notes that are files: the path below the folder, without suffix.
            below = file.relative_to(path) if path.is_dir() else Path(file.name)
            notes.append(reader(file, below.with_suffix("").as_posix()))
        except OSError as error:
            raise SourceError(f"{file}: cannot be read: {error.strerror}") from error
    return notes


def _label(where: str, name: str, element: str = "") -> str | None:
    key = name.strip().upper()
    if element == "LOCATION" and key == "OTHER":
        return "LOCATION-OTHER"
    if key not in I2B2_TYPES:
        raise SourceError(f"{where}: unknown type {key!r}; expected an i2b2 2014 type or a label of this library")
    return I2B2_TYPES[key]


class _DoctypeError(Exception):
    pass


class _NoDoctype(TreeBuilder):
    """Stops at a document type: it could define entities that grow without bound. No i2b2 file has one."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise _DoctypeError("remove the document type")


def _read_i2b2(path: Path, note_id: str) -> GoldNote:
    parser = XMLParser(target=_NoDoctype())
    try:
        parser.feed(path.read_bytes())
        root = parser.close()
    except (ParseError, _DoctypeError, LookupError, ValueError) as error:  # the last two: an unknown encoding
        raise SourceError(f"{path}: not well-formed XML without a document type: {error}") from None
    text = root.findtext("TEXT")
    if text is None:
        raise SourceError(f"{path}: no <TEXT>; expected an i2b2 2014 file with <TEXT> and <TAGS>")
    spans = []
    for tag in root.iterfind("TAGS/*"):
        # TYPE may be missing on elements with one type alone, as <AGE> and <DATE>.
        if tag.tag in _NOT_IDENTIFIERS:
            continue
        label = _label(f"{path}: {tag.tag}", tag.get("TYPE") or tag.tag, tag.tag)
        if label is None:
            continue
        try:
            spans.append(Span(int(tag.attrib["start"]), int(tag.attrib["end"]), label))
        except (KeyError, ValueError):  # int() quotes what it was given
            raise SourceError(f"{path}: a {tag.tag} tag lacks whole numbers 'start' < 'end'") from None
    numbered = _I2B2_FILE.fullmatch(path.stem)
    return GoldNote(note_id, text, tuple(sorted(spans)), patient=numbered[1] if numbered else "")


def _read_brat(path: Path, note_id: str) -> GoldNote:
    beside = path.with_suffix(".txt")
    if not beside.exists():
        raise SourceError(f"{path}: its text {beside.name} is missing; brat keeps the text beside the annotations")
    try:
        # Not read_text: it would turn \r\n into \n and so move every offset behind it.
        text = beside.read_bytes().decode("utf-8")
        lines = path.read_bytes().decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: annotations or text are not UTF-8 (byte {error.start})") from None
    spans = []
    for number, line in enumerate(lines, start=1):
        if not line.startswith("T"):
            continue  # relations, events, notes
        where = f"{path}:{number}"
        try:
            _, body, *_ = line.split("\t")
            name, offsets = body.split(" ", 1)
            # "12 20;24 28" is one entity in pieces: each piece has to be found.
            pieces = _joined(text, [(int(a), int(b)) for a, b in (piece.split() for piece in offsets.split(";"))])
        except ValueError:
            raise SourceError(f"{where}: expected 'T1<tab>LABEL start end<tab>text'") from None
        label = _label(where, name)
        spans += [Span(start, end, label) for start, end in pieces] if label else []
    return GoldNote(note_id, text, tuple(sorted(spans)))


def _joined(text: str, pieces: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pieces of a brat entity, those joined that only a line end parts: brat marks a value line by line."""
    joined: list[tuple[int, int]] = []
    for start, end in pieces:
        between = text[joined[-1][1] : start] if joined else ""
        if between.isspace() and "\n" in between:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


_READERS: Final[Mapping[str, Callable[[Path, str], GoldNote]]] = {".xml": _read_i2b2, ".ann": _read_brat}
