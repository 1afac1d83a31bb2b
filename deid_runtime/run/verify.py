"""Compare an output with its run report: every file must be unchanged since the run, and the counts must add up.

Differences name a table by its file name. Files that are single notes are only counted: their names are note ids.
"""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, cast

from deid_runtime.errors import DeidError, SettingsError, SourceError
from deid_runtime.formats import is_table
from deid_runtime.formats.delimited import read_rows
from deid_runtime.formats.jsonl import read_objects
from deid_runtime.formats.records import RECORD_LIMIT_BYTES, Meter, Source
from deid_runtime.run.staging import manifest_path, quarantine_path
from deid_runtime.system.digests import DigestSum, FileDigest, digest_file, files_below, open_regular

_MANIFEST_LIMIT_BYTES: Final = 2**28
_LINE_BYTES: Final = 2**20


@dataclass(slots=True)
class Verification:
    """The counts of what was compared, and the differences found: one line each, without text or note id."""

    files: int = 0
    size_bytes: int = 0
    notes: int = 0
    differences: list[str] = field(default_factory=list)
    is_crosswalk_left_out: bool = False  # the run wrote a crosswalk, but its path was not given

    def differs(self, what: str) -> None:
        """Add a difference."""
        self.differences.append(what)


def verify_output(out: Path, crosswalk: Path | None = None) -> Verification:
    """Compare the output ``out``, its quarantine and, if given, its crosswalk with the run report beside ``out``.

    Raises SettingsError when there is no run report with digests, or when a crosswalk is given and the run wrote none;
    SourceError when a file cannot be read.
    """
    manifest = read_manifest(out)
    found = Verification()
    try:
        outputs = manifest["outputs"]
        if crosswalk is not None and outputs["crosswalk"] is None:
            raise SettingsError(f"{manifest_path(out)}: this run wrote no crosswalk; omit --crosswalk")
        _verify_body(out, outputs["body"], found)
        _verify_file("quarantine", quarantine_path(out), outputs["quarantine"], found)
        found.is_crosswalk_left_out = crosswalk is None and outputs["crosswalk"] is not None
        if crosswalk is not None:
            _verify_file("crosswalk", crosswalk, outputs["crosswalk"], found)
        if "notes" in manifest:
            _verify_counts(manifest["notes"], found)
            _verify_quarantine(quarantine_path(out), manifest["notes"], found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, DeidError):
            raise
        raise SettingsError(
            f"{manifest_path(out)}: not a run report of this version; use the version of deid that wrote it"
        ) from None
    return found


def read_manifest(out: Path) -> Mapping[str, Any]:
    """Return the run report beside the output ``out``. Raises SettingsError when there is none."""
    return _read_manifest(manifest_path(out))


def _read_manifest(path: Path) -> Mapping[str, Any]:
    try:
        with open_regular(path) as file:
            data = file.read(_MANIFEST_LIMIT_BYTES + 1)
        manifest = json.loads(data) if len(data) <= _MANIFEST_LIMIT_BYTES else None
    except OSError as error:
        raise SettingsError(f"{path}: there is no run report to compare with: {error.strerror}") from None
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict):
        raise SettingsError(f"{path}: not a run report; expected the file that `deid run` writes beside its output")
    if "outputs" not in manifest:
        raise SettingsError(f"{path}: has no digests, because an older version of deid wrote it; run again")
    return manifest


def _verify_body(out: Path, body: Mapping[str, Any], found: Verification) -> None:
    is_there = out.is_symlink() or out.exists()
    if body["kind"] == "none":
        if is_there:
            found.differs("output: exists although the run wrote none, because its only note is in quarantine")
    elif not is_there:
        found.differs("output: missing")
    elif out.is_symlink() or out.is_dir() != (body["kind"] == "folder"):
        found.differs(f"output: not a {body['kind']}, as the run wrote it")
    elif body["kind"] == "folder":
        _verify_folder(out, body, found)
    else:
        _verify_file("output", out, body, found)
        _count_rows("output", out, body["format"], found)


def _verify_folder(out: Path, body: Mapping[str, Any], found: Verification) -> None:
    tables = {table["name"]: table for table in body["tables"]}
    seen: set[str] = set()
    notes, irregular = DigestSum(), 0
    for path in files_below(out):
        name = path.relative_to(out).as_posix()
        if path.is_symlink() or not path.is_file():
            irregular += 1
        elif name in tables:
            seen.add(name)
            shown = f"table {_shown(name)}"
            _verify_file(shown, path, tables[name], found)
            _count_rows(shown, path, tables[name]["format"], found)
        elif is_table(name):
            found.differs(f"table {_shown(name)}: not written by the run")
        else:
            notes.add(name, _digest(path))
    for name in sorted(tables.keys() - seen):
        found.differs(f"table {_shown(name)}: missing")
    if irregular:
        found.differs(f"output: {irregular:,} links or special files; the run writes none")
    _verify_notes(notes, body["notes"], found)


def _verify_notes(notes: DigestSum, expected: Mapping[str, Any], found: Verification) -> None:
    found.files += notes.files
    found.size_bytes += notes.size_bytes
    found.notes += notes.files
    if notes.files != expected["files"]:
        found.differs(f"files of single notes: {notes.files:,}; the run wrote {int(expected['files']):,}")
    elif notes.to_json() != expected:
        found.differs("files of single notes: the same number, but with different content or names")


def _verify_file(what: str, path: Path, expected: Mapping[str, Any], found: Verification) -> None:
    if not path.is_symlink() and not path.exists():
        found.differs(f"{what}: missing")
        return
    if path.is_symlink() or not path.is_file():
        found.differs(f"{what}: a link, folder or special file; the run wrote a file")
        return
    digest = _digest(path)
    found.files += 1
    found.size_bytes += digest.size_bytes
    if digest.size_bytes != expected["bytes"]:
        found.differs(f"{what}: {digest.size_bytes:,} bytes; the run wrote {int(expected['bytes']):,}")
    elif digest.sha256 != expected["sha256"]:
        found.differs(f"{what}: the content differs from what the run wrote")


def _verify_counts(counts: Mapping[str, Any], found: Verification) -> None:
    if counts["read"] != counts["written"] + counts["quarantined"]:
        found.differs(
            f"run report: {int(counts['read']):,} notes read, but {int(counts['written']):,} written and "
            f"{int(counts['quarantined']):,} quarantined"
        )
    if found.notes != counts["written"]:
        found.differs(f"output: {found.notes:,} notes; the run report says {int(counts['written']):,}")


def _verify_quarantine(path: Path, counts: Mapping[str, Any], found: Verification) -> None:
    if path.is_symlink() or not path.is_file():
        return  # reported already
    stages: Counter[str] = Counter()
    for _, row in read_objects(Source(path, path.name, "jsonl", 0), RECORD_LIMIT_BYTES, Meter()):
        stages[str(row.get("stage")) if isinstance(row, dict) else "none"] += 1
    if stages.total() != counts["quarantined"]:
        found.differs(f"quarantine: {stages.total():,} notes; the run report says {int(counts['quarantined']):,}")
    elif dict(stages) != counts["quarantined_by_stage"]:
        found.differs("quarantine: the stages at which notes were held back differ from the run report")


def _count_rows(what: str, path: Path, format_name: str, found: Verification) -> None:
    """Add the number of notes in a file to the notes found."""
    if path.is_symlink() or not path.is_file():
        return  # reported already
    try:
        found.notes += _rows(path, format_name)
    except SourceError:
        found.differs(f"{what}: cannot be read as {format_name}")


def _rows(path: Path, format_name: str) -> int:
    if format_name == "csv":
        rows = read_rows(Source(path, path.name, format_name, 0), RECORD_LIMIT_BYTES, Meter())
        return max(sum(1 for _ in rows) - 1, 0)  # without the header
    if format_name == "parquet":
        return _parquet_rows(path)
    if format_name == "delta":
        return 0  # the log of a table
    return sum(1 for _ in _lines(path)) if format_name == "jsonl" else 1


def _lines(path: Path) -> Iterator[None]:
    """Yield once for each line end. The first two bytes distinguish gzip from JSON."""
    with open_regular(path) as stored:
        is_gzip = stored.read(2) == b"\x1f\x8b"
        stored.seek(0)
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=stored, mode="rb")) if is_gzip else stored
        try:
            while part := file.readline(_LINE_BYTES):
                if part.endswith(b"\n"):
                    yield
        except (EOFError, OSError, zlib.error) as error:
            raise SourceError("damaged") from error


def _parquet_rows(path: Path) -> int:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            return int(file.metadata.num_rows)
    except (pyarrow.ArrowException, OSError) as error:
        raise SourceError("damaged") from error


def _digest(path: Path) -> FileDigest:
    try:
        return digest_file(path)
    except OSError as error:
        raise SourceError(f"a file of the output cannot be read: {error.strerror}") from error


def _shown(name: str) -> str:
    """Return a file name in printable characters, safe to show on a terminal."""
    return name if name.isprintable() else ascii(name)
