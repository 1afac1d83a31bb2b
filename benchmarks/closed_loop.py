"""A closed loop of requests: a number of them under way at any time, the next sent as soon as one is answered.

Requests are built beforehand, so that the loop itself costs little: it shares the cores with the server.
"""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

import grpc
import numpy as np
from questions import Question, output_names
from tritonclient.grpc import service_pb2, service_pb2_grpc

from deid_runtime.models.manifest import Graph

Stub: TypeAlias = service_pb2_grpc.GRPCInferenceServiceStub
Message: TypeAlias = service_pb2.ModelInferRequest
Answer: TypeAlias = service_pb2.ModelInferResponse
#: Asks one question, by its number in the pool, and waits for the answer.
Ask = Callable[[int], Awaitable[object]]

_TIMEOUT_S = 30.0
_PAUSE_S = 0.05  # after a failure, so that a dead server is not hammered
_CHANNEL_OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))


@dataclass(frozen=True, slots=True)
class ServerCounts:
    """What the server's statistics count of one model since it was loaded."""

    rows: int
    executions: int
    requests: int
    queue_ns: int
    compute_ns: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What came in within the measured time: question numbers with the seconds that each took; failures by status."""

    seconds: float
    numbers: list[int] = field(repr=False)
    latencies_s: list[float] = field(repr=False)
    failures: dict[str, int]
    before: ServerCounts
    after: ServerCounts


def percentiles_ms(latencies_s: Sequence[float]) -> dict[str, float | None]:
    """Return p50, p95 and p99 in milliseconds, linearly interpolated; None where nothing was measured."""
    if not latencies_s:
        return dict.fromkeys(("p50", "p95", "p99"))
    values = np.percentile(latencies_s, [50, 95, 99]) * 1000
    return {name: round(float(value), 2) for name, value in zip(("p50", "p95", "p99"), values, strict=True)}


def describe_server(before: ServerCounts, after: ServerCounts) -> dict[str, float | None]:
    """Return what the server did between two readings: its average batch, and milliseconds a request and execution.

    The average batch is rows by executions, as the server's statistics count them (inference and execution count).
    """
    rows, executions = after.rows - before.rows, after.executions - before.executions
    requests = after.requests - before.requests
    return {
        "rows": rows,
        "executions": executions,
        "average_batch": round(rows / executions, 2) if executions else None,
        "queue_ms_a_request": round((after.queue_ns - before.queue_ns) / requests / 1e6, 2) if requests else None,
        # The server counts the time of a batch once for every request in it.
        "compute_ms_a_request": round((after.compute_ns - before.compute_ns) / requests / 1e6, 2) if requests else None,
    }


def distinct_sentences(numbers: Sequence[int], questions: Sequence[Question]) -> int:
    """Count the distinct sentences of the questions with these numbers, which go round the pool."""
    return sum(questions[number].new_sentences for number in {number % len(questions) for number in numbers})


async def run_loop(
    ask: Ask,
    counts: Callable[[], Awaitable[ServerCounts]],
    *,
    concurrency: int,
    warm_s: float,
    measured_s: float,
) -> Measured:
    """Keep ``concurrency`` questions under way for ``warm_s`` and then ``measured_s``; only the latter counts."""
    turns = itertools.count()
    answered: list[tuple[float, float, int]] = []  # end, seconds, number
    failed: list[tuple[float, str]] = []
    is_over = False

    async def user() -> None:
        while not is_over:
            number = next(turns)
            began = time.perf_counter()
            try:
                await ask(number)
            except (grpc.aio.AioRpcError, TimeoutError, asyncio.InvalidStateError) as error:
                status = error.code().name if isinstance(error, grpc.aio.AioRpcError) else type(error).__name__
                failed.append((time.perf_counter(), status))
                await asyncio.sleep(_PAUSE_S)
            else:
                ended = time.perf_counter()
                answered.append((ended, ended - began, number))

    users = [asyncio.create_task(user()) for _ in range(concurrency)]
    try:
        await asyncio.sleep(warm_s)
        before = await counts()
        begun = time.perf_counter()
        await asyncio.sleep(measured_s)
        ended = time.perf_counter()
        after = await counts()
    finally:
        is_over = True
        await asyncio.gather(*users)
    within = [(seconds, number) for end, seconds, number in answered if begun <= end <= ended]
    return Measured(
        ended - begun,
        [number for _, number in within],
        [seconds for seconds, _ in within],
        dict(Counter(status for end, status in failed if begun <= end <= ended)),
        before,
        after,
    )


class Connection:
    """One connection to the server; an asynchronous context manager."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=_CHANNEL_OPTIONS)
        self.stub = Stub(self._channel)
        self._streams: list[Stream] = []

    async def __aenter__(self) -> "Connection":
        return self

    async def __aexit__(self, *error: object) -> None:
        for stream in self._streams:
            await stream.close()
        await self._channel.close()

    async def counts(self, model: str) -> ServerCounts:
        """Read the server's statistics of one model."""
        answer = await self.stub.ModelStatistics(
            service_pb2.ModelStatisticsRequest(name=model), timeout=_TIMEOUT_S, wait_for_ready=True
        )
        statistics = answer.model_stats[0]
        durations = statistics.inference_stats
        return ServerCounts(
            statistics.inference_count,
            statistics.execution_count,
            durations.success.count,
            durations.queue.ns,
            durations.compute_infer.ns,
        )

    async def unary(self, message: Message) -> Answer:
        """Ask by one call."""
        return await self.stub.ModelInfer(message, timeout=_TIMEOUT_S)

    def stream(self) -> "Stream":
        """Open a stream that many questions share."""
        stream = Stream(self.stub)
        self._streams.append(stream)
        return stream


class Stream:
    """Questions over one bidirectional stream; answers find their question by its id."""

    def __init__(self, stub: Stub) -> None:
        self._call = stub.ModelStreamInfer()
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._ids = itertools.count()
        self._writing = asyncio.Lock()
        self._reader = asyncio.create_task(self._read())

    async def __call__(self, message: Message) -> Answer:
        """Ask, and wait for the answer. Raises AioRpcError when the stream ends, TimeoutError for none in time."""
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        request_id = str(next(self._ids))
        self._waiting[request_id] = answered
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                async with self._writing:
                    message.id = request_id  # one message may be asked again before its first answer
                    await self._call.write(message)
                return await answered
        finally:
            del self._waiting[request_id]
            answered.cancel()

    async def _read(self) -> None:
        failure: Exception = asyncio.InvalidStateError("the stream ended")
        try:
            async for answer in self._call:
                waiting = self._waiting.get(answer.infer_response.id)
                if waiting is not None and not waiting.done():
                    if answer.error_message:
                        waiting.set_exception(asyncio.InvalidStateError("refused"))
                    else:
                        waiting.set_result(answer.infer_response)
        except grpc.aio.AioRpcError as error:
            failure = error
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(failure)

    async def close(self) -> None:
        """End the stream."""
        self._call.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader


def asking(connection: Connection, questions: Sequence[Question], graph: Graph, *, route: str, streaming: bool) -> Ask:
    """Return the function that asks ``questions`` by a route: fused or ensemble."""
    send = connection.stream() if streaming else connection.unary
    model = graph.name if route == "fused" else f"deid_{graph.name}"
    messages = [question.message(model, output_names(graph)) for question in questions]

    async def ask(number: int) -> None:
        await send(messages[number % len(messages)])

    return ask
