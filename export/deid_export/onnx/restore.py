"""Restore weights from a graph of a model repository, so that training can continue from them.

A site receives int8 graphs, which are two thirds smaller than the trained model files. It can still train them on its
own notes. A quantised weight differs from the trained one by at most half a step, far less than the first training
steps change it. Three things are undone: the scales of the quantiser, the scales that NNCF's SmoothQuant moved from
activations into weights (Xiao et al. 2023), and the exporter's transposition of matrices.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import torch
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor
from transformers import AutoConfig, BertConfig, MPNetConfig

from deid_export.model.mpnet import bert_config, biases_by_bucket
from deid_export.model.tagger import BranchedTagger, Shape, config_to_save, empty, save, with_shared_layers
from deid_export.onnx.simplify import JOINED, scale_of, sizes_of
from deid_runtime.errors import ModelError

_EMBEDDINGS: Final = "q_output_model.embeddings"
_PREFIX: Final = "model."
_BIAS: Final = ".bias"
_PIECES: Final = "embeddings.word_embeddings"
_SMOOTHED: Final = "nncf_smooth_quant_scale"

Floats = NDArray[np.float32]


class _Graph:
    """The nodes of a graph, indexed by their outputs and inputs."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.nodes = list(model.graph.node)
        self.values = {value.name: value for value in model.graph.initializer}
        self.maker = {output: node for node in self.nodes for output in node.output}

    def array(self, name: str) -> Floats | None:
        """Return a constant in float32, dequantised if it is stored as integers; None for a computed tensor."""
        if name in self.values:
            return numpy_helper.to_array(self.values[name]).astype(np.float32)
        node = self.maker.get(name)
        if node is None or node.op_type != "DequantizeLinear" or node.input[0] not in self.values:
            return None
        stored, scale, zero = (numpy_helper.to_array(self.values[each]).astype(np.float32) for each in node.input)
        if scale.ndim:
            axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
            shape = [1] * stored.ndim
            shape[axis] = -1
            scale, zero = scale.reshape(shape), zero.reshape(shape)
        return np.asarray((stored - zero) * scale, dtype=np.float32)

    def table(self, name: str) -> Floats | None:
        """Return a table of integers that are scaled after lookup; see :mod:`deid_export.onnx.simplify`."""
        integers, scale = self.array(name), self.array(scale_of(name))
        return None if integers is None or scale is None else integers * scale

    def parts(self, bias: str, values: Floats) -> Iterator[tuple[str, Floats]]:
        """Yield name and rows of each layer that was merged into ``values`` with the bias named ``bias``."""
        names = [name.removeprefix(_PREFIX) for name in bias.split(JOINED)]
        sizes = [len(values)] if len(names) == 1 else numpy_helper.to_array(self.values[sizes_of(bias)]).tolist()
        yield from zip(names, np.split(values, np.cumsum(sizes)[:-1]), strict=True)

    def smoothing(self, name: str) -> Floats | None:
        """Return the factors, one per channel, that multiply ``name`` before a matrix product; None without any."""
        node = self.maker.get(name)
        while node is not None and node.op_type in {"DequantizeLinear", "QuantizeLinear"}:
            node = self.maker.get(node.input[0])
        if node is None or node.op_type != "Mul":
            return None
        scales = [each for each in node.input if each.endswith(_SMOOTHED)]
        found = self.array(scales[0]) if scales else None
        return None if found is None else found.reshape(-1)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return the float32 weights of a graph of ``deid-export models onnx``, under the names of the trained model.

    Layers above the shared ones have the name of one head only when all heads share them.

    Raises ModelError for any other graph.
    """
    try:
        graph = _Graph(onnx.load(path))
        onnx_weights = dict(_matrices(graph)) | dict(_plain(graph))
    except (OSError, ValueError, DecodeError) as error:
        raise ModelError(
            f"{path} cannot be read as an ONNX graph ({type(error).__name__}); restore it from a copy"
        ) from error
    if not any(name.startswith("branches.") for name in onnx_weights):
        raise ModelError(f"{path} has no heads on a BERT; expected such a graph from a model repository")
    return {name: torch.from_numpy(np.array(value)) for name, value in onnx_weights.items()}


def _matrices(graph: _Graph) -> Iterator[tuple[str, Floats]]:
    """Yield the matrix of every linear layer, named after the bias that is added to its product."""
    bias_of = {
        taken: name
        for node in graph.nodes
        if node.op_type == "Add"
        for taken in node.input
        for name in node.input
        if name in graph.values and name.endswith(_BIAS)
    }
    for node in graph.nodes:
        if node.op_type != "MatMul" or node.output[0] not in bias_of:
            continue
        matrix = graph.array(node.input[1])
        if matrix is None:
            continue
        factors = graph.smoothing(node.input[0])
        if factors is not None:
            matrix = matrix * factors[:, None]
        for bias, part in graph.parts(bias_of[node.output[0]], matrix.T):
            yield bias.removesuffix(_BIAS) + ".weight", part


def _plain(graph: _Graph) -> Iterator[tuple[str, Floats]]:
    """Yield biases, layer norms and embeddings, which keep their names."""
    for name in graph.values:
        if name.startswith(_PREFIX):
            found = graph.array(name)
            assert found is not None
            yield from graph.parts(name, found)
    for node in graph.nodes:
        if node.op_type == "Gather" and node.name.startswith(f"/{_PREFIX.rstrip('.')}/distances/"):
            by_distance = graph.array(node.input[0])
            assert by_distance is not None
            yield "distances.bias.weight", biases_by_bucket(torch.from_numpy(by_distance)).numpy()
        if node.op_type in {"DequantizeLinear", "Gather"} and node.input[0].startswith(_EMBEDDINGS):
            name = node.input[0].removeprefix(f"q_output_{_PREFIX}").removesuffix("_1")
            found = graph.array(node.output[0]) if node.op_type == "DequantizeLinear" else graph.table(node.input[0])
            assert found is not None
            yield name, found


def restore(path: Path, base: str, out: Path, *, shared_layers: int | None = None) -> BranchedTagger:
    """Write the model of the graph at ``path`` to ``out``, in the format of training, and return it.

    ``base`` is the BERT or MPNet from which the model was trained; it gives the sizes that are not in a graph. With
    ``shared_layers``, every head gets its own copy of the layers above those, as ``deid-export adapt iterate`` needs.
    Without it, the heads share all layers.

    Raises ModelError for a graph of another base, or one whose heads have separate layers.
    """
    found = read_weights(path)
    of_heads = [name.split(".") for name in found if name.startswith("branches.")]
    heads = tuple(head for _, head, *rest in of_heads if rest == ["classifier", "bias"])
    shared = 1 + max((int(name.split(".")[1]) for name in found if name.startswith("shared.")), default=-1)
    owners = {head for _, head, *rest in of_heads if rest[0] == "layers"}
    if len(owners) > 1:
        raise ModelError(
            f"{path}: its heads have separate layers; only heads that share all layers can be converted back"
        )
    upper = {rest[1] for _, _, *rest in of_heads if rest[0] == "layers"}
    layers = shared + len(upper)
    config = _config(base, found, layers)
    kept = layers if shared_layers is None else shared_layers
    state = with_shared_layers(found, heads, shared, layers)
    state = with_shared_layers(state, heads, layers, kept)
    encoder, distances = empty(config_to_save(config))
    model = BranchedTagger(encoder, Shape(kept, heads), joint=True, distances=distances)
    try:
        model.load_state_dict(state)
    except RuntimeError as error:  # its message lists all differing weights, which are all weights
        raise ModelError(f"{path} was not trained from the base {base}; give the right base with --base") from error
    if shared_layers is not None:
        model.branch_out()
    save(model, config_to_save(config), out)
    return model


def _config(base: str, found: Mapping[str, Tensor], layers: int) -> BertConfig:
    """Return the configuration of a model of ``base`` with ``layers`` layers and the weights ``found``."""
    sizes = AutoConfig.from_pretrained(base)
    pieces = f"{_PIECES}.codes" if f"{_PIECES}.codes" in found else f"{_PIECES}.weight"
    config = bert_config(sizes, len(found[pieces])) if isinstance(sizes, MPNetConfig) else sizes
    if not isinstance(config, BertConfig):
        raise ModelError(f"{base} is not a BERT or MPNet; give the base of the graph with --base")
    config.num_hidden_layers = layers
    inner = next((len(value) for name, value in found.items() if name.endswith("intermediate.dense.bias")), None)
    config.intermediate_size = inner or config.intermediate_size  # smaller than in the base if the model was shrunk
    config.type_vocab_size = found["embeddings.token_type_embeddings.weight"].shape[0]
    config.coded_pieces = pieces.endswith(".codes")
    return config
