"""Whole notes on the model ``deidentify`` of the servers: text in, text and spans out.

:class:`~deid_client.notes.DeidClient` runs all stages but the models here. This client runs no stage: keys, patient
records and all stages are on the servers.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from tritonclient.grpc import model_config_pb2, service_pb2

from deid_client.errors import BadAnswerError, ServiceDownError
from deid_client.metrics import ClientMetrics
from deid_client.routes import Infer
from deid_client.service import Service
from deid_client.settings import ServerSettings
from deid_client.tensors import Array
from deid_runtime.errors import DeidError, ModelError
from deid_runtime.gateway.servers import NoteAnswer, ServersDownError, Task
from deid_runtime.serving.canary_note import CANARY_NOTE, canary_fault
from deid_runtime.serving.note_models import CANARY_PARAMETERS, DETECT, NOTE_INPUTS, NOTE_OUTPUTS, NOTES
from deid_runtime.spans import Note

_LOG: Final = logging.getLogger(__name__)
_LENGTH_BYTES: Final = 4  # before each string of a tensor
_CHARS_PER_TOKEN: Final = 3


@dataclass(frozen=True, slots=True)
class NoteQuestion:
    """One request for one note. It is safe to send it several times."""

    note: Note = field(repr=False)
    key: str = ""
    parameters: Mapping[str, bool | int] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model that is asked."""
        return NOTES

    @property
    def tokens(self) -> int:
        """About how many tokens the text has, for the deadline."""
        return max(1, len(self.note.text) // _CHARS_PER_TOKEN)

    def request(self, request_id: str) -> service_pb2.ModelInferRequest:
        """Return the message to send."""
        request = service_pb2.ModelInferRequest(model_name=NOTES, id=request_id)
        values = {"text": self.note.text, "note_id": self.note.id, "patient": self.note.patient, "key": self.key}
        for name in NOTE_INPUTS:
            content = values[name].encode("utf-8")
            request.inputs.add(name=name, datatype="BYTES", shape=[1])
            request.raw_input_contents.append(len(content).to_bytes(_LENGTH_BYTES, "little") + content)
        for name in NOTE_OUTPUTS:
            request.outputs.add(name=name)
        for name, value in self.parameters.items():
            if isinstance(value, bool):
                request.parameters[name].bool_param = value
            else:
                request.parameters[name].int64_param = value
        return request

    def read(self, endpoint: str, answer: service_pb2.ModelInferResponse, request_id: str) -> dict[str, Array]:
        """Return the outputs by name, object arrays ``(1,)`` of bytes. Raises BadAnswerError for any other output."""
        if answer.id != request_id or answer.model_name != NOTES:
            raise BadAnswerError(endpoint, f"it belongs to another request, or to model {answer.model_name!r:.80}")
        if len(answer.outputs) != len(answer.raw_output_contents):
            raise BadAnswerError(endpoint, "it has outputs without contents, from " + NOTES)
        came = {}
        for output, content in zip(answer.outputs, answer.raw_output_contents, strict=True):
            size = int.from_bytes(content[:_LENGTH_BYTES], "little")
            if output.datatype != "BYTES" or list(output.shape) != [1] or len(content) != _LENGTH_BYTES + size:
                raise BadAnswerError(endpoint, f"output {output.name!r:.40} of {NOTES} is not one string")
            came[output.name] = np.array([content[_LENGTH_BYTES:]], dtype=np.object_)
        if came.keys() != set(NOTE_OUTPUTS):
            raise BadAnswerError(endpoint, f"{NOTES} sent {len(came)} outputs, expected {', '.join(NOTE_OUTPUTS)}")
        return came  # type: ignore[return-value]  # an object array is not an np.generic array for numpy's types


class WholeNotes:
    """Asks the model ``deidentify`` of several servers, with retries. Used by one event loop.

    It implements :class:`deid_runtime.gateway.servers.NoteServers`.
    """

    def __init__(self, settings: ServerSettings, metrics: ClientMetrics | None = None) -> None:
        self.metrics = metrics or ClientMetrics()
        self._settings = settings
        self._service: Service | None = None
        self._opening: asyncio.Task[None] | None = None
        self._reason = "no server has been tried yet"

    async def open(self) -> None:
        """Start to connect, in the background, until a server answers. Return at once."""
        self._opening = asyncio.create_task(self._open(), name="servers")

    async def _open(self) -> None:
        while True:
            service = Service(self._settings, _check, self.metrics)
            try:
                await service.open()
            except DeidError as error:
                await service.close()
                self._reason = str(error)
                _LOG.warning("no server can be used yet: %s", error)
                await asyncio.sleep(self._settings.longest_pause_seconds)
            except BaseException:
                await service.close()
                raise
            else:
                self._service = service
                return

    async def ask(self, note: Note, task: Task, key: str) -> NoteAnswer:
        """Return the answer to one note.

        Raises InputError with the stage for a note that is held back, ServersDownError when no server answers,
        and another ModelError when servers answer but fail.
        """
        question = NoteQuestion(note, key, {DETECT: True} if task == "detect" else {})
        try:
            return await self._connected().infer(
                question, lambda endpoint, arrays: _answer(endpoint, arrays, note, task)
            )
        except ServiceDownError as error:
            raise ServersDownError(str(error)) from None

    async def is_ready(self) -> bool:
        """Return whether a server now de-identifies the canary note correctly."""
        try:
            await self._connected().probe(_CANARY, _check_canary)
        except DeidError:
            return False
        return True

    async def close(self) -> None:
        """Close all connections."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._service is not None:
            await self._service.close()

    def _connected(self) -> Service:
        if self._service is None:
            raise ServiceDownError(self._reason)
        return self._service


_CANARY: Final = NoteQuestion(CANARY_NOTE, parameters=CANARY_PARAMETERS)


async def _check(
    endpoint: str, config_of: Callable[[str], Awaitable[model_config_pb2.ModelConfig]], infer: Infer
) -> None:
    """Check that a server has the model for whole notes, and that it de-identifies the canary note."""
    config = await config_of(NOTES)
    inputs, outputs = {each.name for each in config.input}, {each.name for each in config.output}
    if inputs != set(NOTE_INPUTS) or not outputs.issuperset(NOTE_OUTPUTS):
        raise ModelError(
            f"{endpoint}: its model {NOTES} has other inputs or outputs than this version; use the same version "
            "of deid-runtime on both sides"
        )
    await infer(_CANARY, _check_canary)


def _check_canary(endpoint: str, arrays: Mapping[str, Array]) -> None:
    """Raise BadAnswerError unless the identifiers of the canary note were found and replaced."""
    try:
        fault = canary_fault(_text(arrays["text"]), _text(arrays["spans"]))
    except UnicodeDecodeError:
        fault = "it is not UTF-8"
    if fault:
        raise BadAnswerError(endpoint, f"it is wrong for the canary note: {fault}")


def _answer(endpoint: str, arrays: Mapping[str, Array], note: Note, task: Task) -> NoteAnswer:
    """Return the parsed answer. Raises BadAnswerError when it cannot be an answer to ``note``."""
    try:
        text, spans, pseudonyms = (_text(arrays[name]) for name in NOTE_OUTPUTS)
        rows: Any = json.loads(spans)
        names: Any = json.loads(pseudonyms) if pseudonyms else {}
        places = [(row["start"], row["end"]) for row in rows]
        is_right = all(
            type(start) is int and type(end) is int and 0 <= start < end <= len(note.text) for start, end in places
        )
        is_right &= isinstance(names, dict) and all(isinstance(each, str) for each in names.values())
    except (UnicodeDecodeError, ValueError, KeyError, TypeError, RecursionError):
        is_right = False
    if not is_right or bool(text) != (task == "deidentify" and bool(note.text)):
        raise BadAnswerError(endpoint, f"the outputs of {NOTES} do not answer the task {task}")
    return NoteAnswer(text, rows, names)


def _text(array: Array) -> str:
    content: Any = array.item()
    return bytes(content).decode("utf-8")
