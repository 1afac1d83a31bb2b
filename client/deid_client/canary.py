"""Check that a server de-identifies now, for ``deid probe``.

Triton reports that it is ready even when the processes of its models are dead or stopped. Only answers of the models
show that they run. So the canary note (:mod:`deid_runtime.serving.canary_note`) goes through ``deidentify``, and its
answer is compared with the expected one. It needs no key of the server. Every other model gets one small request; a
model with several processes gets that many requests at once.

The models for streams get no request: Triton serves them over streams only, and such probes have crashed it.
"""

import asyncio
import os
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

import grpc
import numpy as np
from tritonclient.grpc import model_config_pb2, service_pb2, service_pb2_grpc

from deid_client.addresses import Address, look_up
from deid_client.diagnosis import diagnose
from deid_client.endpoint import open_channel
from deid_client.errors import CallError
from deid_client.probe import PROBE_ID
from deid_client.settings import ServerSettings
from deid_runtime.serving.canary_note import canary_fault
from deid_runtime.serving.note_models import CANARY, CANARY_PARAMETERS, NOTES

#: The part of the time in which the models must answer; the rest is for checking whether they are busy.
_SHARE: Final = 0.8
#: Most requests to one model at once, however many processes it has.
_MOST_AT_ONCE: Final = 16
_TOKENS: Final = 32  # in the one row of a request to a graph
_TYPES: Final = {
    model_config_pb2.TYPE_INT32: ("INT32", np.dtype("<i4")),
    model_config_pb2.TYPE_FP32: ("FP32", np.dtype("<f4")),
    model_config_pb2.TYPE_STRING: ("BYTES", None),
}


@dataclass(frozen=True, slots=True)
class Health:
    """Whether one server de-identifies, and one line that explains it."""

    is_healthy: bool
    message: str


def ask_servers(settings: ServerSettings, timeout_s: float) -> list[Health]:
    """Return the health of every server of ``settings``, in order. This takes at most about ``timeout_s`` seconds.

    Raises SettingsError for a TLS or authorisation file that cannot be used.
    """
    return asyncio.run(_ask_servers(settings, timeout_s))


async def _ask_servers(settings: ServerSettings, timeout_s: float) -> list[Health]:
    found = await asyncio.gather(*map(look_up, settings.endpoints))
    addresses = [
        address
        for endpoint, several in zip(settings.endpoints, found, strict=True)
        for address in several or [Address(endpoint)]
    ]
    return await asyncio.gather(*(_ask(address, settings, timeout_s) for address in addresses))


async def _ask(address: Address, settings: ServerSettings, timeout_s: float) -> Health:
    begun = monotonic()
    channel = open_channel(address, settings)
    try:
        fault = await _Asker(str(address), channel, settings.metadata(), begun + timeout_s).fault()
    except CallError as failure:
        diagnosis = await diagnose(address, settings) if failure.may_be_unreachable else None
        fault = diagnosis.message if diagnosis else str(failure)
    finally:
        await channel.close()
    if fault:
        return Health(False, fault)
    return Health(True, f"{address} de-identifies ({(monotonic() - begun) * 1000:.0f} ms)")


class _Asker:
    """Sends requests to the models of one server until the monotonic time ``until_s``. Methods raise CallError."""

    def __init__(
        self, name: str, channel: grpc.aio.Channel, metadata: Sequence[tuple[str, str]], until_s: float
    ) -> None:
        self._name = name
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        self._metadata = metadata
        self._until_s = until_s

    async def fault(self) -> str:
        """Return a description of what is wrong with the server; an empty string when it de-identifies."""
        before = await self._answered()
        if NOTES not in before:
            return f"{self._name} has no model {NOTES}; expected a server started with `deid serve`"
        end_s = monotonic() + _SHARE * (self._until_s - monotonic())
        faults = await asyncio.gather(*(self._model_fault(model, end_s) for model in sorted(before)))
        silent = {model for model, fault in zip(sorted(before), faults, strict=True) if fault is None}
        if silent:
            after = await self._answered()
            silent = {model for model in silent if after.get(model) == before[model]}
        wrong = [fault for fault in faults if fault]
        if silent:
            wrong.append(
                f"{self._name} : no answer in time from {', '.join(sorted(silent))}; a model process may be "
                "stopped, or busy with a long note (raise --timeout)"
            )
        return "; ".join(wrong)

    async def _answered(self) -> dict[str, int]:
        """Return how many requests each model has answered, by name of the model."""
        statistics = await self._call(self._stub.ModelStatistics, service_pb2.ModelStatisticsRequest(), self._until_s)
        return {
            each.name: each.inference_stats.success.count + each.inference_stats.fail.count
            for each in statistics.model_stats
        }

    async def _model_fault(self, model: str, end_s: float) -> str | None:
        """Return what is wrong with a model, an empty string for nothing, None when it gave no answer in time."""
        try:
            config = (
                await self._call(self._stub.ModelConfig, service_pb2.ModelConfigRequest(name=model), end_s)
            ).config
            if config.platform == "ensemble" or config.model_transaction_policy.decoupled:
                return ""
            count = min(max(sum(group.count for group in config.instance_group), 1), _MOST_AT_ONCE)
            request = _request(config)
            answers = await asyncio.gather(*(self._call(self._stub.ModelInfer, request, end_s) for _ in range(count)))
        except CallError as failure:
            if failure.code is grpc.StatusCode.DEADLINE_EXCEEDED:
                return None
            if failure.may_be_unreachable and failure.code is not grpc.StatusCode.INTERNAL:
                raise
            return f"{self._name}: model {model} failed ({failure.code.name}); see the server's log"
        if model != NOTES:
            return ""
        fault = next(filter(None, map(_note_fault, answers)), "")
        return fault and f"{self._name}: model {NOTES} gave a wrong answer: {fault}"

    async def _call(self, method: Any, request: Any, end_s: float) -> Any:
        seconds = max(end_s - monotonic(), 0.001)
        call: Awaitable[Any] = method(request, timeout=seconds, metadata=self._metadata)
        try:
            return await call
        except grpc.aio.AioRpcError as error:
            raise CallError.of(self._name, error) from None


def _request(config: model_config_pb2.ModelConfig) -> service_pb2.ModelInferRequest:
    """Return a small request to a model: the canary request to ``deidentify``, one row to a graph."""
    request = service_pb2.ModelInferRequest(model_name=config.name, id=f"{PROBE_ID}{os.urandom(8).hex()}")
    parameters = CANARY_PARAMETERS if config.name == NOTES else {CANARY: True}
    for name, value in parameters.items():
        if isinstance(value, bool):
            request.parameters[name].bool_param = value
        else:
            request.parameters[name].int64_param = value
    for each in config.input:
        datatype, dtype = _TYPES[each.data_type]
        sizes = [_TOKENS if size < 0 else size for size in each.dims]
        if dtype is None:
            shape, content = [1], b"\0\0\0\0"  # one empty string
        else:
            shape = [1, *sizes]
            content = np.ones(shape, dtype).tobytes()  # 1 is valid for every input
        request.inputs.add(name=each.name, datatype=datatype, shape=shape)
        request.raw_input_contents.append(content)
    return request


def _note_fault(answer: service_pb2.ModelInferResponse) -> str:
    """Return a description of what is wrong with an answer of ``deidentify``; an empty string for a right one."""
    outputs: Mapping[str, bytes] = dict(
        zip((output.name for output in answer.outputs), answer.raw_output_contents, strict=False)
    )
    try:
        # A string of one element: its length in four bytes, then the bytes.
        text, spans = (outputs[name][4:].decode("utf-8") for name in ("text", "spans"))
    except (KeyError, UnicodeDecodeError):
        return "the answer has no text or no spans"
    return canary_fault(text, spans)
