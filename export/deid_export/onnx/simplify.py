"""Simplify an int8 graph, so that every engine has less work.

Each step keeps the result of the graph, to within the rounding of float32:

* The products of one input with several matrices of one size (queries, keys and values of a layer) become one product,
  whose sum is then split. ONNX Runtime computes an int8 product in int8 only when nothing else reads its input. So two
  of the three products were computed in float32, which took a quarter of the time of a MiniLM.
* In large tables (the token embeddings), int8 rows are looked up first and then scaled. ONNX Runtime scaled the whole
  table for every batch.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

#: Separates the names of the parts of a merged matrix or bias.
JOINED: Final = "+"
_LEAST_ROWS: Final = 1024  # least rows of a large table: more than a window has tokens


def sizes_of(bias: str) -> str:
    """Return the name of the constant that has the length of each part of a merged bias."""
    return f"sizes of {bias}"


def scale_of(table: str) -> str:
    """Return the name of the constant ``(rows, 1)`` that scales the values looked up in a table of integers."""
    return f"scale of {table}"


def simplify(model: onnx.ModelProto) -> None:
    """Simplify the graph of ``model``, made by `deid_export.onnx.quantise`, in place."""
    graph = _Graph(model.graph)
    for products in list(_parallel_products(graph)):
        _merge(graph, products)
    for lookup in [node for node in graph.nodes if node.op_type == "Gather"]:
        _scale_after_lookup(graph, lookup)
    graph.finish()
    onnx.checker.check_model(model)


class _Graph:
    """The nodes of a graph, indexed by their outputs and inputs; the index follows changes of the nodes."""

    def __init__(self, proto: onnx.GraphProto) -> None:
        self._proto = proto
        self.nodes: list[Any] = list(proto.node)
        self._constants = {value.name: value for value in proto.initializer}
        self._index()

    def _index(self) -> None:
        self.maker = {output: node for node in self.nodes for output in node.output}
        self.takers: dict[str, list[Any]] = defaultdict(list)
        for node in self.nodes:
            for name in node.input:
                self.takers[name].append(node)

    def constant(self, name: str) -> NDArray[Any] | None:
        """Return the value of a stored constant; None for a computed tensor."""
        return numpy_helper.to_array(self._constants[name]) if name in self._constants else None

    def stored(self, node: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None:
        """Return integers, scale and zero point of a DequantizeLinear of a constant; None for any other node."""
        if node is None or node.op_type != "DequantizeLinear" or len(node.input) != 3:
            return None
        values = [self.constant(name) for name in node.input]
        return None if any(value is None for value in values) else tuple(values)  # type: ignore[return-value]

    def add_constant(self, name: str, value: NDArray[Any]) -> str:
        """Add or replace the constant ``name``."""
        self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def replace(self, old: Sequence[Any], new: Sequence[Any], *, at: Any) -> None:
        """Replace the nodes ``old`` by ``new``, at the place of ``at``, which is one of ``old``.

        The inputs of the new nodes must be computed before that place.
        """
        kept: list[Any] = []
        for node in self.nodes:
            if node is at:
                kept += new
            if not any(node is gone for gone in old):
                kept.append(node)
        self.nodes = kept
        self._index()

    def finish(self) -> None:
        """Write the nodes back, without unused constants."""
        used = {name for node in self.nodes for name in node.input}
        made = {name for node in self.nodes for name in node.output}
        # ONNX Runtime needs the shapes known so far to fuse sums into layer norms.
        shapes = [value for value in self._proto.value_info if value.name in made]
        for field, content in (
            (self._proto.node, self.nodes),
            (self._proto.initializer, [value for name, value in self._constants.items() if name in used]),
            (self._proto.value_info, shapes),
        ):
            kept = list(content)
            del field[:]
            field.extend(kept)


def _parallel_products(graph: _Graph) -> Iterator[list[Any]]:
    """Yield groups of two or more int8 products of one input with matrices of one size, each followed by a bias."""
    for name, takers in list(graph.takers.items()):
        by_size: dict[int, list[Any]] = defaultdict(list)
        for node in takers:
            stored = None if node.op_type != "MatMul" else graph.stored(graph.maker.get(node.input[1]))
            sums = graph.takers[node.output[0]]
            if node.input[0] == name and stored is not None and stored[1].size == stored[0].shape[-1] and (
                len(sums) == 1 and sums[0].op_type == "Add" and len(_constants_of(graph, sums[0])) == 1
            ):  # fmt: skip
                by_size[stored[0].shape[-1]].append(node)
        yield from (products for products in by_size.values() if len(products) > 1)


def _merge(graph: _Graph, products: Sequence[Any]) -> None:
    matrices = [graph.maker[product.input[1]] for product in products]
    sums = [graph.takers[product.output[0]][0] for product in products]
    biases = [_constants_of(graph, each)[0] for each in sums]
    stored = [graph.stored(matrix) for matrix in matrices]
    name = JOINED.join(biases)
    parts = zip(*(each for each in stored if each is not None), strict=True)
    weights = [
        graph.add_constant(f"{what} of {name}", np.concatenate(part, axis=-1))
        for what, part in zip(("integers", "scale", "zero point"), parts, strict=True)
    ]
    bias = graph.add_constant(name, np.concatenate([_known(graph, each) for each in biases]))
    sizes = graph.add_constant(sizes_of(name), np.array([len(_known(graph, each)) for each in biases]))
    matrix, product, total = (f"{what} of {name}" for what in ("matrix", "product", "sum"))
    graph.replace(
        [*matrices, *products, *sums],
        [
            helper.make_node("DequantizeLinear", weights, [matrix], matrix, axis=-1),
            helper.make_node("MatMul", [products[0].input[0], matrix], [product], product),
            helper.make_node("Add", [product, bias], [total], total),
            helper.make_node("Split", [total, sizes], [each.output[0] for each in sums], f"parts of {name}", axis=-1),
        ],
        at=products[0],
    )


def _scale_after_lookup(graph: _Graph, lookup: Any) -> None:
    """Look up the integers of a table, then scale the rows found."""
    table = graph.maker.get(lookup.input[0])
    stored = graph.stored(table)
    if table is None or stored is None or len(graph.takers[lookup.input[0]]) != 1:
        return
    integers, scale, zero = stored
    if integers.ndim != 2 or len(integers) < _LEAST_ROWS or zero.any() or scale.shape != integers.shape[:1]:
        return
    name, rows, found = table.input[0], lookup.input[1], lookup.output[0]
    scales = graph.add_constant(scale_of(name), scale[:, None])
    picked, figures, factors = (f"{what} of {found}" for what in ("integers", "figures", "scale"))
    graph.replace(
        [table, lookup],
        [
            helper.make_node("Gather", [name, rows], [picked], picked),
            helper.make_node("Cast", [picked], [figures], figures, to=onnx.TensorProto.FLOAT),
            helper.make_node("Gather", [scales, rows], [factors], factors),
            helper.make_node("Mul", [figures, factors], [found], lookup.name),
        ],
        at=lookup,
    )


def _constants_of(graph: _Graph, node: Any) -> list[str]:
    return [name for name in node.input if graph.constant(name) is not None]


def _known(graph: _Graph, name: str) -> NDArray[Any]:
    value = graph.constant(name)
    assert value is not None
    return value
