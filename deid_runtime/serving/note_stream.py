"""The python backend of Triton for streams of notes: ``deidentify`` serves each, its answer goes out at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deid_runtime.process_privacy import keep_private
from deid_runtime.serving.note_models import NOTE_INPUTS, NOTE_OUTPUTS, NOTES


class TritonPythonModel:
    """What Triton calls. Its requests and responses are those of ``triton_python_backend_utils``."""

    def initialize(self, args: dict[str, str]) -> None:
        """Keep what only the server's own process has."""
        keep_private()
        import triton_python_backend_utils as triton

        self._triton: Any = triton

    def execute(self, requests: Sequence[Any]) -> None:
        """Answer every note of every request: in order, each as soon as it is done, a bad one with an error."""
        triton = self._triton
        for request in requests:
            sender = request.get_response_sender()
            columns = [triton.get_input_tensor_by_name(request, name).as_numpy() for name in NOTE_INPUTS]
            sizes = {column.shape for column in columns}
            if len(sizes) > 1:
                message = f"the inputs have shapes {sorted(map(list, sizes))}; expected as many of each as notes"
                sender.send(self._error(message, triton.TritonError.INVALID_ARG))
            else:
                for note in zip(*columns, strict=True):
                    if sender.is_cancelled():  # nobody waits for the rest
                        break
                    sender.send(self._answer(note))
            sender.send(flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def _answer(self, note: Sequence[bytes]) -> Any:
        triton = self._triton
        inputs = {name: np.array([value], np.object_) for name, value in zip(NOTE_INPUTS, note, strict=True)}
        response = triton.InferenceRequest(
            model_name=NOTES,
            requested_output_names=list(NOTE_OUTPUTS),
            inputs=[triton.Tensor(name, value) for name, value in inputs.items()],
        ).exec()
        if response.has_error():
            return self._error(response.error().message(), response.error().code())
        tensors = [triton.get_output_tensor_by_name(response, name) for name in NOTE_OUTPUTS]
        return triton.InferenceResponse(output_tensors=[*tensors, triton.Tensor("note_id", inputs["note_id"])])

    def _error(self, message: str, code: Any) -> Any:
        return self._triton.InferenceResponse(error=self._triton.TritonError(message, code))
