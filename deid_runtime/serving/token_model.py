"""The python backend of Triton for a graph or a part of one: the engine of ``deid run``, behind the server's batching.

Triton imports this through the small ``model.py`` of a model's folder and calls the class by its name. What it needs to
know stands in the model's configuration, see :mod:`deid_runtime.serving.graph_models`.
"""

import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from deid_runtime.errors import DeidError, InputError, ModelError
from deid_runtime.models.engines import Array, Session, load_session
from deid_runtime.models.manifest import INPUTS
from deid_runtime.serving.rows import Limits, check_hidden, check_tokens, join_hidden, join_tokens, run_rows
from deid_runtime.serving.triton_requests import check_request, check_version
from deid_runtime.system.process_privacy import keep_private


class TokenGraph:
    """A loaded graph, or the encoder or one head of one, that answers many requests at once, each as if alone.

    ``load`` makes its session. A session that has failed is never asked again: the next request loads another.
    """

    def __init__(
        self,
        load: Callable[[], Session],
        inputs: Sequence[str],
        limits: Limits,
        hidden_size: int,
        pad_id: int,
        call_rows: int,
    ) -> None:
        self._load = load
        self._session: Session | None = load()
        self._takes_tokens = tuple(inputs) == INPUTS
        self._limits = limits
        self._hidden_size = hidden_size
        self._pad_id = pad_id
        self._call_rows = call_rows

    def check(self, arrays: Sequence[Array]) -> None:
        """Raise InputError for a request that breaks the contract."""
        if self._takes_tokens:
            check_tokens(arrays[0], arrays[1], arrays[2], self._limits)
        else:
            check_hidden(arrays[0], self._hidden_size)

    def answer(self, requests: Sequence[Sequence[Array]]) -> list[list[Array] | DeidError]:
        """Return the outputs of every request, or why there are none. A bad request fails alone."""
        answers: list[list[Array] | DeidError] = []
        good: list[Sequence[Array]] = []
        for arrays in requests:
            try:
                self.check(arrays)
            except InputError as error:
                answers.append(error)
            else:
                answers.append([])
                good.append(arrays)
        served = iter(self._serve(good))
        return [answer if isinstance(answer, DeidError) else next(served) for answer in answers]

    def _serve(self, requests: Sequence[Sequence[Array]]) -> list[list[Array] | DeidError]:
        if not requests:
            return []
        try:
            if self._session is None:
                self._session = self._load()
            rows = join_tokens(requests, self._pad_id) if self._takes_tokens else join_hidden(requests)
            return [*run_rows(self._session, rows, self._pad_id, self._call_rows)]
        except Exception as error:  # noqa: BLE001 - whatever an engine raises must not end the server's process
            self.close()
            if len(requests) > 1:
                return [answer for request in requests for answer in self._serve([request])]
            return [ModelError(f"the engine failed with {type(error).__name__}")]

    def close(self) -> None:
        """Free the graph."""
        session, self._session = self._session, None
        if session is not None:
            session.close()


def load_token_graph(config: dict[str, Any], folder: Path) -> tuple[TokenGraph, list[str], list[str]]:
    """Load the graph that a model's configuration, as Triton hands it over, asks for; with its inputs and outputs.

    ``folder`` is the model's version folder. Raises ModelError when the engine cannot load the graph.
    """
    parameters = {name: entry["string_value"] for name, entry in config["parameters"].items()}
    inputs = [entry["name"] for entry in config["input"]]
    outputs = [entry["name"] for entry in config["output"]]
    graph = TokenGraph(
        partial(
            load_session,
            parameters["engine"],
            folder / "model.onnx",
            inputs,
            outputs,
            int(parameters["engine_threads"]),
            parameters.get("precision", "float32"),  # not in what an earlier version wrote
        ),
        inputs,
        Limits(int(parameters["vocabulary"]), int(parameters["token_types"])),
        int(parameters["hidden_size"]),
        int(parameters["pad_id"]),
        int(parameters["call_rows"]),
    )
    return graph, inputs, outputs


class TritonPythonModel:
    """What Triton calls. Its requests and responses are those of ``triton_python_backend_utils``."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the graph. An error here ends the loading of the model, with its message in the server's log."""
        keep_private()
        check_version(os.environ)
        # Only the server's own process has it.
        import triton_python_backend_utils as triton

        self._triton: Any = triton
        folder = Path(args["model_repository"]) / args["model_version"]
        self._graph, self._inputs, self._outputs = load_token_graph(json.loads(args["model_config"]), folder)

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer every request of a dynamic batch, in order."""
        triton = self._triton
        refused = [_refusal(request) for request in requests]
        arrays = [
            [triton.get_input_tensor_by_name(request, name).as_numpy() for name in self._inputs]
            for request, error in zip(requests, refused, strict=True)
            if error is None
        ]
        answers = iter(self._graph.answer(arrays))
        responses = []
        for request, error in zip(requests, refused, strict=True):
            answer = next(answers) if error is None else error
            if isinstance(answer, DeidError):
                kind = triton.TritonError.INVALID_ARG if isinstance(answer, InputError) else triton.TritonError.INTERNAL
                responses.append(triton.InferenceResponse(error=triton.TritonError(str(answer), kind)))
                continue
            wanted = set(request.requested_output_names())
            tensors = [
                triton.Tensor(name, array) for name, array in zip(self._outputs, answer, strict=True) if name in wanted
            ]
            responses.append(triton.InferenceResponse(output_tensors=tensors))
        return responses

    def finalize(self) -> None:
        """Free the graph, when the model is unloaded."""
        self._graph.close()


def _refusal(request: Any) -> InputError | None:
    try:
        check_request(request)
    except InputError as error:
        return error
    return None
