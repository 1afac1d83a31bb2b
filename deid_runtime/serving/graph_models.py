"""The Triton models of one graph: the whole graph, its encoder, each of its heads, and ensembles of these.

| model | content |
| --- | --- |
| ``<graph>`` | the whole graph: the default route |
| ``encoder_<graph>`` | tokens to hidden states |
| ``<head>_<graph>`` | hidden states to the labels and scores of one head |
| ``deid_<graph>`` | ensemble of encoder and heads, with the tensors of the whole graph |
| ``deid`` | ensemble of the encoders and heads of all graphs |

The configuration of each model has parameters that a client compares with its own model manifest:
:func:`agreed_parameters`. Its version comes from the digest of its graphs, and an ensemble asks only these versions.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from deid_runtime.models.engines import EngineKind
from deid_runtime.models.manifest import (
    HIDDEN,
    INPUTS,
    INTERFACE_VERSION,
    Graph,
    Manifest,
    head_outputs,
    served_version,
)
from deid_runtime.serving.model_config import (
    ANY,
    Accelerator,
    DynamicBatching,
    EnsembleStep,
    InstanceGroup,
    ModelConfig,
    QueuePolicy,
    Tensor,
    Warmup,
    WarmupInput,
)
from deid_runtime.serving.rows import WIDTHS
from deid_runtime.settings import Precision
from deid_runtime.text.windows import WINDOW_TOKENS

GraphBackend = Literal["python", "onnxruntime", "tensorrt"]

#: The name of a warm-up file: an attention mask of ``width`` ones, int32.
MASK_FILE: Final = "mask_{width}"

_TENSORRT: Final = Accelerator(
    "tensorrt",
    {
        "precision_mode": "FP16",
        "max_workspace_size_bytes": str(2**30),
        # Without a cache, TensorRT builds its engines at every start, which takes minutes.
        "trt_engine_cache_enable": "true",
        "trt_engine_cache_path": "/var/cache/deid-trt",
    },
)


@dataclass(frozen=True, kw_only=True)
class ServingOptions:
    """How models run in the server. The defaults suit a single CPU; the comments explain the fields."""

    backend: GraphBackend = "python"
    instances: int = 1  # copies of each model; python backend: processes, slower when more than cores
    engine: EngineKind = "auto"  # of the python backend
    precision: Precision = "float32"  # of the python backend
    engine_threads: int = 1  # of each copy, python backend
    max_batch_size: int = 64  # most rows of a dynamic batch and of one request
    call_rows: int = 16  # most rows per engine call, python backend
    preferred_sizes: tuple[int, ...] = (16, 32, 64)  # batches of these sizes start without delay
    max_queue_delay_us: int = 2_000  # longest wait of a request for others to join its batch
    max_queue_size: int = 1_024  # requests; further requests are refused at once, so the client can retry
    queue_timeout_us: int = 10_000_000  # a request that waited this long is refused
    is_ragged: bool = True  # join requests of different widths, if the backend supports it

    @property
    def kind(self) -> Literal["KIND_CPU", "KIND_GPU"]:
        """The kind of Triton instance: CPU for the python backend, else GPU."""
        return "KIND_CPU" if self.backend == "python" else "KIND_GPU"

    @property
    def batching(self) -> DynamicBatching:
        """The dynamic batching of every model."""
        return DynamicBatching(
            self.preferred_sizes, self.max_queue_delay_us, QueuePolicy(self.max_queue_size, self.queue_timeout_us)
        )

    @property
    def joins_widths(self) -> bool:
        """Whether a batch may have rows of different widths; only the project's ``model.py`` pads them."""
        return self.is_ragged and self.backend == "python"


@dataclass(frozen=True)
class GraphModels:
    """Makes the configurations of all models of the graphs in one model manifest."""

    manifest: Manifest
    options: ServingOptions
    hidden_size: int = 0  # of the hidden states; 0 for whole graphs, which do not output them

    def whole(self, graph: Graph) -> ModelConfig:
        """Return the configuration of the whole graph."""
        return self._model(graph, graph.name, self._tokens(), _outputs(graph))

    def encoder(self, graph: Graph) -> ModelConfig:
        """Return the configuration of the encoder."""
        return self._model(graph, f"encoder_{graph.name}", self._tokens(), (self._hidden(is_ragged=False),))

    def head(self, graph: Graph, output: str) -> ModelConfig:
        """Return the configuration of the head with this output."""
        hidden = self._hidden(is_ragged=self.options.joins_widths)
        return self._model(graph, f"{output}_{graph.name}", (hidden,), _head_outputs(output))

    def ensemble(self, graph: Graph) -> ModelConfig:
        """Return the configuration of the ensemble with the same outputs as the whole graph."""
        return self._ensemble(f"deid_{graph.name}", [graph], {graph.name: list(_names(graph))}, "")

    def all_graphs(self) -> ModelConfig:
        """Return the ensemble of all graphs. Its outputs are ``<head>_<graph>_label`` and ``<head>_<graph>_score``."""
        graphs = list(self.manifest.graphs.values())
        return self._ensemble("deid", graphs, {graph.name: list(_names(graph)) for graph in graphs}, "_{graph}")

    def _model(self, graph: Graph, name: str, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> ModelConfig:
        options = self.options
        return ModelConfig(
            name=name,
            backend="python" if options.backend == "python" else "onnxruntime",
            max_batch_size=options.max_batch_size,
            version=served_version(graph.sha256),
            inputs=inputs,
            outputs=outputs,
            batching=options.batching,
            instances=InstanceGroup(options.instances, options.kind),
            warmup=tuple(_warmups(inputs, options)),
            accelerators=(_TENSORRT,) if options.backend == "tensorrt" else (),
            parameters={**agreed_parameters(self.manifest, graph), **self._engine_parameters()},
        )

    def _ensemble(
        self, name: str, graphs: Sequence[Graph], heads: Mapping[str, Sequence[str]], suffix: str
    ) -> ModelConfig:
        """Return an ensemble of the encoders of ``graphs`` and the given heads of each."""
        steps: list[EnsembleStep] = []
        outputs: list[Tensor] = []
        for graph in graphs:
            hidden, version = f"{HIDDEN}_{graph.name}", served_version(graph.sha256)
            tokens = {each: each for each in INPUTS}
            steps.append(EnsembleStep(f"encoder_{graph.name}", version, tokens, {HIDDEN: hidden}))
            for head in heads[graph.name]:
                renamed = _head_outputs(head + suffix.format(graph=graph.name))
                named = {own.name: new.name for own, new in zip(_head_outputs(head), renamed, strict=True)}
                steps.append(EnsembleStep(f"{head}_{graph.name}", version, {HIDDEN: hidden}, named))
                outputs += renamed
        return ModelConfig(
            name=name,
            backend="ensemble",
            max_batch_size=self.options.max_batch_size,
            version=served_version(*(graph.sha256 for graph in graphs)),
            inputs=tuple(Tensor(each, "INT32", (ANY,)) for each in INPUTS),
            outputs=tuple(outputs),
            steps=tuple(steps),
            parameters=agreed_parameters(self.manifest, *graphs),
        )

    def _tokens(self) -> tuple[Tensor, ...]:
        return tuple(Tensor(name, "INT32", (ANY,), is_ragged=self.options.joins_widths) for name in INPUTS)

    def _hidden(self, *, is_ragged: bool) -> Tensor:
        return Tensor(HIDDEN, "FP32", (ANY, self.hidden_size), is_ragged=is_ragged)

    def _engine_parameters(self) -> dict[str, str]:
        """Return the parameters that the project's ``model.py`` needs; none for other backends."""
        if self.options.backend != "python":
            return {}
        encoder = self.manifest.word_encoder()
        return {
            "engine": self.options.engine,
            "precision": self.options.precision,
            "engine_threads": str(self.options.engine_threads),
            "call_rows": str(self.options.call_rows),
            "pad_id": str(encoder.pad),
            "vocabulary": str(encoder.vocabulary),
            "token_types": str(self.manifest.content["token_types"]),
            "hidden_size": str(self.hidden_size),
        }


def agreed_parameters(manifest: Manifest, *graphs: Graph) -> dict[str, str]:
    """Return the parameters that a client checks before it trusts a model.

    ``graph`` and ``graph_sha256`` identify the graph of the model, or several graphs in order, separated by commas.
    ``labels`` is a JSON object that maps each head to its BIO tags in output order.
    """
    content: Any = manifest.content
    digests = [content["graphs"][graph.name]["sha256"] for graph in graphs]
    return {
        "interface_version": str(INTERFACE_VERSION),
        "graph": ",".join(graph.name for graph in graphs),
        "graph_sha256": ",".join(digests),
        "tokenizer_sha256": content["tokenizer"]["sha256"],
        "labels": json.dumps({version.output: version.tags for graph in graphs for version in graph.heads}),
        "window_tokens": str(WINDOW_TOKENS),
    }


def _names(graph: Graph) -> tuple[str, ...]:
    return tuple(version.output for version in graph.heads)


def _outputs(graph: Graph) -> tuple[Tensor, ...]:
    return tuple(tensor for name in _names(graph) for tensor in _head_outputs(name))


def _head_outputs(output: str) -> tuple[Tensor, ...]:
    return tuple(Tensor(name, data_type, (ANY,)) for name, data_type in head_outputs(output))


def _warmups(inputs: Sequence[Tensor], options: ServingOptions) -> list[Warmup]:
    """Return a warm-up request for every input shape of an engine, so that no client waits for a compilation."""
    most = options.call_rows if options.backend == "python" else options.max_batch_size
    sizes = [1 << power for power in range(most.bit_length()) if 1 << power <= most]
    return [
        Warmup(f"{rows}_rows_of_{width}", rows, tuple(_warmup_input(tensor, width) for tensor in inputs))
        for width in WIDTHS
        for rows in sizes
    ]


def _warmup_input(tensor: Tensor, width: int) -> WarmupInput:
    # With a mask of zeros the row would have no tokens and would run at the smallest width.
    file = MASK_FILE.format(width=width) if tensor.name == "attention_mask" else ""
    return WarmupInput(tensor.name, tensor.data_type, (width, *tensor.dims[1:]), file)
