"""The run report, for the auditor: versions, digests, settings and checked counts. No text, no note id, no key."""

import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from deid_runtime.errors import DefectError
from deid_runtime.formats.records import Item
from deid_runtime.spans import Note, PatientRecord
from deid_runtime.system.digests import FileDigest

_DISTRIBUTION = "deid-runtime"
_LIBRARIES = ("numpy", "onnxruntime", "openvino", "pyarrow", "regex", "tokenizers")
#: The fields of :class:`Counts` that are numbers, in their order.
_NUMBERS = ("read", "written", "empty", "with_patient", "with_record", "chars")


@dataclass(slots=True)
class Counts:
    """The counts of records, made where a record is written. The run compares ``read`` with the count of the reader."""

    read: int = 0
    written: int = 0
    empty: int = 0  # part of `read`: notes without text
    with_patient: int = 0  # part of `read`: notes with a patient id
    with_record: int = 0  # part of `read`: notes whose patient has a structured record
    chars: int = 0  # code points of all notes that were read
    quarantined: Counter[str] = field(default_factory=Counter)  # by stage
    labels: Counter[str] = field(default_factory=Counter)  # spans, by label

    def add_read(self, item: Item, records: Mapping[str, PatientRecord]) -> None:
        """Count a record that was read. ``records`` are the structured records by patient."""
        self.read += 1
        if isinstance(item, Note):
            self.empty += not item.text
            self.chars += len(item.text)
            self.with_record += item.patient in records
            self.with_patient += bool(item.patient)

    def add(self, other: "Counts") -> None:
        """Add the counts of other records."""
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.quarantined.update(other.quarantined)
        self.labels.update(other.labels)

    def to_row(self) -> dict[str, object]:
        """Return the counts as JSON values for :meth:`from_row`."""
        return {
            **{name: getattr(self, name) for name in _NUMBERS},
            "quarantined": dict(sorted(self.quarantined.items())),
            "labels": dict(sorted(self.labels.items())),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Counts":
        """Return the counts of a row. Raises KeyError, TypeError or ValueError for a row without counts."""
        found = cls(quarantined=Counter(row["quarantined"]), labels=Counter(row["labels"]))
        for name in _NUMBERS:
            setattr(found, name, int(row[name]))
        return found

    def check(self) -> None:
        """Raise DefectError unless as many records were written or quarantined as were read."""
        if self.read != self.written + self.quarantined.total():
            raise DefectError(
                f"{self.read} records were read, but {self.written} written and {self.quarantined.total()} "
                "quarantined; no output was written. This is a defect, please report it"
            )

    def to_json(self) -> dict[str, object]:
        """Return the counts as JSON values."""
        return {
            "read": self.read,
            "written": self.written,
            "quarantined": self.quarantined.total(),
            "empty": self.empty,
            "with_patient_record": self.with_record,
            "characters": self.chars,
            "quarantined_by_stage": dict(sorted(self.quarantined.items())),
            "spans_by_label": dict(sorted(self.labels.items())),
        }


def deid_version() -> str:
    """Return the installed version, or ``unknown`` when the package is not installed."""
    try:
        return version(_DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def describe_outputs(
    body: Mapping[str, object], quarantine: FileDigest | None, crosswalk: FileDigest | None = None
) -> dict[str, object]:
    """Return the digests of the written files as JSON values; ``deid verify`` compares files with them.

    The crosswalk is described without its path, which only people with access to it should know.
    """
    assert quarantine is not None  # every run writes a quarantine
    return {
        "body": dict(body),
        "quarantine": quarantine.to_json(),
        "crosswalk": crosswalk.to_json() if crosswalk else None,
    }


def make_manifest(
    task: str,
    *,
    inputs: Mapping[str, object],
    outputs: Mapping[str, object],
    options: Mapping[str, object],
    pipeline: Mapping[str, object],
    counts: Counts,
    started: datetime,
    windows: Mapping[str, int],
    seconds: Mapping[str, float],
    run: Mapping[str, object],
) -> dict[str, object]:
    """Return the run report as JSON values.

    ``seconds`` maps a stage to its seconds, summed over all workers. ``started`` is the start of the process that
    finished the run; ``windows`` counts the model windows of that process: ``read``, and ``from_cache`` of them.
    ``run`` has the id of the run, the digest of its identity, and how it was divided and resumed.
    """
    finished = datetime.now(UTC)
    return {
        "task": task,
        "deid_version": deid_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": dict(library_versions()),
        "inputs": dict(inputs),
        "outputs": dict(outputs),
        "options": dict(options),
        "run": dict(run),
        "pipeline": dict(pipeline),
        "notes": counts.to_json(),
        "windows": {"read": 0, "from_cache": 0, **windows},
        "started": started.isoformat(timespec="seconds"),
        "finished": finished.isoformat(timespec="seconds"),
        "seconds": round((finished - started).total_seconds(), 3),
        "seconds_by_stage": {stage: round(spent, 3) for stage, spent in seconds.items()},
    }


def library_versions() -> Iterable[tuple[str, str]]:
    """Yield name and version of each library that is used for finding or writing."""
    for name in _LIBRARIES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue
