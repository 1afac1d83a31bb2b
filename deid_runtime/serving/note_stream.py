"""Triton's python backend for streams of notes. ``deidentify`` processes each note; its response is sent at once."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from deid_runtime.errors import InputError
from deid_runtime.serving.note_access import AUTHORIZATION
from deid_runtime.serving.note_models import CANARY, MAX_STREAM_NOTES, NOTE_INPUTS, NOTE_OUTPUTS, NOTES
from deid_runtime.serving.triton_requests import check_request, check_version, request_parameters
from deid_runtime.system.process_privacy import keep_private


class TritonPythonModel:
    """The class that Triton calls. Requests and responses have the types of ``triton_python_backend_utils``."""

    def initialize(self, args: dict[str, str]) -> None:
        """Import ``triton_python_backend_utils``, which only processes of the server can import."""
        keep_private()
        check_version(os.environ)
        import triton_python_backend_utils as triton

        self._triton: Any = triton

    def execute(self, requests: Sequence[Any]) -> None:
        """Send one response per note of every request, in order, as soon as it is ready; an error for a failed note."""
        triton = self._triton
        for request in requests:
            sender = request.get_response_sender()
            try:
                notes, parameters = self._notes(request), request_parameters(request)
            except InputError as error:
                sender.send(self._error(str(error), triton.TritonError.INVALID_ARG))
            else:
                token = parameters.get(AUTHORIZATION)
                for note in notes:
                    if sender.is_cancelled():  # the client does not wait for the rest
                        break
                    sender.send(self._canary() if parameters.get(CANARY) else self._answer(note, token))
            sender.send(flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def _notes(self, request: Any) -> list[tuple[bytes, ...]]:
        """Return the inputs of each note. Raises InputError when the inputs differ in length or are too many."""
        check_request(request)
        tensors = [self._triton.get_input_tensor_by_name(request, name) for name in NOTE_INPUTS]
        shapes = sorted({tuple(tensor.shape()) for tensor in tensors})
        if len(shapes) > 1:
            raise InputError(f"the inputs have shapes {[*map(list, shapes)]}; expected one of each per note")
        [[count]] = shapes
        if count > MAX_STREAM_NOTES:
            raise InputError(
                f"the request has {count:,} notes, expected at most {MAX_STREAM_NOTES:,}; send several requests"
            )
        return [*zip(*(tensor.as_numpy() for tensor in tensors), strict=True)]

    def _canary(self) -> Any:
        """Return an empty response. `deidentify` is not called: it may be busy, and gets its own canary requests."""
        tensors = [self._triton.Tensor(name, np.array([b""], np.object_)) for name in (*NOTE_OUTPUTS, "note_id")]
        return self._triton.InferenceResponse(output_tensors=tensors)

    def _answer(self, note: Sequence[bytes], token: object) -> Any:
        triton = self._triton
        inputs = {name: np.array([value], np.object_) for name, value in zip(NOTE_INPUTS, note, strict=True)}
        response = triton.InferenceRequest(
            model_name=NOTES,
            requested_output_names=list(NOTE_OUTPUTS),
            inputs=[triton.Tensor(name, value) for name, value in inputs.items()],
            parameters={AUTHORIZATION: token} if isinstance(token, str) else {},
        ).exec()
        if response.has_error():
            return self._error(response.error().message(), response.error().code())
        tensors = [triton.get_output_tensor_by_name(response, name) for name in NOTE_OUTPUTS]
        return triton.InferenceResponse(output_tensors=[*tensors, triton.Tensor("note_id", inputs["note_id"])])

    def _error(self, message: str, code: Any) -> Any:
        return self._triton.InferenceResponse(error=self._triton.TritonError(message, code))
