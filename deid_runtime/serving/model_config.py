"""The configuration of one Triton model: frozen records that are written as ``config.pbtxt``.

Names follow Triton's ``inference.ModelConfig`` (``model_config.proto``), with a unit added if Triton's have none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

DataType = Literal["INT32", "UINT8", "FP16", "FP32", "STRING"]
Backend = Literal["python", "onnxruntime", "tensorrt", "ensemble"]
InstanceKind = Literal["KIND_CPU", "KIND_GPU"]

#: Triton's value for a size that each request sets.
ANY: Final = -1

_PRINTABLE: Final = range(32, 127)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One input or output. ``dims`` has no batch dimension. Ragged inputs may differ in size within one batch."""

    name: str
    data_type: DataType
    dims: tuple[int, ...]
    is_ragged: bool = False


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """The limits of the queue. A request is refused when the queue is full or the request has waited too long."""

    max_queue_size: int
    timeout_us: int


@dataclass(frozen=True, slots=True)
class DynamicBatching:
    """How long requests wait to be joined in a batch, and the preferred batch sizes.

    With ``has_urgent`` there are two queues with these limits each: requests with priority 1 are served first. Other
    requests have priority 2.
    """

    preferred_sizes: tuple[int, ...]
    max_queue_delay_us: int
    queue: QueuePolicy
    has_urgent: bool = False


@dataclass(frozen=True, slots=True)
class InstanceGroup:
    """The number of copies of a model that run at once, and whether they run on CPU or GPU."""

    count: int
    kind: InstanceKind


@dataclass(frozen=True, slots=True)
class WarmupInput:
    """One input of a warm-up request: zeros, or the content of ``file`` in the ``warmup`` folder of the model."""

    name: str
    data_type: DataType
    dims: tuple[int, ...]
    file: str = ""


@dataclass(frozen=True, slots=True)
class Warmup:
    """One request of ``batch_size`` rows that Triton runs before it reports the model as ready."""

    name: str
    batch_size: int
    inputs: tuple[WarmupInput, ...]


@dataclass(frozen=True, slots=True)
class EnsembleStep:
    """One model of an ensemble. Both mappings map its tensor names to the tensor names of the ensemble."""

    model: str
    version: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Accelerator:
    """An execution accelerator of the ONNX Runtime backend on a GPU."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """One model of a repository; :meth:`text` is its ``config.pbtxt``.

    With ``max_batch_size`` 0, inputs have no batch dimension. ``version`` is the name of the folder with the model's
    files and the version in every answer, see :func:`~deid_runtime.models.manifest.served_version`.
    """

    name: str
    backend: Backend
    max_batch_size: int
    version: str = "1"
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    batching: DynamicBatching | None = None
    instances: InstanceGroup | None = None
    warmup: tuple[Warmup, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    steps: tuple[EnsembleStep, ...] = ()
    is_decoupled: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the configuration in protobuf's text format."""
        return "".join(f"{line}\n" for line in _lines(self._fields(), ""))

    def _fields(self) -> Iterator["_Field"]:
        yield "name", self.name
        # Triton names the runtime of an ensemble and of a TensorRT plan by their platform.
        if self.backend == "ensemble":
            yield "platform", "ensemble"
        elif self.backend == "tensorrt":
            yield "platform", "tensorrt_plan"
        else:
            yield "backend", self.backend
        yield "max_batch_size", self.max_batch_size
        yield "version_policy", [("latest", [("num_versions", 1)])]
        for tensor in self.inputs:
            yield "input", list(_tensor(tensor))
        for tensor in self.outputs:
            yield "output", list(_tensor(tensor))
        if self.batching:
            yield "dynamic_batching", list(_batching(self.batching))
        if self.instances:
            yield "instance_group", [("count", self.instances.count), ("kind", _Symbol(self.instances.kind))]
        for warmup in self.warmup:
            yield "model_warmup", list(_warmup(warmup))
        if self.accelerators:
            chosen = [("gpu_execution_accelerator", list(_accelerator(each))) for each in self.accelerators]
            yield "optimization", [("execution_accelerators", chosen)]
        if self.steps:
            yield "ensemble_scheduling", [("step", list(_step(step))) for step in self.steps]
        if self.is_decoupled:
            yield "model_transaction_policy", [("decoupled", True)]
        for name, value in self.parameters.items():
            yield "parameters", [("key", name), ("value", [("string_value", value)])]


class _Symbol(str):
    """The name of an enum value, which is written without quotes."""

    __slots__ = ()


_Value = str | int | Sequence["_Field"]
_Field = tuple[str, _Value]


def _tensor(tensor: Tensor) -> Iterator[_Field]:
    yield "name", tensor.name
    yield "data_type", _Symbol(f"TYPE_{tensor.data_type}")
    for size in tensor.dims:
        yield "dims", size
    if tensor.is_ragged:
        yield "allow_ragged_batch", True


def _batching(batching: DynamicBatching) -> Iterator[_Field]:
    for size in batching.preferred_sizes:
        yield "preferred_batch_size", size
    yield "max_queue_delay_microseconds", batching.max_queue_delay_us
    if batching.has_urgent:
        yield "priority_levels", 2
        yield "default_priority_level", 2
    yield (
        "default_queue_policy",
        [
            ("timeout_action", _Symbol("REJECT")),
            ("default_timeout_microseconds", batching.queue.timeout_us),
            ("allow_timeout_override", True),
            ("max_queue_size", batching.queue.max_queue_size),
        ],
    )


def _warmup(warmup: Warmup) -> Iterator[_Field]:
    yield "name", warmup.name
    yield "batch_size", warmup.batch_size
    for each in warmup.inputs:
        value: list[_Field] = [("data_type", _Symbol(f"TYPE_{each.data_type}"))]
        value += [("dims", size) for size in each.dims]
        value.append(("input_data_file", each.file) if each.file else ("zero_data", True))
        yield "inputs", [("key", each.name), ("value", value)]


def _accelerator(accelerator: Accelerator) -> Iterator[_Field]:
    yield "name", accelerator.name
    for name, value in accelerator.parameters.items():
        yield "parameters", [("key", name), ("value", value)]


def _step(step: EnsembleStep) -> Iterator[_Field]:
    yield "model_name", step.model
    yield "model_version", int(step.version)
    for name, value in (("input_map", step.inputs), ("output_map", step.outputs)):
        for key, tensor in value.items():
            yield name, [("key", key), ("value", tensor)]


def _lines(fields: Iterator[_Field] | Sequence[_Field], indent: str) -> Iterator[str]:
    for name, value in fields:
        if isinstance(value, bool):
            yield f"{indent}{name}: {str(value).lower()}"
        elif isinstance(value, int | _Symbol):
            yield f"{indent}{name}: {value}"
        elif isinstance(value, str):
            yield f'{indent}{name}: "{_escaped(value)}"'
        else:
            yield f"{indent}{name} {{"
            yield from _lines(value, indent + "  ")
            yield f"{indent}}}"


def _escaped(text: str) -> str:
    """Return ``text`` escaped for double quotes. Quotes, backslashes and all but printable ASCII become octal bytes."""
    plain = ((chr(byte), byte) for byte in text.encode("utf-8"))
    return "".join(char if byte in _PRINTABLE and char not in '"\\' else f"\\{byte:03o}" for char, byte in plain)
