"""The work on notes: several at once, in order, each with its own outcome."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from deid_runtime.errors import DeidError, InputError
from deid_runtime.gateway.metrics import GatewayMetrics
from deid_runtime.gateway.problems import HELD_BACK, NO_SERVER, SERVER_FAILED, ProblemError
from deid_runtime.gateway.servers import NoteAnswer, NoteServers, ServersDownError, Task
from deid_runtime.spans import Note
from deid_runtime.stages import WORKER_STAGE

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_DOWN_RETRY_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class NoteOutcome:
    """The outcome of one note: an answer, or the stage that held it back."""

    note: Note
    answer: NoteAnswer | None
    stage: str = ""
    reason: str = ""  # if more is known than the stage

    def content(self, task: Task) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        if self.answer is None:
            return {
                "id": self.note.id,
                "held_back": {"stage": self.stage, "reason": self.reason or reason_of(self.stage)},
            }
        if task == "detect":
            return {"id": self.note.id, "spans": self.answer.spans}
        return {
            "id": self.note.id,
            "text": self.answer.text,
            "spans": self.answer.spans,
            "pseudonyms": self.answer.pseudonyms,
        }


@dataclass(slots=True)
class RequestCounts:
    """The outcomes of the notes of one request."""

    done: int = 0
    held_back: dict[str, int] = field(default_factory=dict)  # by stage
    chars: int = 0

    def add(self, outcome: NoteOutcome) -> None:
        """Count one note."""
        self.chars += len(outcome.note.text)
        if outcome.answer is not None:
            self.done += 1
        else:
            self.held_back[outcome.stage] = self.held_back.get(outcome.stage, 0) + 1

    @property
    def not_done(self) -> int:
        """How many notes were held back."""
        return sum(self.held_back.values())


@dataclass(frozen=True, slots=True)
class NoteSender:
    """Sends the notes of one request to the servers."""

    servers: NoteServers
    metrics: GatewayMetrics
    project: str
    task: Task
    key: str
    at_once: int

    async def outcome(self, note: Note) -> NoteOutcome:
        """Return the outcome of one note. Raises ProblemError when no server answers at all."""
        begun = time.monotonic()
        try:
            outcome = NoteOutcome(note, await self.servers.ask(note, self.task, self.key))
        except InputError as error:
            outcome = NoteOutcome(note, None, error.stage)
        except ServersDownError:
            raise ProblemError(
                NO_SERVER, "no server answers now; nothing of this request was stored", retry_s=_DOWN_RETRY_S
            ) from None
        except DeidError:
            outcome = NoteOutcome(note, None, WORKER_STAGE)
        self.metrics.note_seconds.observe(time.monotonic() - begun)
        self._count(outcome)
        return outcome

    async def outcomes(self, notes: Sequence[Note]) -> list[NoteOutcome]:
        """Return the outcomes of all notes, in order. Raises ProblemError when no server answers."""
        found: list[NoteOutcome | None] = [None] * len(notes)
        places = iter(range(len(notes)))

        async def work() -> None:
            for place in places:
                found[place] = await self.outcome(notes[place])

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.at_once, len(notes))):
                    group.create_task(work())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [outcome for outcome in found if outcome is not None]

    def _count(self, outcome: NoteOutcome) -> None:
        is_done = outcome.answer is not None
        self.metrics.notes.labels(self.project, self.task, "done" if is_done else "held_back").inc()
        self.metrics.chars.labels(self.project).inc(len(outcome.note.text))
        if outcome.answer is None:
            self.metrics.held_back.labels(outcome.stage).inc()
        else:
            for span in outcome.answer.spans:
                self.metrics.spans.labels(str(span.get("label"))).inc()


async def in_order(
    items: AsyncIterator[_Item], work: Callable[[_Item], Awaitable[_Result]], at_once: int
) -> AsyncIterator[_Result]:
    """Yield the result of each item, in order, as soon as it is ready. At most ``at_once`` items are in progress.

    Raises the errors of ``items`` and of ``work``.
    """
    room = asyncio.Semaphore(at_once)
    open_tasks: asyncio.Queue[asyncio.Task[_Result] | None] = asyncio.Queue()
    tasks: set[asyncio.Task[_Result]] = set()

    async def run(item: _Item) -> _Result:
        return await work(item)

    async def read() -> None:
        try:
            await room.acquire()
            async for item in items:
                task = asyncio.create_task(run(item))
                tasks.add(task)
                open_tasks.put_nowait(task)
                await room.acquire()
        finally:
            open_tasks.put_nowait(None)

    reader = asyncio.create_task(read())
    try:
        while (task := await open_tasks.get()) is not None:
            result = await task
            tasks.discard(task)
            yield result
            room.release()
        await reader  # raises an error of `items`
    finally:
        reader.cancel()
        for each in tasks:
            each.cancel()
        await asyncio.gather(reader, *tasks, return_exceptions=True)


def reason_of(stage: str) -> str:
    """Return why a note is held back, without any content of the note."""
    if stage == WORKER_STAGE:
        return "the servers failed on this note several times; see their logs"
    if stage == "read":
        return "the note cannot be read as text, or is too large for the servers; or the servers refuse the gateway"
    if stage == "surrogates":
        return "the servers cannot use the key of that name, or cannot make a surrogate"
    return f"the stage {stage} could not process the note, so nothing of it is returned"


def problem_of(outcome: NoteOutcome) -> ProblemError:
    """Return the answer to a request for one note that was not de-identified."""
    kind = SERVER_FAILED if outcome.stage == WORKER_STAGE else HELD_BACK
    return ProblemError(kind, reason_of(outcome.stage), stage=outcome.stage)
