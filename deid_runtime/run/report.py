"""The run report, for the auditor: versions, digests, settings and checked counts. No text, no note id, no key."""

import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from deid_runtime.errors import DefectError
from deid_runtime.system.digests import FileDigest

_DISTRIBUTION = "deid-runtime"
_LIBRARIES = ("numpy", "onnxruntime", "openvino", "pyarrow", "regex", "tokenizers")


@dataclass(slots=True)
class Counts:
    """The counts of records. The reader counts ``read``; the other counts are made where the record is written."""

    read: int = 0
    written: int = 0
    empty: int = 0  # part of `read`: notes without text
    with_patient: int = 0  # part of `read`: notes with a patient id
    with_record: int = 0  # part of `read`: notes whose patient has a structured record
    quarantined: Counter[str] = field(default_factory=Counter)  # by stage
    labels: Counter[str] = field(default_factory=Counter)  # spans, by label

    def check(self) -> None:
        """Raise DefectError unless as many records were written or quarantined as were read."""
        if self.read != self.written + self.quarantined.total():
            raise DefectError(
                f"{self.read} records were read, but {self.written} written and {self.quarantined.total()} "
                "quarantined; nothing was put out. This is a defect, please report it"
            )

    def to_json(self) -> dict[str, object]:
        """Return the counts as JSON values."""
        return {
            "read": self.read,
            "written": self.written,
            "quarantined": self.quarantined.total(),
            "empty": self.empty,
            "with_patient_record": self.with_record,
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
) -> dict[str, object]:
    """Return the run report as JSON values. ``seconds`` maps a stage to its seconds, summed over all workers.

    ``windows`` counts the model windows of all workers: ``read``, and ``from_cache`` of them.
    """
    finished = datetime.now(UTC)
    return {
        "task": task,
        "deid_version": deid_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": dict(_library_versions()),
        "inputs": dict(inputs),
        "outputs": dict(outputs),
        "options": dict(options),
        "pipeline": dict(pipeline),
        "notes": counts.to_json(),
        "windows": {"read": 0, "from_cache": 0, **windows},
        "started": started.isoformat(timespec="seconds"),
        "finished": finished.isoformat(timespec="seconds"),
        "seconds": round((finished - started).total_seconds(), 3),
        "seconds_by_stage": {stage: round(spent, 3) for stage, spent in seconds.items()},
    }


def _library_versions() -> Iterable[tuple[str, str]]:
    for name in _LIBRARIES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue
