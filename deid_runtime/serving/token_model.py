"""Triton's python backend for a graph or a part of a graph: the engine of ``deid run`` with the server's batching.

Triton imports this module through the small ``model.py`` in a model's folder, and calls the class by its name. The
parameters are in the model's configuration, see :mod:`deid_runtime.serving.graph_models`.
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
from deid_runtime.serving.rows import TokenLimits, check_hidden, check_tokens, join_hidden, join_tokens, run_rows
from deid_runtime.serving.triton_requests import check_request, check_version
from deid_runtime.system.process_privacy import keep_private


class TokenGraph:
    """A loaded graph, encoder or head. It runs many requests at once; their outputs do not depend on each other.

    ``load`` makes the session. A failed session is never used again: the next request loads a new one.
    """

    def __init__(
        self,
        load: Callable[[], Session],
        inputs: Sequence[str],
        limits: TokenLimits,
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
        """Raise InputError for a request whose arrays have a wrong type, shape or value."""
        if self._takes_tokens:
            check_tokens(arrays[0], arrays[1], arrays[2], self._limits)
        else:
            check_hidden(arrays[0], self._hidden_size)

    def answer(self, requests: Sequence[Sequence[Array]]) -> list[list[Array] | DeidError]:
        """Return the outputs or the error of every request. An invalid request does not affect the others."""
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
    """Load the graph of a model; return it with the names of its inputs and outputs.

    ``config`` is the model's configuration as Triton passes it; ``folder`` is the model's version folder. Raises
    ModelError when the engine cannot load the graph.
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
            parameters.get("precision", "float32"),  # absent in repositories of an earlier version
        ),
        inputs,
        TokenLimits(int(parameters["vocabulary"]), int(parameters["token_types"])),
        int(parameters["hidden_size"]),
        int(parameters["pad_id"]),
        int(parameters["call_rows"]),
    )
    return graph, inputs, outputs


class TritonPythonModel:
    """The class that Triton calls. Requests and responses have the types of ``triton_python_backend_utils``."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the graph. After an error Triton does not load the model and logs the message."""
        keep_private()
        check_version(os.environ)
        # This module can be imported only in a process of the server.
        import triton_python_backend_utils as triton

        self._triton: Any = triton
        folder = Path(args["model_repository"]) / args["model_version"]
        self._graph, self._inputs, self._outputs = load_token_graph(json.loads(args["model_config"]), folder)

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Return one response per request of a dynamic batch, in order."""
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
        """Free the graph when Triton unloads the model."""
        self._graph.close()


def _refusal(request: Any) -> InputError | None:
    try:
        check_request(request)
    except InputError as error:
        return error
    return None
