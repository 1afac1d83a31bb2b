"""The quarantine: the notes that were held back, one JSON object per line, ``{"id", "stage", "reason"}``, never text.

An id that looks like text is written as a digest (:mod:`deid_runtime.system.shown_ids`). A fourth key ``position`` then
gives the position of the note in the input. The id of a note that is a file, or has no id, is its position.

The ids are always the input ids, even when the output has pseudonyms, so that the operator can correct the notes. Keep
the file with the original notes.
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
    """Writes and counts the records that are held back. A context manager."""

    def __init__(self, path: Path) -> None:
        # Only the owner may read the file, since it holds original ids.
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
        """Write one record that is held back; ``position`` is its position in the input."""
        row = {"id": record_id, "stage": stage, "reason": reason}
        if record_id != position and looks_like_text(record_id):
            row |= {"id": shown_id(record_id), "position": position}
        self._file.write(dump_line(row))
        self.by_stage[stage] += 1


def read_quarantine(path: Path) -> frozenset[str]:
    """Return the ids in a quarantine file, as written there. Raises SourceError when it is not a quarantine."""
    ids = set()
    for number, row in read_objects(Source(path, path.name, "jsonl", 0), RECORD_LIMIT_BYTES, Meter()):
        record_id = row.get("id") if isinstance(row, dict) else None
        if not isinstance(record_id, str):
            raise SourceError(f"{path.name}:{number}: expected a quarantine file, with one object with an id per line")
        ids.add(record_id)
    return frozenset(ids)
