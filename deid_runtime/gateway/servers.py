"""The interface to the servers behind the gateway. ``deid_client.whole_notes`` implements it over gRPC."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from deid_runtime.errors import ModelError
from deid_runtime.spans import Note

#: deidentify: find and replace. detect: find only; no key is needed.
Task = Literal["deidentify", "detect"]


@dataclass(frozen=True, slots=True)
class NoteAnswer:
    """The answer to one note. For the task ``detect``, ``text`` and ``pseudonyms`` are empty.

    Each span has start, end, label, score and sources. Start and end are half-open code point offsets in the original
    text.
    """

    text: str = field(repr=False)
    spans: list[dict[str, object]]
    pseudonyms: dict[str, str] = field(repr=False)


class ServersDownError(ModelError):
    """No server answers."""


class NoteServers(Protocol):
    """The servers of whole notes, used from one event loop."""

    async def open(self) -> None:
        """Start to connect. Return at once, even when no server answers yet."""

    async def ask(self, note: Note, task: Task, key: str) -> NoteAnswer:
        """Return the answer to one note.

        Raises InputError with the stage for a note that is held back, ServersDownError when no server answers, another
        ModelError when servers answer but fail.
        """
        ...

    async def is_ready(self) -> bool:
        """Return whether a server now de-identifies the canary note correctly."""
        ...

    async def close(self) -> None:
        """Close all connections."""
