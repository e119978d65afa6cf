"""Minimum time of the recurrent operators of an 8-bit IR, in the form of the IR and of the ONNX file.

python benchmarks/run.py --roofline build/real/lstm_language/int8.xml

OpenVINO's converter turns ``DynamicQuantizeLSTM`` into an ``LSTMSequence`` of float32, whose weights are float32
multiples of a scale. A bitwise exact implementation reads floats, or bytes that it converts to floats before the
multiplication. An implementation of the ONNX file multiplies bytes. Both are measured here: products of one row with
such weights, and products of bytes (by ONNX Runtime, with the model in the folder of the IR).
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
from loopdbg.debugger.profiling.roofline import MachineLimits, fastest_run_seconds

#: Index of the input W of each operator; R follows.
GATE_COUNTS = {"LSTMSequence": 4, "GRUSequence": 3, "RNNSequence": 3}
ROWS, STEPS = 2048, 100


@dataclass(frozen=True)
class Int8Limits:
    """``widened_per_second``: weights that are converted to floats and multiplied with one row; ``ops_per_second``:
    additions and multiplications of bytes."""

    widened_per_second: float
    ops_per_second: float


def measure_int8_limits() -> Int8Limits:
    """Measure this machine, with one thread."""
    return Int8Limits(_measure_widening_rate(), 2 * 768**3 / fastest_run_seconds(_int8_product_model(768)))


def _measure_widening_rate() -> float:
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
    return weights.size * STEPS / fastest_run_seconds(lambda: loaded.run(inputs))


def _int8_product_model(n: int):  # type: ignore[no-untyped-def]
    node = helper.make_node("MatMulInteger", ["a", "b"], ["c"])
    a = helper.make_tensor_value_info("a", TensorProto.UINT8, [n, n])
    c = helper.make_tensor_value_info("c", TensorProto.INT32, [n, n])
    b = onnx.numpy_helper.from_array(np.ones((n, n), np.int8), "b")
    graph = helper.make_graph([node], "bytes", [a], [c], [b])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return _onnxruntime_run(model.SerializeToString(), {"a": np.ones((n, n), np.uint8)})


def _onnxruntime_run(model: str | bytes, inputs: dict[str, np.ndarray]):  # type: ignore[no-untyped-def, type-arg]
    """Return a run of a model in ONNX Runtime, with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def layers(path: Path) -> list[tuple[list[int], list[int], list[int]]]:
    """Return the shapes of X, W and R of the recurrent operators of an IR.

    Raises:
        ValueError: an unknown shape.
    """
    shapes = []
    for layer in etree.parse(path).iter("layer"):
        if layer.get("type") in GATE_COUNTS:
            ports = [[int(d.text or 0) for d in port.findall("dim")] for port in layer.find("input").findall("port")]
            x, w, r = ports[0], *ports[GATE_COUNTS[layer.get("type")] :][:2]
            if min([*x, *w, *r]) < 1:
                raise ValueError(f"{path}: the shapes of {layer.get('name')} are not known")
            shapes.append((x, w, r))
    return shapes


def lines(path: Path, machine: MachineLimits, fast: Int8Limits) -> Iterator[str]:
    """Yield minimum times with weights as floats, as bytes converted to floats, and as bytes; and actual times."""
    import loopdbg

    shapes = layers(path)
    inputs = dict(np.load(path.parent / "inputs.npz"))
    model = loopdbg.load(path)
    seconds = fastest_run_seconds(lambda: model.run(inputs))
    onnxruntime_seconds = fastest_run_seconds(_onnxruntime_run(str(path.with_suffix(".onnx")), inputs))
    flops = sum(2.0 * x[0] * x[1] * (prod(w) + prod(r)) for x, w, r in shapes)
    input_flops = sum(2.0 * x[0] * x[1] * prod(w) for x, w, _ in shapes)
    widened = sum(prod(r) * x[1] for x, _, r in shapes)

    def reading_seconds(size: int) -> float:
        return sum(x[1] * size * prod(r) / machine.read_bandwidth(size * prod(r[1:])) for x, _, r in shapes)

    rows = (
        ("as floats", reading_seconds(4), flops / machine.flops, seconds),
        (
            "as bytes made floats",
            reading_seconds(1),
            max(input_flops / machine.flops + widened / fast.widened_per_second, flops / machine.flops),
            seconds,
        ),
        ("the ONNX file: bytes", reading_seconds(1), flops / fast.ops_per_second, onnxruntime_seconds),
    )
    for name, read, computed, run in rows:
        times = (read, computed, max(read, computed), run)
        yield roofline.ROW.format(
            f"{path.parent.name}, {name}"[:38], *(f"{value * 1e6:.0f}" for value in times), f"{times[2] / run:.2f}"
        )
