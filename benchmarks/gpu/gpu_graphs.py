"""Graphs for a GPU: float32 and float16 copies, and sessions of ONNX Runtime with the provider that was asked for."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from gpu_state import State

from deid_runtime.models.engines import Ids, TokenScores
from deid_runtime.models.manifest import INPUTS, Graph, Manifest, find_models, head_outputs, read_manifest, sha256_of
from deid_runtime.settings import Precision

_PROVIDERS: Final = {"cuda": "CUDAExecutionProvider", "tensorrt": "TensorrtExecutionProvider"}
_MOST_ROWS: Final = 256
_INSTALL: Final = (
    "install onnxruntime-gpu in place of onnxruntime (for TensorRT, its libraries too) on a machine with an NVIDIA "
    "GPU, or give --device cpu to see that the script works"
)


def provider_of(kind: str, device: str) -> tuple[str, str]:
    """Return the execution provider for ``kind``, cuda or tensorrt, and what is wrong with it, empty when nothing is.

    On the device ``cpu``, cuda stands for the processor, and there is no tensorrt.
    """
    import onnxruntime

    if device == "cpu":
        return ("CPUExecutionProvider", "") if kind == "cuda" else ("", "there is no TensorRT on --device cpu")
    available = onnxruntime.get_available_providers()
    if _PROVIDERS[kind] not in available:
        return "", f"onnxruntime {onnxruntime.__version__} has only {', '.join(available)}; {_INSTALL}"
    if (
        shutil.which("nvidia-smi") is None
        or subprocess.run(["nvidia-smi"], check=False, capture_output=True).returncode
    ):
        return "", f"nvidia-smi finds no GPU here; {_INSTALL}"
    return _PROVIDERS[kind], ""


def describe_gpu(device: str) -> dict[str, object]:
    """Return name, memory and driver of the GPU, and the versions of ONNX Runtime and its providers."""
    import onnxruntime

    described: dict[str, object] = {
        "onnxruntime": onnxruntime.__version__,
        "providers": onnxruntime.get_available_providers(),
        "numpy": np.__version__,
    }
    if device == "cuda":
        query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version,clocks.max.sm", "--format=csv,noheader"]
        described["nvidia-smi"] = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()
    return described


def make_graphs(state: State) -> None:
    """Write OUT/models-float32 and OUT/models-float16: folders of models whose manifests name the new graphs."""
    float32, float16 = (state.out / f"models-{name}" for name in ("float32", "float16"))
    if not (float32 / "manifest.json").exists():
        source = state.options.float32 or _restored(state)
        shutil.rmtree(float32, ignore_errors=True)
        shutil.copytree(source, float32)
    began = time.monotonic()
    manifest = read_manifest(float32)
    rows = {}
    changed: dict[str, Any] = json.loads(json.dumps(manifest.content))
    for name, graph in manifest.graphs.items():
        path = float16 / changed["graphs"][name]["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_float16(graph.file, path)
        changed["graphs"][name] |= {"sha256": sha256_of(path), "precision": "float16"}
        rows[name] = {"float32_bytes": graph.file.stat().st_size, "float16_bytes": path.stat().st_size}
    shutil.copyfile(manifest.tokenizer, float16 / manifest.tokenizer.name)
    (float16 / "manifest.json").write_text(json.dumps(changed, indent=1) + "\n", encoding="utf-8")
    read_manifest(float16)
    state.add(graphs=rows, float16_seconds=round(time.monotonic() - began, 1))
    state.end("done")


def _restored(state: State) -> Path:
    """Return float32 copies of the graphs that ship, with their thresholds: weights out of the int8 graphs."""
    ours = find_models(None)
    manifest = read_manifest(ours)
    trained = []
    for name, graph in manifest.graphs.items():
        path = state.out / f"{name}.pt"
        _export("models", "restore", str(graph.file), "-o", str(path))
        trained.append(str(path))
    out = state.out / "restored-float32"
    shutil.rmtree(out, ignore_errors=True)
    profiles = state.out / "profiles.json"
    names = ("thresholds", "high_thresholds", "vote")
    content: Any = manifest.content
    settled = {
        profile: {name: entry[name] for name in names if name in entry}
        for profile, entry in content["profiles"].items()
    }
    profiles.write_text(json.dumps(settled), encoding="utf-8")
    # The notes only calibrate int8 ranges, which float32 graphs do not have, so a few are enough.
    notes = state.out / "notes-of-the-manifest"
    notes.mkdir(exist_ok=True)
    train = Path(__file__).resolve().parents[2] / "export" / "corpus" / "notes" / "train"
    for path in sorted(train.iterdir())[:1]:
        shutil.copy(path, notes)
    _export("models", "onnx", *trained, "--notes", str(notes), "-o", str(out), "--float32", "--profiles", str(profiles))
    return out


def _export(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "deid_export.cli.main", *arguments], check=True)


def _write_float16(source: Path, target: Path) -> None:
    """Write a float16 copy of a graph; its inputs and outputs stay as they are."""
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    converted = convert_float_to_float16(onnx.load(str(source)), keep_io_types=True)
    onnx.save(converted, str(target))


@dataclass
class GpuEngine:
    """An engine of the runtime on one provider. ``heads`` are the outputs; answers come as from every engine."""

    session: Any
    heads: Sequence[str]
    name: str
    precision: Precision = "float32"

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        """Run ``(batch, tokens)`` inputs; return one answer per head."""
        out = self.session.run(
            [name for head in self.heads for name, _ in head_outputs(head)],
            dict(zip(INPUTS, (ids, types, mask), strict=True)),
        )
        return [TokenScores(label, score.astype(np.float32)) for label, score in zip(out[::2], out[1::2], strict=True)]

    def close(self) -> None:
        """Free the graph."""
        del self.session


def open_session(file: Path, kind: str, state: State, inputs: Mapping[str, Sequence[int | str]] | None = None) -> Any:
    """Return a session of ONNX Runtime for ``kind``. Raises RuntimeError when another provider took the graph.

    ``inputs`` maps the inputs to their shapes, for the range of shapes of a TensorRT plan; None: token inputs.
    """
    import onnxruntime

    provider, problem = provider_of(kind, state.device)
    if problem:
        raise RuntimeError(problem)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    chosen: list[Any] = [provider]
    if kind == "tensorrt":
        plans = state.out / "plans" / file.parent.parent.name
        plans.mkdir(parents=True, exist_ok=True)
        shapes = {
            name: ",".join(
                f"{each}:" + "x".join(str(size) for size in (rows, tokens, *dims))
                for each, dims in (inputs or dict.fromkeys(INPUTS, ())).items()
            )
            for name, rows, tokens in (("min", 1, 32), ("opt", 64, 96), ("max", _MOST_ROWS, 128))
        }
        chosen = [
            (
                provider,
                {
                    "trt_fp16_enable": True,
                    "trt_engine_cache_enable": True,
                    "trt_engine_cache_path": str(plans),
                    **{f"trt_profile_{name}_shapes": shape for name, shape in shapes.items()},
                },
            ),
            _PROVIDERS["cuda"],
        ]
    if hasattr(onnxruntime, "preload_dlls") and state.device == "cuda":
        onnxruntime.preload_dlls()  # of NVIDIA's packages, where CUDA is installed by pip
    session = onnxruntime.InferenceSession(str(file), options, providers=chosen)
    if session.get_providers()[0] != provider:
        raise RuntimeError(f"{provider} could not be used, {session.get_providers()[0]} was; see the log above")
    return session


def engine_of(graph: Graph, kind: str, state: State) -> GpuEngine:
    """Return an engine for a whole graph."""
    return GpuEngine(
        open_session(graph.file, kind, state), [each.output for each in graph.heads], provider_of(kind, state.device)[0]
    )


def models_for(kind: str, state: State) -> Manifest:
    """Return the models that a provider runs: float16, on the processor float32, which has few float16 kernels."""
    is_small = kind != "float32" and state.device == "cuda"
    return read_manifest(state.out / ("models-float16" if is_small else "models-float32"))


def load_all(state: State, kind: str) -> None:
    """Load every graph, and its encoder and heads, with one provider; record the time and that it computes."""
    problem = provider_of(kind, state.device)[1]
    if problem:
        state.add(reason=problem)
        state.end("left out")
        return
    for graph in models_for(kind, state).graphs.values():
        for name, file, inputs in _files(graph, state.out / "parts" / kind / graph.name):
            if state.is_over:
                state.end("cut off")
                return
            began = time.monotonic()
            session = open_session(file, kind, state, inputs)
            loaded = time.monotonic()
            feeds = _feeds(session)
            session.run(None, feeds)
            first = time.monotonic()
            session.run(None, feeds)
            row = {
                "graph": name, "provider": session.get_providers()[0], "load_s": round(loaded - began, 2),
                "first_run_s": round(first - loaded, 2), "second_run_ms": round(1e3 * (time.monotonic() - first), 2),
            }  # fmt: skip
            state.add_row("rows", row)
    plans = list((state.out / "plans").rglob("*.engine")) if kind == "tensorrt" else []
    state.add(plans=len(plans), plan_bytes=sum(path.stat().st_size for path in plans))
    state.end("done")


def _files(graph: Graph, folder: Path) -> list[tuple[str, Path, Mapping[str, Sequence[int]] | None]]:
    """Return name, file and inputs of a graph and of its parts. Inputs are the sizes behind rows and tokens."""
    from deid_export.data.split import split

    folder.mkdir(parents=True, exist_ok=True)
    parts = split(graph, folder)
    hidden = {"hidden": (parts.hidden_size,)}
    heads = [(f"{graph.name} {head}", file, hidden) for head, file in parts.heads.items()]
    return [(graph.name, graph.file, None), (f"{graph.name} encoder", parts.encoder, None), *heads]


def _feeds(session: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Return inputs of 8 rows of 64 tokens, all ones: valid ids, types, masks and hidden states."""
    kinds = {"tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(float16)": np.float16}
    return {
        each.name: np.ones((8, 64, *[size for size in each.shape[2:] if isinstance(size, int)]), kinds[each.type])
        for each in session.get_inputs()
    }
