"""Read annotated files and folders of them. The file names determine the format.

Each file is read completely into memory, because annotated sets are small.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from deid_runtime.annotations import brat, i2b2, jsonl
from deid_runtime.annotations.note import AnnotatedNote, errors_in, require_disjoint
from deid_runtime.annotations.tagged import read_tagged, read_tagged_records
from deid_runtime.errors import SourceError
from deid_runtime.spans import PatientRecord
from deid_runtime.system.shown_ids import shown_id

_TEXT: Final = ".txt"
_STANDOFF: Final = (i2b2.SUFFIX, brat.SUFFIX)
_IN_FOLDERS: Final = (_TEXT, ".jsonl", ".jsonl.gz", *_STANDOFF)


def read_annotated(paths: Sequence[Path]) -> list[AnnotatedNote]:
    """Read annotated files, or folders of them, in the order of their names.

    The formats are:

    - tagged ``.txt``, in which a ``%%`` line starts each patient and note;
    - ``.jsonl`` and ``.jsonl.gz``;
    - i2b2 2014 ``.xml``;
    - brat ``.ann`` with its ``.txt`` in the same folder.

    In formats with one note per file, the id of the note is its path below the folder, without suffix. The spans of a
    note are sorted and disjoint; equal spans are merged into one.

    Raises SourceError when a path has no annotated note or a line cannot be read. Raises InputError for a note whose
    spans overlap or end after its text.
    """
    notes: list[AnnotatedNote] = []
    for path in paths:
        before = len(notes)
        for file in annotated_files(path):
            notes += (_disjoint(file, note) for note in _read_file(file, path))
        if len(notes) == before:
            raise SourceError(
                f"{path} has no annotated note; expected tagged .txt, .jsonl, i2b2 .xml or brat .ann files"
            )
    return notes


def read_gold(path: Path) -> list[AnnotatedNote]:
    """Read the annotated notes to score against, in the order of the file or by file name. Spans can overlap.

    ``path`` is a file of JSON Lines, an i2b2 ``.xml``, a brat ``.ann``, or a folder of the latter two. Tagged text is
    not read, because a ``.txt`` file can be any text.

    Raises SourceError when the path cannot be read as any of these or an id occurs twice, and InputError for a bad
    note.
    """
    files = sorted(file for suffix in _STANDOFF for file in path.rglob(f"*{suffix}")) if path.is_dir() else [path]
    notes: list[AnnotatedNote] = []
    for file in files:
        if not file.name.endswith((*jsonl.SUFFIXES, *_STANDOFF)):
            raise SourceError(f"{file}: annotations are read only from .jsonl, .jsonl.gz, .xml and .ann")
        notes += _read_file(file, path)
    if not notes:
        raise SourceError(
            f"{path}: no annotated note; expected .jsonl, .jsonl.gz, .xml, .ann or a folder of the latter"
        )
    require_unique_ids(path, (note.id for note in notes))
    return notes


def require_unique_ids(path: Path, ids: Iterable[str]) -> None:
    """Raise SourceError when one of the ids that were read from ``path`` occurs twice."""
    seen: set[str] = set()
    for note_id in ids:
        if note_id in seen:
            raise SourceError(
                f"{path}: note id {shown_id(note_id)} occurs twice; ids must be unique, or scores would be wrong"
            )
        seen.add(note_id)


def read_records(paths: Sequence[Path]) -> dict[str, PatientRecord]:
    """Return, by patient id, the structured records in the tagged files of ``paths``. Other formats have no records.

    Records of one patient are merged. Raises SourceError for a line that cannot be read, and when records of one
    patient contradict each other.
    """
    records: dict[str, PatientRecord] = {}
    files = [file for path in paths for file in annotated_files(path) if file.suffix == _TEXT]
    for file in files:
        for record in read_tagged_records(file):
            before = records[record.id].fields if record.id in records else {}
            for name, value in record.fields.items():
                if before.get(name, value) != value:
                    raise SourceError(
                        f"{file}: patient {record.id or 'without id'} has a different {name} in an earlier line; "
                        "expected one record per patient"
                    )
            records[record.id] = PatientRecord(record.id, {**before, **record.fields})
    return records


def annotated_files(path: Path) -> list[Path]:
    """Return the files below ``path`` that :func:`read_annotated` reads, by name; ``path`` itself when it is a file."""
    if not path.is_dir():
        return [path]
    known = sorted(file for file in path.rglob("*") if file.name.endswith(_IN_FOLDERS))
    return [file for file in known if file.suffix != _TEXT or not file.with_suffix(brat.SUFFIX).exists()]


def _read_file(file: Path, given: Path) -> Iterator[AnnotatedNote]:
    """Yield the notes of ``file``, which is below the folder ``given`` or is ``given`` itself."""
    # `deid detect` uses the same id for a note that is a file: its path below the folder, without suffix.
    below = file.relative_to(given) if given.is_dir() else Path(file.name)
    note_id = below.with_suffix("").as_posix()
    if file.name.endswith(jsonl.SUFFIXES):
        yield from jsonl.read_jsonl(file)
    elif file.suffix == i2b2.SUFFIX:
        yield i2b2.read_i2b2(file, note_id)
    elif file.suffix == brat.SUFFIX:
        yield brat.read_brat(file, note_id)
    else:
        yield from read_tagged(file)


def _disjoint(file: Path, note: AnnotatedNote) -> AnnotatedNote:
    once = replace(note, spans=tuple(sorted(set(note.spans))))
    with errors_in(str(file)):
        require_disjoint(once)
    return once
