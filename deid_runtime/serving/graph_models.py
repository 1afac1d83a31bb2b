"""The models that Triton makes of one graph: the graph itself, its encoder and its heads alone, and ensembles of these.

| model | what |
| --- | --- |
| ``<graph>`` | the whole graph: the default route |
| ``encoder_<graph>`` | tokens to hidden states |
| ``<head>_<graph>`` | hidden states to the labels and scores of one head |
| ``deid_<graph>`` | ensemble of encoder and heads, with the tensors of the whole graph |
| ``deid`` | ensemble of the encoders and heads of all graphs |

The configuration of each carries what a client compares with its own manifest: :func:`contract_parameters`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from deid_runtime.models.engines import EngineKind
from deid_runtime.models.manifest import CONTRACT_VERSION, HIDDEN, INPUTS, Graph, Manifest, head_outputs
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
from deid_runtime.text.windows import WINDOW_TOKENS, WordEncoder

GraphBackend = Literal["python", "onnxruntime", "tensorrt"]

#: A warm-up file of so many ones, int32, for a mask that hides nothing.
MASK_FILE: Final = "mask_{width}"

_TENSORRT: Final = Accelerator(
    "tensorrt",
    {
        "precision_mode": "FP16",
        "max_workspace_size_bytes": str(2**30),
        # Engines are built anew for every machine unless they are kept: minutes for every start.
        "trt_engine_cache_enable": "true",
        "trt_engine_cache_path": "/var/cache/deid-trt",
    },
)


@dataclass(frozen=True, kw_only=True)
class ServingOptions:
    """How models run in the server. The defaults suit one processor; see the fields for what to change on others."""

    backend: GraphBackend = "python"
    instances: int = 1  # copies of each model; python: processes, more than cores make it slower
    engine: EngineKind = "auto"  # of the python backend
    precision: Precision = "float32"  # of the python backend
    engine_threads: int = 1  # of each copy, python backend
    max_batch_size: int = 64  # rows the server joins at most, and rows of one request
    call_rows: int = 16  # rows an engine of the python backend is given at a time
    preferred_sizes: tuple[int, ...] = (16, 32, 64)  # batches of these sizes are not kept waiting
    max_queue_delay_us: int = 2_000  # how long a row waits for company
    max_queue_size: int = 1_024  # requests; more are refused at once, to be tried elsewhere or later
    queue_timeout_us: int = 10_000_000  # a request that waited this long is refused
    is_ragged: bool = True  # join requests of different widths, where the backend can

    @property
    def kind(self) -> Literal["KIND_CPU", "KIND_GPU"]:
        """Where the models run."""
        return "KIND_CPU" if self.backend == "python" else "KIND_GPU"

    @property
    def batching(self) -> DynamicBatching:
        """The dynamic batching of every model."""
        return DynamicBatching(
            self.preferred_sizes, self.max_queue_delay_us, QueuePolicy(self.max_queue_size, self.queue_timeout_us)
        )

    @property
    def joins_widths(self) -> bool:
        """Say whether a batch may hold rows of several widths: only our ``model.py`` pads them."""
        return self.is_ragged and self.backend == "python"


@dataclass(frozen=True)
class GraphModels:
    """Makes the configurations of all models of the graphs of one manifest."""

    manifest: Manifest
    options: ServingOptions
    hidden_size: int = 0  # of the hidden states; whole graphs don't show theirs

    def whole(self, graph: Graph) -> ModelConfig:
        """Return the model of the whole graph."""
        return self._model(graph, graph.name, self._tokens(), _outputs(graph))

    def encoder(self, graph: Graph) -> ModelConfig:
        """Return the encoder alone."""
        return self._model(graph, f"encoder_{graph.name}", self._tokens(), (self._hidden(is_ragged=False),))

    def head(self, graph: Graph, output: str) -> ModelConfig:
        """Return the head with this output alone."""
        hidden = self._hidden(is_ragged=self.options.joins_widths)
        return self._model(graph, f"{output}_{graph.name}", (hidden,), _head_outputs(output))

    def ensemble(self, graph: Graph) -> ModelConfig:
        """Return the ensemble that answers as the whole graph does."""
        return self._ensemble(f"deid_{graph.name}", [graph], {graph.name: list(_names(graph))}, "")

    def all_graphs(self) -> ModelConfig:
        """Return the ensemble over all graphs, whose outputs are called ``<head>_<graph>_label`` and ``..._score``."""
        graphs = list(self.manifest.graphs.values())
        return self._ensemble("deid", graphs, {graph.name: list(_names(graph)) for graph in graphs}, "_{graph}")

    def _model(self, graph: Graph, name: str, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> ModelConfig:
        options = self.options
        return ModelConfig(
            name=name,
            backend="python" if options.backend == "python" else "onnxruntime",
            max_batch_size=options.max_batch_size,
            inputs=inputs,
            outputs=outputs,
            batching=options.batching,
            instances=InstanceGroup(options.instances, options.kind),
            warmup=tuple(_warmups(inputs, options)),
            accelerators=(_TENSORRT,) if options.backend == "tensorrt" else (),
            parameters={**contract_parameters(self.manifest, graph), **self._engine_parameters()},
        )

    def _ensemble(
        self, name: str, graphs: Sequence[Graph], heads: Mapping[str, Sequence[str]], suffix: str
    ) -> ModelConfig:
        """Return an ensemble of the encoders of ``graphs`` and the given heads of each."""
        steps: list[EnsembleStep] = []
        outputs: list[Tensor] = []
        for graph in graphs:
            hidden = f"{HIDDEN}_{graph.name}"
            steps.append(EnsembleStep(f"encoder_{graph.name}", {each: each for each in INPUTS}, {HIDDEN: hidden}))
            for head in heads[graph.name]:
                renamed = _head_outputs(head + suffix.format(graph=graph.name))
                named = {own.name: new.name for own, new in zip(_head_outputs(head), renamed, strict=True)}
                steps.append(EnsembleStep(f"{head}_{graph.name}", {HIDDEN: hidden}, named))
                outputs += renamed
        return ModelConfig(
            name=name,
            backend="ensemble",
            max_batch_size=self.options.max_batch_size,
            inputs=tuple(Tensor(each, "INT32", (ANY,)) for each in INPUTS),
            outputs=tuple(outputs),
            steps=tuple(steps),
            parameters=contract_parameters(self.manifest, *graphs),
        )

    def _tokens(self) -> tuple[Tensor, ...]:
        return tuple(Tensor(name, "INT32", (ANY,), is_ragged=self.options.joins_widths) for name in INPUTS)

    def _hidden(self, *, is_ragged: bool) -> Tensor:
        return Tensor(HIDDEN, "FP32", (ANY, self.hidden_size), is_ragged=is_ragged)

    def _engine_parameters(self) -> dict[str, str]:
        """Return what our ``model.py`` needs beside the graph; nothing for other backends."""
        if self.options.backend != "python":
            return {}
        encoder = WordEncoder.from_file(self.manifest.tokenizer)
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


def contract_parameters(manifest: Manifest, *graphs: Graph) -> dict[str, str]:
    """Return what a client checks before it trusts a model.

    ``graph`` and ``graph_sha256`` name the graph the model was made of, several in order and separated by commas;
    ``labels`` is JSON, head to its tags in output order.
    """
    content: Any = manifest.content
    digests = [content["graphs"][graph.name]["sha256"] for graph in graphs]
    return {
        "contract_version": str(CONTRACT_VERSION),
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
    """Return a request for every shape that an engine meets, so that none is compiled while somebody waits."""
    most = options.call_rows if options.backend == "python" else options.max_batch_size
    sizes = [1 << power for power in range(most.bit_length()) if 1 << power <= most]
    return [
        Warmup(f"{rows}_rows_of_{width}", rows, tuple(_warmup_input(tensor, width) for tensor in inputs))
        for width in WIDTHS
        for rows in sizes
    ]


def _warmup_input(tensor: Tensor, width: int) -> WarmupInput:
    # A mask of zeros would be a row without tokens, which runs at the least width.
    file = MASK_FILE.format(width=width) if tensor.name == "attention_mask" else ""
    return WarmupInput(tensor.name, tensor.data_type, (width, *tensor.dims[1:]), file)
