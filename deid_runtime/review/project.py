"""A review project: notes, what was found in them, and what each reviewer decided, in one SQLite file.

SQLite saves each decision atomically and lets several processes write at once, so two reviewers cannot damage each
other's work. The file contains clinical text; only its owner can read it.
"""

import json
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from deid_runtime.errors import DeidError, InputError, OutputError, SourceError
from deid_runtime.review.schema import (
    ADJUDICATOR,
    FORMAT,
    STATE_SQL,
    STATES,
    Decision,
    Filter,
    Mode,
    Reviewable,
    condition,
    connect,
    dump_spans,
    read_spans,
)
from deid_runtime.spans import Note, Span
from deid_runtime.system.closing import Closing

#: Most spans of one note. More than this is an attack on the memory of the server.
MOST_SPANS: Final = 20_000
_DATABASE_BEGINNING: Final = b"SQLite format 3\0"


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_DATABASE_BEGINNING)) == _DATABASE_BEGINNING


class ConflictError(DeidError):
    """The note was saved by another window since it was loaded."""


class ReviewProject(Closing):
    """An open project. Every method is one transaction. Use one object per thread."""

    def __init__(self, path: Path) -> None:
        """Open the project at ``path``. Raises SourceError when it is not a project or other users can read it."""
        if not path.is_file() or not _is_database(path):
            raise SourceError(f"{path}: not a review project; make one with `deid review create`")
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise SourceError(f"{path}: other users can read this file, which contains note text; run chmod 600 on it")
        self._path = path
        try:
            self._db = connect(path)
            meta = dict(self._db.execute("SELECT name, value FROM meta"))
        except sqlite3.Error as error:
            raise SourceError(f"{path}: not a review project, or a damaged one ({type(error).__name__})") from None
        if meta.get("format") != FORMAT:
            raise SourceError(f"{path}: the review project is from another version of deid; make it again")
        self.mode: Mode = "blind" if meta.get("mode") == "blind" else "correct"
        self.has_released: bool = meta.get("has_released") == "1"

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def counts(self, reviewer: str) -> dict[str, int]:
        """Return the number of notes in each of :data:`STATES`, as ``reviewer`` sees them."""
        columns = ", ".join(f"coalesce(sum({STATE_SQL[state]}), 0)" for state in STATES)
        row = self._db.execute(
            f"SELECT {columns} FROM notes LEFT JOIN reviews mine ON mine.number = notes.number AND mine.reviewer = :me",
            {"me": reviewer},
        ).fetchone()
        return dict(zip(STATES, row, strict=True))

    def types(self) -> list[str]:
        """Return the note types, sorted."""
        return [row[0] for row in self._db.execute("SELECT DISTINCT type FROM notes WHERE type <> '' ORDER BY type")]

    def listed(self, reviewer: str, chosen: Filter, *, first: int, count: int) -> list[dict[str, Any]]:
        """Return ``count`` rows of the list of notes from row ``first`` on, without text."""
        where, values = condition(chosen)
        order = "notes.doubt DESC, notes.number" if chosen.order == "doubt" else "notes.number"
        rows = self._db.execute(
            "SELECT notes.number, notes.id, notes.type, notes.doubt, notes.second, mine.read_whole, mine.spans = '[]' "
            "FROM notes LEFT JOIN reviews mine ON mine.number = notes.number AND mine.reviewer = :me "
            f"WHERE {where} ORDER BY {order} LIMIT :count OFFSET :first",
            {"me": reviewer, "first": first, "count": count, **values},
        )
        return [
            {
                "number": number,
                "id": note_id,
                "type": note_type,
                "doubt": round(doubt, 3),
                "second": bool(second),
                "state": "open" if whole is None else ("empty" if is_empty else "read") if whole else "started",
            }
            for number, note_id, note_type, doubt, second, whole, is_empty in rows
        ]

    def note(self, number: int) -> Reviewable:
        """Return one note. Raises InputError for an unknown number."""
        row = self._db.execute(
            "SELECT id, patient, type, text, found, released, replacements FROM notes WHERE number = ?", (number,)
        ).fetchone()
        if row is None:
            raise InputError(f"there is no note with the number {number}")
        note_id, patient, note_type, text, found, released, replacements = row
        return Reviewable(
            Note(note_id, text, patient, note_type),
            read_spans(found),
            released,
            tuple((start, end) for start, end in json.loads(replacements)),
        )

    def decision(self, number: int, reviewer: str) -> Decision | None:
        """Return what ``reviewer`` decided on a note, or None."""
        row = self._db.execute(
            "SELECT spans, read_whole, version FROM reviews WHERE number = ? AND reviewer = ?", (number, reviewer)
        ).fetchone()
        return None if row is None else Decision(read_spans(row[0]), bool(row[1]), row[2])

    def others(self, number: int, reviewer: str) -> dict[str, Decision]:
        """Return the finished decisions of all other reviewers on a note, for adjudication."""
        rows = self._db.execute(
            "SELECT reviewer, spans, version FROM reviews WHERE number = ? AND reviewer NOT IN (?, ?) AND read_whole = "
            "1 ORDER BY reviewer",
            (number, reviewer, ADJUDICATOR),
        )
        return {name: Decision(read_spans(spans), True, version) for name, spans, version in rows}

    def save(self, number: int, reviewer: str, decision: Decision) -> int:
        """Save a decision and return its new version. ``decision.version`` is the version that was loaded, 0 for none.

        Raises InputError for spans that cannot be in the note, ConflictError when another window saved in the meantime.
        """
        spans = checked_spans(self._reviewed_text(number), decision.spans)
        with self._writing():
            row = self._db.execute(
                "SELECT version FROM reviews WHERE number = ? AND reviewer = ?", (number, reviewer)
            ).fetchone()
            before = 0 if row is None else row[0]
            if before != decision.version:
                raise ConflictError("this note was saved in another window; load it again")
            self._put(number, reviewer, spans, decision.read_whole, before + 1)
        return before + 1

    def spread(self, number: int, reviewer: str, start: int, end: int, label: str) -> list[tuple[int, int, int]]:
        """Mark the text ``[start, end)`` of a note, as a whole word, in all notes of its patient.

        Existing spans are kept where they are. Return ``(number, start, end)`` of each added span.
        Raises InputError for offsets outside the note, and for fewer than two letters or digits.
        """
        text = self._reviewed_text(number)
        if not 0 <= start < end <= len(text):
            raise InputError(f"[{start}, {end}) is not in a text of {len(text)} code points")
        value = text[start:end]
        if sum(char.isalnum() for char in value) < 2:
            raise InputError("expected at least two letters or digits to mark everywhere")
        patient = self._db.execute("SELECT patient FROM notes WHERE number = ?", (number,)).fetchone()[0]
        column = self._text_column
        rows = self._db.execute(
            f"SELECT number, {column} FROM notes WHERE number = ? OR (patient = ? AND patient <> '') ORDER BY number",
            (number, patient),
        ).fetchall()
        added: list[tuple[int, int, int]] = []
        with self._writing():
            for each, other in rows:
                decided = self.decision(each, reviewer)
                spans = list(decided.spans if decided else self._initial(each))
                new = [
                    Span(at, at + len(value), label, sources=("reviewer",))
                    for at in _whole_words(other, value)
                    if not any(span.start < at + len(value) and at < span.end for span in spans)
                ]
                if new:
                    added += [(each, span.start, span.end) for span in new]
                    version = (decided.version if decided else 0) + 1
                    spans = sorted([*spans, *new])
                    self._put(each, reviewer, spans, decided is not None and decided.read_whole, version)
        return added

    def unspread(self, reviewer: str, places: Iterable[tuple[int, int, int]]) -> None:
        """Remove spans that :meth:`spread` added, each as ``(number, start, end)``."""
        by_note: dict[int, set[tuple[int, int]]] = {}
        for number, start, end in places:
            by_note.setdefault(number, set()).add((start, end))
        with self._writing():
            for number, gone in by_note.items():
                decided = self.decision(number, reviewer)
                if decided is not None:
                    kept = [span for span in decided.spans if (span.start, span.end) not in gone]
                    self._put(number, reviewer, kept, decided.read_whole, decided.version + 1)

    def neighbour(self, reviewer: str, chosen: Filter, number: int, step: int) -> int | None:
        """Return the number of the note ``step`` rows (1 or -1) from ``number`` in the list, or None at its end."""
        where, values = condition(chosen)
        sign, direction = (">", "ASC") if step > 0 else ("<", "DESC")
        if chosen.order == "doubt":
            other = {">": "<", "<": ">"}[sign]
            here = "SELECT doubt FROM notes WHERE number = :number"
            after = f"(notes.doubt {other} ({here}) OR (notes.doubt = ({here}) AND notes.number {sign} :number))"
            order = f"notes.doubt {'DESC' if step > 0 else 'ASC'}, notes.number {direction}"
        else:
            after, order = f"notes.number {sign} :number", f"notes.number {direction}"
        row = self._db.execute(
            "SELECT notes.number FROM notes LEFT JOIN reviews mine ON mine.number = notes.number AND mine.reviewer = "
            f":me WHERE {where} AND {after} ORDER BY {order} LIMIT 1",
            {"me": reviewer, "number": number, **values},
        ).fetchone()
        return None if row is None else row[0]

    def decided(self, reviewer: str = "") -> Iterator[tuple[Reviewable, dict[str, Decision]]]:
        """Yield each note with its finished decisions by reviewer, in note order; only of ``reviewer`` when given."""
        numbers = self._db.execute(
            "SELECT DISTINCT number FROM reviews WHERE read_whole = 1 AND (:me = '' OR reviewer = :me) ORDER BY number",
            {"me": reviewer},
        ).fetchall()
        for (number,) in numbers:
            rows = self._db.execute(
                "SELECT reviewer, spans, version FROM reviews WHERE number = :number AND read_whole = 1 AND (:me = '' "
                "OR reviewer = :me) ORDER BY reviewer",
                {"number": number, "me": reviewer},
            )
            yield self.note(number), {name: Decision(read_spans(spans), True, version) for name, spans, version in rows}

    def initial(self, number: int) -> tuple[Span, ...]:
        """Return the spans from which a reviewer starts: those found, or none in blind mode."""
        return self._initial(number)

    def _initial(self, number: int) -> tuple[Span, ...]:
        return () if self.mode == "blind" else self.note(number).found

    @property
    def _text_column(self) -> str:
        return "released" if self.mode == "blind" else "text"

    def _reviewed_text(self, number: int) -> str:
        row = self._db.execute(f"SELECT {self._text_column} FROM notes WHERE number = ?", (number,)).fetchone()
        if row is None:
            raise InputError(f"there is no note with the number {number}")
        return str(row[0])

    def _put(self, number: int, reviewer: str, spans: Sequence[Span], read_whole: bool, version: int) -> None:
        # Without scores and sources, so that equal decisions of two reviewers are equal strings.
        bare = [Span(span.start, span.end, span.label) for span in spans]
        self._db.execute(
            "INSERT OR REPLACE INTO reviews VALUES (?, ?, ?, ?, ?, ?)",
            (
                number,
                reviewer,
                version,
                dump_spans(bare),
                int(read_whole),
                datetime.now(UTC).isoformat(timespec="seconds"),
            ),
        )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the write lock of the file for a block, and undo the block when it fails."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise OutputError(f"{self._path}: cannot be written ({type(error).__name__})") from None


def checked_spans(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return ``spans``, sorted. Raises InputError when two overlap, one is not in ``text``, or there are too many."""
    if len(spans) > MOST_SPANS:
        raise InputError(f"{len(spans):,} spans; expected at most {MOST_SPANS:,} in a note")
    ordered = sorted(spans)
    before = 0
    for span in ordered:
        if span.start < before or span.end > len(text):
            raise InputError(
                f"span [{span.start}, {span.end}) overlaps another, or ends after a text of {len(text)} code points"
            )
        before = span.end
    return ordered


def _whole_words(text: str, value: str) -> Iterator[int]:
    """Yield the offsets at which ``value`` occurs in ``text`` as whole words, in the same letter case."""
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        before, after = text[at - 1 : at], text[end : end + 1]
        if not (before.isalnum() and value[0].isalnum()) and not (after.isalnum() and value[-1].isalnum()):
            yield at
            at = text.find(value, end)
        else:
            at = text.find(value, at + 1)
