"""Measure the time of stages, and turn errors into quarantined notes."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

from deid_runtime.errors import DeidError, EngineError
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.spans import Note
from deid_runtime.stages import PIPELINE_STAGES
from deid_runtime.system.installed_files import missing_file

#: After one of these errors the pipeline uses no further answer of the engine: other errors may be undetected.
FAULTS: Final = (EngineError, MemoryError)


class StageClock:
    """Keeps the name of the current stage, and the seconds that each stage took so far."""

    def __init__(self) -> None:
        self.stage = "read"
        self.seconds: dict[str, float] = dict.fromkeys(PIPELINE_STAGES, 0.0)

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Measure the time of a stage, and keep its name for the quarantine."""
        self.stage = name
        started = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += perf_counter() - started

    def quarantined(self, note: Note, error: Exception) -> Quarantined:
        """Return the note as quarantined.

        Raises InstallationError when a file of this package is missing, because then every note fails.
        """
        missing = missing_file(error) if isinstance(error, OSError) else None
        if missing is not None:
            raise missing from None
        # Our own errors contain no note text. Other errors may (a UnicodeEncodeError does), so name only their class.
        reason = str(error) if isinstance(error, DeidError) else f"unexpected {type(error).__name__}"
        return Quarantined(note.id, self.stage, reason)
