"""The errors of calls, and one table that maps each gRPC status to a kind of failure.

::

    CallError          one call to one endpoint failed; never leaves this package
    ├── StoppingError        the server is shutting down or still starting
    ├── BadAnswerError       an answer came, but it does not match the request
    │   └── TooLargeError    a message was refused for its size
    └── HeldBackError        the model for whole notes did not de-identify a note
"""

import asyncio
import enum
import re
from collections.abc import Mapping
from typing import Final

import grpc

from deid_client.refusals import Refusal
from deid_runtime.errors import DeidError, InputError, ModelError
from deid_runtime.stages import STAGES


class FailureKind(enum.Enum):
    """How to continue with a request after a failed call."""

    TRANSIENT = "transient"  # the endpoint is unreachable or overloaded: wait, then retry until the deadline
    FAULT = "fault"  # the endpoint is reachable and failed: retry a few times, on another endpoint if possible
    FATAL = "fatal"  # a retry cannot help


FAILURE_KINDS: Final[Mapping[grpc.StatusCode, FailureKind]] = {
    grpc.StatusCode.OK: FailureKind.FAULT,  # a stream that ends with OK before its answers is handled as UNAVAILABLE
    grpc.StatusCode.CANCELLED: FailureKind.TRANSIENT,
    grpc.StatusCode.UNKNOWN: FailureKind.TRANSIENT,  # sent by a proxy, or by a server that is ending
    grpc.StatusCode.INVALID_ARGUMENT: FailureKind.FATAL,
    grpc.StatusCode.DEADLINE_EXCEEDED: FailureKind.TRANSIENT,
    grpc.StatusCode.NOT_FOUND: FailureKind.TRANSIENT,  # the model is being reloaded; else the next check fails
    grpc.StatusCode.ALREADY_EXISTS: FailureKind.FAULT,
    grpc.StatusCode.PERMISSION_DENIED: FailureKind.FATAL,
    grpc.StatusCode.RESOURCE_EXHAUSTED: FailureKind.TRANSIENT,
    grpc.StatusCode.FAILED_PRECONDITION: FailureKind.FAULT,
    grpc.StatusCode.ABORTED: FailureKind.TRANSIENT,
    grpc.StatusCode.OUT_OF_RANGE: FailureKind.FATAL,
    grpc.StatusCode.UNIMPLEMENTED: FailureKind.FATAL,
    grpc.StatusCode.INTERNAL: FailureKind.FAULT,  # a model that failed
    grpc.StatusCode.UNAVAILABLE: FailureKind.TRANSIENT,
    grpc.StatusCode.DATA_LOSS: FailureKind.TRANSIENT,
    grpc.StatusCode.UNAUTHENTICATED: FailureKind.FATAL,
}

#: gRPC uses INTERNAL also for a broken connection. These words in its message identify that case.
_BROKEN: Final = (
    "RST_STREAM",
    "GOAWAY",
    "stream removed",
    "Stream removed",
    "connection",
    "Connection",
    "Received http2",
)
#: Triton uses UNAVAILABLE also when its queue is full, or when a request has waited too long in the queue.
_OVERLOADED: Final = ("maximum queue size", "timeout expired")
#: gRPC uses RESOURCE_EXHAUSTED also for a message that is too large, not only for a busy server.
_TOO_LARGE: Final = "message larger than max"
#: Triton uses these words while it is stopping.
_STOPPING: Final = ("Server is stopping", "Server exiting", "not ready")
#: On a stream Triton reports errors as text without a status.
_STOPPING_STREAM: Final = (*_STOPPING, "unavailable")
#: The statuses of a server that cannot be reached, or that is not a gRPC server.
_UNREACHABLE: Final = frozenset(
    (
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
    )
)

_REFUSED: Final[Mapping[grpc.StatusCode, Refusal]] = {
    grpc.StatusCode.RESOURCE_EXHAUSTED: "busy",
    grpc.StatusCode.UNAUTHENTICATED: "unauthenticated",
    grpc.StatusCode.PERMISSION_DENIED: "forbidden",
    grpc.StatusCode.INVALID_ARGUMENT: "invalid",
    grpc.StatusCode.OUT_OF_RANGE: "invalid",
    grpc.StatusCode.UNIMPLEMENTED: "unknown_protocol",
    grpc.StatusCode.NOT_FOUND: "no_model",
}

#: The model for whole notes names the stage that held a note back.
_HELD_BACK: Final = re.compile(r"not de-identified, stage ([a-z]+):")

_REMEDIES: Final[Mapping[grpc.StatusCode, str]] = {
    grpc.StatusCode.DEADLINE_EXCEEDED: "; restart it if a process of its models is stopped, or give it "
    "longer if it is only slow (--deadline)",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "; its queue is full: retry later, or send fewer requests at once (--workers, "
    "--in-flight)",
    grpc.StatusCode.UNAUTHENTICATED: "; give it an authorisation header",
    grpc.StatusCode.PERMISSION_DENIED: "; give it an authorisation header that may use these models",
    grpc.StatusCode.NOT_FOUND: "; it lacks a requested model; --route ensemble needs a model "
    "repository of `deid-export models repository`",
    grpc.StatusCode.UNIMPLEMENTED: "; it does not speak the KServe v2 protocol; check that the port is the gRPC port",
    grpc.StatusCode.INVALID_ARGUMENT: "; it calls the request malformed; check that its models are of this version",
}


class CallError(Exception):
    """One call to one endpoint failed. The message has the status but no text of the server, which may quote a note."""

    def __init__(self, endpoint: str, code: grpc.StatusCode, kind: FailureKind, asked: str = "") -> None:
        is_silent = code is grpc.StatusCode.DEADLINE_EXCEEDED
        happened = "gave no answer in time" if is_silent else f"answered {code.name}"
        super().__init__(f"{endpoint} {happened}{asked}{_REMEDIES.get(code, '')}")
        self.endpoint = endpoint
        self.code = code
        self.kind = kind

    @property
    def refusal(self) -> Refusal | None:
        """Why the server refused the call; None when it did not refuse it."""
        return _REFUSED.get(self.code)

    @property
    def may_be_unreachable(self) -> bool:
        """Whether the server may be another one, or unreachable.

        Only :func:`deid_client.diagnosis.diagnose` can tell.
        """
        return self.code in _UNREACHABLE

    def of_probe(self, model: str) -> "CallError":
        """Return this failure as the failure of a probe of ``model``."""
        return CallError(self.endpoint, self.code, self.kind, f" to a probe of model {model}")

    def as_error(self) -> DeidError:
        """Return the error for the caller of the service."""
        return ModelError(str(self))

    @classmethod
    def of(cls, endpoint: str, error: grpc.aio.AioRpcError) -> "CallError":
        """Return the CallError for an error of gRPC."""
        code = error.code()
        details = error.details() or ""
        held_back = _HELD_BACK.search(details) if code is grpc.StatusCode.INVALID_ARGUMENT else None
        if held_back is not None and held_back[1] in STAGES:
            return HeldBackError(endpoint, held_back[1])
        if code is grpc.StatusCode.INTERNAL and any(word in details for word in _BROKEN):
            return cls(endpoint, code, FailureKind.TRANSIENT)
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED and _TOO_LARGE in details:
            return TooLargeError(endpoint)
        if code is grpc.StatusCode.UNAVAILABLE and any(word in details for word in _OVERLOADED):
            code = grpc.StatusCode.RESOURCE_EXHAUSTED
        elif code is grpc.StatusCode.UNAVAILABLE and any(word in details for word in _STOPPING):
            return StoppingError(endpoint)
        return cls(endpoint, code, FAILURE_KINDS[code])

    @classmethod
    def of_stream(cls, endpoint: str, message: str) -> "CallError":
        """Return the CallError for an error message on a stream."""
        if any(word in message for word in _OVERLOADED):
            return cls(endpoint, grpc.StatusCode.RESOURCE_EXHAUSTED, FailureKind.TRANSIENT)
        if any(word in message for word in _STOPPING_STREAM):
            return StoppingError(endpoint)
        return cls(endpoint, grpc.StatusCode.INTERNAL, FailureKind.FAULT)


class StoppingError(CallError):
    """A server that is shutting down, or still starting."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint, grpc.StatusCode.UNAVAILABLE, FailureKind.TRANSIENT)
        self.args = (f"{endpoint} is shutting down, or still starting; wait for it, or name another server (--server)",)

    @property
    def refusal(self) -> Refusal:
        """The reason ``stopping``."""
        return "stopping"

    @property
    def may_be_unreachable(self) -> bool:
        """False: it has answered."""
        return False

    def of_probe(self, model: str) -> CallError:
        """Return this failure unchanged: all its models stop."""
        return self


class BadAnswerError(CallError):
    """An answer that does not match the request. ``fault`` describes the mismatch with names and numbers only."""

    def __init__(self, endpoint: str, fault: str) -> None:
        super().__init__(endpoint, grpc.StatusCode.OK, FailureKind.FAULT)
        self.args = (f"{endpoint} gave a wrong answer: {fault}",)

    def of_probe(self, model: str) -> CallError:
        """Return this failure unchanged: its message already names the model."""
        return self


class TooLargeError(BadAnswerError):
    """A message that the client or the server refuses for its size."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint, "a message is larger than allowed; send fewer tokens at a time (--request-tokens)")

    @property
    def refusal(self) -> Refusal:
        """The reason ``too_large``."""
        return "too_large"


class HeldBackError(CallError):
    """A whole note that the server did not de-identify. The reason is not passed on: it is text from the server."""

    def __init__(self, endpoint: str, stage: str) -> None:
        super().__init__(endpoint, grpc.StatusCode.INVALID_ARGUMENT, FailureKind.FATAL)
        self.args = (f"{endpoint} held the note back in stage {stage}",)
        self.stage = stage

    @property
    def refusal(self) -> Refusal | None:
        """None: a note that is held back is not a refusal."""
        return None

    def as_error(self) -> DeidError:
        """Return the error of the note, with its stage."""
        return InputError(str(self), stage=self.stage)


def is_cancelled() -> bool:
    """Return whether a CancelledError cancels this task. False: a call was cancelled by a closed connection."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class ServiceDownError(ModelError):
    """No endpoint answers."""
