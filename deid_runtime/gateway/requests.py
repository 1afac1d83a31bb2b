"""The JSON of requests: one note, or a batch of notes.

Unknown names are refused, because a typing error could cause a leak.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from deid_runtime.access.projects import Limits, Project
from deid_runtime.gateway.problems import INVALID, KEY_REFUSED, TOO_LARGE, Kind, ProblemError
from deid_runtime.gateway.servers import Task
from deid_runtime.spans import Note

_MOST_ID_BYTES: Final = 1024  # the limit of the servers
_NEEDED: Final = ("id", "text")
_NOTE_NAMES: Final = frozenset(("id", "text", "patient"))


@dataclass(frozen=True, slots=True)
class NotesAsked:
    """The notes of one request. ``is_batch``: they were sent as a list, and are answered as one."""

    notes: tuple[Note, ...]
    key: str
    is_batch: bool


def parse_request(content: object, task: Task, project: Project) -> NotesAsked:
    """Return the notes of a request. Raises ProblemError, which names the place as a JSON pointer."""
    if not isinstance(content, dict):
        raise ProblemError(INVALID, "expected a JSON object", pointer="")
    is_batch = "notes" in content
    known = frozenset(("notes",)) if is_batch else _NOTE_NAMES
    _check_names(content, known | {"key"} if task == "deidentify" else known, "")
    if not is_batch:
        row = {name: value for name, value in content.items() if name != "key"}
        notes: tuple[Note, ...] = (parse_note(row, project.limits, ""),)
    else:
        rows = content["notes"]
        if not isinstance(rows, list):
            raise ProblemError(INVALID, "expected a list of notes", pointer="/notes")
        if len(rows) > project.limits.notes_per_request:
            raise ProblemError(
                TOO_LARGE,
                f"expected at most {project.limits.notes_per_request:,} notes in a request (notes_per_request of the "
                "project); send several requests, or a stream",
                pointer="/notes",
            )
        notes = tuple(parse_note(row, project.limits, f"/notes/{place}") for place, row in enumerate(rows))
    key = check_key(content.get("key"), task, project, pointer="/key")
    return NotesAsked(notes, key, is_batch)


def parse_note(row: object, limits: Limits, where: str) -> Note:
    """Return the note of a JSON object at the JSON pointer ``where``. Raises ProblemError."""
    if not isinstance(row, dict):
        raise ProblemError(INVALID, "expected a JSON object with id, text and optional patient", pointer=where)
    _check_names(row, _NOTE_NAMES, where)
    for name in _NEEDED:
        if name not in row:
            raise ProblemError(INVALID, f"a note needs {name}", pointer=where)
    if row["id"] == "":
        raise ProblemError(INVALID, "the id is empty; the pseudonym of the note depends on it", pointer=f"{where}/id")
    return Note(
        _text(row["id"], f"{where}/id", _MOST_ID_BYTES),
        _text(row["text"], f"{where}/text", limits.note_bytes, TOO_LARGE),
        _text(row.get("patient", ""), f"{where}/patient", _MOST_ID_BYTES),
    )


def check_key(key: object, task: Task, project: Project, pointer: str | None = None) -> str:
    """Return the key name of a request. Raises ProblemError, the same for a forbidden name and an unknown one."""
    if task == "detect":
        return ""
    if not isinstance(key, str):
        raise ProblemError(INVALID, "expected `key`, the name of the key of the surrogates", pointer=pointer)
    if not project.may_use(key):
        raise ProblemError(
            KEY_REFUSED,
            "this project cannot use a key of that name; ask the operator of the gateway for the names, and never send "
            "a key itself",
        )
    return key


def _check_names(row: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    if not row.keys() <= known:
        # The unknown name is not quoted: it is a text of the request.
        raise ProblemError(INVALID, f"unknown name in the object; expected only {', '.join(sorted(known))}", where)


def _text(value: object, where: str, most_bytes: int, kind: Kind = INVALID) -> str:
    """Return a text. Raises ProblemError, of ``kind`` when it is too long."""
    if not isinstance(value, str):
        raise ProblemError(INVALID, "expected a text", pointer=where)
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ProblemError(
            INVALID, f"half of a surrogate pair at code point {error.start}: not valid Unicode", pointer=where
        ) from None
    if size > most_bytes:
        raise ProblemError(kind, f"{size:,} bytes of UTF-8; expected at most {most_bytes:,}", pointer=where)
    return value
