"""Random bodies of quantized products, float16 and bfloat16: every way of running gives the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import loopdbg
import ways
from loopdbg.runtime.frontends.onnx import reader as frontend
from strategies.draws import Draw, FromSeed

#: Rows and columns of the state, around what kernels do at once.
SHAPES = ((1, 5), (1, 64), (3, 16), (7, 70), (17, 33))
NARROW = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


class Body:
    """Nodes from ``x`` to ``name``, each a float32 tensor of one shape, and the constants that they read."""

    def __init__(self, draw: Draw, m: int, k: int) -> None:
        self.draw, self.m, self.k = draw, m, k
        self.rng = np.random.default_rng(draw.integer(0, 999))
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.name = "s"

    def add(self, op_type: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> str:
        names = [f"v{len(self.nodes)}_{j}" for j in range(outputs)]
        self.nodes.append(helper.make_node(op_type, inputs, names, domain=domain, **attributes))
        return names[0]

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def floats(self, *shape: int) -> Any:
        return np.asarray(self.rng.standard_normal(shape) / max(1, self.k) ** 0.5, np.float32)

    def few(self, *shape: int) -> Any:
        dtype = self.draw.pick((np.int8, np.uint8))
        ends = np.iinfo(dtype)
        return np.asarray(self.rng.integers(ends.min, ends.max, shape, np.int64, endpoint=True)).astype(dtype)

    def dynamic(self) -> None:
        """What onnxruntime's dynamic quantizer writes."""
        weights = self.few(self.k, self.k)
        zero = np.resize(weights.ravel()[: self.k], (self.k,) if self.draw.integer(0, 1) else ())
        self.add("DynamicQuantizeLinear", self.name, outputs=3)
        q, scale, at = self.nodes[-1].output
        sums = self.add("MatMulInteger", q, self.constant(weights), at, self.constant(zero))
        factor = self.add("Mul", scale, self.constant(np.float32(0.01)))
        real = self.add("Mul", self.add("Cast", sums, to=TensorProto.FLOAT), factor)
        self.name = self.add("Add", real, self.constant(self.floats(self.k)))

    def there_and_back(self) -> None:
        how = self.draw.integer(0, 2)
        shape: tuple[int, ...] = ((), (self.k,), (self.m, -(-self.k // 4)))[how]
        attributes = {"axis": 1, **({"block_size": 4} if how == 2 else {})}
        inputs = self.constant(np.abs(self.floats(*shape)) + np.float32(0.01)), self.constant(self.few(*shape))
        q = self.add("QuantizeLinear", self.name, *inputs, **attributes)
        self.name = self.add("DequantizeLinear", q, *inputs, **attributes)

    def quantized(self) -> None:
        scale, zero = self.constant(np.float32(0.02)), self.constant(np.uint8(128))
        weights = self.few(self.k, self.k)
        given = self.constant(weights), scale, self.constant(np.zeros((), weights.dtype))
        q = self.add("QuantizeLinear", self.name, scale, zero)
        product = self.add("QLinearMatMul", q, scale, zero, *given, self.constant(np.float32(0.1)), zero)
        self.name = self.add("DequantizeLinear", product, scale, zero)

    def wide(self) -> None:
        """Bytes less their zero point, multiplied as 32-bit integers; now and then numbers that are no bytes."""
        self.add("DynamicQuantizeLinear", self.name, outputs=3)
        q, _, at = self.nodes[-1].output
        less = self.add("Sub", *(self.add("Cast", v, to=TensorProto.INT32) for v in (q, at)))
        if self.draw.integer(0, 2) == 0:
            less = self.add("Mul", less, self.constant(np.int32(self.draw.pick((2, 1 << 20)))))
        weights = self.few(self.k, self.k).astype(np.int32) - self.draw.pick((0, 100))
        real = self.add("Cast", self.add("MatMul", less, self.constant(weights)), to=TensorProto.FLOAT)
        self.name = self.add("Mul", real, self.constant(np.float32(1e-4)))

    def packed(self) -> None:
        b = self.rng.integers(0, 256, (self.k, -(-self.k // 16), 8), np.uint8)
        given = self.name, self.constant(b), self.constant(np.abs(self.floats(self.k, -(-self.k // 16))) / 8)
        self.name = self.add("MatMulNBits", *given, domain="com.microsoft", K=self.k, N=self.k, bits=4, block_size=16)

    def narrow(self) -> None:
        to = self.draw.pick(NARROW)
        dtype = helper.tensor_dtype_to_np_dtype(to)
        x = first = self.add("Cast", self.name, to=to)
        for _ in range(self.draw.integer(1, 5)):
            match self.draw.integer(0, 3):
                case 0:
                    x = self.add(self.draw.pick(("Tanh", "Neg", "Abs", "Exp", "Sigmoid", "Sqrt", "Relu", "Floor")), x)
                case 1:
                    other = self.constant(self.floats(*self.draw.pick(((), (self.k,), (self.m, 1)))).astype(dtype))
                    x = self.add(self.draw.pick(("Add", "Sub", "Mul", "Div", "Max", "Min")), x, other)
                case 2:
                    x = self.add("Where", self.add("Less", x, first), x, first)
                case _:
                    x = self.add("MatMul", x, self.constant(self.floats(self.k, self.k).astype(dtype)))
        self.name = self.add("Cast", x, to=TensorProto.FLOAT)


def model(draw: Draw) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A Loop with one carried tensor, and its inputs."""
    m, k = draw.pick(SHAPES)
    body = Body(draw, m, k)
    steps: tuple[Callable[[], None], ...] = (
        body.dynamic, body.wide, body.there_and_back, body.quantized, body.packed, body.narrow, body.narrow,
    )  # fmt: skip
    for _ in range(draw.integer(1, 4)):
        draw.pick(steps)()
    body.name = body.add("Tanh", body.name)
    state = [m, k]
    value, number = helper.make_tensor_value_info, TensorProto.FLOAT
    inner = helper.make_graph(
        [*body.nodes, helper.make_node("Identity", ["more"], ["keep"])],
        "body",
        [value("i", TensorProto.INT64, []), value("more", TensorProto.BOOL, []), value("s", number, state)],
        [value("keep", TensorProto.BOOL, []), value(body.name, number, state), value(body.name, number, state)],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["M", "", "x"], ["y", "ys"], body=inner)],
        "few",
        [value("M", TensorProto.INT64, []), value("x", number, state)],
        [value("y", number, state), value("ys", number, ["n", *state])],
        body.constants,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    feeds = {"M": np.asarray(draw.integer(0, 6)), "x": body.floats(m, k) * 4}
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_all_ways_agree(seed: int) -> None:
    draw = FromSeed(seed)
    proto, feeds = model(draw)
    read = loopdbg.Model(frontend.from_proto(proto, "few bits"))
    expected = ways.executed(read, feeds)
    assert expected[0] is None, expected
    assert ways.hooked(read, feeds)[0] == expected
    assert ways.recorded(read, feeds)[0] == expected
    assert ways.debugged(read, feeds)[0] == expected
    assert ways.there_and_back(read, feeds, draw) == expected
    for prepare in (ways.python_only, ways.hot_at_once, ways.never_hot):
        assert ways.by_engine(read, feeds, prepare) == expected, prepare.__name__
    assert ways.by_engine(read, feeds, drive=ways.by_nodes(7)) == expected
