"""Why a request is refused before its note is read. Metrics count the refusals by reason."""

from typing import Final, Literal, get_args

from deid_runtime.errors import InputError

#: A closed list: values of a label in the metrics, never text of a request.
Reason = Literal[
    "no_keys", "key_name", "unknown_key", "no_access", "note_size", "name_size", "encoding", "request_size"
]
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)


class RefusedError(InputError):
    """A request that cannot be served in this form. ``reason`` is one of :data:`REASONS`."""

    def __init__(self, message: str, reason: Reason, *, stage: str = "read") -> None:
        super().__init__(message, stage=stage)
        self.reason: Reason = reason
