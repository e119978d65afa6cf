"""What the recurrent operators of an IR of 8 bits could take at best, as it says them and as the ONNX file says them.

python benchmarks/run.py --roofline build/real/lstm_language/int8.xml

OpenVINO's converter makes ``DynamicQuantizeLSTM`` an ``LSTMSequence`` of float32, whose weights are constants of
float32 that are whole multiples of a scale. Who computes that to the bit reads floats, or bytes that become floats
again before they are multiplied. Who runs the ONNX file multiplies bytes. Each is measured here: how fast one row is
multiplied with weights of such multiples, and how fast bytes are multiplied (by ONNX Runtime, with the model beside
the IR).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import onnx
from lxml import etree
from onnx import TensorProto, helper

import roofline

#: Where W of each operator is among its inputs; R follows.
GATE_COUNTS = {"LSTMSequence": 4, "GRUSequence": 3, "RNNSequence": 3}
ROWS, STEPS = 2048, 100


@dataclass(frozen=True)
class Int8Limits:
    """``widened``: weights that become floats and are multiplied with one row, a second; ``ops``: additions and
    multiplications of bytes a second."""

    widened_per_second: float
    ops_per_second: float


def measure_int8_limits() -> Int8Limits:
    """This machine, with one thread."""
    return Int8Limits(_measure_widening(), 2 * 768**3 / roofline.fastest_run(_int8_product_model(768)))


def _measure_widening() -> float:
    k = ROWS // 4
    weights = np.random.default_rng(0).integers(-127, 128, (k, ROWS)).astype(np.float32) * np.float32(0.01)
    body = onnx.parser.parse_graph(
        f"""body (int64 i, bool c, float[1,{k}] h) => (bool c2, float[1,{k}] g) {{
          c2 = Identity (c)
          all = MatMul (h, W)
          axis = Constant <value_ints = [1]> ()
          from = Constant <value_ints = [0]> ()
          to = Constant <value_ints = [{k}]> ()
          g = Slice (all, from, to, axis)
        }}"""
    )
    node = helper.make_node("Loop", ["M", "", "h0"], ["h"], body=body)
    row = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, k]) for name in ("h0", "h")]
    trips = helper.make_tensor_value_info("M", TensorProto.INT64, [])
    graph = helper.make_graph([node], "widened", [trips, row[0]], row[1:], [onnx.numpy_helper.from_array(weights, "W")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    import loopdbg

    loaded = loopdbg.load(model)
    inputs = {"M": np.int64(STEPS), "h0": np.zeros((1, k), np.float32)}
    return weights.size * STEPS / roofline.fastest_run(lambda: loaded.run(inputs))


def _int8_product_model(n: int):  # type: ignore[no-untyped-def]
    node = helper.make_node("MatMulInteger", ["a", "b"], ["c"])
    a = helper.make_tensor_value_info("a", TensorProto.UINT8, [n, n])
    c = helper.make_tensor_value_info("c", TensorProto.INT32, [n, n])
    b = onnx.numpy_helper.from_array(np.ones((n, n), np.int8), "b")
    graph = helper.make_graph([node], "bytes", [a], [c], [b])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return _session(model.SerializeToString(), {"a": np.ones((n, n), np.uint8)})


def _session(model: str | bytes, inputs: dict[str, np.ndarray]):  # type: ignore[no-untyped-def, type-arg]
    """A run of a model in ONNX Runtime, with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def layers(path: Path) -> list[tuple[list[int], list[int], list[int]]]:
    """The shapes of X, W and R of the recurrent operators of an IR.

    Raises:
        ValueError: one is not known.
    """
    found = []
    for layer in etree.parse(path).iter("layer"):
        if layer.get("type") in GATE_COUNTS:
            ports = [[int(d.text or 0) for d in port.findall("dim")] for port in layer.find("input").findall("port")]
            x, w, r = ports[0], *ports[GATE_COUNTS[layer.get("type")] :][:2]
            if min([*x, *w, *r]) < 1:
                raise ValueError(f"{path}: the shapes of {layer.get('name')} are not known")
            found.append((x, w, r))
    return found


def lines(path: Path, machine: roofline.MachineLimits, fast: Int8Limits) -> Iterator[str]:
    """Reading and computing at least, of weights as floats, as bytes that become floats, and as bytes; and runs."""
    import loopdbg

    found = layers(path)
    inputs = dict(np.load(path.parent / "inputs.npz"))
    model = loopdbg.load(path)
    ours = roofline.fastest_run(lambda: model.run(inputs))
    theirs = roofline.fastest_run(_session(str(path.with_suffix(".onnx")), inputs))
    flops = sum(2.0 * x[0] * x[1] * (prod(w) + prod(r)) for x, w, r in found)
    before = sum(2.0 * x[0] * x[1] * prod(w) for x, w, _ in found)
    widened = sum(prod(r) * x[1] for x, _, r in found)

    def reading(size: int) -> float:
        return sum(x[1] * size * prod(r) / machine.read_bandwidth(size * prod(r[1:])) for x, _, r in found)

    rows = (
        ("as floats", reading(4), flops / machine.flops, ours),
        (
            "as bytes made floats",
            reading(1),
            max(before / machine.flops + widened / fast.widened_per_second, flops / machine.flops),
            ours,
        ),
        ("the ONNX file: bytes", reading(1), flops / fast.ops_per_second, theirs),
    )
    for name, read, computed, run in rows:
        told = (read, computed, max(read, computed), run)
        yield roofline.ROW.format(
            f"{path.parent.name}, {name}"[:38], *(f"{one * 1e6:.0f}" for one in told), f"{told[2] / run:.2f}"
        )
