"""The file of a review project: its tables, its creation, and the conditions of its lists."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

from deid_runtime.errors import InputError, OutputError
from deid_runtime.labels import LABELS
from deid_runtime.spans import Note, Span

Mode = Literal["correct", "blind"]
State = Literal["all", "open", "started", "read", "empty", "second", "differ"]

STATES: Final[tuple[str, ...]] = get_args(State)
#: The reviewer name of decisions that settle the differences of two reviewers.
ADJUDICATOR: Final = "adjudication"

FORMAT: Final = "1"
_WAIT_S: Final = 10.0
_SCHEMA: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE notes (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    patient TEXT NOT NULL,
    type TEXT NOT NULL,
    text TEXT NOT NULL,
    released TEXT NOT NULL,
    replacements TEXT NOT NULL,
    found TEXT NOT NULL,
    labels TEXT NOT NULL,
    doubt REAL NOT NULL,
    second INTEGER NOT NULL
) STRICT;
CREATE INDEX notes_by_doubt ON notes (doubt DESC, number);
CREATE INDEX notes_by_patient ON notes (patient);
CREATE TABLE reviews (
    number INTEGER NOT NULL REFERENCES notes (number),
    reviewer TEXT NOT NULL,
    version INTEGER NOT NULL,
    spans TEXT NOT NULL,
    read_whole INTEGER NOT NULL,
    updated TEXT NOT NULL,
    PRIMARY KEY (number, reviewer)
) STRICT, WITHOUT ROWID;
"""
#: Conditions for each state, with ``:me`` as the reviewer who asks.
STATE_SQL: Final[Mapping[str, str]] = {
    "all": "1",
    "open": "mine.number IS NULL",
    "started": "mine.read_whole = 0",
    "read": "mine.read_whole = 1",
    "empty": "mine.read_whole = 1 AND mine.spans = '[]'",
    "second": "notes.second = 1 AND mine.number IS NULL AND EXISTS (SELECT 1 FROM reviews other WHERE other.number = "
    "notes.number AND other.read_whole = 1 AND other.reviewer <> :me)",
    "differ": "(SELECT count(DISTINCT spans) FROM reviews other WHERE other.number = notes.number AND other.read_whole "
    "= 1 AND other.reviewer <> 'adjudication') > 1 AND NOT EXISTS (SELECT 1 FROM reviews settled WHERE settled.number "
    "= notes.number AND settled.reviewer = 'adjudication' AND settled.read_whole = 1)",
}


@dataclass(frozen=True, slots=True)
class Reviewable:
    """A note to review.

    ``found`` are the spans that the program found, sorted and disjoint. ``released`` is the de-identified text, empty
    when there is none, and ``replacements`` are the half-open offsets in it of the replacement of each span of
    ``found``.
    """

    note: Note
    found: tuple[Span, ...] = ()
    released: str = field(default="", repr=False)
    replacements: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What one reviewer decided on one note. ``spans`` are sorted and disjoint."""

    spans: tuple[Span, ...]
    read_whole: bool
    version: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Which notes a list shows. Empty ``label`` and ``type`` accept every note."""

    state: str = "all"
    label: str = ""
    type: str = ""
    order: Literal["doubt", "number"] = "doubt"


def create_project(path: Path, notes: Iterable[Reviewable], *, mode: Mode, second_share: float = 0.0) -> int:
    """Write a new project and return the number of its notes. ``second_share`` of the notes get a second reviewer.

    Raises OutputError when ``path`` exists or cannot be written, and InputError for two notes with one id.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise OutputError(f"{path}: cannot be created: {error.strerror}; a project is never overwritten") from None
    try:
        db = connect(path)
        try:
            return _fill(db, notes, mode, second_share)
        finally:
            db.close()
    except BaseException as error:
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        if isinstance(error, sqlite3.IntegrityError):
            raise InputError("two notes have the same id; ids must be unique to review notes") from None
        if isinstance(error, sqlite3.Error):
            raise OutputError(f"{path}: cannot be written ({type(error).__name__})") from None
        raise


def _fill(db: sqlite3.Connection, notes: Iterable[Reviewable], mode: Mode, second_share: float) -> int:
    count = 0
    has_released = False
    db.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.split(";"):
        db.execute(statement)
    for count, each in enumerate(notes, start=1):
        note = each.note
        has_released = has_released or bool(each.released)
        db.execute(
            "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                count,
                note.id,
                note.patient,
                note.type,
                note.text,
                each.released,
                json.dumps(each.replacements),
                dump_spans(each.found),
                " ".join(sorted({span.label for span in each.found})),
                max((1.0 - span.score for span in each.found), default=0.0),
                int(_share_of(note.id) < second_share),
            ),
        )
    meta = {"format": FORMAT, "mode": mode, "has_released": str(int(has_released))}
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    db.execute("COMMIT")
    return count


def connect(path: Path) -> sqlite3.Connection:
    """Open the file. Every change is on disk when its transaction ends."""
    db = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA secure_delete = ON")
    return db


def condition(chosen: Filter) -> tuple[str, dict[str, str]]:
    """Return the SQL condition of a filter with its values. Raises InputError for unknown states and labels."""
    if chosen.state not in STATE_SQL:
        raise InputError(f"unknown state; expected one of {', '.join(STATES)}")
    if chosen.label and chosen.label not in LABELS:
        raise InputError("unknown label")
    conditions = [STATE_SQL[chosen.state]]
    values: dict[str, str] = {}
    if chosen.label:
        conditions.append("(' ' || notes.labels || ' ') LIKE '% ' || :label || ' %'")
        values["label"] = chosen.label
    if chosen.type:
        conditions.append("notes.type = :type")
        values["type"] = chosen.type
    return " AND ".join(f"({condition})" for condition in conditions), values


def _share_of(note_id: str) -> float:
    """Return a number in [0, 1) that depends only on the note id, so that the same notes get a second reviewer."""
    return int.from_bytes(hashlib.sha256(note_id.encode("utf-8", "surrogatepass")).digest()[:6], "big") / 2**48


def dump_spans(spans: Iterable[Span]) -> str:
    """Return spans as JSON."""
    return json.dumps([[span.start, span.end, span.label, round(span.score, 4), span.sources] for span in spans])


def read_spans(text: str) -> tuple[Span, ...]:
    """Return the spans that :func:`dump_spans` wrote."""
    return tuple(
        Span(start, end, label, score, tuple(sources)) for start, end, label, score, sources in json.loads(text)
    )
