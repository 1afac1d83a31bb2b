"""The identity of a run: inputs, key, settings and program. A run continues only when none of them has changed.

The identity has digests instead of contents, and an id of the key, from which nobody can compute the key. It is
stored only in the private folder of an unfinished run.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final

from deid_runtime.errors import SourceError
from deid_runtime.formats import FORMATS
from deid_runtime.formats.records import ReadOptions, Source
from deid_runtime.formats.sources import Inputs
from deid_runtime.run.outcomes import Work
from deid_runtime.run.report import deid_version, library_versions
from deid_runtime.settings import Settings
from deid_runtime.spans import PatientRecord
from deid_runtime.system.digests import digest_file

#: Settings that change no output, or whose files are covered by the description of the pipeline.
_NOT_COMPARED: Final = frozenset(
    {"models", "models_key", "trust_models", "server", "engine_threads", "batch_windows", "inclusion", "templates"}
)
#: This many bytes of the beginning and the end of a table are compared, as well as its size and time of change.
_END_BYTES: Final = 2**16
_MOST_NAMED: Final = 5


def describe_inputs(inputs: Inputs) -> dict[str, Any]:
    """Return a description that shows later whether the inputs are the same: each table, and all single notes together.

    Raises SourceError for a file that cannot be read.
    """
    tables: dict[str, str] = {}
    notes = sha256()
    count = files = size_bytes = 0
    for source in inputs:
        files += 1
        size_bytes += source.size_bytes
        if FORMATS[source.format].is_table:
            tables[source.name] = _digest_table(source)
        else:
            count += 1
            notes.update(f"{source.name}\0{source.size_bytes}\0{_changed_ns(source.path)}\n".encode())
    return {
        "files": files,
        "bytes": size_bytes,
        "order": sha256("\n".join(map(os.path.abspath, inputs.paths)).encode("utf-8", "surrogateescape")).hexdigest(),
        "tables": tables,
        "notes": {"files": count, "sha256": notes.hexdigest()},
    }


def make_identity(inputs: Mapping[str, Any], work: Work, options: Mapping[str, object]) -> dict[str, Any]:
    """Return the identity of a run as JSON values.

    ``inputs`` is that of :func:`describe_inputs`; ``options`` are those that change the output.
    """
    settings = {
        each.name: getattr(work.settings, each.name) for each in fields(Settings) if each.name not in _NOT_COMPARED
    }
    shifts = work.settings.given_date_shifts
    settings["given_date_shifts"] = digest_file(shifts.resolve()).sha256 if shifts else None
    settings["server"] = work.settings.server is not None
    identity = {
        "program": {"version": deid_version(), **dict(library_versions())},
        "task": work.task,
        "key": key_id(work.key),
        "settings": settings,
        "options": dict(options),
        "patient_records": _digest_records(work.records),
        "inputs": inputs,
    }
    plain: dict[str, Any] = json.loads(json.dumps(identity, default=str))
    return plain


def digest_identity(identity: Mapping[str, Any]) -> str:
    """Return a digest that is equal for runs with the same identity."""
    return sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def describe_read_options(options: ReadOptions) -> dict[str, object]:
    """Return the options of reading as JSON values."""
    return dict(asdict(options))


def key_id(key: bytes | None) -> str:
    """Return an id that distinguishes keys and reveals nothing else about a key; "" for none."""
    return blake2b(key, digest_size=8, person=b"deid key id").hexdigest() if key is not None else ""


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs between two identities, in words: names of settings and inputs, no values."""
    found = list(_changes(before, now))
    return found if len(found) <= _MOST_NAMED else [*found[:_MOST_NAMED], f"{len(found) - _MOST_NAMED} more"]


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for part, told in (("task", "the command"), ("key", "the key"), ("patient_records", "the patient records")):
        if before.get(part) != now.get(part):
            yield told
    for part, told in (("program", "the version of"), ("settings", "the setting"), ("options", "the option")):
        old, new = before.get(part, {}), now.get(part, {})
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield f"{told} {'deid' if name == 'version' else name}"
    yield from _changed_inputs(before.get("inputs", {}), now.get("inputs", {}))


def _changed_inputs(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = before.get("tables", {}), now.get("tables", {})
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"the input {name if name.isprintable() else ascii(name)}"
    if before.get("notes") != now.get("notes"):
        yield "the files of single notes"
    if before.get("order") != now.get("order"):
        yield "the paths of the inputs or their order"
    elif list(old) != list(new):
        yield "the order of the inputs"


def _digest_table(source: Source) -> str:
    """Return a digest of size, time of change, beginning and end of a file; for a pipe, a constant.

    The digest of a table of a database is that of its rows.
    """
    if source.plan is not None:
        return source.plan.digest
    if source.path.is_fifo():
        return "pipe"
    try:
        with source.path.open("rb") as file:
            state = os.fstat(file.fileno())
            digest = sha256(f"{state.st_size} {state.st_mtime_ns} ".encode())
            digest.update(file.read(_END_BYTES))
            file.seek(max(state.st_size - _END_BYTES, 0))
            digest.update(file.read(_END_BYTES))
    except OSError as error:
        raise SourceError(f"{source.name}: cannot be read: {error.strerror or type(error).__name__}") from error
    return digest.hexdigest()


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0  # for example a dangling link; its note goes to quarantine


def _digest_records(records: Mapping[str, PatientRecord]) -> str:
    if not records:
        return ""
    digest = sha256()
    for patient in sorted(records):
        digest.update(json.dumps([patient, sorted(records[patient].fields.items())]).encode())
    return digest.hexdigest()
