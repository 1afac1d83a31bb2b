"""The audit log: one JSON line for each request, with ids, counts and times, and no text.

Digests of notes are left out, or keyed: HMAC-SHA256 with a key that only the owner of the log has. A digest without a
key would tell anybody who guesses a note or an id that it was sent.
"""

import hashlib
import hmac
import json
import os
import stat
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from deid_runtime.errors import OutputError, SettingsError
from deid_runtime.gateway.problems import NO_AUDIT, ProblemError
from deid_runtime.gateway.servers import NoteAnswer
from deid_runtime.spans import Note
from deid_runtime.system.secret_files import check_secret_file

#: The path that stands for the standard output.
STANDARD_OUTPUT: Final = Path("-")

_STDOUT_DESCRIPTOR: Final = 1
_DIGEST_BYTES: Final = 16
_REFUSED_PER_MINUTE: Final = 60  # requests without a project; they could fill the disk
_MINUTE_S: Final = 60.0


class Digests:
    """Keyed digests of notes: 32 hexadecimal digits, the same for the same key and value."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, kind: str, value: str) -> str:
        """Return the digest of a value of one kind. Equal values of two kinds have different digests."""
        message = f"deid audit 1 {kind}\0".encode() + value.encode("utf-8", "surrogatepass")
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()[: 2 * _DIGEST_BYTES]

    def record(self, note: Note, answer: NoteAnswer | None) -> dict[str, str]:
        """Return the digests of a note: its id and text, and the text of its answer."""
        found = {"id": self.of("id", note.id), "text": self.of("text", note.text)}
        if answer is not None and answer.text:
            found["answer"] = self.of("text", answer.text)
        return found


class AuditLog:
    """Appends lines to a file that only its owner can read. A file that was moved away is made anew.

    The path ``-`` is the standard output, for platforms that collect it.

    Raises OutputError when the file cannot be opened, SettingsError when other users can read it.
    """

    def __init__(self, path: Path | None, digests: Digests | None = None) -> None:
        """Open the log at ``path``; None: no log."""
        self.digests = digests
        self._path = path
        self._is_stdout = path == STANDARD_OUTPUT
        self._descriptor: int | None = None
        self._refused = 0
        self._omitted = 0
        self._minute = 0
        if path is not None:
            try:
                if self._is_stdout:
                    self._descriptor = os.dup(_STDOUT_DESCRIPTOR)
                else:
                    self._open(path)
            except OSError as error:
                raise OutputError(f"the audit log {path} cannot be written ({error.strerror})") from None

    def write(self, fields: Mapping[str, object]) -> None:
        """Append one line with the time and ``fields``. Raises ProblemError: what is not logged is not answered."""
        if self._path is None:
            return
        row = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **fields}
        line = json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
        try:
            if not self._is_stdout and not self._is_current(self._path):
                self._open(self._path)
            if self._descriptor is None:
                raise OSError
            # One call, so that lines of several processes do not mix.
            if os.write(self._descriptor, line) != len(line):
                raise OSError
        except (OSError, SettingsError):
            raise ProblemError(NO_AUDIT, "the request cannot be logged, so it is not answered", retry_s=30) from None

    def write_refused(self, fields: Mapping[str, object]) -> None:
        """Append one line for a request of nobody known. Beyond 60 a minute such requests are only counted."""
        minute = int(time.monotonic() // _MINUTE_S)
        if minute != self._minute:
            self._minute, self._refused = minute, 0
        if self._refused >= _REFUSED_PER_MINUTE:
            self._omitted += 1
            return
        self._refused += 1
        omitted, self._omitted = self._omitted, 0
        self.write({**fields, "omitted": omitted} if omitted else fields)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _is_current(self, path: Path) -> bool:
        """Return whether the open file is still the one at ``path``."""
        if self._descriptor is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(path))
        except FileNotFoundError:
            return False

    def _open(self, path: Path) -> None:
        self.close()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(path, flags, stat.S_IRUSR | stat.S_IWUSR)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):  # a pipe to a collector has its own rules
                check_secret_file(path, status)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
