"""The access file of a running service: read again when it has changed."""

import logging
import os
import threading
import time
from pathlib import Path
from typing import Final

from deid_runtime.access.projects import Access, read_access
from deid_runtime.errors import SettingsError

_LOOK_S: Final = 1.0

_logger = logging.getLogger(__name__)


class AccessFile:
    """The projects of a file. A change takes effect within a second.

    A changed file that is wrong is logged and ignored: the projects of the last valid one stay in use. Threads may
    share an object. Raises SettingsError when the first file is wrong.
    """

    def __init__(self, path: Path, *, allow_shared: bool = False) -> None:
        self._path = path
        self._allow_shared = allow_shared
        self._version = self._look()
        self._access = read_access(path, allow_shared=allow_shared)
        self._looked_s = time.monotonic()
        self._lock = threading.Lock()
        #: Number of changes that were ignored because the file was wrong.
        self.faults = 0

    def now(self) -> Access:
        """Return the projects now in use."""
        with self._lock:
            if time.monotonic() - self._looked_s >= _LOOK_S:
                self._looked_s = time.monotonic()
                version = self._look()
                if version != self._version:
                    self._version = version
                    self._read()
            return self._access

    def _read(self) -> None:
        try:
            self._access = read_access(self._path, allow_shared=self._allow_shared)
        except SettingsError as error:
            self.faults += 1
            _logger.error("the changed access file is wrong, so the old projects and tokens stay in use: %s", error)
        else:
            _logger.warning("the changed access file was read: %d projects", len(self._access.projects))

    def _look(self) -> tuple[int, ...]:
        try:
            state = os.stat(self._path)
        except OSError:
            return ()
        # The change time (ctime) also changes with the mode and the owner.
        return state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_size
