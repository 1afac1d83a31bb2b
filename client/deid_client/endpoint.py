"""One server: its channel, its health, and whether it has the right models and they answer."""

import asyncio
import math
import os
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Final, TypeVar

import grpc
from tritonclient.grpc import model_config_pb2, service_pb2, service_pb2_grpc

from deid_client.addresses import Address
from deid_client.errors import BadAnswerError, CallError, Verdict, is_cancelled
from deid_client.probe import PROBE_ID
from deid_client.routes import Infer
from deid_client.server_version import old_version
from deid_client.settings import ServerSettings, is_loopback
from deid_client.stream import Stream
from deid_client.tensors import Array, Question
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.system.secret_files import check_secret_file
from deid_runtime.text.windows import WINDOW_TOKENS

_Answer = TypeVar("_Answer")
_CONFIG_SECONDS: Final = 5.0  # for one configuration: no model has to run for it
_CONFIGS_SECONDS: Final = 30.0  # for all of them, however many a server names
_MISMATCH_SECONDS: Final = 10.0  # how long a server with wrong models is left alone
_HEADER_SECONDS: Final = 60.0  # how long headers read from a file are used
_LEAST_BYTES: Final = 4 * 2**20
_TOKEN_BYTES: Final = 1024  # of a request or an answer, by far: an answer has 3 bytes a head
_OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.enable_retries", 0),  # they are ours to count
)

#: Checks one endpoint by its name, a function to the configuration of a model, and one that asks it once. Raises
#: ModelError for other models than those of the local manifest, CallError when a model gives no good answer.
Check = Callable[[str, Callable[[str], Awaitable[model_config_pb2.ModelConfig]], Infer], Awaitable[None]]


class Endpoint:
    """One server, used by one event loop."""

    def __init__(self, address: Address, settings: ServerSettings, check: Check) -> None:
        self.address = address
        self.name = str(address)
        self.is_leaving = False  # its host name has other addresses now
        self.last_turn = -1  # when it was chosen last, counted over all endpoints
        self.in_flight = 0
        self.streams_opened = 0
        self.mismatch: ModelError | None = None
        self.failure: CallError | None = None  # the last one, None after a success
        self.retry_at = 0.0  # on the monotonic clock; until then it is left alone
        self.is_silent = False  # a request got no answer in time, and none was answered since
        self.answered_at = -math.inf  # on the monotonic clock: the last good answer to a request
        self.probed_at = -math.inf  # and that to a probe
        self.old_version: str | None = None  # of a Triton on another machine that is known to crash
        self.unchecked = asyncio.Event()  # set while it is not known to have the right models, and that they answer
        self.unchecked.set()
        self._settings = settings
        self._check = check
        self._failures = 0
        self._was_lost = False
        self._channel: grpc.aio.Channel | None = None
        self._stub: service_pb2_grpc.GRPCInferenceServiceStub | None = None
        self._metadata: tuple[tuple[str, str], ...] = ()
        self._metadata_until = 0.0
        self._stream: Stream | None = None
        self._watcher: asyncio.Task[None] | None = None

    @property
    def is_healthy(self) -> bool:
        """Whether the last call succeeded."""
        return self.failure is None and self.mismatch is None and not self.is_on_trial

    @property
    def is_on_trial(self) -> bool:
        """Whether a call failed after the last good answer to a request; the answer to a probe does not count."""
        return self._failures > 0

    @property
    def is_ready(self) -> bool:
        """Whether it can be asked now."""
        return not self.unchecked.is_set() and self.retry_at <= monotonic()

    async def check(self, until: float = math.inf) -> None:
        """Connect, compare the models, and have each of them answer a probe before ``until`` on the monotonic clock.

        A probe may take as long as a call, because it waits behind other requests of a busy server.

        Raises CallError, and ModelError for other models or a wrong answer to the probe.
        """
        stub, metadata = self._connected(), self._headers()
        configs_until = monotonic() + _CONFIGS_SECONDS

        async def config_of(model: str) -> model_config_pb2.ModelConfig:
            request = service_pb2.ModelConfigRequest(name=model)
            seconds = max(min(_CONFIG_SECONDS, configs_until - monotonic()), 0.001)
            try:
                answer = await self._answer(stub.ModelConfig(request, timeout=seconds, metadata=metadata))
            except CallError as failure:
                if failure.code is grpc.StatusCode.DEADLINE_EXCEEDED:
                    await self.close()  # the connection may be dead without knowing it
                raise
            return answer.config

        async def ask(question: Question, parse: Callable[[str, Mapping[str, Array]], _Answer]) -> _Answer:
            request = question.request(f"{PROBE_ID}{os.urandom(8).hex()}")
            seconds = max(min(self._settings.call_seconds, until - monotonic()), 0.001)
            try:
                answer = await self.infer(request, seconds)
            except CallError as failure:
                raise failure.of_probe(question.model) from None
            return parse(self.name, question.read(self.name, answer, request.id))

        self._was_lost = False
        try:
            await self._check(self.name, config_of, ask)
        except BadAnswerError as failure:
            raise self._refused(ModelError(f"{failure}, before any note was sent. See the server's log")) from None
        except CallError as failure:
            self.failed(failure)
            self.failure = failure  # whatever its verdict: without a check there is nothing to ask
            if failure.code is grpc.StatusCode.DEADLINE_EXCEEDED and not self.in_flight:
                await self.close()  # behind a balancer a new connection may lead to another server
            raise
        except ModelError as error:
            raise self._refused(error) from None
        if not is_loopback(self.address.endpoint):
            await self._read_version(stub, metadata)
        self.mismatch = self.failure = None
        self.probed_at = monotonic()
        if not self._was_lost:
            self.unchecked.clear()

    def _refused(self, error: ModelError) -> ModelError:
        self.mismatch = error
        self.retry_at = monotonic() + _MISMATCH_SECONDS
        return error

    async def _read_version(
        self, stub: service_pb2_grpc.GRPCInferenceServiceStub, metadata: tuple[tuple[str, str], ...]
    ) -> None:
        request = service_pb2.ServerMetadataRequest()
        with suppress(CallError):  # a server of another make need not say
            answer = await self._answer(stub.ServerMetadata(request, timeout=_CONFIG_SECONDS, metadata=metadata))
            self.old_version = old_version(answer)

    async def infer(self, request: service_pb2.ModelInferRequest, seconds: float) -> service_pb2.ModelInferResponse:
        """Send one request to the endpoint and wait that many seconds for its answer. Raises CallError."""
        stub = self._connected()
        self.in_flight += 1
        try:
            if not self._settings.is_streaming:
                return await self._answer(stub.ModelInfer(request, timeout=seconds, metadata=self._headers()))
            if self._stream is None or not self._stream.is_open:
                self._stream = Stream(self.name, stub, self._headers())
                self.streams_opened += 1
            stream = self._stream
            try:
                return await stream.infer(request, seconds)
            except CallError as failure:
                if failure.code is grpc.StatusCode.DEADLINE_EXCEEDED:
                    # A server answers a stream in order, so one silent model holds up all of it.
                    await stream.close(failure)
                raise
        finally:
            self.in_flight -= 1

    async def _answer(self, call: Awaitable[_Answer]) -> _Answer:
        """Wait for the answer to a call. Raises CallError."""
        try:
            answer = await call
        except grpc.aio.AioRpcError as error:
            raise CallError.of(self.name, error) from None
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            raise CallError(self.name, grpc.StatusCode.CANCELLED, Verdict.TRANSIENT) from None
        if answer is None:  # what gRPC gives for bytes that it cannot decode
            raise BadAnswerError(self.name, "it is no message of the protocol")
        return answer

    def succeeded(self) -> None:
        """Record a good answer to a request."""
        self._failures = 0
        self.is_silent = False
        self.failure = None
        self.answered_at = monotonic()
        self.retry_at = 0.0

    def failed(self, failure: CallError) -> None:
        """Record a failed call: leave the endpoint alone for a while, longer each time.

        It is used again after a check, unless it only refused a request because it is busy.
        """
        if failure.verdict is not Verdict.TRANSIENT:
            return
        self.failure = failure
        self.is_silent |= failure.code is grpc.StatusCode.DEADLINE_EXCEEDED
        if failure.code is not grpc.StatusCode.RESOURCE_EXHAUSTED:
            self.unchecked.set()
        now = monotonic()
        if now < self.retry_at:
            return  # one of several requests that met the same failure
        self._failures = min(self._failures + 1, 32)
        self.retry_at = now + self.pause(self._failures)

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after that many failures in a row, at least one; partly by chance."""
        pause = self._settings.first_pause_seconds * 2.0 ** (failures - 1)
        return min(pause, self._settings.longest_pause_seconds) * random.uniform(0.5, 1.0)

    async def close(self) -> None:
        """Close the connection. It is opened again when it is needed."""
        self.unchecked.set()
        channel, self._channel = self._channel, None
        stream, self._stream = self._stream, None
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher
        if stream is not None:
            await stream.close()
        if channel is not None:
            await channel.close()

    def _connected(self) -> service_pb2_grpc.GRPCInferenceServiceStub:
        if self._channel is None:
            self._channel = _open_channel(self.address, self._settings)
            self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)
            self._watcher = asyncio.create_task(self._watch(self._channel), name=f"connection to {self.name}")
        return self._stub

    def _headers(self) -> tuple[tuple[str, str], ...]:
        if monotonic() >= self._metadata_until:
            try:
                self._metadata = self._settings.metadata()
            except SettingsError:
                if not self._metadata:  # else it is being replaced, and the old one holds till then
                    raise
            self._metadata_until = monotonic() + _HEADER_SECONDS
        return self._metadata

    async def _watch(self, channel: grpc.aio.Channel) -> None:
        """Forget what the check said when the connection is lost: what answers next may be another server."""
        state = channel.get_state()
        while state is not grpc.ChannelConnectivity.SHUTDOWN:
            await channel.wait_for_state_change(state)
            was, state = state, channel.get_state()
            if was is grpc.ChannelConnectivity.READY:
                self._was_lost = True
                self.unchecked.set()


def _most_bytes(settings: ServerSettings) -> int:
    """Return the size of the largest message that makes sense; gRPC refuses others before it reads them."""
    return max(_LEAST_BYTES, settings.request_rows * WINDOW_TOKENS * _TOKEN_BYTES)


def _open_channel(address: Address, settings: ServerSettings) -> grpc.aio.Channel:
    tls, most_bytes = settings.tls, _most_bytes(settings)
    options: list[tuple[str, object]] = [
        *_OPTIONS,
        ("grpc.max_receive_message_length", most_bytes),
        ("grpc.max_send_message_length", most_bytes),
    ]
    if address.ip is not None or is_loopback(address.endpoint):
        # Proxies go by the name, and gRPC is not told the name: what was looked up here is reached from here. What is
        # sent to this machine is in clear, so it must not go through the proxy of a network (http_proxy).
        options.append(("grpc.enable_http_proxy", 0))
    if tls is None:
        if address.ip is not None:
            options.append(("grpc.default_authority", address.endpoint))
        return grpc.aio.insecure_channel(address.target, options=options)
    files = (tls.roots, tls.key, tls.certificate)
    try:
        if tls.key is not None:
            check_secret_file(tls.key, tls.key.stat(), allow_shared=settings.allow_shared_secrets)
        contents = [path.read_bytes() if path else None for path in files]
    except OSError as error:
        raise SettingsError(
            f"{error.filename} cannot be read ({error.strerror}); expected a PEM file for TLS"
        ) from None
    credentials = grpc.ssl_channel_credentials(*contents)
    expected = tls.server_name or (address.host if address.ip is not None else None)
    if expected is not None:
        options.append(("grpc.ssl_target_name_override", expected))
    return grpc.aio.secure_channel(address.target, credentials, options=options)
