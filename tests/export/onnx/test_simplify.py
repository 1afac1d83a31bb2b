"""Test that a simplified graph has fewer nodes and gives the same answer."""

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("onnx", reason="exporting needs onnx")

import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from deid_export.onnx.simplify import scale_of, simplify, sizes_of

_HIDDEN = 8
_ROWS = 1500  # rows of the table; more than a window has tokens


class _Draft:
    """A graph under construction: a table, a quantised hidden state, and products of it."""

    def __init__(self, rows: int, *, zero: int = 0) -> None:
        self.rng = np.random.default_rng(7)
        self.constants: list[onnx.TensorProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.stored("table", (rows, _HIDDEN), 0, zero=zero)
        self.nodes.append(helper.make_node("Gather", ["dq table", "ids"], ["hidden"], "lookup"))
        self.constant("step", np.float32(0.03))
        self.constant("middle", np.int8(3))
        self.nodes += [
            helper.make_node("QuantizeLinear", ["hidden", "step", "middle"], ["q hidden"], "quantise"),
            helper.make_node("DequantizeLinear", ["q hidden", "step", "middle"], ["dq hidden"], "dequantise"),
        ]

    def constant(self, name: str, value: NDArray[np.generic] | np.generic) -> None:
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))

    def stored(self, name: str, shape: tuple[int, int], axis: int, *, zero: int = 0) -> None:
        """Add ``dq <name>``, a constant matrix stored as int8."""
        self.constant(name, self.rng.integers(-127, 128, shape, dtype=np.int8))
        self.constant(f"{name} scale", self.rng.uniform(0.005, 0.02, shape[axis]).astype(np.float32))
        self.constant(f"{name} zero", np.full(shape[axis], zero, dtype=np.int8))
        inputs = [name, f"{name} scale", f"{name} zero"]
        self.nodes.append(helper.make_node("DequantizeLinear", inputs, [f"dq {name}"], f"dq {name}", axis=axis))

    def product(self, name: str, size: int) -> None:
        """Add the output ``name``: the hidden state times a matrix, plus a bias."""
        self.stored(f"{name} matrix", (_HIDDEN, size), 1)
        self.constant(f"{name}.bias", self.rng.normal(size=size).astype(np.float32))
        self.nodes += [
            helper.make_node("MatMul", ["dq hidden", f"dq {name} matrix"], [f"{name} product"], f"{name} product"),
            helper.make_node("Add", [f"{name}.bias", f"{name} product"], [name], f"{name} sum"),
        ]
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "tokens", size]))

    def model(self) -> onnx.ModelProto:
        ids = helper.make_tensor_value_info("ids", TensorProto.INT32, ["batch", "tokens"])
        graph = helper.make_graph(self.nodes, "draft", [ids], self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.checker.check_model(model)
        return model


def drafted(rows: int = _ROWS, *, zero: int = 0) -> onnx.ModelProto:
    draft = _Draft(rows, zero=zero)
    for name, size in (("query", 6), ("key", 6), ("tags", 5), ("value", 6)):
        draft.product(name, size)
    return draft.model()


def answers(model: onnx.ModelProto) -> list[NDArray[np.float32]]:
    ids = np.random.default_rng(3).integers(0, 900, (3, 11), dtype=np.int32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [np.asarray(each) for each in session.run(None, {"ids": ids})]


def simplified(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    simplify(copy)
    return copy


def counted(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def test_the_answers_stay() -> None:
    before, after = answers(drafted()), answers(simplified(drafted()))

    for old, new in zip(before, after, strict=True):
        assert float(np.abs(old).max()) > 0.5
        np.testing.assert_allclose(new, old, atol=2e-6)


def test_products_of_one_size_become_one() -> None:
    before, after = counted(drafted()), counted(simplified(drafted()))

    assert (before["MatMul"], after["MatMul"]) == (4, 2)  # the matrix of the tags has another size
    assert (before["Add"], after["Add"], after["Split"]) == (4, 2, 1)


def test_what_was_merged_can_be_told_apart() -> None:
    constants = {each.name: numpy_helper.to_array(each) for each in simplified(drafted()).graph.initializer}
    own = {each.name: numpy_helper.to_array(each) for each in drafted().graph.initializer}

    name = "query.bias+key.bias+value.bias"
    parts = np.split(constants[name], np.cumsum(constants[sizes_of(name)])[:-1])
    for part, old in zip(parts, ("query.bias", "key.bias", "value.bias"), strict=True):
        assert np.array_equal(part, own[old])
    assert not {"query.bias", "query matrix"} & constants.keys()


def test_a_large_table_is_looked_up_before_it_is_scaled() -> None:
    model = simplified(drafted())

    assert not [node for node in model.graph.node if node.op_type == "DequantizeLinear" and node.input[0] == "table"]
    assert [node.input[0] for node in model.graph.node if node.op_type == "Gather"] == ["table", scale_of("table")]


@pytest.mark.parametrize(("rows", "zero"), [(1000, 0), (_ROWS, 1)])
def test_other_tables_stay(rows: int, zero: int) -> None:
    before, after = drafted(rows, zero=zero), simplified(drafted(rows, zero=zero))

    assert counted(after)["Gather"] == counted(before)["Gather"] == 1
    for old, new in zip(answers(before), answers(after), strict=True):
        np.testing.assert_allclose(new, old, atol=2e-6)


def test_a_simplified_graph_is_left_as_it_is() -> None:
    once = simplified(drafted())

    assert counted(simplified(once)) == counted(once)
