"""The client for applications: notes in, outcomes out, in order, with the models on a server.

::

    async with DeidClient(ServerSettings(endpoints=("127.0.0.1:8001",)), key=key) as client:
        async for note, outcome in client.deidentify(notes):
            ...

All stages except the models run in this process, in a few threads. The client sends token ids, not note text, but the
text can be read from the token ids. Memory is bounded: a note is read only when there is room for it.
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
from time import monotonic, time_ns
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from deid_client.connection import Connection
from deid_client.metrics import ClientMetrics
from deid_client.settings import ServerSettings
from deid_client.tagger import TritonTagger
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.models.manifest import Manifest, Profile
from deid_runtime.models.tagger import choose_profile
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified, Detected, Outcome, Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.pipeline.tracing import more_seconds, record_batch
from deid_runtime.settings import Settings
from deid_runtime.spans import LoadedTagger, Note, PatientRecord
from deid_runtime.system.closing import Closing

_Outcome = TypeVar("_Outcome", bound=Outcome)
_Item = TypeVar("_Item")
_BATCH_NOTES: Final = 8  # most notes that a thread processes at a time


@dataclass(frozen=True, slots=True)
class _Shared:
    """The connection that all pipelines of a client share, with the interface of a pipeline's server setting."""

    connection: Connection
    manifest: Manifest
    profile: Profile

    @property
    def connect_seconds(self) -> float:
        return self.connection.settings.connect_seconds

    def longest_s(self, notes: int, chars: int) -> float:
        return self.connection.settings.longest_s(notes, chars)

    def connect(self, settings: Settings) -> AbstractContextManager[LoadedTagger]:
        return TritonTagger(
            self.connection,
            self.manifest,
            self.profile,
            settings.thresholds,
            owns_connection=False,
            cache_bytes=settings.window_cache_bytes // 2,
            end_at_blank_lines=settings.window_borders == "blocks",
        )


@dataclass(slots=True, eq=False)
class _Job(Generic[_Outcome]):
    """A note that was read, and its future outcome."""

    note: Note = field(repr=False)
    outcome: asyncio.Future[_Outcome] = field(repr=False)
    read_s: float = field(default_factory=monotonic)


class DeidClient(Closing):
    """De-identifies streams of notes, one or several at a time. A context manager, also for ``async with``.

    Each note is processed independently. For surrogates that agree over all notes of a patient, use
    ``deid run --server --whole-patients`` or :meth:`deid_runtime.Pipeline.deidentify`.

    ``key`` is the key of the surrogates; without a key, notes can be searched but not rewritten. ``records`` maps
    patient ids to records. ``threads`` is the number of pipelines that run in parallel, each with its own lists (about
    60 MB). ``notes_in_flight`` is the largest number of notes per stream that are read and not yet yielded.

    The constructor connects to the server and loads the pipelines. This takes seconds and blocks a running event loop;
    there, call the constructor with ``asyncio.to_thread``.

    Raises ModelError when no server answers or a server has other models, SettingsError for a wrong setting.
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
            # All pipelines are equal. The queue makes sure that each processes one batch at a time.
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
        """Yield each note with its spans, in order. A failed note yields Quarantined; the stream continues."""
        return self._stream(notes, Pipeline.detect)

    def deidentify(
        self, notes: AsyncIterable[Note] | Iterable[Note]
    ) -> AsyncGenerator[tuple[Note, Deidentified | Quarantined], None]:
        """Yield each note with its rewritten text, in order. A failed note yields Quarantined; the stream continues.

        Raises SettingsError when the client has no key.
        """
        if not self._can_rewrite:
            raise SettingsError("surrogates need a key; make the client with one (`deid key new` writes one)")
        return self._stream(notes, Pipeline.deidentify)

    async def _stream(
        self,
        notes: AsyncIterable[Note] | Iterable[Note],
        work: Callable[[Pipeline, Sequence[Note]], Sequence[_Outcome]],
    ) -> AsyncGenerator[tuple[Note, _Outcome], None]:
        """Read notes while there is room, and yield the outcomes in the order of the notes."""
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
                    except RuntimeError:  # the thread pool is shut down
                        raise ModelError("the client is closed; make a new one") from None
                    ordered.put_nowait(job)
            finally:
                ordered.put_nowait(None)

        reader = asyncio.create_task(read(), name="notes")
        try:
            while (job := await ordered.get()) is not None:
                outcome = await job.outcome
                self.metrics.count_note(job.note, outcome, monotonic() - job.read_s)
                yield job.note, outcome
                room.release()
            await reader  # raises an error of `notes` to the caller
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
    """A :class:`DeidClient` with ordinary iterators. Do not use it inside a running event loop."""

    def __init__(self, client: DeidClient) -> None:
        self._client = client

    def detect(self, notes: Iterable[Note]) -> Generator[tuple[Note, Detected | Quarantined], None, None]:
        """Yield each note with its spans, in order."""
        return _driven(self._client.detect(notes))

    def deidentify(self, notes: Iterable[Note]) -> Generator[tuple[Note, Deidentified | Quarantined], None, None]:
        """Yield each note with its rewritten text, in order. Raises SettingsError for a client without a key."""
        return _driven(self._client.deidentify(notes))

    def close(self) -> None:
        """Close the client."""
        self._client.close()


def _driven(stream: AsyncGenerator[_Item, None]) -> Generator[_Item, None, None]:
    """Yield the outcomes of an asynchronous stream. The event loop runs only during the wait for an outcome.

    The threads also work between two steps.
    """

    async def step() -> _Item:
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
    """Yield the notes. A note is read from its source only when there is room for it."""
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
    """Process up to ``_BATCH_NOTES`` waiting notes. Called once per note, so often no note is left."""
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
        if pipeline.fault is not None:  # out of memory on earlier notes; this pipeline has nothing to close
            pipeline = load()
        notes = [job.note for job in jobs]
        started_ns, before = time_ns(), dict(pipeline.stage_seconds)
        outcomes = work(pipeline, notes)
        record_batch(notes, outcomes, started_ns, more_seconds(before, pipeline.stage_seconds))
    except Exception as error:  # noqa: BLE001 - the caller waits for an outcome, so every error must reach it
        loop.call_soon_threadsafe(_fail, jobs, error)
    else:
        loop.call_soon_threadsafe(_answer, jobs, outcomes)
    finally:
        pipelines.put(pipeline)
