"""Inference engines: a graph file in, a function from token batches to tags and scores out."""

import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from deid_runtime.contract import INPUTS, head_outputs
from deid_runtime.errors import ModelError

Ids = NDArray[np.int32]
Array = NDArray[Any]
EngineKind = Literal["auto", "openvino", "onnxruntime"]


@dataclass(frozen=True, slots=True)
class TokenScores:
    """What one head says of a batch: ``tags`` uint8 and ``scores`` float32, both ``(batch, tokens)``."""

    tags: NDArray[np.uint8] = field(repr=False)
    scores: NDArray[np.float32] = field(repr=False)


class Engine(Protocol):
    """Runs one graph. A row's answer never depends on the other rows of its batch."""

    name: str

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        """Run ``(batch, tokens)`` inputs; one answer per head, in the order the engine was loaded with."""

    def close(self) -> None:
        """Free the graph."""


class Session(Protocol):
    """Runs one graph, whole or a part of one, on arrays in the order it was loaded with."""

    name: str

    def __call__(self, *arrays: Array) -> list[Array]:
        """Return one array per output, the caller's to keep."""

    def close(self) -> None:
        """Free the graph."""


def load_engine(kind: EngineKind, graph: Path, heads: Sequence[str], threads: int) -> Engine:
    """Load ``graph`` with outputs ``<head>_label`` and ``<head>_score`` for each of ``heads``.

    ``auto`` is that of :func:`fastest_engine`.

    Raises ModelError when the engine is not installed or cannot take the graph.
    """
    outputs = [name for head in heads for name, _ in head_outputs(head)]
    return _Heads(load_session(kind, graph, INPUTS, outputs, threads))


def load_session(kind: EngineKind, graph: Path, inputs: Sequence[str], outputs: Sequence[str], threads: int) -> Session:
    """Load ``graph`` to be called with ``inputs`` and to answer with ``outputs``, in their order; see `load_engine`."""
    makers: dict[str, Callable[[Path, Sequence[str], Sequence[str], int], Session]] = {
        "openvino": _OpenVino,
        "onnxruntime": _OnnxRuntime,
    }
    if kind == "auto":
        kind = fastest_engine()
    try:
        return makers[kind](graph, inputs, outputs, threads)
    except ImportError as error:
        raise ModelError(f"the engine {kind} is not installed ({error.name}); pip install {kind}") from error
    except RuntimeError as error:  # both engines raise it, or a subclass, for a graph they cannot load
        raise ModelError(f"{kind} cannot load {graph} ({type(error).__name__}); export the models again") from error


def fastest_engine(processor: Path = Path("/proc/cpuinfo")) -> Literal["openvino", "onnxruntime"]:
    """Return which engine runs int8 graphs fastest here: OpenVINO on x86-64, or ONNX Runtime.

    With AVX-512 or AVX-VNNI OpenVINO is twice as fast. With AVX2 alone, which has no product of bytes that adds to 32
    bits, ONNX Runtime is faster: 16 windows of 128 tokens through a MiniLM of six layers on one core of a Zen 3 took
    624 ms in place of 977 (700 in float32 on OpenVINO), a sixth more with whole sums, a sixth less with the products of
    a layer merged (:mod:`deid_export.simplify`). ``processor`` is read for that; a system without it is taken to have
    either.
    """
    if platform.machine().lower() not in {"x86_64", "amd64"} or not _has_openvino():
        return "onnxruntime"
    try:
        told = processor.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "openvino"
    flags = next((line.split() for line in told.splitlines() if line.startswith("flags")), ["avx512f"])
    return "openvino" if {"avx512f", "avx_vnni"} & set(flags) else "onnxruntime"


def _has_openvino() -> bool:
    import importlib.util

    return importlib.util.find_spec("openvino") is not None


class _Heads:
    """The :class:`Engine` of a whole graph."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.name = session.name

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        out = self._session(ids, types, mask)
        return [TokenScores(label, score.astype(np.float32)) for label, score in zip(out[::2], out[1::2], strict=True)]

    def close(self) -> None:
        self._session.close()


class _OpenVino:
    name = "openvino"

    def __init__(self, graph: Path, inputs: Sequence[str], outputs: Sequence[str], threads: int) -> None:
        # Importing openvino reports the import to its makers unless its telemetry package is absent.
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
        import openvino

        core = openvino.Core()
        config: dict[str, object] = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # workers share the cores; pinned ones would share one core
            "CPU_RUNTIME_CACHE_CAPACITY": 256,  # kernels by shape; the shapes are few
        }
        if "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            config["INFERENCE_PRECISION_HINT"] = "bf16"
        self._model = core.compile_model(core.read_model(graph), "CPU", config)
        self._request = self._model.create_infer_request()
        self._inputs = inputs
        self._outputs = [self._model.output(name) for name in outputs]

    def __call__(self, *arrays: Array) -> list[Array]:
        result = self._request.infer(dict(zip(self._inputs, arrays, strict=True)), share_inputs=True)
        return [result[output].copy() for output in self._outputs]

    def close(self) -> None:
        del self._request, self._model, self._outputs


class _OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, graph: Path, inputs: Sequence[str], outputs: Sequence[str], threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Without VNNI, sums of two products of bytes are cut off at 16 bits; so they are whole, for a sixth more time.
        options.add_session_config_entry("session.x64quantprecision", "1")
        providers = [
            p for p in ("CUDAExecutionProvider", "CPUExecutionProvider") if p in onnxruntime.get_available_providers()
        ]
        try:
            self._session = onnxruntime.InferenceSession(str(graph), options, providers=providers)
        except Exception as error:  # its errors share no class of their own; what failed is told either way
            if type(error).__module__.startswith("onnxruntime"):
                raise RuntimeError(type(error).__name__) from error
            raise
        self._inputs = inputs
        self._outputs = list(outputs)

    def __call__(self, *arrays: Array) -> list[Array]:
        return self._session.run(self._outputs, dict(zip(self._inputs, arrays, strict=True)))  # type: ignore[no-any-return]

    def close(self) -> None:
        del self._session
