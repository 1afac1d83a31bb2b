"""Inference engines: a graph file in, a function from token batches to tags and scores out."""

import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from deid_runtime.errors import EngineError, ModelError, SettingsError
from deid_runtime.models.manifest import INPUTS, head_outputs
from deid_runtime.settings import Precision

Ids = NDArray[np.int32]
Array = NDArray[Any]
EngineKind = Literal["auto", "openvino", "onnxruntime"]


@dataclass(frozen=True, slots=True)
class TokenScores:
    """The output of one head for a batch: ``tags`` uint8 and ``scores`` float32, both ``(batch, tokens)``."""

    tags: NDArray[np.uint8] = field(repr=False)
    scores: NDArray[np.float32] = field(repr=False)


class Engine(Protocol):
    """Runs one graph. The answer for a row does not depend on the other rows of its batch."""

    name: str
    precision: Precision

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        """Run ``(batch, tokens)`` inputs; return one answer per head, in the order the engine was loaded with.

        Raises EngineError when the engine fails or gives an impossible answer.
        """

    def close(self) -> None:
        """Free the graph."""


class Session(Protocol):
    """Runs one graph, whole or in part, on arrays in the order of the inputs it was loaded with."""

    name: str
    precision: Precision

    def __call__(self, *arrays: Array) -> list[Array]:
        """Return one array per output; the caller owns them.

        Raises EngineError when the engine fails or has not written every output in full.
        """

    def close(self) -> None:
        """Free the graph."""


def load_engine(
    kind: EngineKind, graph: Path, heads: Sequence[str], threads: int, precision: Precision = "float32"
) -> Engine:
    """Load ``graph`` with outputs ``<head>_label`` and ``<head>_score`` for each of ``heads``.

    ``auto`` selects :func:`fastest_engine`. ``precision`` applies to everything that is not computed in int8. Every
    processor supports float32. bfloat16 is faster on processors that support it, and gives slightly different scores.

    Raises ModelError when the engine is not installed or cannot load the graph, SettingsError for a precision that the
    engine or the processor does not support.
    """
    outputs = [name for head in heads for name, _ in head_outputs(head)]
    return _Heads(load_session(kind, graph, INPUTS, outputs, threads, precision))


def load_session(
    kind: EngineKind,
    graph: Path,
    inputs: Sequence[str],
    outputs: Sequence[str],
    threads: int,
    precision: Precision = "float32",
) -> Session:
    """Load ``graph`` with these ``inputs`` and ``outputs``, in their order; see :func:`load_engine` for the rest.

    Raises ModelError and SettingsError like :func:`load_engine`.
    """
    makers: dict[str, Callable[[Path, Sequence[str], Sequence[str], int, Precision], Session]] = {
        "openvino": _OpenVino,
        "onnxruntime": _OnnxRuntime,
    }
    if kind == "auto":
        kind = fastest_engine()
    try:
        return makers[kind](graph, inputs, outputs, threads, precision)
    except ImportError as error:
        raise ModelError(f"the engine {kind} is not installed ({error.name}); pip install {kind}") from error
    except RuntimeError as error:  # both engines raise it, or a subclass, for a graph they cannot load
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"{kind} cannot load {graph} ({type(error).__name__}); use another --engine, or export the models again"
        ) from error


def fastest_engine(processor: Path = Path("/proc/cpuinfo")) -> Literal["openvino", "onnxruntime"]:
    """Return the engine that runs int8 graphs fastest here: OpenVINO on x86-64, or ONNX Runtime.

    With AVX-512 or AVX-VNNI, OpenVINO is twice as fast. AVX2 alone has no byte product with a 32-bit sum, and
    there ONNX Runtime is faster. Measured: 16 windows of 128 tokens through a MiniLM of six layers on one core of a
    Zen 3 took 624 ms instead of 977 ms (700 ms in float32 on OpenVINO). Exact sums take a sixth more time. Merging the
    products of a layer (:mod:`deid_export.onnx.simplify`) saves a sixth.

    ``processor`` is the file to read the extensions from. A system without it is assumed to have AVX-512 or AVX-VNNI.
    """
    if platform.machine().lower() not in {"x86_64", "amd64"} or not _has_openvino():
        return "onnxruntime"
    flags = _processor_flags(processor)
    return "openvino" if not flags or {"avx512f", "avx_vnni"} & flags else "onnxruntime"


def instruction_set(processor: Path = Path("/proc/cpuinfo")) -> str:
    """Return the extensions of this processor that engines use, such as ``avx2 avx512f``, or its architecture if none.

    Engines round differently with other extensions: scores differ in the last digits, and one word in some thousands
    may get another result.
    """
    flags = _processor_flags(processor)
    return " ".join(name for name in _EXTENSIONS if name in flags) or platform.machine().lower()


def _processor_flags(processor: Path) -> frozenset[str]:
    """Return the flags of the processor; empty when the system does not list them."""
    try:
        content = processor.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    return frozenset(next((line.split() for line in content.splitlines() if line.startswith("flags")), ()))


_EXTENSIONS: Final = ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")


def _has_openvino() -> bool:
    import importlib.util

    return importlib.util.find_spec("openvino") is not None


class _Heads:
    """An :class:`Engine` that runs a whole graph."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.name = session.name
        self.precision = session.precision

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        out = self._session(ids, types, mask)
        return [TokenScores(label, score.astype(np.float32)) for label, score in zip(out[::2], out[1::2], strict=True)]

    def close(self) -> None:
        self._session.close()


class _OpenVino:
    name = "openvino"

    def __init__(
        self, graph: Path, inputs: Sequence[str], outputs: Sequence[str], threads: int, precision: Precision
    ) -> None:
        # Importing openvino sends usage data to its vendor unless its telemetry package is absent.
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
        import openvino

        core = openvino.Core()
        if precision == "bfloat16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            raise SettingsError("this processor does not support bfloat16; omit the precision or give float32")
        config: dict[str, object] = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # workers share the cores; pinned workers would share one core
            "CPU_RUNTIME_CACHE_CAPACITY": 256,  # compiled kernels by shape; there are few shapes
            # Always set the precision: by default, OpenVINO uses bfloat16 where the processor supports it.
            "INFERENCE_PRECISION_HINT": "bf16" if precision == "bfloat16" else "f32",
        }
        self.precision: Precision = precision
        self._make_tensor = openvino.Tensor
        self._model = core.compile_model(core.read_model(graph), "CPU", config)
        self._request = self._model.create_infer_request()
        self._inputs = inputs
        self._outputs = [_Output(port) for port in (self._model.output(name) for name in outputs)]

    def __call__(self, *arrays: Array) -> list[Array]:
        # When memory is short, OpenVINO's infer raises nothing and leaves its outputs unchanged. With the answer of an
        # earlier call in them, the text of one note was labelled by the scores of another. So each call writes to new
        # arrays, filled with a value that no graph outputs. A value that is still there afterwards was not computed.
        try:
            answers = [output.unwritten(arrays[0].shape[:2]) for output in self._outputs]
            for output, answer in zip(self._outputs, answers, strict=True):
                self._request.set_tensor(output.port, self._make_tensor(answer, shared_memory=True))
            self._request.infer(dict(zip(self._inputs, arrays, strict=True)), share_inputs=True)
        except Exception as error:
            raise _failed(self.name, error) from error
        if any(map(_is_unwritten, answers)):
            raise EngineError("openvino left outputs unwritten, as it does when memory is short; give it more memory")
        return answers

    def close(self) -> None:
        del self._request, self._model, self._outputs


class _Output:
    """One output of an OpenVINO model: ``(batch, tokens)``, then the dimensions that the graph fixes."""

    def __init__(self, port: Any) -> None:
        self.port = port
        self._dtype = np.dtype(port.element_type.to_dtype())
        self._fixed = tuple(size.get_length() for size in list(port.partial_shape)[2:])

    def unwritten(self, rows_and_tokens: tuple[int, ...]) -> Array:
        """Return a new array in the shape of an answer with every bit set: 255 as a tag, NaN as a score."""
        array = np.empty((*rows_and_tokens, *self._fixed), self._dtype)
        array.view(np.uint8).fill(0xFF)
        return array


def _is_unwritten(array: Array) -> bool:
    bits = array.view(f"u{array.itemsize}")
    return bool((bits == np.iinfo(bits.dtype).max).any())


class _OnnxRuntime:
    name = "onnxruntime"

    def __init__(
        self, graph: Path, inputs: Sequence[str], outputs: Sequence[str], threads: int, precision: Precision
    ) -> None:
        import onnxruntime

        if precision == "bfloat16":
            raise SettingsError("onnxruntime computes our graphs only in float32; bfloat16 needs the engine openvino")
        self.precision: Precision = precision
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Without VNNI, sums of two byte products saturate at 16 bits. This keeps them exact, for a sixth more time.
        options.add_session_config_entry("session.x64quantprecision", "1")
        providers = [
            p for p in ("CUDAExecutionProvider", "CPUExecutionProvider") if p in onnxruntime.get_available_providers()
        ]
        try:
            self._session = onnxruntime.InferenceSession(str(graph), options, providers=providers)
        except Exception as error:  # its errors share no base class; the caller reports the failure in any case
            if type(error).__module__.startswith("onnxruntime"):
                raise RuntimeError(type(error).__name__) from error
            raise
        self._inputs = inputs
        self._outputs = list(outputs)

    def __call__(self, *arrays: Array) -> list[Array]:
        try:
            answers: list[Array] = self._session.run(self._outputs, dict(zip(self._inputs, arrays, strict=True)))
        except Exception as error:
            raise _failed(self.name, error) from error
        for name, answer in zip(self._outputs, answers, strict=True):
            if answer.shape[:2] != arrays[0].shape[:2]:
                raise EngineError(
                    f"onnxruntime gave {name} as {answer.shape[:2]} rows and tokens, expected {arrays[0].shape[:2]}"
                )
        return answers

    def close(self) -> None:
        del self._session


def _failed(engine: str, error: Exception) -> EngineError:
    return EngineError(f"the engine {engine} failed with {type(error).__name__}; check that there is enough memory")
