"""Many requests over one bidirectional stream. Answers may come in any order; the id assigns them to requests."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from deid_client.errors import BadAnswerError, CallError, FailureKind, is_cancelled

_Answered = asyncio.Future[service_pb2.ModelInferResponse]


class Stream:
    """One open stream to one endpoint. It ends with its connection; waiting requests then fail and can be retried."""

    def __init__(
        self, endpoint: str, stub: service_pb2_grpc.GRPCInferenceServiceStub, metadata: Sequence[tuple[str, str]]
    ) -> None:
        self._endpoint = endpoint
        self._call = stub.ModelStreamInfer(metadata=tuple(metadata))
        self._waiting: dict[str, _Answered] = {}
        self._writing = asyncio.Lock()
        self._closing = CallError(endpoint, grpc.StatusCode.UNAVAILABLE, FailureKind.TRANSIENT)
        self._reader = asyncio.create_task(self._read(), name=f"stream of {endpoint}")

    @property
    def is_open(self) -> bool:
        """Whether further requests can be sent."""
        return not self._reader.done()

    async def infer(self, request: service_pb2.ModelInferRequest, seconds: float) -> service_pb2.ModelInferResponse:
        """Send one request and return its answer. Raises CallError."""
        answered: _Answered = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = answered
        try:
            async with asyncio.timeout(seconds):
                async with self._writing:
                    await self._call.write(request)
                return await answered
        except TimeoutError:
            raise CallError(self._endpoint, grpc.StatusCode.DEADLINE_EXCEEDED, FailureKind.TRANSIENT) from None
        except grpc.aio.AioRpcError as error:
            raise CallError.of(self._endpoint, error) from None
        except asyncio.InvalidStateError:  # gRPC raises this for a write to a stream that has ended
            raise CallError(self._endpoint, grpc.StatusCode.UNAVAILABLE, FailureKind.TRANSIENT) from None
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            raise CallError(self._endpoint, grpc.StatusCode.CANCELLED, FailureKind.TRANSIENT) from None
        finally:
            # An answer that comes later is dropped.
            del self._waiting[request.id]
            answered.cancel()

    async def _read(self) -> None:
        failure: CallError | None = None
        try:
            async for message in self._call:
                if message is None:  # gRPC returns None for bytes that it cannot decode
                    failure = BadAnswerError(self._endpoint, "it is not a message of the protocol")
                    break
                answer = message.infer_response
                answered = self._waiting.get(answer.id)
                if message.error_message:
                    failed = CallError.of_stream(self._endpoint, message.error_message)
                    if not answer.id:  # the error names no request, so any request may have failed
                        failure = failed
                        break
                    if answered is not None and not answered.done():
                        answered.set_exception(failed)
                elif answered is not None and not answered.done():
                    answered.set_result(answer)
        except grpc.aio.AioRpcError as error:
            failure = CallError.of(self._endpoint, error)
            if failure.kind is FailureKind.FAULT and not isinstance(failure, BadAnswerError):
                # The stream failed, not a request.
                failure = CallError(self._endpoint, grpc.StatusCode.UNAVAILABLE, FailureKind.TRANSIENT)
        finally:
            self._call.cancel()
            for answered in self._waiting.values():
                if not answered.done():
                    answered.set_exception(failure or self._closing)

    async def close(self, failure: CallError | None = None) -> None:
        """End the stream. Requests in flight fail with ``failure``, or with UNAVAILABLE when it is None."""
        self._closing = failure or self._closing
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader
