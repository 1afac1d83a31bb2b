"""What an application uses: notes in, outcomes out, in order, with the models on a server.

::

    async with DeidClient(ServerSettings(endpoints=("127.0.0.1:8001",)), key=key) as client:
        async for note, outcome in client.deidentify(notes):
            ...

All stages but the models run here, in a few threads; a note's text never leaves the process, only the ids of its tokens
do, from which it can be read all the same. Memory is bounded: a note is only taken in when there is room for it.
"""

import asyncio
import queue
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from deid_client.connection import Connection
from deid_client.metrics import ClientMetrics
from deid_client.settings import ServerSettings
from deid_client.tagger import TritonTagger
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.models.manifest import Manifest, Profile
from deid_runtime.models.tagger import choose_profile
from deid_runtime.pipeline import Deidentified, Detected, Pipeline, Quarantined, load_pipeline
from deid_runtime.settings import Settings
from deid_runtime.spans import LoadedTagger, Note, PatientRecord
from deid_runtime.system.closing import Closing

_Outcome = TypeVar("_Outcome")
_BATCH_NOTES: Final = 8  # handed to a thread at a time, when so many wait


@dataclass(frozen=True, slots=True)
class _Shared:
    """The connection that all pipelines of a client share, in the shape in which a pipeline asks for one."""

    connection: Connection
    manifest: Manifest
    profile: Profile

    @property
    def connect_seconds(self) -> float:
        return self.connection.settings.connect_seconds

    def longest_s(self, notes: int, chars: int) -> float:
        return self.connection.settings.longest_s(notes, chars)

    def connect(self, settings: Settings) -> AbstractContextManager[LoadedTagger]:
        return TritonTagger(self.connection, self.manifest, self.profile, settings.thresholds, owns_connection=False)


@dataclass(slots=True, eq=False)
class _Job(Generic[_Outcome]):
    """A note that was taken in, and what will have become of it."""

    note: Note = field(repr=False)
    outcome: asyncio.Future[_Outcome] = field(repr=False)


class DeidClient(Closing):
    """De-identifies a stream of notes. A context manager, also of ``async with``; for one stream at a time or several.

    Each note is served by itself. For surrogates that agree over all notes of a patient, use ``deid run --server
    --whole-patients`` or :meth:`deid_runtime.Pipeline.deidentify`.

    ``key`` is that of the surrogates; without one notes can be searched, not rewritten. ``records`` maps patient ids to
    records. ``threads`` pipelines run at a time, each with its own lists (about 60 MB). ``notes_in_flight`` bounds, for
    each stream, the notes that were taken in and not yet handed out. Making one connects and loads, which takes seconds
    and holds up a running event loop: there, make it by ``asyncio.to_thread``.

    Raises ModelError when no server answers or one has other models, SettingsError for a wrong setting.
    """

    def __init__(
        self,
        server: ServerSettings,
        settings: Settings | None = None,
        *,
        key: bytes | None = None,
        records: Mapping[str, PatientRecord] | None = None,
        threads: int = 2,
        notes_in_flight: int = 64,
        metrics: ClientMetrics | None = None,
    ) -> None:
        if threads < 1 or notes_in_flight < 1:
            raise SettingsError("threads and notes_in_flight must be at least 1")
        settings = settings or Settings()
        self._notes_in_flight = notes_in_flight
        self._can_rewrite = key is not None
        self.metrics = metrics or ClientMetrics()
        with ExitStack() as resources:
            manifest, profile = choose_profile(settings)
            connection = resources.enter_context(Connection(server, manifest, profile, self.metrics))
            shared = replace(settings, server=_Shared(connection, manifest, profile))
            # Which pipeline serves a batch makes no difference; the queue sees to it that each serves one at a time.
            self._pipelines: queue.SimpleQueue[Pipeline] = queue.SimpleQueue()

            def load() -> Pipeline:
                return load_pipeline(shared, key=key, records=records or {})

            self._load = load
            for _ in range(threads):
                self._pipelines.put(resources.enter_context(load()))
            self._pool = ThreadPoolExecutor(threads, thread_name_prefix="deid-notes")
            resources.callback(self._pool.shutdown, cancel_futures=True)
            self._resources = resources.pop_all()

    def detect(
        self, notes: AsyncIterable[Note] | Iterable[Note]
    ) -> AsyncGenerator[tuple[Note, Detected | Quarantined], None]:
        """Yield each note with what was found in it, in order. What fails comes as a value, and stops nothing else."""
        return self._stream(notes, Pipeline.detect)

    def deidentify(
        self, notes: AsyncIterable[Note] | Iterable[Note]
    ) -> AsyncGenerator[tuple[Note, Deidentified | Quarantined], None]:
        """Yield each note with its rewritten text, in order. What fails comes as a value, and stops nothing else.

        Raises SettingsError when the client was made without a key.
        """
        if not self._can_rewrite:
            raise SettingsError("surrogates need a key; make the client with one (`deid key new` writes one)")
        return self._stream(notes, Pipeline.deidentify)

    async def _stream(
        self,
        notes: AsyncIterable[Note] | Iterable[Note],
        work: Callable[[Pipeline, Sequence[Note]], Sequence[_Outcome]],
    ) -> AsyncGenerator[tuple[Note, _Outcome], None]:
        """Take notes in while there is room, and yield outcomes as the oldest is done."""
        room = asyncio.Semaphore(self._notes_in_flight)
        ordered: asyncio.Queue[_Job[_Outcome] | None] = asyncio.Queue()
        waiting: deque[_Job[_Outcome]] = deque()

        async def read() -> None:
            try:
                async for note in _each(notes, room):
                    job = _Job[_Outcome](note, asyncio.get_running_loop().create_future())
                    waiting.append(job)
                    try:
                        self._pool.submit(
                            _serve, self._pipelines, self._load, waiting, work, asyncio.get_running_loop()
                        )
                    except RuntimeError:  # what a pool says that takes in no more
                        raise ModelError("the client is closed; make a new one") from None
                    ordered.put_nowait(job)
            finally:
                ordered.put_nowait(None)

        reader = asyncio.create_task(read(), name="notes")
        try:
            while (job := await ordered.get()) is not None:
                outcome = await job.outcome
                self.metrics.notes.labels(type(outcome).__name__.lower()).inc()
                yield job.note, outcome
                room.release()
            await reader  # what reading raised is the caller's
        finally:
            waiting.clear()
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    def close(self) -> None:
        """Close connections and pipelines. Streams must have ended."""
        self._resources.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)


class SyncDeidClient(Closing):
    """As :class:`DeidClient`, with ordinary iterators. Not for use inside a running event loop."""

    def __init__(self, client: DeidClient) -> None:
        self._client = client

    def detect(self, notes: Iterable[Note]) -> Generator[tuple[Note, Detected | Quarantined], None, None]:
        """Yield each note with what was found in it, in order."""
        return _driven(self._client.detect(notes))

    def deidentify(self, notes: Iterable[Note]) -> Generator[tuple[Note, Deidentified | Quarantined], None, None]:
        """Yield each note with its rewritten text, in order. Raises SettingsError for a client without a key."""
        return _driven(self._client.deidentify(notes))

    def close(self) -> None:
        """Close the client."""
        self._client.close()


def _driven(stream: AsyncGenerator[_Outcome, None]) -> Generator[_Outcome, None, None]:
    """Run an event loop while the next outcome is waited for; the threads go on in between."""

    async def step() -> _Outcome:
        return await anext(stream)

    with asyncio.Runner() as runner:
        try:
            while True:
                try:
                    outcome = runner.run(step())
                except StopAsyncIteration:
                    return
                yield outcome
        finally:
            runner.run(stream.aclose())


async def _each(notes: AsyncIterable[Note] | Iterable[Note], room: asyncio.Semaphore) -> AsyncIterator[Note]:
    """Yield the notes; none is asked for before there is room for it."""
    if isinstance(notes, AsyncIterable):
        after = aiter(notes)
        while True:
            await room.acquire()
            try:
                note = await anext(after)
            except StopAsyncIteration:
                return
            yield note
    else:
        rest = iter(notes)
        while True:
            await room.acquire()
            try:
                following = next(rest)
            except StopIteration:
                return
            yield following


def _answer(jobs: Sequence[_Job[_Outcome]], outcomes: Sequence[_Outcome]) -> None:
    for job, outcome in zip(jobs, outcomes, strict=True):
        if not job.outcome.done():
            job.outcome.set_result(outcome)


def _fail(jobs: Sequence[_Job[_Outcome]], error: Exception) -> None:
    for job in jobs:
        if not job.outcome.done():
            job.outcome.set_exception(error)


def _serve(
    pipelines: queue.SimpleQueue[Pipeline],
    load: Callable[[], Pipeline],
    waiting: deque[_Job[_Outcome]],
    work: Callable[[Pipeline, Sequence[Note]], Sequence[_Outcome]],
    loop: asyncio.AbstractEventLoop,
) -> None:
    """Serve the notes that wait, some at a time. Called once a note; often another call has already served it."""
    jobs: list[_Job[_Outcome]] = []
    while len(jobs) < _BATCH_NOTES:
        try:
            jobs.append(waiting.popleft())
        except IndexError:
            break
    if not jobs:
        return
    pipeline = pipelines.get()
    try:
        if pipeline.fault is not None:  # memory ran out on earlier notes; this one has nothing to close
            pipeline = load()
        outcomes = work(pipeline, [job.note for job in jobs])
    except Exception as error:  # noqa: BLE001 - the caller waits for an answer, whatever it is
        loop.call_soon_threadsafe(_fail, jobs, error)
    else:
        loop.call_soon_threadsafe(_answer, jobs, outcomes)
    finally:
        pipelines.put(pipeline)
