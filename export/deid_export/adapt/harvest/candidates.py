"""Read and write review files: one candidate per line, with its counts, its evidence and the decision.

The format is JSON Lines. ``status`` is ``pending``, ``accepted`` or ``rejected``. ``line`` is copied unchanged into the
inclusion list or the template file. The lines come from clinical notes, so only the owner can read the files.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Final, Literal, get_args

from deid_runtime.detectors.inclusion import load_inclusion
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.templates import load_templates
from deid_runtime.errors import OutputError, SettingsError

Status = Literal["pending", "accepted", "rejected"]
#: ``frequent`` and ``term`` are lines for an inclusion list, ``template`` is a line for a template file.
Kind = Literal["frequent", "term", "template"]
ListName = Literal["inclusion", "templates"]

_INT_FIELDS: Final = ("patients", "notes", "occurrences")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One line that a person accepts or rejects.

    ``patients`` is an estimate unless ``patients_exact``. ``decided`` is how it was decided: ``line`` by line, or in
    ``bulk``.
    """

    status: Status = "pending"
    kind: Kind
    line: str = field(repr=False)
    patients: int
    patients_exact: bool = True
    notes: int
    occurrences: int
    evidence: Mapping[str, object] = field(default_factory=dict)
    decided: str = ""


def read_review(path: Path) -> list[Candidate]:
    """Read a review file.

    Raises SettingsError, with the line number, for any error: a decision that is misread must not be written.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"review file {path}: cannot be read ({type(error).__name__}); expected a review file in UTF-8"
        ) from None
    candidates = [_candidate(f"review file {path}, line {i}", line) for i, line in enumerate(lines, 1) if line.strip()]
    if candidates:
        list_of(candidates)
    return candidates


def _candidate(where: str, line: str) -> Candidate:
    names = {item.name for item in fields(Candidate)}
    try:
        value = json.loads(line)
    except ValueError:
        raise SettingsError(f"{where}: not JSON; expected one candidate per line") from None
    if not isinstance(value, dict) or not names - {"evidence", "decided", "patients_exact"} <= value.keys() <= names:
        raise SettingsError(f"{where}: expected the fields {', '.join(sorted(names))}")
    if value["status"] not in get_args(Status):
        raise SettingsError(f"{where}: unknown status; expected one of {', '.join(get_args(Status))}")
    if value["kind"] not in get_args(Kind) or not isinstance(value["line"], str) or not value["line"].strip():
        raise SettingsError(f"{where}: expected a kind of {', '.join(get_args(Kind))}, and a line that is not empty")
    if any(type(value[name]) is not int for name in _INT_FIELDS):
        raise SettingsError(f"{where}: expected whole numbers for {', '.join(_INT_FIELDS)}")
    return Candidate(**value)


def write_review(path: Path, candidates: Iterable[Candidate]) -> None:
    """Write a review file, completely or not at all; only its owner can read it."""
    write_private(path, "".join(json.dumps(asdict(candidate), ensure_ascii=False) + "\n" for candidate in candidates))


def with_decisions(candidates: Iterable[Candidate], earlier: Iterable[Candidate]) -> list[Candidate]:
    """Return ``candidates`` with their ``earlier`` decisions, then the earlier decided lines that did not recur.

    These lines are kept because a harvest skips accepted lines: they are already on the current list.
    """
    known = {candidate.line: candidate for candidate in earlier if candidate.status != "pending"}
    united = []
    for candidate in candidates:
        before = known.pop(candidate.line, candidate)
        united.append(replace(candidate, status=before.status, decided=before.decided))
    return united + list(known.values())


def list_of(candidates: Sequence[Candidate]) -> ListName:
    """Return the list that the candidates are for. Raises SettingsError for none, and for candidates of both lists."""
    names: set[ListName] = {"templates" if candidate.kind == "template" else "inclusion" for candidate in candidates}
    if len(names) != 1:
        raise SettingsError("expected candidates of one list; " + ("both are there" if names else "there are none"))
    return names.pop()


def write_accepted(path: Path, candidates: Sequence[Candidate], name: ListName, *, before: bytes = b"") -> None:
    """Write the accepted lines, after the file content ``before``, in the format of list ``name`` for ``deid run``.

    The new file is loaded as a run loads it before it replaces the old file. Raises SettingsError when that fails.
    """
    accepted = [candidate.line for candidate in candidates if candidate.status == "accepted"]
    text = before.decode("utf-8")
    if text:
        text = text.rstrip("\n") + "\n\n"
    text += f"# Harvested, and accepted: {len(accepted)} lines, the most frequent first.\n"
    text += "".join(f"{line}\n" for line in accepted)
    load: Mapping[ListName, Callable[[Path], object]] = {
        "templates": load_templates,
        "inclusion": lambda written: load_inclusion(written, screen=find_patterns),
    }
    write_private(path, text, check=load[name])


def write_private(path: Path, text: str, *, check: Callable[[Path], object] | None = None) -> None:
    """Write ``text``, completely or not at all, readable by its owner only.

    ``check`` receives the new file before it replaces the old one. Raises OutputError when the file cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
        try:
            with open(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            if check is not None:
                check(Path(name))
            os.replace(name, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or type(error).__name__}") from error
