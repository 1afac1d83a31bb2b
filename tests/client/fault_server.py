"""A small server of the KServe v2 protocol that answers with the real engine and fails on demand.

It is only for fault injection; the behaviour of a real server is tested with a real one.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

import grpc
import numpy as np
from tritonclient.grpc import model_config_pb2, service_pb2, service_pb2_grpc

from deid_client.probe import PROBE_ID
from deid_runtime.models.engines import Engine, Ids, TokenScores, load_engine
from deid_runtime.models.manifest import INPUTS, INTERFACE_VERSION, Graph, Manifest
from deid_runtime.text.windows import WINDOW_TOKENS

Request = service_pb2.ModelInferRequest
Answer = service_pb2.ModelInferResponse
#: Changes an answer or fails; gets the server, to stop it, and the context, to abort the call.
Fault = Callable[["FaultServer", grpc.ServicerContext, Answer], Answer]


class _Locked:
    """An engine that answers one caller at a time."""

    def __init__(self, engine: Engine, lock: threading.Lock) -> None:
        self.name = engine.name
        self.precision = engine.precision
        self._engine = engine
        self._lock = lock

    def __call__(self, input_ids: Ids, token_type_ids: Ids, attention_mask: Ids) -> list[TokenScores]:
        with self._lock:
            return self._engine(input_ids, token_type_ids, attention_mask)

    def close(self) -> None:
        """Do nothing: the engine is shared."""


class Models:
    """The engines of a manifest, loaded once for all servers of the tests."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._engines: dict[str, Engine] = {}
        self._lock = threading.Lock()

    def engine(self, graph: Graph) -> Engine:
        if graph.name not in self._engines:
            outputs = [version.output for version in graph.heads]
            self._engines[graph.name] = load_engine("auto", graph.file, outputs, 1)
        return self._engines[graph.name]

    def locked(self, graph: Graph) -> Engine:
        """Return the engine for use outside the servers; it answers one caller at a time, as it must."""
        return _Locked(self.engine(graph), self._lock)

    def run(self, graph: Graph, inputs: dict[str, np.ndarray]) -> list[TokenScores]:
        # Padded as for the embedded engine, which keeps kernels by shape.
        rows, width = inputs["input_ids"].shape
        padded = {name: np.zeros((1 << (rows - 1).bit_length(), width), np.int32) for name in INPUTS}
        for name, array in inputs.items():
            padded[name][:rows] = array
        with self._lock:
            answers = self.engine(graph)(*(padded[name] for name in INPUTS))
        return [TokenScores(answer.tags[:rows], answer.scores[:rows]) for answer in answers]


class FaultServer(service_pb2_grpc.GRPCInferenceServiceServicer):
    """A context manager that runs the server. Each request uses up one of ``faults``; without faults it succeeds.

    Faults affect requests with notes. ``probe_fault`` makes probes fail. A silent server answers neither, but still
    answers requests for its configuration, like a real server whose model process is stopped.
    """

    def __init__(
        self, models: Models, *, faults: tuple[Fault | None, ...] = (), always: Fault | None = None,
        host: str = "127.0.0.1", port: int = 0, credentials: grpc.ServerCredentials | None = None,
    ) -> None:  # fmt: skip
        self.models = models
        self.host = host
        self.faults = deque(faults)
        self.always = always
        self.probe_fault: Fault | None = None
        self.is_silent = False
        self.version = "2.60.0"
        self.raw_answer: bytes | None = None  # replaces every answer to an inference, from the next start on
        self.asked: list[tuple[str, int]] = []  # (request id, rows), without probes
        self.probed: list[str] = []  # the models of the probes
        self.metadata: list[dict[str, str]] = []
        self.parameters: dict[str, str] = {}  # replaces the parameters of the manifest
        self.config = model_config_pb2.ModelConfig()  # put before the configuration of the manifest in every answer
        self.output_type: int | None = None  # type of every output, replaces the real one
        self.refused_token: int | None = None  # requests with this token are refused as malformed
        self.held_token: int | None = None  # requests with this token get no answer
        self.refuses_config: grpc.StatusCode | None = None  # answer to requests for the configuration
        self.most_at_once = 0
        self._at_once = 0
        self._is_restarting = False
        self._lock = threading.Lock()
        self._server: grpc.Server | None = None
        self.port = port
        self._credentials = credentials
        self.start()

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        server = grpc.server(ThreadPoolExecutor(16), options=[("grpc.so_reuseport", 0)])
        if self.raw_answer is None:
            service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(self, server)
        else:
            server.add_generic_rpc_handlers((self._raw_handler(self.raw_answer),))
        self.port = (
            server.add_secure_port(self.address, self._credentials)
            if self._credentials
            else server.add_insecure_port(self.address)
        )
        server.start()
        self._server = server

    def stop(self) -> None:
        """Stop at once: calls in progress are cut off."""
        if self._server is not None:
            self._server.stop(None).wait()
            self._server = None

    def stop_for(self, seconds: float) -> None:
        """Stop, and start again on the same port after ``seconds``; return at once."""

        def restart() -> None:
            self.stop()
            time.sleep(seconds)
            self.start()
            self._is_restarting = False

        with self._lock:
            if self._is_restarting:
                return
            self._is_restarting = True
        threading.Thread(target=restart).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ServerMetadata(  # noqa: N802
        self, request: service_pb2.ServerMetadataRequest, context: grpc.ServicerContext
    ) -> service_pb2.ServerMetadataResponse:
        return service_pb2.ServerMetadataResponse(name="triton", version=self.version)

    def ModelConfig(  # noqa: N802
        self, request: service_pb2.ModelConfigRequest, context: grpc.ServicerContext
    ) -> service_pb2.ModelConfigResponse:
        if self.refuses_config is not None:
            context.abort(self.refuses_config, "the words of the server")
        graphs = self._graphs(request.name)
        config = model_config_pb2.ModelConfig(name=request.name, max_batch_size=64)
        config.MergeFrom(self.config)
        for name, kind in self._outputs(graphs):
            config.output.add(name=name, data_type=self.output_type or f"TYPE_{kind}", dims=[-1])
        if len(graphs) > 1:
            for graph in graphs:
                config.ensemble_scheduling.step.add(model_name=graph.name)
        else:
            for name, value in self._parameters(graphs[0]).items():
                config.parameters[name].string_value = value
        return service_pb2.ModelConfigResponse(config=config)

    def _raw_handler(self, answer: bytes) -> grpc.GenericRpcHandler:
        """Answer inferences with the raw bytes ``answer``, and requests for the configuration as usual."""
        return grpc.method_handlers_generic_handler(
            "inference.GRPCInferenceService",
            {
                "ModelConfig": grpc.unary_unary_rpc_method_handler(
                    self.ModelConfig,
                    service_pb2.ModelConfigRequest.FromString,
                    service_pb2.ModelConfigResponse.SerializeToString,
                ),
                "ModelInfer": grpc.unary_unary_rpc_method_handler(lambda request, context: answer),
                "ModelStreamInfer": grpc.stream_stream_rpc_method_handler(
                    lambda requests, context: (answer for _ in requests)
                ),
            },
        )

    def _graphs(self, model: str) -> list[Graph]:
        graphs = self.models.manifest.graphs
        return list(graphs.values()) if model == "deid" else [graphs[model.removeprefix("deid_").partition("?")[0]]]

    def _outputs(self, graphs: list[Graph]) -> list[tuple[str, str]]:
        return [
            (f"{version.output}{f'_{graph.name}' if len(graphs) > 1 else ''}_{what}", kind)
            for graph in graphs
            for version in graph.heads
            for what, kind in (("label", "UINT8"), ("score", "FP16"))
        ]

    def _parameters(self, graph: Graph) -> dict[str, str]:
        content = self.models.manifest.content
        return {
            "interface_version": str(INTERFACE_VERSION),
            "graph": graph.name,
            "graph_sha256": content["graphs"][graph.name]["sha256"],  # type: ignore[index]
            "tokenizer_sha256": content["tokenizer"]["sha256"],  # type: ignore[index]
            "labels": json.dumps({version.head: version.tags for version in graph.heads}),
            "window_tokens": str(WINDOW_TOKENS),
            **self.parameters,
        }

    def ModelInfer(self, request: Request, context: grpc.ServicerContext) -> Answer:  # noqa: N802
        self.metadata.append({key: str(value) for key, value in context.invocation_metadata()})
        return self._infer(request, context)

    def ModelStreamInfer(  # noqa: N802
        self, requests: Iterator[Request], context: grpc.ServicerContext
    ) -> Iterator[service_pb2.ModelStreamInferResponse]:
        for request in requests:
            try:
                answer = self._infer(request, context)
            except StreamError as error:
                failed = service_pb2.ModelStreamInferResponse(error_message=str(error))
                failed.infer_response.id = request.id
                yield failed
            else:
                yield service_pb2.ModelStreamInferResponse(infer_response=answer)

    def _infer(self, request: Request, context: grpc.ServicerContext) -> Answer:
        with self._lock:
            if request.id.startswith(PROBE_ID):
                self.probed.append(request.model_name)
                fault = self.probe_fault
            else:
                self.asked.append((request.id, request.inputs[0].shape[0]))
                fault = self.faults.popleft() if self.faults else self.always
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            while self.is_silent and context.is_active():
                time.sleep(0.01)
            answer = self._answer(request, context)
            return fault(self, context, answer) if fault else answer
        finally:
            with self._lock:
                self._at_once -= 1

    def _answer(self, request: Request, context: grpc.ServicerContext) -> Answer:
        inputs = {
            tensor.name: np.frombuffer(content, np.int32).reshape(tuple(tensor.shape))
            for tensor, content in zip(request.inputs, request.raw_input_contents, strict=True)
        }
        if self.refused_token in inputs["input_ids"]:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "refused")
        while self.held_token in inputs["input_ids"] and context.is_active():
            time.sleep(0.01)
        graphs = self._graphs(request.model_name)
        values = [each for graph in graphs for each in self.models.run(graph, inputs)]
        arrays = [array for each in values for array in (each.tags, each.scores.astype(np.float16))]
        made = {name: (kind, array) for (name, kind), array in zip(self._outputs(graphs), arrays, strict=True)}
        answer = Answer(model_name=request.model_name, model_version=request.model_version, id=request.id)
        for output in request.outputs:
            kind, array = made[output.name]
            answer.outputs.add(name=output.name, datatype=kind, shape=array.shape)
            answer.raw_output_contents.append(array.tobytes())
        return answer


class StreamError(Exception):
    """Makes a stream answer with an error message."""


def abort(code: grpc.StatusCode) -> Fault:
    """Fail with a gRPC status."""

    def fail(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
        context.abort(code, "the words of the server")

    return fail


def say(message: str) -> Fault:
    """Answer a request on a stream with an error message."""

    def fail(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
        raise StreamError(message)

    return fail


def slow(seconds: float) -> Fault:
    """Answer late."""

    def wait(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
        time.sleep(seconds)
        return answer

    return wait


def hang(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
    """Give no answer until the client gives up."""
    while context.is_active():
        time.sleep(0.01)
    return answer


def die(seconds: float) -> Fault:
    """Stop the server with all calls in progress, and start it again after ``seconds``."""

    def stop(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
        server.stop_for(seconds)
        time.sleep(0.2)
        return answer

    return stop


def half(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
    """Return half of the outputs."""
    del answer.outputs[5:]
    del answer.raw_output_contents[5:]
    return answer


def cut(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
    """Return half of the bytes of an output."""
    answer.raw_output_contents[1] = answer.raw_output_contents[1][::2]
    return answer


def fewer_rows(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
    """Return an output with fewer rows and a consistent shape."""
    shape = answer.outputs[0].shape
    answer.raw_output_contents[0] = answer.raw_output_contents[0][: -shape[1]]
    shape[0] -= 1
    return answer


def other_type(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
    """Return scores as another type of the same size."""
    answer.outputs[1].datatype = "BF16"
    return answer


def other_id(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
    """Answer another request."""
    answer.id = "another"
    return answer


def huge(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
    """Return more bytes than any answer can have."""
    answer.raw_output_contents[0] = bytes(80 * 2**20)
    return answer


def too_many_bytes(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
    """Return a shape whose product fits the content only after overflow at 64 bits."""
    answer.outputs[0].shape[:] = [2**32, 2**32]
    answer.raw_output_contents[0] = b""
    return answer


def score_of(value: float) -> Fault:
    """Return one score that is no probability."""

    def change(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
        scores = np.frombuffer(answer.raw_output_contents[1], np.float16).copy()
        scores[-1] = value
        answer.raw_output_contents[1] = scores.tobytes()
        return answer

    return change


def unknown_tag(server: FaultServer, context: grpc.ServicerContext, answer: Answer) -> Answer:
    """Return a tag that the head does not have."""
    answer.raw_output_contents[0] = b"\xff" + answer.raw_output_contents[0][1:]
    return answer
