"""Models that differ from those that ship in one thing: other weights in one head, or other thresholds."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import numpy_helper

from deid_runtime.models.engines import load_engine
from deid_runtime.models.manifest import find_models, read_manifest, sha256_of
from deid_runtime.models.self_test import known_answer

_BIAS: Final = 1.5  # added to the score of "no identifier": the head finds less, so answers differ
_BIAS_NAME: Final = "model.branches.{head}.classifier.bias"


def with_other_head(head: str, out: Path) -> Path:
    """Write the models that ship to ``out`` with other weights in one head of the profile ``fast``; return ``out``."""
    shutil.copytree(find_models(None), out)
    content = _read(out)
    for name in content["profiles"]["fast"]["graphs"]:
        path = out / content["graphs"][name]["file"]
        model = onnx.load(str(path))
        [bias] = [each for each in model.graph.initializer if each.name == _BIAS_NAME.format(head=head)]
        values = numpy_helper.to_array(bias).copy()
        values[0] += np.float32(_BIAS)
        bias.CopyFrom(numpy_helper.from_array(values, bias.name))
        onnx.save(model, str(path))
        content["graphs"][name]["sha256"] = sha256_of(path)
        del content["graphs"][name]["known_answer"]
    _write(out, content)
    manifest = read_manifest(out)
    encoder = manifest.word_encoder()
    for graph in manifest.profiles["fast"].graphs:
        engine = load_engine("onnxruntime", graph.file, [version.output for version in graph.heads], 1)
        answer = known_answer(graph, engine, encoder)
        engine.close()
        content["graphs"][graph.name]["known_answer"] = {"text": answer.text, "scores": answer.scores}
    _write(out, content)
    return out


def with_other_thresholds(models: Path, out: Path) -> Path:
    """Write ``models`` to ``out`` with all thresholds of the profile ``fast`` half as high; return ``out``."""
    shutil.copytree(models, out)
    content = _read(out)
    for name in ("thresholds", "high_thresholds"):
        thresholds = content["profiles"]["fast"][name]
        content["profiles"]["fast"][name] = {head: value / 2 for head, value in thresholds.items()}
    _write(out, content)
    return out


def _read(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def _write(folder: Path, content: Any) -> None:
    (folder / "manifest.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
