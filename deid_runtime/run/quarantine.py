"""The notes that were held back, one JSON object a line: ``{"id", "stage", "reason"}``, never text.

An id that looks like text is written as a digest (:mod:`deid_runtime.system.shown_ids`), with a fourth key ``position``
that says where the note stands in the input. A note that is a file, or has no id, goes by its position alone.

The ids are those of the input, also where the output's are pseudonyms: the file is for whoever runs the job and mends
the notes. Keep it with the originals.
"""

from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

from deid_runtime.errors import SourceError
from deid_runtime.formats.jsonl import dump_line, read_objects
from deid_runtime.formats.records import RECORD_LIMIT_BYTES, Meter, Source
from deid_runtime.system.digests import FileDigest, create_file
from deid_runtime.system.shown_ids import looks_like_text, shown_id


class Quarantine:
    """Writes and counts what is held back. A context manager."""

    def __init__(self, path: Path) -> None:
        # Only the owner may read original ids.
        self._file = create_file(path, self._take)
        self.by_stage: Counter[str] = Counter()
        self.digest: FileDigest | None = None  # known once the file is closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _take(self, digest: FileDigest) -> None:
        self.digest = digest

    def add(self, record_id: str, stage: str, reason: str, position: str = "") -> None:
        """Hold one record back; ``position`` says where it stands in the input."""
        row = {"id": record_id, "stage": stage, "reason": reason}
        if record_id != position and looks_like_text(record_id):
            row |= {"id": shown_id(record_id), "position": position}
        self._file.write(dump_line(row))
        self.by_stage[stage] += 1


def read_quarantine(path: Path) -> frozenset[str]:
    """Return the ids in a quarantine file, as they are written there. Raises SourceError when it is none."""
    ids = set()
    for number, row in read_objects(Source(path, path.name, "jsonl", 0), RECORD_LIMIT_BYTES, Meter()):
        record_id = row.get("id") if isinstance(row, dict) else None
        if not isinstance(record_id, str):
            raise SourceError(f"{path.name}:{number}: expected a quarantine, one object with an id a line")
        ids.add(record_id)
    return frozenset(ids)
