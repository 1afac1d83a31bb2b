"""The entries of one request in the audit log."""

import time
from dataclasses import dataclass, field

from starlette.requests import Request

from deid_runtime.gateway.audit_log import AuditLog
from deid_runtime.gateway.clients import Client
from deid_runtime.gateway.problems import ProblemError
from deid_runtime.gateway.servers import Task
from deid_runtime.gateway.work import NoteOutcome, RequestCounts

#: The outcome of a request whose client disconnected.
GONE = "gone"


@dataclass(slots=True)
class Record:
    """One request for notes, from its headers to its end. Writes itself to the audit log."""

    audit: AuditLog
    request_id: str
    address: str  # of the connection; headers with another one are not trusted
    task: Task
    is_stream: bool = False
    client: Client | None = None
    key: str | None = None
    counts: RequestCounts = field(default_factory=RequestCounts)
    _began_s: float = field(default_factory=time.monotonic)
    _digests: list[dict[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, audit: AuditLog, request: Request, task: Task) -> "Record":
        """Return the record of a request that has just arrived."""
        address = request.client.host if request.client else ""
        return cls(audit, request.state.request_id, address, task)

    def begin_stream(self, client: Client, key: str) -> None:
        """Write that a stream has begun. Raises ProblemError."""
        self.client, self.key, self.is_stream = client, key or None, True
        self.audit.write(self._fields("begun"))

    def add(self, outcome: NoteOutcome) -> None:
        """Count one note. The digests of a stream are written at once. Raises ProblemError."""
        self.counts.add(outcome)
        if self.audit.digests is None:
            return
        digests = self.audit.digests.record(outcome.note, outcome.answer)
        if self.is_stream:
            self.audit.write({"request": self.request_id, "event": "note", **digests})
        else:
            self._digests.append(digests)

    def end(self, outcome: str = "ok", status: int = 200) -> None:
        """Write the end of the request. Raises ProblemError."""
        fields = self._fields("ended" if self.is_stream else "request", outcome, status)
        if self._digests:
            fields["records"] = self._digests
        if self.client is None:
            self.audit.write_refused(fields)
        else:
            self.audit.write(fields)

    def fail(self, problem: ProblemError) -> None:
        """Write that the request ended with a problem. Raises ProblemError."""
        self._digests.clear()  # no answer was sent
        self.end(problem.kind.name, problem.kind.status)

    def _fields(self, event: str, outcome: str | None = None, status: int | None = None) -> dict[str, object]:
        fields: dict[str, object] = {
            "request": self.request_id,
            "event": event,
            "task": self.task,
            "address": self.address,
            "project": self.client.project.name if self.client else None,
            "shown": self.client.shown if self.client else None,
            "key": self.key,
        }
        if outcome is not None:
            fields |= {
                "outcome": outcome,
                "status": status,
                "done": self.counts.done,
                "held_back": self.counts.held_back,
                "characters": self.counts.chars,
                "seconds": round(time.monotonic() - self._began_s, 3),
            }
        return fields
