"""Small models for tests, from ONNX's text form."""

from __future__ import annotations

from typing import Any

import onnx.parser

import loopdbg
from loopdbg.runtime.frontends import onnx as frontend


def proto(text: str, opset: int = 21) -> onnx.ModelProto:
    """A model of a graph in ONNX text form."""
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')


def model(text: str, opset: int = 21) -> loopdbg.Model:
    """The same, loaded."""
    return loopdbg.Model(frontend.from_proto(proto(text, opset), "test"))


def run(text: str, opset: int = 21, **inputs: Any) -> dict[str, Any]:
    """The outputs of a model, by name."""
    return model(text, opset).run(inputs)


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
