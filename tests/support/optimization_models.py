"""Models with one opportunity each, by kind of rewrite, and models that only look as if they had it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser

from ir_builder import IrNetBuilder, back_edges, input_map_entry, loop_sections, output_map_entry

_HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'


def _rows_loop(carried: str, body: str, results: str, outputs: str, initial: str = "h") -> str:
    """A Loop over the rows of ``X``, ``[N, 16]``."""
    return (
        f"m (float[N, 16] X, float[16] h) => ({outputs}) {{\n"
        "  zero = Constant <value = int64 {0}> ()\n  length = Shape (X)\n  count = Gather (length, zero)\n"
        "  true = Constant <value = bool {1}> ()\n"
        f"  {results} = Loop (count, true, {initial}) <body = b (int64 i, bool c, {carried}) {body}>\n}}"
    )


def _counted(parameters: str, inputs: str, results: str, body: str, outputs: str, count: str = "M") -> str:
    """A Loop of M iterations over ``x``, ``[16]``."""
    return (
        f"m (int64 M, float[16] x, float[16] w) => ({outputs}) {{\n"
        "  true = Constant <value = bool {1}> ()\n  one = Constant <value = int64 {1}> ()\n"
        f"  {results} = Loop ({count}, true, {inputs}) <body = b (int64 i, bool c{parameters}) {body}>\n}}"
    )


_CELL_START = (
    "  zero = Constant <value = int64 {0}> ()\n  length = Shape (X)\n  count = Gather (length, zero)\n"
    "  true = Constant <value = bool {1}> ()\n"
)
_RNN_HEAD = "m (float[N, 2, 8] X, float[2, 4] h0) => (float[K, 2, 4] Y, float[2, 4] h)"


def _weights(**sizes: tuple[int, ...]) -> str:
    """Initializers with fixed numbers."""
    texts = []
    for name, shape in sizes.items():
        total = 1
        for size in shape:
            total *= size
        numbers = ", ".join(f"{((k * 7919 + len(name) * 31) % 1000) / 1000 - 0.5:.3f}" for k in range(total))
        texts.append(f"float[{','.join(map(str, shape))}] {name} = {{{numbers}}}")
    return f"<{', '.join(texts)}>"


#: The text of a model, by kind.
MODELS: dict[str, str] = {
    "unread-carried": _counted(
        ", float[16] a, float[16] b",
        "x, w",
        "y, unused",
        "=> (bool c2, float[16] a2, float[16] b2) { c2 = Identity (c)  a2 = Sin (a)  t = Tan (b)  b2 = Add (t, a) }",
        "float[16] y",
    ),
    "unchanged-carried": _counted(
        ", float[16] a, float[16] b",
        "x, w",
        "y, same",
        "=> (bool c2, float[16] a2, float[16] b2) { c2 = Identity (c)  a2 = Add (a, b)  b2 = Identity (b) }",
        "float[16] y, float[16] same",
    ),
    "unused-scan-output": _counted(
        ", float[16] a",
        "x",
        "y, unused",
        "=> (bool c2, float[16] a2, float[16] s) { c2 = Identity (c)  a2 = Sin (a)  t = Tan (a)  s = Exp (t) }",
        "float[16] y",
    ),
    "unused-result": _counted(
        ", float[16] a",
        "x",
        "y",
        "=> (bool c2, float[16] a2) { c2 = Identity (c)  a2 = Sin (a)  t = Tan (a)  unused = Exp (t) }",
        "float[16] y",
    ),
    "invariant-node": _counted(
        ", float[16] a",
        "x",
        "y",
        "=> (bool c2, float[16] a2) { c2 = Identity (c)  e = Exp (w)  t = Tan (e)  u = Mul (a, t)  a2 = Sin (u) }",
        "float[16] y",
    ),
    "duplicate-node": _counted(
        ", float[16] a",
        "x",
        "y",
        "=> (bool c2, float[16] a2) { c2 = Identity (c)  s = Tan (a)  t = Tan (a)  u = Mul (s, t)  a2 = Sin (u) }",
        "float[16] y",
    ),
    "constant-condition": _counted(
        ", float[16] a",
        "x",
        "y",
        "=> (bool c2, float[16] a2) { n = Add (i, one)  l = Less (n, M)  c2 = And (c, l)  a2 = Sin (a) }",
        "float[16] y",
    ),
    "constant-if": _counted(
        ", float[16] a",
        "x",
        "y",
        "=> (bool c2, float[16] a2) { c2 = Identity (c)  any = Or (c, l)  l = Less (i, one)"
        "  a2 = If (any) <then_branch = t () => (float[16] p) { p = Sin (a) },"
        " else_branch = e () => (float[16] q) { q = Tan (a) }> }",
        "float[16] y",
    ).replace("any = Or (c, l)  l = Less (i, one)", "l = Less (i, one)  any = Or (c, l)"),
    "single-iteration": _counted(
        ", float[16] a",
        "x",
        "y, s",
        "=> (bool c2, float[16] a2, float[16] t) { c2 = Identity (c)  a2 = Sin (a)  t = Tan (a) }",
        "float[16] y, float[K, 16] s",
        "one",
    ),
    "unroll": _counted(
        ", float[16] a",
        "x",
        "y, s",
        "=> (bool c2, float[16] a2, float[16] t) { c2 = Identity (c)  a2 = Sin (a)  t = Tan (a) }",
        "float[16] y, float[K, 16] s",
        "three",
    ).replace("  one = ", "  three = Constant <value = int64 {3}> ()\n  one = "),
    "growing-concat": (
        "m (int64 M, float[16] x, float[L, 16] start) => (float[K, 16] all) {\n"
        "  true = Constant <value = bool {1}> ()\n  axes = Constant <value = int64[1] {0}> ()\n"
        "  y, all = Loop (M, true, x, start) <body = b (int64 i, bool c, float[16] a, float[P, 16] g)"
        " => (bool c2, float[16] a2, float[Q, 16] g2) { c2 = Identity (c)  a2 = Sin (a)"
        "  row = Unsqueeze (a2, axes)  g2 = Concat <axis = 0> (g, row) }>\n}"
    ),
    "map": _rows_loop(
        "float[16] a",
        "=> (bool c2, float[16] a2, float[16] s) { c2 = Identity (c)  a2 = Identity (a)"
        "  x = Gather (X, i)  t = Mul (x, h)  s = Relu (t) }",
        "last, s",
        "float[K, 16] s",
    )
    .replace(", float[16] a)", ")")
    .replace("float[16] a2, ", "")
    .replace("a2 = Identity (a)", "")
    .replace("last, s =", "s =")
    .replace("true, h)", "true)"),
    "prefix-sum": _rows_loop(
        "float[16] a",
        "=> (bool c2, float[16] a2, float[16] s) { c2 = Identity (c)  x = Gather (X, i)  a2 = Add (a, x)"
        "  s = Identity (a2) }",
        "last, s",
        "float[K, 16] s",
    ),
    "reduction": _rows_loop(
        "float[16] a",
        "=> (bool c2, float[16] a2) { c2 = Identity (c)  x = Gather (X, i)  t = Mul (x, x)  a2 = Add (a, t) }",
        "last",
        "float[16] last",
    ),
    "scan": _rows_loop(
        "float[16] a",
        "=> (bool c2, float[16] a2, float[16] s) { c2 = Identity (c)  x = Gather (X, i)  t = Mul (a, x)"
        "  a2 = Sin (t)  s = Cos (a2) }",
        "last, s",
        "float[16] last, float[K, 16] s",
    ),
    "lstm": (
        "m (float[N, 2, 8] X, float[2, 4] h0, float[2, 4] c0) => (float[K, 2, 4] Y, float[2, 4] h, float[2, 4] c)\n"
        + _weights(W=(12, 16), b=(16,))
        + "{\n"
        + _CELL_START
        + "  h, c, Y = Loop (count, true, h0, c0) <body = b (int64 i, bool k, float[2, 4] hi, float[2, 4] ci)"
        " => (bool k2, float[2, 4] ho, float[2, 4] co, float[2, 4] y) { k2 = Identity (k)  x = Gather (X, i)"
        "  xh = Concat <axis = 1> (x, hi)  p = MatMul (xh, W)  g = Add (p, b)"
        "  ig, jg, fg, og = Split <axis = 1> (g)  one = Constant <value = float {1}> ()  fo = Add (fg, ones)"
        "  f = Sigmoid (fo)  is = Sigmoid (ig)  os = Sigmoid (og)  j = Tanh (jg)  kept = Mul (ci, f)"
        "  new = Mul (is, j)  co = Add (kept, new)  tc = Tanh (co)  ho = Mul (tc, os)  y = Identity (ho) }>\n}"
    ).replace("one = Constant <value = float {1}> ()", "ones = Constant <value = float[4] {1, 1, 1, 1}> ()"),
    "gru": (
        _RNN_HEAD
        + "\n"
        + _weights(W=(8, 12), R=(4, 12), b=(12,), rb=(4,))
        + "{\n"
        + _CELL_START
        + "  h, Y = Loop (count, true, h0) <body = b (int64 i, bool k, float[2, 4] hi)"
        " => (bool k2, float[2, 4] ho, float[2, 4] y) { k2 = Identity (k)  x = Gather (X, i)  xw = MatMul (x, W)"
        "  a = Add (xw, b)  hr = MatMul (hi, R)  az, ar, an = Split <axis = 1> (a)  hz, hrr, hn = Split <axis = 1> (hr)"
        "  zs = Add (az, hz)  z = Sigmoid (zs)  rs = Add (ar, hrr)  r = Sigmoid (rs)  hnb = Add (hn, rb)"
        "  rh = Mul (r, hnb)  ns = Add (an, rh)  n = Tanh (ns)  one = Constant <value = float {1}> ()"
        "  rest = Sub (one, z)  new = Mul (rest, n)  old = Mul (z, hi)  ho = Add (new, old)  y = Identity (ho) }>\n}"
    ),
    "rnn": (
        _RNN_HEAD
        + "\n"
        + _weights(W=(8, 4), R=(4, 4), b=(4,))
        + "{\n"
        + _CELL_START
        + "  h, Y = Loop (count, true, h0) <body = b (int64 i, bool k, float[2, 4] hi)"
        " => (bool k2, float[2, 4] ho, float[2, 4] y) { k2 = Identity (k)  x = Gather (X, i)  xw = MatMul (x, W)"
        "  hr = MatMul (hi, R)  s = Add (xw, hr)  t = Add (s, b)  ho = Tanh (t)  y = Identity (ho) }>\n}"
    ),
}


def write_model(kind: str, folder: Path, text: str = "") -> Path:
    """Write the model of a kind, or of a text, as a file."""
    model = onnx.parser.parse_model(_HEADER + (text or MODELS[kind]))
    onnx.checker.check_model(model)
    path = folder / f"{kind}.onnx"
    onnx.save(model, path)
    return path


def large_inputs(kind: str, iterations: int = 300) -> dict[str, Any]:
    """Inputs for the model of a kind with many iterations."""
    random = np.random.default_rng(0)
    shapes = {"X": (iterations, 2, 8) if kind in ("lstm", "gru", "rnn") else (iterations, 16), "h": (16,), "x": (16,)}
    shapes |= {"w": (16,), "h0": (2, 4), "c0": (2, 4), "start": (1, 16)}
    values: dict[str, Any] = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    values["M"] = np.array(iterations)
    graph = onnx.parser.parse_model(_HEADER + MODELS[kind]).graph
    return {port.name: values[port.name] for port in graph.input}


def _element_loop(net: IrNetBuilder, body: IrNetBuilder, results: list[int], scans: list[int]) -> int:
    """A Loop of 100 iterations that carries ``a`` (and ``b``); ``results`` and ``scans`` are Results of the body."""
    trips, true = net.constant(np.int64(100), name="trips"), net.constant(np.array(True), name="true")
    carried = [net.parameter("16", name=name, names=name) for name in "xw"[: len(results)]]
    keep = body.result(body.constant(np.array(True), name="keep"))
    first = 2 + len(carried)
    entries = [input_map_entry(2 + k, k) for k in range(len(carried))]
    entries += [output_map_entry(first + k, result) for k, result in enumerate(results)]
    entries += [output_map_entry(first + len(results) + k, result, 'axis="0"') for k, result in enumerate(scans)]
    entries.append(output_map_entry(-1, keep, 'purpose="execution_condition"'))
    parts = loop_sections(body, entries, back_edges(*((result, k) for k, result in enumerate(results))))
    outputs = len(results) + len(scans)
    loop = net.layer("Loop", [trips, true, *carried], outputs, name="loop", version="opset5", shape="16", extra=parts)
    for k in range(outputs):  # as exporters do
        port = f'<port id="{first + k}" precision="FP32"'
        net.layers[loop] = net.layers[loop].replace(port, f'{port} names="out{k}"')
    net.result((loop, first), name="y")
    return loop


def write_ir(kind: str, folder: Path) -> Path:
    """Write an IR with one opportunity; ``kind``: one of ``IR_KINDS``."""
    net = IrNetBuilder()
    body = net.body_builder()
    a = body.parameter("16", name="a")
    if kind == "unused-scan-output":
        result = body.result(body.layer("Sin", [a], name="sin", shape="16"))
        _element_loop(net, body, [result], [body.result(body.layer("Tan", [a], name="tan", shape="16"))])
        return net.save(folder)
    b = body.parameter("16", name="b")
    if kind == "unchanged-carried":
        first = body.layer("Add", [a, b], name="add", shape="16")
        _element_loop(net, body, [body.result(first), body.result(b)], [])
    else:
        first = body.layer("Sin", [a], name="sin", shape="16")
        _element_loop(net, body, [body.result(first), body.result(body.layer("Tan", [b], name="tan", shape="16"))], [])
    return net.save(folder)


#: Kinds of rewrites of OpenVINO IRs.
IR_KINDS = ("unread-carried", "unchanged-carried", "unused-scan-output")

#: By kind, what to replace in its model so that it no longer has the opportunity.
NEAR_MISSES: dict[str, tuple[str, str]] = {
    "unread-carried": ("a2 = Sin (a)", "a2 = Add (a, b)"),
    "unchanged-carried": ("b2 = Identity (b)", "b2 = Neg (b)"),
    "unused-scan-output": ("float[16] y)", "float[16] y, float[K, 16] unused)"),
    "unused-result": ("a2 = Sin (a)  t = Tan (a)  unused = Exp (t)", "t = Tan (a)  u = Exp (t)  a2 = Sin (u)"),
    "invariant-node": ("Exp (w)", "Exp (a)"),
    "duplicate-node": ("t = Tan (a)", "t = Tan (w)"),
    "constant-condition": ("Less (n, M)", "Less (n, one)"),
    "constant-if": ("Or (c, l)", "And (c, l)"),
    "single-iteration": ("Loop (one", "Loop (M"),
    "unroll": ("Loop (three", "Loop (M"),
    "growing-concat": ("a2 = Sin (a)", "total = ReduceSum <keepdims = 0> (g)  a2 = Add (a, total)"),
    "map": ("s = Relu (t)", "s = Softmax <axis = 0> (t)"),
    "prefix-sum": ("a2 = Add (a, x)", "a2 = Sub (x, a)"),
    "reduction": ("t = Mul (x, x)", "t = Mul (x, a)"),
    "lstm": ("Tanh (jg)", "Relu (jg)"),
    "gru": ("Sub (one, z)", "Sub (one, r)"),
    "rnn": ("Tanh (t)", "Sin (t)"),
    "scan": ("t = Mul (a, x)", "f = Cast <to = 1> (i)  p = Mul (a, f)  t = Mul (p, x)"),
}
