"""Check that a server has the models of the local model manifest, on every new connection: a server may change."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tritonclient.grpc import model_config_pb2

from deid_runtime.errors import ModelError
from deid_runtime.models.manifest import INTERFACE_VERSION, Graph, Manifest
from deid_runtime.text.windows import WINDOW_TOKENS

_DEPTH: Final = 3  # ensembles of ensembles
_TYPES: Final = {number: name for name, number in model_config_pb2.DataType.items()}


@dataclass(frozen=True, slots=True)
class Needed:
    """A model that the client uses. ``outputs`` maps the name of each required output to its data type in Triton."""

    model: str
    outputs: Mapping[str, str]


async def check_models(
    endpoint: str,
    needed: Mapping[str, Needed],
    manifest: Manifest,
    rows: int,
    config_of: Callable[[str], Awaitable[model_config_pb2.ModelConfig]],
) -> None:
    """Compare the configuration of every model in ``needed``, and of the models of an ensemble, with ``manifest``.

    Raises ModelError with both values of the first mismatch, and the errors of ``config_of``.
    """
    for each in needed.values():
        config = await config_of(each.model)
        if 0 < config.max_batch_size < rows or config.max_batch_size == 0:
            raise ModelError(
                f"{endpoint}: model {each.model} takes {config.max_batch_size} rows a request, this client sends up to "
                f"{rows}; lower request_rows, or write the server's model repository again"
            )
        has = {output.name: _TYPES.get(output.data_type, "unknown") for output in config.output}
        for name, kind in each.outputs.items():
            if has.get(name) != f"TYPE_{kind}":
                raise ModelError(
                    f"{endpoint}: output {name} of model {each.model} is {has.get(name, 'missing')}, expected "
                    f"TYPE_{kind}; write the server's model repository again with this version of deid-runtime"
                )
        await _check_digests(endpoint, each.model, config, manifest, config_of, _DEPTH)


async def _check_digests(
    endpoint: str,
    model: str,
    config: model_config_pb2.ModelConfig,
    manifest: Manifest,
    config_of: Callable[[str], Awaitable[model_config_pb2.ModelConfig]],
    depth: int,
) -> None:
    has = {name: value.string_value for name, value in config.parameters.items()}
    steps = {step.model_name for step in config.ensemble_scheduling.step}
    if "graph_sha256" in has or not steps:
        _compare(endpoint, model, has, manifest)
    if steps and depth == 0:
        raise ModelError(f"{endpoint}: model {model} is an ensemble of ensembles beyond {_DEPTH} levels")
    for step in sorted(steps):
        await _check_digests(endpoint, step, await config_of(step), manifest, config_of, depth - 1)


def _compare(endpoint: str, model: str, has: Mapping[str, str], manifest: Manifest) -> None:
    """Compare the parameters of one model with the manifest.

    ``graph`` and ``graph_sha256`` may list several, separated by commas.
    """
    names = has.get("graph", "").split(",")
    graphs = [manifest.graphs[name] for name in names if name in manifest.graphs]
    if len(graphs) < len(names):
        raise ModelError(
            f"{endpoint}: model {model} reports graph {has.get('graph', '')!r:.40}, the manifest in "
            f"{manifest.folder} has {', '.join(manifest.graphs)}; use a model repository that `deid-export models "
            "repository` wrote from these models"
        )
    content: Any = manifest.content
    for name, expected in (
        ("interface_version", str(INTERFACE_VERSION)),
        ("window_tokens", str(WINDOW_TOKENS)),
        ("tokenizer_sha256", content["tokenizer"]["sha256"]),
        ("graph_sha256", ",".join(content["graphs"][graph.name]["sha256"] for graph in graphs)),
    ):
        if has.get(name) != expected:
            raise ModelError(
                f"{endpoint}: {name} of model {model} is {has.get(name, 'missing')!r:.160}, but the manifest in "
                f"{manifest.folder} has {expected!r}; use the same models on both sides (--models)"
            )
    if not all(_has_tags(graph, has.get("labels", "")) for graph in graphs):
        raise ModelError(
            f"{endpoint}: model {model} has other labels than the manifest in "
            f"{manifest.folder}, or another order of labels; use the same models on both sides (--models)"
        )


def _has_tags(graph: Graph, labels: str) -> bool:
    """Return whether ``labels`` has the BIO tags of every head of ``graph``. It is JSON: head output to tags."""
    try:
        given = json.loads(labels)
        return all(given.get(version.output) == list(version.tags) for version in graph.heads)
    except (AttributeError, ValueError, RecursionError):  # RecursionError: deeply nested JSON
        return False
