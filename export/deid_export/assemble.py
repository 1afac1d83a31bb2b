"""From a trained model to a model repository that the runtime loads: graph, tokenizer, manifest, checked at the end."""

import datetime
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from deid_export.corpus import GoldNote, corpus_digest
from deid_export.model import load, tags_of
from deid_export.quantise import quantise
from deid_export.to_onnx import export_fused
from deid_runtime.contract import CONTRACT_VERSION, INPUTS, read_manifest, sha256_of
from deid_runtime.windows import WINDOW_TOKENS, WordEncoder
from deid_runtime.words import TYPE_COUNT

GRAPH = Path("fused") / "1" / "model.onnx"
TOKENIZER = Path("tokenizer.json")
DEFAULT_THRESHOLD = 0.5


def assemble(
    trained: Path, tokenizer: Path, notes: Sequence[GoldNote], out: Path, *, head_version: str = "v0", int8: bool = True
) -> Path:
    """Write the model repository of ``trained`` to ``out`` and return its manifest.

    ``notes`` are the training notes: int8 ranges are calibrated on them, and the manifest names them by digest.
    """
    (out / GRAPH).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(tokenizer, out / TOKENIZER)
    model = load(trained)
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / "model.onnx"
        export_fused(model, exported)
        if int8:
            quantise(exported, out / GRAPH, notes, WordEncoder.from_file(out / TOKENIZER))
        else:
            shutil.copyfile(exported, out / GRAPH)
    content = {
        "contract": CONTRACT_VERSION,
        "window_tokens": WINDOW_TOKENS,
        "token_types": TYPE_COUNT,
        "inputs": dict.fromkeys(INPUTS, "int32 (batch, tokens)"),
        "outputs": {"<head>_label": "uint8 (batch, tokens)", "<head>_score": "float16 (batch, tokens), 1 - P(O)"},
        "graph": {
            "file": GRAPH.as_posix(),
            "sha256": sha256_of(out / GRAPH),
            "precision": "int8" if int8 else "float32",
        },
        "tokenizer": {"file": TOKENIZER.as_posix(), "sha256": sha256_of(out / TOKENIZER)},
        "heads": [
            {"name": head, "version": head_version, "threshold": DEFAULT_THRESHOLD, "tags": tags_of(head)[1:]}
            for head in model.shape.heads
        ],
        "shared_layers": model.shape.shared_layers,
        "trained_weights_sha256": sha256_of(trained),
        "corpus_sha256": corpus_digest(notes),
        "exported": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "made_with": {name: version(name) for name in ("torch", "transformers", "onnx", "nncf")},
    }
    return write_manifest(out, content)


def write_manifest(out: Path, content: Mapping[str, object]) -> Path:
    """Write ``content`` and read it back through the runtime's own check."""
    path = out / "manifest.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    read_manifest(out)
    return path
