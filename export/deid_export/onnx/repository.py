"""Write the complete Triton repository: every graph, its parts, their ensembles, and the models for whole notes."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from deid_export.data.split import split
from deid_runtime.errors import ModelError
from deid_runtime.models.manifest import Graph, Manifest
from deid_runtime.serving.graph_models import GraphModels, ServingOptions
from deid_runtime.serving.model_config import ModelConfig
from deid_runtime.serving.note_models import NoteOptions
from deid_runtime.serving.repository import (
    repository_folder,
    write_config,
    write_graph_model,
    write_note_models,
)

#: Name of the configurations for TensorRT plans; use them with ``tritonserver --model-config-name=plans``.
PLANS: Final = "plans"


def write_full_repository(manifest: Manifest, out: Path, options: ServingOptions, notes: NoteOptions) -> None:
    """Write every model that :mod:`deid_runtime.serving.graph_models` names, and the models for whole notes.

    Raises OutputError when ``out`` is not empty or cannot be written. Raises ModelError when a graph cannot be cut, or
    when TensorRT is to run int8 that it does not support.
    """
    content: Any = manifest.content
    quantised = [name for name, entry in content["graphs"].items() if entry.get("precision") == "int8"]
    if options.backend == "tensorrt" and quantised:
        raise ModelError(
            f"{manifest.folder}: {', '.join(quantised)} are int8 with zero points, which TensorRT does not support; "
            "export them with `deid-export models onnx --float32`, which it runs in float16"
        )
    with repository_folder(manifest, out), tempfile.TemporaryDirectory() as scratch:
        models = GraphModels(manifest, options)
        for graph in manifest.graphs.values():
            folder = Path(scratch) / graph.name
            folder.mkdir()
            models = _write_graph(out, GraphModels(manifest, options), graph, folder)
        write_config(out, models.all_graphs())
        write_note_models(out, manifest, notes)


def _write_graph(out: Path, models: GraphModels, graph: Graph, scratch: Path) -> GraphModels:
    """Write the models of one graph; return ``models``, which make the configurations, with the hidden size set."""
    parts = split(graph, scratch)
    models = replace(models, hidden_size=parts.hidden_size)
    _write(out, models.whole(graph), graph.file)
    _write(out, models.encoder(graph), parts.encoder)
    for head, file in parts.heads.items():
        _write(out, models.head(graph, head), file)
    write_config(out, models.ensemble(graph))
    return models


def _write(out: Path, config: ModelConfig, graph: Path) -> None:
    write_graph_model(out, config, graph, variants=_variants(config))


def _variants(config: ModelConfig) -> Mapping[str, ModelConfig]:
    """Return the configuration for a plan built from the graph, when the accelerator is TensorRT."""
    if not any(accelerator.name == "tensorrt" for accelerator in config.accelerators):
        return {}
    return {PLANS: replace(config, backend="tensorrt", accelerators=())}
