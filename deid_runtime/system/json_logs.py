"""Log lines as JSON: everything on stderr is one JSON object per line, for systems that collect logs.

Each object has ``time`` (UTC), ``level``, ``event``, ``message`` and the fields of the event. There is no note text, no
note id and no patient id in them, only ids of runs, counts and addresses. Lines that a library prints
become objects of the event ``line``.
"""

import io
import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

#: The format of the lines on stderr.
LogFormat = Literal["text", "json"]

#: Worker processes inherit this variable; with the value ``json`` they log as their parent does.
VARIABLE: Final = "DEID_LOG_FORMAT"

#: The attributes of every log record; others are fields of its event.
_RECORD: Final = frozenset((*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"))
_PREFIX: Final = "deid: "


class JsonLines(io.TextIOBase):
    """A text stream that writes each line as a JSON object to ``stream``."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._rest = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream."""
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        """How the stream treats characters that it cannot encode."""
        return "backslashreplace"

    def writable(self) -> bool:
        """Return True."""
        return True

    def isatty(self) -> bool:
        """Return False: nothing may draw on it."""
        return False

    def fileno(self) -> int:
        """Return the descriptor of the stream below."""
        return self._stream.fileno()

    def write(self, text: str, /) -> int:
        """Write the complete lines of ``text``; keep the rest for the next call."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._write_line(line)
        return len(text)

    def flush(self) -> None:
        """Write the rest as a line."""
        if self._rest:
            rest, self._rest = self._rest, ""
            self._write_line(rest)
        self._stream.flush()

    def _write_line(self, line: str) -> None:
        if not line.strip():
            return
        if line.startswith("{"):
            try:
                fields = json.loads(line)
            except ValueError:
                fields = None
            if isinstance(fields, dict):  # progress, which is written as JSON
                self.write_object("info", "progress", "", fields)
                return
        is_warning = "WARNING" in line or "NOTICE" in line
        self.write_object("warning" if is_warning else "info", "line", line.removeprefix(_PREFIX), {})

    def write_object(self, level: str, event: str, message: str, fields: dict[str, Any]) -> None:
        """Write one object."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        content = {"time": now, "level": level, "event": event, **({"message": message} if message else {}), **fields}
        print(json.dumps(content, default=str), file=self._stream, flush=True)


class JsonHandler(logging.Handler):
    """Writes log records as JSON objects, without tracebacks: these may quote values."""

    def __init__(self, stream: JsonLines) -> None:
        super().__init__()
        self._lines = stream

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        fields = {name: value for name, value in vars(record).items() if name not in _RECORD}
        event = str(fields.pop("event", "log"))
        self._lines.write_object(
            record.levelname.lower(), event, record.getMessage(), {"logger": record.name, **fields}
        )


def is_json() -> bool:
    """Return whether the lines on stderr are JSON objects."""
    return isinstance(sys.stderr, JsonLines)


def log_event(event: str, message: str, /, **fields: object) -> None:
    """Log an event: an object with ``fields`` where stderr is JSON, nothing elsewhere."""
    if isinstance(sys.stderr, JsonLines):
        sys.stderr.write_object("info", event, message, fields)


def log_as_json() -> JsonHandler:
    """Make stderr and all log records of this process JSON. Return the handler of the records."""
    stream = sys.stderr if isinstance(sys.stderr, JsonLines) else JsonLines(sys.stderr)
    sys.stderr = stream
    handler = JsonHandler(stream)
    logging.getLogger().addHandler(handler)
    return handler


def log_as_parent(environment: Mapping[str, str]) -> None:
    """Log in the format of the parent of this worker process, according to ``environment``."""
    if environment.get(VARIABLE) == "json":
        log_as_json()
