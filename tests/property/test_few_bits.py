"""Random bodies of quantized products, float16 and bfloat16: every way of running gives the same bits."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
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
KINDS = ("dynamic", "dynamic", "spoilt", "wide", "there_and_back", "quantized", "packed", "narrow", "narrow")
FUNCTIONS = ("Tanh", "Neg", "Abs", "Exp", "Sigmoid", "Sqrt", "Relu", "Floor", "Erf", "Log", "Softplus")
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

    def tame(self) -> None:
        """``dynamic`` with signed weights of 7 bits: without VNNI onnxruntime's sums of larger ones saturate."""
        self.dynamic(tame=True)

    def dynamic(self, tame: bool = False) -> None:
        """What onnxruntime's dynamic quantizer writes; now and then two products of the same bytes."""
        self.add("DynamicQuantizeLinear", self.name, outputs=3)
        x, (q, scale, at) = self.name, self.nodes[-1].output
        parts = []
        for _ in range(self.draw.pick((1, 1, 2))):
            weights = self.few(self.k, self.k)
            weights = weights // 2 if tame and weights.dtype == np.int8 else weights
            zero = np.resize(weights.ravel()[: self.k], (self.k,) if self.draw.integer(0, 1) else ())
            sums = self.add("MatMulInteger", q, self.constant(weights), at, self.constant(zero))
            shape: tuple[int, ...] = self.draw.pick(((), (1,), (self.k,)))
            factor = self.add("Mul", scale, self.constant(np.full(shape, 0.01, np.float32)))
            part = self.add("Mul", self.add("Cast", sums, to=TensorProto.FLOAT), factor)
            more = self.draw.pick(("", x, self.constant(self.floats(self.k)), self.constant(self.floats(1, self.k))))
            if more:
                part = self.add("Add", *self.draw.pick(((part, more), (more, part))))
            parts.append(part)
        self.name = parts[0] if len(parts) == 1 else self.add("Sub", *parts)

    def spoilt(self) -> None:
        """Numbers as quantizers seldom meet them: all zeros, infinities, and what is no number."""
        bad = self.constant(np.float32(self.draw.pick((0, np.inf, np.nan, 1e38))))
        some = self.add("Greater", self.name, self.constant(np.float32(self.draw.pick((-1e9, 0.5)))))
        last = self.add("Equal", "i", self.constant(np.int64(self.draw.integer(0, 4))))
        self.name = self.add("Where", self.add("And", some, last), bad, self.name)

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
            match self.draw.integer(0, 4):
                case 0:
                    x = self.add(self.draw.pick(FUNCTIONS), x)
                case 1:
                    other = self.constant(self.floats(*self.draw.pick(((), (self.k,), (self.m, 1)))).astype(dtype))
                    x = self.add(self.draw.pick(("Add", "Sub", "Mul", "Div", "Max", "Min")), x, other)
                case 2:
                    x = self.add("Where", self.add("Less", x, first), x, first)
                case 3:
                    x = self.add(self.draw.pick(("Softmax", "LogSoftmax")), x, axis=self.draw.pick((0, 1)))
                case _:
                    x = self.add("MatMul", x, self.constant(self.floats(self.k, self.k).astype(dtype)))
        self.name = self.add("Cast", x, to=TensorProto.FLOAT)


def model(draw: Draw, kinds: Sequence[str] = KINDS, last: str = "Tanh") -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A Loop with one carried tensor, and its inputs. ``kinds``: what its body is made of."""
    m, k = draw.pick(SHAPES)
    body = Body(draw, m, k)
    for _ in range(draw.integer(1, 4)):
        getattr(body, draw.pick(kinds))()
    body.name = body.add(last, body.name)
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
    feeds = {"M": np.asarray(draw.integer(0, 6)), "x": body.floats(m, k) * draw.pick((4, 4, 0))}
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


def agree(read: loopdbg.Model, feeds: dict[str, Any], draw: Draw) -> Any:
    """What every way of running a model gives."""
    expected = ways.executed(read, feeds)
    assert expected[0] is None, expected
    assert ways.executed(read, feeds) == expected  # in groups and chains from the first iteration on
    assert ways.hooked(read, feeds)[0] == expected
    assert ways.recorded(read, feeds)[0] == expected
    assert ways.debugged(read, feeds)[0] == expected
    assert ways.there_and_back(read, feeds, draw) == expected
    for prepare in (ways.python_only, ways.hot_at_once, ways.never_hot):
        assert ways.by_engine(read, feeds, prepare) == expected, prepare.__name__
    assert ways.by_engine(read, feeds, drive=ways.by_nodes(7)) == expected
    return expected


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_all_ways_agree(seed: int) -> None:
    draw = FromSeed(seed)
    proto, feeds = model(draw)
    read = loopdbg.Model(frontend.from_proto(proto, "few bits"))
    agree(read, feeds, draw)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_all_ways_agree_on_what_openvino_writes(seed: int) -> None:
    """Its converter has some twenty nodes for a product that is quantized as it comes."""
    openvino = pytest.importorskip("openvino")
    draw = FromSeed(seed)
    proto, feeds = model(draw, ("dynamic", "dynamic", "spoilt", "wide"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "few.onnx"
        onnx.save(proto, path)
        openvino.save_model(openvino.convert_model(path), path.with_suffix(".xml"), compress_to_fp16=False)
        read = loopdbg.load(path.with_suffix(".xml"))
    agree(read, feeds, draw)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_chains_give_what_onnxruntime_gives(seed: int) -> None:
    """Apart its nodes round as ours do."""
    ort = pytest.importorskip("onnxruntime")
    draw = FromSeed(seed)
    proto, feeds = model(draw, ("tame",), last="Identity")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    read = loopdbg.Model(frontend.from_proto(proto, "few bits"))
    theirs = session.run(None, feeds)
    for _ in range(2):
        for mine, other in zip(read.run(feeds).values(), theirs, strict=True):
            np.testing.assert_array_equal(mine, other)
