"""Write notes for annotation and read the corrected annotations: JSON Lines, i2b2 2014 XML, brat.

The output folder contains the notes with the spans that the ensemble found. An annotation tool shows them and a person
corrects them. ``originals.json`` in the same folder has, for each note, its id, its file, the digest of its text and
the offsets found. It contains no text.

Offsets are valid only for the text for which they were made. A corrected note is therefore accepted only when its text
equals the original, character by character.

The folder contains clinical text. Only its owner can read it; keep it where the notes themselves are allowed.
"""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from deid_export.adapt.registry import replace_file
from deid_export.data.corpus import text_sha256
from deid_runtime.annotations.brat import BRAT_CONFIGURATION, line_pieces, render_brat
from deid_runtime.annotations.i2b2 import render_i2b2
from deid_runtime.annotations.jsonl import render_jsonl, spans_of_rows
from deid_runtime.annotations.note import AnnotatedNote, require_disjoint
from deid_runtime.annotations.read import read_gold
from deid_runtime.errors import DeidError, InputError, OutputError, SourceError
from deid_runtime.formats.jsonl import read_objects
from deid_runtime.formats.records import RECORD_LIMIT_BYTES, Meter, Source
from deid_runtime.spans import Note, Span

ORIGINALS: Final = "originals.json"
NOTES: Final = "notes.jsonl"
_FORMAT: Final = 1
_NAME_BYTES: Final = 200  # file systems allow 255, suffixes included


@dataclass(frozen=True, slots=True)
class Original:
    """A note as it was written for annotation; ``spans`` are the spans found in it. ``file`` has no suffix.

    Empty for tables.
    """

    id: str
    patient: str = field(repr=False)
    type: str
    file: str
    text_sha256: str
    code_points: int
    line_ends_sha256: str  # of the text with LF only; distinguishes changed line ends from other changes
    spans: tuple[Span, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """A note whose annotation was refused, and the reason; contains no text."""

    id: str
    reason: str


@dataclass(frozen=True)
class Corrections:
    """The corrected notes and what changed in them.

    ``changes`` counts spans by (change, label). The changes are ``"kept"``, ``"relabelled"`` (counted under the new
    label), ``"added"`` and ``"removed"``. ``missing`` has the ids of the notes without an annotation.
    """

    notes: list[AnnotatedNote]
    refused: list[Refused]
    missing: list[str]
    changes: Counter[tuple[str, str]]


def give_out(folder: Path, form: str, notes: Iterable[tuple[Note, Sequence[Span]]]) -> list[Refused]:
    """Write notes with their spans, sorted and disjoint, into the new ``folder``.

    ``form`` is one of :mod:`deid_export.adapt.forms`. Returns the notes that this form cannot represent. Raises
    OutputError when the folder exists or cannot be written.
    """
    if os.path.lexists(folder):
        raise OutputError(f"{folder}: already exists, and annotations are never overwritten; choose another name")
    partial = folder.with_name(f".{folder.name}.partial")
    write = _WRITERS[form]
    originals: list[Original] = []
    refused: list[Refused] = []
    files: set[str] = set()
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        for note, spans in notes:
            original = _original(note, spans, "" if form == "jsonl" else _file_name(note.id))
            try:
                if original.file and original.file.casefold() in files:
                    raise InputError(
                        "its file would have the same name as that of another note; make the ids differ more"
                    )
                write(partial, original, note.text)
            except InputError as error:
                refused.append(Refused(note.id, str(error)))
                continue
            files.add(original.file.casefold())
            originals.append(original)
        if form == "brat":
            (partial / "annotation.conf").write_text(BRAT_CONFIGURATION, encoding="utf-8")
        index = {"format": _FORMAT, "form": form, "notes": [_index_row(original) for original in originals]}
        (partial / ORIGINALS).write_text(json.dumps(index, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        partial.rename(folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or type(error).__name__}") from error
    return refused


def _original(note: Note, spans: Sequence[Span], file: str) -> Original:
    return Original(
        note.id,
        note.patient,
        note.type,
        file,
        text_sha256(note.text),
        len(note.text),
        text_sha256(_line_feeds(note.text)),
        tuple(spans),
    )


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _file_name(note_id: str) -> str:
    """Return a file name that every file system accepts and that identifies the note.

    For long ids, it ends in a digest.
    """
    name = quote(note_id, safe=" ()+,=@[]")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    return name if len(name) <= _NAME_BYTES else f"{name[: _NAME_BYTES - 17]}-{text_sha256(note_id)[:16]}"


def _index_row(original: Original) -> dict[str, object]:
    row: dict[str, object] = {
        name: getattr(original, name) for name in Original.__dataclass_fields__ if name != "spans"
    }
    return row | {"spans": [[span.start, span.end, span.label] for span in original.spans]}


# Writers ------------------------------------------------------------------------------------------------------------


def _write_jsonl(folder: Path, original: Original, text: str) -> None:
    note = AnnotatedNote(original.id, original.patient, original.type, text, original.spans)
    with (folder / NOTES).open("ab") as file:
        file.write(render_jsonl(note, with_values=True))


def _write_brat(folder: Path, original: Original, text: str) -> None:
    (folder / f"{original.file}.txt").write_bytes(text.encode())
    (folder / f"{original.file}.ann").write_bytes(render_brat(text, original.spans))


def _write_i2b2(folder: Path, original: Original, text: str) -> None:
    (folder / f"{original.file}.xml").write_bytes(render_i2b2(text, original.spans))


_WRITERS: Final[Mapping[str, Callable[[Path, Original, str], None]]] = {
    "jsonl": _write_jsonl,
    "brat": _write_brat,
    "i2b2": _write_i2b2,
}


# Reading back -------------------------------------------------------------------------------------------------------


def read_originals(path: Path) -> list[Original]:
    """Read an ``originals.json``. Raises SourceError when the file is not one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise ValueError
        return [
            Original(**{**row, "spans": tuple(Span(start, end, label) for start, end, label in row["spans"])})
            for row in content["notes"]
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(
            f"{path}: not a valid {ORIGINALS} of notes for annotation ({type(error).__name__})"
        ) from error


def read_corrections(path: Path, originals: Sequence[Original]) -> Corrections:
    """Read corrected annotations: a ``.jsonl``, ``.xml`` or ``.ann`` file, or a folder of them as it was written.

    A note is refused, by its id, in three cases: its text is not the original text, its spans overlap or end beyond the
    text, or its annotations cannot be read. Raises SourceError when the path has no annotations at all.
    """
    by_id = {original.id: original for original in originals}
    by_file = {original.file: original for original in originals if original.file}
    notes: dict[str, AnnotatedNote] = {}
    refused: list[Refused] = []
    changes: Counter[tuple[str, str]] = Counter()
    for name, is_file, found in _annotated(path):
        original = (by_file if is_file else by_id).get(name)
        try:
            text, spans = found()
            if original is None:
                raise InputError("it is not one of the written notes; do not change ids and file names")
            if original.id in notes:
                raise InputError("it occurs twice; remove one")
            note = _checked(original, text, spans)
        except DeidError as error:
            refused.append(Refused(name if original is None else original.id, str(error)))
            continue
        notes[note.id] = note
        changes.update(_changes(original.spans, note.spans))
    back = set(notes) | {each.id for each in refused}
    missing = [original.id for original in originals if original.id not in back]
    return Corrections(list(notes.values()), refused, missing, changes)


_Found = Callable[[], tuple[str, Sequence[Span]]]


def _annotated(path: Path) -> Iterator[tuple[str, bool, _Found]]:
    """Yield (note id or file name without suffix, whether it is a file name, function that reads text and spans)."""
    files = sorted(p for p in path.rglob("*") if p.name.endswith(_SUFFIXES)) if path.is_dir() else [path]
    if not files:
        raise SourceError(f"{path}: no annotations found; expected .jsonl, .xml or .ann with .txt")
    for file in files:
        if file.name.endswith(_TABLES):
            for number, row in read_objects(Source(file, file.name, "jsonl", 0), RECORD_LIMIT_BYTES, Meter()):
                note_id = row.get("id") if isinstance(row, dict) else None
                place = f"{file.name}:{number}"
                name = str(note_id) if isinstance(note_id, str | int) else place
                yield name, False, lambda place=place, row=row: _of_object(place, row)  # type: ignore[misc]
        elif file.name.endswith(_SUFFIXES):
            yield file.name.rpartition(".")[0], True, lambda file=file: _of_file(file)  # type: ignore[misc]
        else:
            raise SourceError(f"{file}: annotations are read only from .jsonl, .jsonl.gz, .xml and .ann")


_TABLES: Final = (".jsonl", ".jsonl.gz")
_SUFFIXES: Final = (*_TABLES, ".xml", ".ann")


def _of_file(file: Path) -> tuple[str, Sequence[Span]]:
    [note] = read_gold(file)
    return note.text, note.spans


def _of_object(place: str, row: dict[str, Any] | str) -> tuple[str, Sequence[Span]]:
    if isinstance(row, str):
        raise InputError(f"{place}: {row}")
    text = row.get("text")
    if not isinstance(text, str):
        raise InputError(f"{place}: expected a string 'text', as it was written")
    return text, spans_of_rows(place, row.get("spans"))


def _checked(original: Original, text: str, spans: Sequence[Span]) -> AnnotatedNote:
    """Return the note. Raises InputError for a changed text and for spans that training cannot use."""
    if text_sha256(text) != original.text_sha256:
        if text_sha256(_line_feeds(text)) == original.line_ends_sha256:
            cause = "its line ends were changed"
        else:
            cause = f"it has {len(text)} code points instead of {original.code_points}, or other characters"
        raise InputError(
            f"its text was changed: {cause}, so offsets may be wrong. Annotate the files as they "
            "were written, with a tool that does not change the text"
        )
    marked = {Span(span.start, span.end, span.label) for span in spans}
    for span in original.spans:
        pieces = {Span(start, end, span.label) for start, end in line_pieces(text, span)}
        if len(pieces) > 1 and pieces <= marked:  # brat splits an annotation over several lines
            marked = marked - pieces | {span}
    note = AnnotatedNote(original.id, original.patient, original.type, text, tuple(sorted(marked)))
    require_disjoint(note)
    return note


def _changes(before: Sequence[Span], after: Sequence[Span]) -> Counter[tuple[str, str]]:
    old = {(span.start, span.end): span.label for span in before}
    new = {(span.start, span.end): span.label for span in after}
    changes: Counter[tuple[str, str]] = Counter()
    for offsets, label in new.items():
        if offsets not in old:
            changes["added", label] += 1
        else:
            changes["kept" if old[offsets] == label else "relabelled", label] += 1
    changes.update(("removed", label) for offsets, label in old.items() if offsets not in new)
    return changes


def write_corpus(path: Path, notes: Sequence[AnnotatedNote]) -> None:
    """Write annotated notes as JSON Lines that every command reads; only the owner can read the file."""
    replace_file(path, b"".join(map(render_jsonl, notes)), mode=0o600)
