"""Make a model repository for the runtime from trained models: graphs, tokenizer, manifest; checked at the end."""

import datetime
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from deid_export.data.corpus import corpus_digest
from deid_export.model.tagger import head_of, load, tags_of, version_of
from deid_export.onnx.export import export_fused
from deid_export.onnx.quantise import quantise
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import ModelError
from deid_runtime.labels import HEADS
from deid_runtime.models.engines import load_engine
from deid_runtime.models.manifest import INPUTS, INTERFACE_VERSION, Graph, HeadVersion, read_manifest, sha256_of
from deid_runtime.models.self_test import known_answer
from deid_runtime.text.windows import WINDOW_TOKENS, WordEncoder
from deid_runtime.text.words import TYPE_COUNT

TOKENIZER = Path("tokenizer.json")
DEFAULT_THRESHOLD = 0.5


def assemble(
    trained: Sequence[Path],
    tokenizer: Path,
    notes: Sequence[AnnotatedNote],
    out: Path,
    *,
    int8: bool = True,
    weights: Sequence[float] = (),
    profiles: Mapping[str, Mapping[str, object]] | None = None,
) -> Path:
    """Write the model repository of ``trained`` to ``out`` and return its manifest.

    Each trained model becomes one graph, ``v0``, ``v1`` and so on. The profile ``fast`` has the first graph, ``full``
    has all. ``weights`` has the weight of the log odds of each model in the combination; without it all models count
    the same. ``profiles`` may set ``thresholds``, ``high_thresholds`` and ``vote`` of either profile. ``notes`` are the
    training notes: the int8 ranges are calibrated on them, and the manifest has their digest.

    Raises ModelError when there is not one positive weight per model, and for settings of other profiles.
    """
    settled = profiles or {}
    if not settled.keys() <= {"fast", "full"}:
        raise ModelError(f"settings for the unknown profiles {', '.join(settled)}; expected only fast and full")
    if weights and (len(weights) != len(trained) or min(weights) <= 0):
        raise ModelError(f"{len(weights)} weights for {len(trained)} models; expected one for each, more than 0")
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(tokenizer, out / TOKENIZER)
    encoder = WordEncoder.from_file(out / TOKENIZER)
    graphs = {f"v{number}": _write_graph(path, f"v{number}", notes, encoder, out, int8=int8)
              for number, path in enumerate(trained)}  # fmt: skip
    for graph, weight in zip(graphs.values(), weights, strict=False):
        graph["weight"] = weight
    thresholds = dict.fromkeys(HEADS, DEFAULT_THRESHOLD)
    content = {
        "interface_version": INTERFACE_VERSION,
        "window_tokens": WINDOW_TOKENS,
        "token_types": TYPE_COUNT,
        "inputs": dict.fromkeys(INPUTS, "int32 (batch, tokens)"),
        "outputs": {"<output>_label": "uint8 (batch, tokens)", "<output>_score": "float16 (batch, tokens), 1 - P(O)"},
        "tokenizer": {"file": TOKENIZER.as_posix(), "sha256": sha256_of(out / TOKENIZER)},
        "graphs": graphs,
        "profiles": {
            "fast": {"graphs": ["v0"], "thresholds": thresholds, **settled.get("fast", {})},
            "full": {"graphs": list(graphs), "thresholds": thresholds, **settled.get("full", {})},
        },
        "corpus_sha256": corpus_digest(notes),
        "exported": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "made_with": {name: version(name) for name in ("torch", "transformers", "optimum-onnx", "onnx", "nncf")},
    }
    return write_manifest(out, content)


def _write_graph(
    trained: Path, name: str, notes: Sequence[AnnotatedNote], encoder: WordEncoder, out: Path, *, int8: bool
) -> dict[str, object]:
    """Export and quantise one trained model; return its entry in the manifest."""
    model = load(trained)
    graph = Path(name) / "1" / "model.onnx"
    (out / graph).parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / "model.onnx"
        export_fused(model, exported)
        if int8:
            quantise(exported, out / graph, notes, encoder)
        else:
            shutil.copyfile(exported, out / graph)
    heads = tuple(
        HeadVersion(head_of(output), version_of(output) or name, output, tuple(tags_of(output)[1:]))
        for output in model.shape.heads
    )
    return {
        "file": graph.as_posix(),
        "sha256": sha256_of(out / graph),
        "precision": "int8" if int8 else "float32",
        "layers_of_each_head": model.layers_each,
        "trained_weights_sha256": sha256_of(trained),
        "heads": [
            {"head": each.head, "version": each.version, "output": each.output, "tags": each.tags} for each in heads
        ],
        "known_answer": _known_answer(Graph(name, out / graph, heads), encoder),
    }


def _known_answer(graph: Graph, encoder: WordEncoder) -> dict[str, object]:
    """Return the answer to a known text that every engine must give; ONNX Runtime, always installed, computes it."""
    engine = load_engine("onnxruntime", graph.file, [version.output for version in graph.heads], 1)
    try:
        answer = known_answer(graph, engine, encoder)
    finally:
        engine.close()
    return {"text": answer.text, "scores": answer.scores}


def write_manifest(out: Path, content: Mapping[str, object]) -> Path:
    """Write ``content`` and read it back with the check of the runtime."""
    path = out / "manifest.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    read_manifest(out)
    return path
