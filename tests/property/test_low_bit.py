"""Random bodies of quantized products, float16 and bfloat16: every execution mode gives the same bits."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from onnx import TensorProto, helper

import loopdbg
import onnxruntime_peer
from differential_testing import check_all_modes
from hypothesis_settings import example_settings
from strategies.draws import ChoiceSource, SeededChoices
from strategies.onnx_graph_writer import BOOL, F32, I64, OnnxGraphWriter, value_info
from text_models import load_proto

#: Rows and columns of the state, around the block sizes of the kernels.
SHAPES = ((1, 5), (1, 64), (3, 16), (7, 70), (17, 33))
KINDS = (
    "dynamic",
    "dynamic",
    "spoilt",
    "add_wide_product",
    "there_and_back",
    "quantized",
    "packed",
    "narrow",
    "narrow",
)
FUNCTIONS = ("Tanh", "Neg", "Abs", "Exp", "Sigmoid", "Sqrt", "Relu", "Floor", "Erf", "Log", "Softplus")
NARROW = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


class LowBitNodeGenerator(OnnxGraphWriter):
    """Generates nodes from ``x`` to ``last``, each a float32 tensor of one shape."""

    def __init__(self, draw: ChoiceSource, m: int, k: int) -> None:
        super().__init__(draw)
        self.m, self.k = m, k
        self.last = "s"

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
        self.add("DynamicQuantizeLinear", self.last, outputs=3)
        x, (q, scale, index) = self.last, self.nodes[-1].output
        parts = []
        for _ in range(self.draw.pick((1, 1, 2))):
            weights = self.few(self.k, self.k)
            weights = weights // 2 if tame and weights.dtype == np.int8 else weights
            zero = np.resize(weights.ravel()[: self.k], (self.k,) if self.draw.integer(0, 1) else ())
            sums = self.add("MatMulInteger", q, self.constant(weights), index, self.constant(zero))
            shape: tuple[int, ...] = self.draw.pick(((), (1,), (self.k,)))
            factor = self.add("Mul", scale, self.constant(np.full(shape, 0.01, np.float32)))
            part = self.add("Mul", self.add("Cast", sums, to=F32), factor)
            more = self.draw.pick(("", x, self.constant(self.floats(self.k)), self.constant(self.floats(1, self.k))))
            if more:
                part = self.add("Add", *self.draw.pick(((part, more), (more, part))))
            parts.append(part)
        self.last = parts[0] if len(parts) == 1 else self.add("Sub", *parts)

    def spoilt(self) -> None:
        """Numbers that quantizers seldom meet: all zeros, infinities, and NaN."""
        bad = self.constant(np.float32(self.draw.pick((0, np.inf, np.nan, 1e38))))
        some = self.add("Greater", self.last, self.constant(np.float32(self.draw.pick((-1e9, 0.5)))))
        last = self.add("Equal", "i", self.constant(np.int64(self.draw.integer(0, 4))))
        self.last = self.add("Where", self.add("And", some, last), bad, self.last)

    def there_and_back(self) -> None:
        how = self.draw.integer(0, 2)
        shape: tuple[int, ...] = ((), (self.k,), (self.m, -(-self.k // 4)))[how]
        attributes = {"axis": 1, **({"block_size": 4} if how == 2 else {})}
        inputs = self.constant(np.abs(self.floats(*shape)) + np.float32(0.01)), self.constant(self.few(*shape))
        q = self.add("QuantizeLinear", self.last, *inputs, **attributes)
        self.last = self.add("DequantizeLinear", q, *inputs, **attributes)

    def quantized(self) -> None:
        scale, zero = self.constant(np.float32(0.02)), self.constant(np.uint8(128))
        weights = self.few(self.k, self.k)
        inputs = self.constant(weights), scale, self.constant(np.zeros((), weights.dtype))
        q = self.add("QuantizeLinear", self.last, scale, zero)
        product = self.add("QLinearMatMul", q, scale, zero, *inputs, self.constant(np.float32(0.1)), zero)
        self.last = self.add("DequantizeLinear", product, scale, zero)

    def add_wide_product(self) -> None:
        """Bytes less their zero point, multiplied as 32-bit integers; now and then numbers that do not fit into
        bytes."""
        self.add("DynamicQuantizeLinear", self.last, outputs=3)
        q, _, index = self.nodes[-1].output
        less = self.add("Sub", *(self.add("Cast", v, to=TensorProto.INT32) for v in (q, index)))
        if self.draw.integer(0, 2) == 0:
            less = self.add("Mul", less, self.constant(np.int32(self.draw.pick((2, 1 << 20)))))
        weights = self.few(self.k, self.k).astype(np.int32) - self.draw.pick((0, 100))
        real = self.add("Cast", self.add("MatMul", less, self.constant(weights)), to=F32)
        self.last = self.add("Mul", real, self.constant(np.float32(1e-4)))

    def packed(self) -> None:
        b = self.rng.integers(0, 256, (self.k, -(-self.k // 16), 8), np.uint8)
        inputs = self.last, self.constant(b), self.constant(np.abs(self.floats(self.k, -(-self.k // 16))) / 8)
        self.last = self.add("MatMulNBits", *inputs, domain="com.microsoft", K=self.k, N=self.k, bits=4, block_size=16)

    def narrow(self) -> None:
        to = self.draw.pick(NARROW)
        dtype = helper.tensor_dtype_to_np_dtype(to)
        x = first = self.add("Cast", self.last, to=to)
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
        self.last = self.add("Cast", x, to=F32)


def model(
    draw: ChoiceSource, kinds: Sequence[str] = KINDS, last: str = "Tanh"
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A Loop with one carried tensor, and its inputs. ``kinds``: the kinds of nodes in its body."""
    m, k = draw.pick(SHAPES)
    body = LowBitNodeGenerator(draw, m, k)
    for _ in range(draw.integer(1, 4)):
        getattr(body, draw.pick(kinds))()
    body.last = body.add(last, body.last)
    state = [m, k]
    inner = helper.make_graph(
        [*body.nodes, helper.make_node("Identity", ["more"], ["keep"])],
        "body",
        [value_info("i", I64, []), value_info("more", BOOL, []), value_info("s", F32, state)],
        [value_info("keep", BOOL, []), value_info(body.last, F32, state), value_info(body.last, F32, state)],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["M", "", "x"], ["y", "ys"], body=inner)],
        "few",
        [value_info("M", I64, []), value_info("x", F32, state)],
        [value_info("y", F32, state), value_info("ys", F32, ["n", *state])],
        body.constants,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    feeds = {"M": np.asarray(draw.integer(0, 6)), "x": body.floats(m, k) * draw.pick((4, 4, 0))}
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


def other_inputs(feeds: dict[str, Any], draw: ChoiceSource) -> dict[str, Any]:
    """Inputs with more or fewer iterations, and another state."""
    return {"M": np.asarray(draw.integer(0, 6)), "x": feeds["x"] * np.float32(0.5)}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@example_settings(60, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_low_bit_loops_agree_in_all_modes(seed: int) -> None:
    draw = SeededChoices(seed)
    proto, feeds = model(draw)
    check_all_modes(lambda: load_proto(proto), feeds, other_inputs(feeds, draw), draw)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@example_settings(25, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_openvino_quantized_loops_agree_in_all_modes(seed: int) -> None:
    """OpenVINO's converter writes some twenty nodes for a dynamically quantized product."""
    openvino = pytest.importorskip("openvino")
    draw = SeededChoices(seed)
    proto, feeds = model(draw, ("dynamic", "dynamic", "spoilt", "add_wide_product"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "few.onnx"
        onnx.save(proto, path)
        openvino.save_model(openvino.convert_model(path), path.with_suffix(".xml"), compress_to_fp16=False)
        check_all_modes(lambda: loopdbg.load(path.with_suffix(".xml")), feeds, other_inputs(feeds, draw), draw)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@example_settings(40, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_low_bit_chains_equal_onnxruntime(seed: int) -> None:
    """Run one by one, onnxruntime's nodes round as ours do."""
    proto, feeds = model(SeededChoices(seed), ("tame",), last="Identity")
    theirs = onnxruntime_peer.run(proto, feeds, optimise=False)
    read = load_proto(proto)
    for _ in range(2):
        for name, ours in read.run(feeds).items():
            np.testing.assert_array_equal(ours, theirs[name])
