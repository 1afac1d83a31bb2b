"""Write the folder that a Triton server serves: one folder per model, the model manifest and the tokenizer.

The folder is complete, and ``deid run --models`` accepts it as a model repository too. It has no signature: its model
manifest names other files and therefore differs from the signed one.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from deid_runtime.errors import OutputError
from deid_runtime.models.manifest import Manifest, served_version
from deid_runtime.serving.graph_models import MASK_FILE, GraphModels, ServingOptions
from deid_runtime.serving.installation import PATH_VARIABLE
from deid_runtime.serving.model_config import ModelConfig
from deid_runtime.serving.note_models import NOTES, NOTES_STREAM, SITE_LISTS, NoteOptions, note_models
from deid_runtime.serving.rows import WIDTHS

GRAPH_FILE: Final = "model.onnx"
_PROGRAM: Final = "model.py"
#: An empty file of this name beside a program keeps Python from writing compiled programs there. They would not be part
#: of a signed release, and the processes of the server ignore PYTHONDONTWRITEBYTECODE.
_NO_BYTECODE: Final = "__pycache__"

#: The ``model.py`` of python models. It extends `sys.path` from a variable, because Triton's process ignores
#: PYTHONPATH. Without the variable the package must be installed.
_MODEL_PY: Final = '''\
"""{purpose}"""

import os
import sys

sys.path += [path for path in os.environ.get("{variable}", "").split(os.pathsep) if path not in ("", *sys.path)]

from deid_runtime.serving.{module} import TritonPythonModel  # noqa: E402

__all__ = ["TritonPythonModel"]
'''
_TOKEN_MODEL: Final = _MODEL_PY.format(
    purpose="Serves this folder's graph with the engine of deid_runtime.", variable=PATH_VARIABLE, module="token_model"
)
_NOTE_MODELS: Final = {
    NOTES: _MODEL_PY.format(
        purpose="De-identifies notes with the pipeline of deid_runtime.", variable=PATH_VARIABLE, module="note_model"
    ),
    NOTES_STREAM: _MODEL_PY.format(
        purpose="De-identifies streams of notes.", variable=PATH_VARIABLE, module="note_stream"
    ),
}


def write_repository(manifest: Manifest, out: Path, options: ServingOptions, notes: NoteOptions) -> None:
    """Write the models that use unchanged graphs: one per whole graph, and the models for whole notes.

    ``deid-export models repository`` writes these and the parts of each graph. Raises OutputError when ``out`` is not
    empty or cannot be written.
    """
    with repository_folder(manifest, out):
        models = GraphModels(manifest, options)
        for graph in manifest.graphs.values():
            write_graph_model(out, models.whole(graph), graph.file)
        write_note_models(out, manifest, notes)
        manifest.check_unchanged()


@contextmanager
def repository_folder(manifest: Manifest, out: Path) -> Iterator[None]:
    """Create ``out`` with the model manifest and the tokenizer, which Triton ignores. The block writes the models.

    Raises OutputError when ``out`` is not empty or cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputError(f"{out} already exists; name a new or empty folder, because a server may be using this one")
    content: Any = manifest.content
    graphs = {
        name: {**entry, "file": f"{name}/{served_version(entry['sha256'])}/{GRAPH_FILE}"}
        for name, entry in content["graphs"].items()
    }
    tokenizer = {**content["tokenizer"], "file": manifest.tokenizer.name}
    try:
        out.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(manifest.tokenizer, out / manifest.tokenizer.name)
        text = json.dumps({**content, "graphs": graphs, "tokenizer": tokenizer}, indent=2)
        (out / "manifest.json").write_text(text + "\n", encoding="utf-8")
        yield
    except OSError as error:
        raise OutputError(f"cannot write the repository {out}: {error.strerror}") from error


def write_graph_model(
    out: Path, config: ModelConfig, graph: Path, *, variants: Mapping[str, ModelConfig] | None = None
) -> None:
    """Write the folder of one model: configuration, a copy of the graph, and ``model.py`` for the python backend.

    ``variants`` maps names to other configurations of the model. ``--model-config-name`` selects one by name.
    """
    folder = write_config(out, config, variants=variants)
    shutil.copyfile(graph, folder / GRAPH_FILE)
    if config.backend == "python":
        _write_program(folder, _TOKEN_MODEL)
    if any(each.file for warmup in config.warmup for each in warmup.inputs):
        (out / config.name / "warmup").mkdir()
        for width in WIDTHS:
            np.ones(width, np.int32).tofile(out / config.name / "warmup" / MASK_FILE.format(width=width))


def write_note_models(out: Path, manifest: Manifest, options: NoteOptions) -> None:
    """Write the folders of the models for whole notes. Their version comes from the digest of the profile's models."""
    digest = manifest.profile_sha256(options.settings.profile)
    for made in note_models(options):
        parameters = {**made.parameters, "models_sha256": digest}
        config = replace(made, version=served_version(digest), parameters=parameters)
        folder = write_config(out, config)
        _write_program(folder, _NOTE_MODELS[config.name])
        if config.name == NOTES:
            for name, path in options.site_lists.items():
                shutil.copyfile(path, folder.parent / SITE_LISTS[name])


def write_config(out: Path, config: ModelConfig, *, variants: Mapping[str, ModelConfig] | None = None) -> Path:
    """Write the ``config.pbtxt`` of a model and return its version folder, which stays empty for ensembles."""
    folder = out / config.name / config.version
    folder.mkdir(parents=True)
    (out / config.name / "config.pbtxt").write_text(config.text(), encoding="ascii")
    for name, variant in (variants or {}).items():
        (out / config.name / "configs").mkdir(exist_ok=True)
        (out / config.name / "configs" / f"{name}.pbtxt").write_text(variant.text(), encoding="ascii")
    return folder


def _write_program(folder: Path, text: str) -> None:
    (folder / _PROGRAM).write_text(text, encoding="utf-8")
    (folder / _NO_BYTECODE).touch()
