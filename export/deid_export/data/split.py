"""Split a graph at the last hidden state into the encoder and the heads.

The parts have the same nodes and weights as the whole graph. So the encoder followed by a head computes the same result
as the whole. The cut is before the quantisation of the hidden state for the heads, so both sides keep their
calibration.
"""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import onnx
import onnx.utils

from deid_runtime.errors import ModelError
from deid_runtime.models.manifest import HIDDEN, INPUTS, Graph, head_outputs

#: Operators that quantisation puts between the hidden state and the heads: smoothing by a constant, int8, and back.
_QUANTISING: Final = frozenset({"DequantizeLinear", "QuantizeLinear", "Mul"})


@dataclass(frozen=True)
class Parts:
    """The files of a cut graph; ``heads`` is by output name, ``hidden_size`` is the hidden values per token."""

    encoder: Path
    heads: Mapping[str, Path]
    hidden_size: int


def split(graph: Graph, folder: Path) -> Parts:
    """Write the encoder and the heads of ``graph`` into ``folder``.

    The encoder has the inputs of the graph and the output ``hidden``, float32 ``(batch, tokens, hidden size)``. Every
    head takes ``hidden`` as input and has its two outputs of the graph. Raises ModelError when the heads do not share a
    single hidden state.
    """
    model = onnx.shape_inference.infer_shapes(onnx.load(graph.file))
    outputs = {version.output: [name for name, _ in head_outputs(version.output)] for version in graph.heads}
    cut = _hidden_state(model.graph, list(outputs.values()), graph.file)
    size = _hidden_size(model.graph, cut, graph.file)
    with tempfile.TemporaryDirectory() as scratch:
        typed = Path(scratch) / "typed.onnx"
        onnx.save(model, typed)
        encoder = folder / "encoder.onnx"
        _extract(typed, encoder, INPUTS, [cut], cut)
        heads = {}
        for head, names in outputs.items():
            heads[head] = folder / f"{head}.onnx"
            _extract(typed, heads[head], [cut], names, cut)
    return Parts(encoder, heads, size)


def _hidden_state(graph: Any, heads: Sequence[Sequence[str]], file: Path) -> str:
    """Return the one tensor from which all heads, given by their outputs, are computed."""
    made_by = {output: number for number, node in enumerate(graph.node) for output in node.output}
    above = [_ancestors(graph, made_by, outputs) for outputs in heads]
    shared = set.intersection(*above)
    varying = _varying(graph)
    read = {
        name
        for number in set.union(*above) - shared
        for name in graph.node[number].input
        if name in varying and made_by.get(name) in shared
    }
    if len(read) != 1:
        raise ModelError(
            f"{file}: its {len(heads)} heads read {len(read)} tensors of the shared encoder, expected 1; heads with "
            "separate layers cannot be served separately; `deid serve --models` serves the whole graph"
        )
    [name] = read
    while True:
        above_it = graph.node[made_by[name]]
        sources = [each for each in above_it.input if each in varying]
        # A product of two varying tensors belongs to the encoder, a product with a constant to the quantiser.
        if above_it.op_type not in _QUANTISING or len(sources) != 1:
            return str(name)
        [name] = sources


def _ancestors(graph: Any, made_by: Mapping[str, int], outputs: Iterable[str]) -> set[int]:
    """Return the indices of all nodes on which ``outputs`` depend."""
    found: set[int] = set()
    waiting = list(outputs)
    while waiting:
        number = made_by.get(waiting.pop())
        if number is not None and number not in found:
            found.add(number)
            waiting += graph.node[number].input
    return found


def _varying(graph: Any) -> set[str]:
    """Return the tensors that depend on the inputs; all others are constants. Nodes must be in topological order."""
    varying = set(INPUTS)
    for node in graph.node:
        if varying.intersection(node.input):
            varying.update(node.output)
    return varying


def _hidden_size(graph: Any, cut: str, file: Path) -> int:
    for value in graph.value_info:
        if value.name == cut:
            size: int = value.type.tensor_type.shape.dim[-1].dim_value
            return size
    raise ModelError(f"{file}: the shape of the hidden state cannot be inferred; export the models again")


def _extract(source: Path, target: Path, inputs: Sequence[str], outputs: Sequence[str], cut: str) -> None:
    """Write the part of ``source`` between ``inputs`` and ``outputs``, with ``cut`` renamed to :data:`HIDDEN`."""
    onnx.utils.extract_model(source, target, list(inputs), list(outputs))
    model = onnx.load(target)
    for value in (*model.graph.input, *model.graph.output):
        if value.name == cut:
            value.name = HIDDEN
            for dimension, name in zip(value.type.tensor_type.shape.dim, ("batch", "tokens"), strict=False):
                dimension.dim_param = name
    for node in model.graph.node:
        for names in (node.input, node.output):
            for index, name in enumerate(names):
                if name == cut:
                    names[index] = HIDDEN
    del model.graph.value_info[:]  # inferred shapes; they are inferred again when the part is loaded
    onnx.save(model, target)
