"""One server: its channel, its health, and the check of its models."""

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
from deid_client.diagnosis import Diagnosis, diagnose
from deid_client.errors import BadAnswerError, CallError, FailureKind, StoppingError, is_cancelled
from deid_client.probe import PROBE_ID
from deid_client.routes import Infer
from deid_client.server_version import old_version
from deid_client.settings import ServerSettings, is_loopback
from deid_client.stream import Stream
from deid_client.tensors import Array, Askable
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.system.secret_files import check_secret_file
from deid_runtime.text.windows import WINDOW_TOKENS

_Answer = TypeVar("_Answer")
_CONFIG_SECONDS: Final = 5.0  # deadline for one configuration, which no model has to run for
_CONFIGS_SECONDS: Final = 30.0  # deadline for all configurations, however many a server lists
_MISMATCH_SECONDS: Final = 10.0  # how long a server with wrong models is not used
_HEADER_SECONDS: Final = 60.0  # how long headers read from a file are used
_LEAST_BYTES: Final = 4 * 2**20
_TOKEN_BYTES: Final = 1024  # generous limit per token of a request or answer; an answer has 3 bytes per head
_OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.enable_retries", 0),  # the client makes and counts the retries itself
)

#: Checks one endpoint. Takes its name, a function that returns the configuration of a model, and a function that sends
#: one request. Raises ModelError when the models differ from the local model manifest, CallError when a model gives no
#: valid answer.
Check = Callable[[str, Callable[[str], Awaitable[model_config_pb2.ModelConfig]], Infer], Awaitable[None]]


class Endpoint:
    """One server, used by one event loop."""

    def __init__(self, address: Address, settings: ServerSettings, check: Check) -> None:
        self.address = address
        self.name = str(address)
        self.is_leaving = False  # its host name no longer has this address
        self.last_turn = -1  # number of its last turn, counted over all endpoints
        self.in_flight = 0
        self.streams_opened = 0
        self.mismatch: ModelError | None = None
        self.failure: CallError | None = None  # of the last call; None after a success
        self.diagnosis: Diagnosis | None = None  # why it could not be reached, if that was looked into
        self.retry_at = 0.0  # monotonic time; the endpoint is not used before it
        self.is_silent = False  # a request timed out, and no later request was answered
        self.answered_at = -math.inf  # monotonic time of the last valid answer to a request
        self.probed_at = -math.inf  # monotonic time of the last valid answer to a probe
        self.old_version: str | None = None  # version of a remote Triton that is known to crash
        self.unchecked = asyncio.Event()  # set until a check has shown that its models match and answer
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
        """Whether a call failed after the last valid answer to a request. Answers to probes do not count."""
        return self._failures > 0

    @property
    def is_ready(self) -> bool:
        """Whether the endpoint can be used now."""
        return not self.unchecked.is_set() and self.retry_at <= monotonic()

    async def check(self, until: float = math.inf) -> None:
        """Connect, compare the models, and send a probe to each model; all before ``until`` (monotonic time).

        A probe may take as long as a call, since it waits behind other requests of a busy server.

        Raises CallError for a failed call, and ModelError for other models or an invalid answer to a probe.
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
                    await self.close()  # the connection may be dead without an error
                raise
            return answer.config

        async def ask(question: Askable, parse: Callable[[str, Mapping[str, Array]], _Answer]) -> _Answer:
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
        except CallError as error:
            explained = await self._explained(error, until)
            self.failed(explained)
            self.failure = explained  # whatever its kind: an unchecked endpoint cannot be used
            if explained.code is grpc.StatusCode.DEADLINE_EXCEEDED and not self.in_flight:
                await self.close()  # behind a load balancer, a new connection may reach another server
            raise explained from None
        except ModelError as error:
            raise self._refused(error) from None
        if not is_loopback(self.address.endpoint):
            await self._read_version(stub, metadata)
        self.mismatch = self.failure = self.diagnosis = None
        self.probed_at = monotonic()
        if not self._was_lost:
            self.unchecked.clear()

    async def _explained(self, failure: CallError, until: float) -> CallError:
        """Return ``failure``, or a StoppingError if the server lacks models because it is shutting down.

        Such a server has unloaded its models. Only its readiness distinguishes it from a server with other models.
        """
        if failure.code is grpc.StatusCode.NOT_FOUND:
            request = service_pb2.ServerReadyRequest()
            seconds = max(min(_CONFIG_SECONDS, until - monotonic()), 0.001)
            try:
                await self._answer(self._connected().ServerReady(request, timeout=seconds, metadata=self._headers()))
            except StoppingError as stopping:
                return stopping
            except CallError:
                pass
        return failure

    async def diagnose(self) -> None:
        """Find out why the server could not be used. Raises SettingsError for a TLS file that cannot be used."""
        if self.failure is not None and self.failure.may_be_unreachable:
            self.diagnosis = await diagnose(self.address, self._settings)

    @property
    def trouble(self) -> str:
        """The reason why the endpoint cannot be used, as text."""
        if self.mismatch is not None:
            return str(self.mismatch)
        if self.diagnosis is not None:
            return self.diagnosis.message
        return str(self.failure or f"{self.name} gave no answer")

    def _refused(self, error: ModelError) -> ModelError:
        self.mismatch = error
        self.retry_at = monotonic() + _MISMATCH_SECONDS
        return error

    async def _read_version(
        self, stub: service_pb2_grpc.GRPCInferenceServiceStub, metadata: tuple[tuple[str, str], ...]
    ) -> None:
        request = service_pb2.ServerMetadataRequest()
        with suppress(CallError):  # other server software may not give a version
            answer = await self._answer(stub.ServerMetadata(request, timeout=_CONFIG_SECONDS, metadata=metadata))
            self.old_version = old_version(answer)

    async def infer(self, request: service_pb2.ModelInferRequest, seconds: float) -> service_pb2.ModelInferResponse:
        """Send one request to the endpoint and wait at most ``seconds`` for the answer. Raises CallError."""
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
                    # A server answers a stream in order, so one silent model blocks the whole stream.
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
            raise CallError(self.name, grpc.StatusCode.CANCELLED, FailureKind.TRANSIENT) from None
        if answer is None:  # gRPC returns None for bytes that it cannot decode
            raise BadAnswerError(self.name, "it is not a message of the protocol")
        return answer

    def succeeded(self) -> None:
        """Record a valid answer to a request."""
        self._failures = 0
        self.is_silent = False
        self.failure = None
        self.answered_at = monotonic()
        self.retry_at = 0.0

    def failed(self, failure: CallError) -> None:
        """Record a failed call. The endpoint is not used for a pause, which grows with each failure.

        It must then pass a check, unless it refused the request only because it is busy.
        """
        if failure.kind is not FailureKind.TRANSIENT:
            return
        self.failure = failure
        self.is_silent |= failure.code is grpc.StatusCode.DEADLINE_EXCEEDED
        if failure.code is not grpc.StatusCode.RESOURCE_EXHAUSTED:
            self.unchecked.set()
        now = monotonic()
        if now < self.retry_at:
            return  # several requests in flight met the same failure, which counts once
        self._failures = min(self._failures + 1, 32)
        self.retry_at = now + self.pause(self._failures)

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after ``failures`` failures in a row, 1 or more; with a random part."""
        pause = self._settings.first_pause_seconds * 2.0 ** (failures - 1)
        return min(pause, self._settings.longest_pause_seconds) * random.uniform(0.5, 1.0)

    async def close(self) -> None:
        """Close the connection. The next call opens it again."""
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
            self._channel = open_channel(self.address, self._settings)
            self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)
            self._watcher = asyncio.create_task(self._watch(self._channel), name=f"connection to {self.name}")
        return self._stub

    def _headers(self) -> tuple[tuple[str, str], ...]:
        if monotonic() >= self._metadata_until:
            try:
                self._metadata = self._settings.metadata()
            except SettingsError:
                if not self._metadata:  # otherwise the old header is used while the file is being replaced
                    raise
            self._metadata_until = monotonic() + _HEADER_SECONDS
        return self._metadata

    async def _watch(self, channel: grpc.aio.Channel) -> None:
        """Require a new check when the connection is lost: the next connection may reach another server."""
        state = channel.get_state()
        while state is not grpc.ChannelConnectivity.SHUTDOWN:
            await channel.wait_for_state_change(state)
            was, state = state, channel.get_state()
            if was is grpc.ChannelConnectivity.READY:
                self._was_lost = True
                self.unchecked.set()


def _most_bytes(settings: ServerSettings) -> int:
    """Return the message size limit in bytes. gRPC refuses larger messages before it reads them."""
    return max(_LEAST_BYTES, settings.request_rows * WINDOW_TOKENS * _TOKEN_BYTES)


def open_channel(address: Address, settings: ServerSettings) -> grpc.aio.Channel:
    """Return a channel to a server. Raises SettingsError for a TLS file that cannot be read or that others can open."""
    tls, most_bytes = settings.tls, _most_bytes(settings)
    options: list[tuple[str, object]] = [
        *_OPTIONS,
        ("grpc.max_receive_message_length", most_bytes),
        ("grpc.max_send_message_length", most_bytes),
    ]
    if address.ip is not None or is_loopback(address.endpoint):
        # A proxy needs the host name, but gRPC gets an address here; an address resolved here is reachable from here.
        # Data sent to the loopback is not encrypted, so it must not go through a network proxy (http_proxy).
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
