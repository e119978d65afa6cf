"""Small models for tests, from ONNX's text form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser

import loopdbg
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.graph import (
    BackEdge,
    Graph,
    LastValueOutput,
    Loop,
    Operation,
    ScanOutput,
    SlicedInput,
    System,
    TensorType,
    Value,
)

SAMPLES = Path(__file__).parents[2] / "sample_models"
_RNG = np.random.default_rng(3)


def random_floats(*shape: int) -> Any:
    """Random float32 numbers."""
    return _RNG.standard_normal(shape).astype(np.float32)


def proto(text: str, opset: int = 21) -> onnx.ModelProto:
    """The proto of a graph in ONNX text form."""
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')


def load_proto(source: onnx.ModelProto) -> loopdbg.Model:
    """A model loaded from memory."""
    return loopdbg.Model(frontend.from_proto(source, "test"))


def model(text: str, opset: int = 21) -> loopdbg.Model:
    """A model of a graph in ONNX text form, loaded."""
    return load_proto(proto(text, opset))


def text_with_initializers(text: str, **weights: Any) -> loopdbg.Model:
    """A model whose main graph has these initializers."""
    source = proto(text)
    source.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in weights.items())
    onnx.checker.check_model(source)
    return load_proto(source)


def rename_values(graph: onnx.GraphProto, new: Mapping[str, str]) -> None:
    """Rename values, including those of inner graphs."""
    for value in (*graph.input, *graph.output):
        value.name = new.get(value.name, value.name)
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new.get(name, name) for name in names]
        for attribute in node.attribute:
            rename_values(attribute.g, new)


def run(text: str, opset: int = 21, **inputs: Any) -> dict[str, Any]:
    """The outputs of a model, by name."""
    return model(text, opset).run(inputs)


def sample(name: str, **changed: float) -> tuple[loopdbg.Model, dict[str, Any]]:
    """A sample model and its inputs; ``changed`` replaces some of them."""
    path = SAMPLES / name
    with np.load(path.with_name(f"{path.stem}.inputs.npz")) as file:
        inputs = dict(file)
    for key, value in changed.items():
        inputs[key] = np.asarray(value, inputs[key].dtype)
    return loopdbg.load(path), inputs


SUM = """
sum (int64 M, float v0) => (float v, float[N] s) {
  v, s = Loop <body = body (int64 i, bool c, float v_in) => (bool keep, float v_out, float e) {
    keep = Constant <value = bool {1}> ()
    f = Cast <to = 1> (i)
    v_out = Add (v_in, f)
    e = Mul (v_out, v_out)
  }> (M, , v0)
}
"""

# Its condition could change at any time, and never does.
ENDLESS = """g (float v0) => (float v) {
    yes = Constant <value = bool {1}> ()
    v = Loop <body = body (int64 i, bool c, float a) => (bool keep, float b) {
        limit = Constant <value = float {2.0}> ()
        b = Cos (a)
        keep = Less (b, limit)
    }> (, yes, v0)
}"""

# M, cond and bound make it for, while and everything between.
COUNT = """
count (int64 M, bool cond, int64 v0, int64 bound) => (int64 v, int64[N] s) {
  v, s = Loop <body = body (int64 i, bool c, int64 v_in) => (bool keep, int64 v_out, int64 s_out) {
    one = Constant <value = int64 {1}> ()
    v_out = Add (v_in, one)
    keep = Less (v_out, bound)
    s_out = Identity (v_in)
  }> (M, cond, v0)
}
"""

NESTED = """
nested (int64 M, int64 K) => (int64 total, int64[N] seen) {
  zero = Constant <value = int64 {0}> ()
  total, seen = Loop <body = outer (int64 i, bool c, int64 t) => (bool c_out, int64 t_out, int64 last) {
    c_out = Identity (c)
    inner_total, inner_seen = Loop <body = inner (int64 j, bool d, int64 u) => (bool d_out, int64 u_out, int64 e) {
      d_out = Identity (d)
      product = Mul (i, j)
      u_out = Add (u, product)
      e = Identity (u_out)
    }> (K, , t)
    t_out = Identity (inner_total)
    last = ReduceSum <keepdims = 0> (inner_seen)
  }> (M, , zero)
}
"""

BRANCHES = """
b (int64 M, float v0) => (float v, float[N] s) {
  v, s = Loop <body = body (int64 i, bool c, float x) => (bool c, float y, float e) {
    two = Constant <value = int64 {2}> ()
    zero = Constant <value = int64 {0}> ()
    rest = Mod (i, two)
    even = Equal (rest, zero)
    y = If <then_branch = even_case () => (float up) {
        one = Constant <value = float {1}> ()
        up = Add (x, one)
      }, else_branch = odd_case () => (float x2) {
        x2 = Mul (x, x)
      }> (even)
    e = Identity (y)
  }> (M, , v0)
}
"""

# Decreasing rows.
ROWS = """
rows () => (float[6, 40] last, float[N, 6, 40] all) {
  M = Constant <value = int64 {8}> ()
  shape = Constant <value_ints = [6, 40]> ()
  begin = Constant <value_int = 0> ()
  end = Constant <value_int = 240> ()
  one = Constant <value_int = 1> ()
  flat = Range (begin, end, one)
  numbers = Cast <to = 1> (flat)
  first = Reshape (numbers, shape)
  [decay] last, all = Loop <body = step (int64 i, bool c, float[6,40] x) => (bool keep, float[6,40] y, float[6,40] e) {
    keep = Identity (c)
    half = Constant <value_float = 0.5> ()
    y = Mul (x, half)
    e = Identity (y)
  }> (M, , first)
}
"""


def cell_model(
    cell: str,
    states: int,
    shapes: list[tuple[int, ...]],
    attributes: dict[str, str],
    batch_size: int = 1,
    layers: int = 1,
) -> loopdbg.Model:
    """TensorIterators over 9 rows with one of OpenVINO's cells of 8; ``shapes``: of its weights, for the first layer.

    The input is ``X [batch_size, 9, 6]``; each further layer reads what the one before collected.
    """

    def value(name: str, *shape: int, constant: Any = None) -> Value:
        return Value(name, TensorType(np.dtype(np.float32), shape), constant)

    def loop(n: int, x: Value, size: int) -> Loop:
        part, row = value(f"part{n}", batch_size, 1, size), value(f"row{n}", batch_size, size)
        kept, collected = value(f"kept{n}", batch_size, 1, 8), value(f"rows{n}", batch_size, 9, 8)
        in_shape = Value("in_shape", constant=np.array([batch_size, size]))
        out_shape = Value("out_shape", constant=np.array([batch_size, 1, 8]))
        first, params, results, last = (
            [value(f"{word}{n}{k}", batch_size, 8) for k in range(states)] for word in ("h", "p", "r", "l")
        )
        of = [(shapes[0][0], size), *shapes[1:]] if n else shapes
        weights = [value(f"w{n}{k}", *shape, constant=random_floats(*shape) / 2) for k, shape in enumerate(of)]
        nodes: list[Any] = [
            Operation("row", "Reshape", "opset1", 1, [part, in_shape], [row], {"special_zero": "false"}),
            Operation("cell", cell, "opset4", 4, [row, *params, *weights], results, {"hidden_size": "8", **attributes}),
            Operation("kept", "Reshape", "opset1", 1, [results[0], out_shape], [kept], {"special_zero": "false"}),
        ]
        edges = [BackEdge(a, b, c) for a, b, c in zip(first, params, results, strict=True)]
        return Loop(
            f"ti{n}", "TensorIterator", "opset1", 1, [x, *first], [*last, collected],
            body=Graph("body", [part, *params], [*results, kept], nodes, [in_shape, out_shape, *weights]),
            system=System.OPENVINO, counted_by_slices=True, sliced_inputs=[SlicedInput(x, part, 1)], back_edges=edges,
            last_values=[LastValueOutput(e.result, out, e) for e, out in zip(edges, last, strict=True)],
            scan_outputs=[ScanOutput(kept, collected, 1, stack=False)],
        )  # fmt: skip

    x = value("X", batch_size, 9, 6)
    loops: list[Loop] = []
    for n in range(layers):
        loops.append(loop(n, loops[-1].scan_outputs[0].outer if loops else x, 8 if loops else 6))
    inputs = [
        x,
        *(edge.initial for loop_value in loops for edge in loop_value.back_edges if isinstance(edge.initial, Value)),
    ]
    outputs = [value for loop_entry in loops for value in loop_entry.outputs if value is not None]
    return loopdbg.Model(Graph("main", inputs, outputs, list(loops), system=System.OPENVINO))


def loop_text(
    nodes: str = "co = Identity (ci) xo = Add (x, x)",
    outputs: str = "bool co, float xo",
    inputs: str = "int64 i, bool ci, float x",
    call: str = "a = Loop (m, c, v)",
    result: str = "float a",
    graph_inputs: str = "int64 m, bool c, float v",
    before: str = "",
) -> str:
    """A model of one Loop, with replaceable parts."""
    head, arguments = call.split("Loop")
    body = f"<body: graph = b ({inputs}) => ({outputs}) {{ {nodes} }}>"
    return f"g ({graph_inputs}) => ({result}) {{ {before} {head}Loop {body} {arguments} }}"
