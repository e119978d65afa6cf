"""Sliced rows, their products, and invariants, some of which fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st

import loopdbg
from loopdbg.runtime.frontends.onnx import reader as frontend
from text_models import proto

from . import text_program

ROW = "float[1,4]"


@dataclass
class LimitedTextProgram(text_program.TextProgram):
    """A program with a limit. ``max_iterations``: the limit that it runs with."""

    max_iterations: int | None


#: Rows [1, 3] that depend on the iteration number alone. `{i}` is that number, `{to}` the name of the result.
ROWS = (
    "{to} = Gather <axis = 0> (X, {i})",
    "{to} = Gather <axis = 1> (Y, {i})",
    "{to}_i = Unsqueeze ({i}, zero1)\n {to}_r = Gather <axis = 0> (X, {to}_i)\n {to} = Squeeze ({to}_r, zero1)",
    "{to}_t = Gather <axis = 0> (tokens, {i})\n {to} = Gather <axis = 0> (table, {to}_t)",
)
ELEMENTWISE = (
    "{to} = Relu ({a})",
    "{to} = Mul ({a}, w3)",
    "{to} = Add (w3, {a})",
    "{to}_t = Transpose <perm = [1, 0]> ({a})\n {to} = Reshape ({to}_t, one_three)",
)
#: Products [1, 4] of such rows.
PRODUCTS = (
    "{to} = MatMul ({a}, W)",
    "{to} = MatMul ({a}, V)",
    "{to} = Gemm <transB = 1, beta = 0.5> ({a}, Wt, b)",
    "{to}_m = MatMul ({a}, S)\n {to}_r = Relu ({to}_m)\n {to} = MatMul ({to}_r, W)",
    "{to}_m = MatMul ({a}, W)\n {to} = Add (b, {to}_m)",
)
#: Invariants [4]; some fail if `at` is out of bounds.
INVARIANTS = (
    "{to} = Mul (b, b)",
    "{to}_s = Add (b, b)\n {to} = Sqrt ({to}_s)",
    "{to}_g = Gather <axis = 0> (V, at)\n {to} = Add ({to}_g, b)",
    "{to}_w = Gather <axis = 0> (w3, at)\n {to} = Sub ({to}_w, b)",
)


def body(draw: st.DrawFn, tag: str, number: str, carried: str, products: bool, depth: int) -> tuple[list[str], str]:
    """Lines of a body, and the name of their final [1, 4] value; the names that they assign begin with ``tag``."""
    lines: list[str] = []
    terms = [carried]
    for n in range(draw(st.integers(0, 2)) if products else 0):
        name = f"{tag}x{n}"
        lines.append(draw(st.sampled_from(ROWS)).format(to=name, i=number))
        for _ in range(draw(st.integers(0, 2))):
            lines.append(draw(st.sampled_from(ELEMENTWISE)).format(a=name, to=f"{name}c"))
            name += "c"
        for m in range(draw(st.integers(1, 2))):
            terms.append(f"{name}p{m}")
            lines.append(draw(st.sampled_from(PRODUCTS)).format(a=name, to=terms[-1]))
    for n in range(draw(st.integers(0, 2))):
        terms.append(f"{tag}v{n}")
        lines.append(draw(st.sampled_from(INVARIANTS)).format(to=terms[-1]))
    if products and draw(st.booleans()):
        terms.append(f"{tag}hR")
        lines.append(f"{terms[-1]} = MatMul ({carried}, R)")
    if draw(st.booleans()):
        terms.append(f"{tag}if")
        lines.append(f"""{terms[-1]} = If <
            then_branch = {tag}then () => ({ROW} {tag}up) {{
                {tag}risky = Gather <axis = 0> (V, at)
                {tag}up = Add ({carried}, {tag}risky)
            }}, else_branch = {tag}else () => ({ROW} {tag}down) {{ {tag}down = Neg ({carried}) }}> (flag)""")
    if depth and draw(st.booleans()):
        inner, result = body(draw, f"{tag}n", f"{tag}j", f"{tag}u", products, depth - 1)
        terms.append(f"{tag}loop")
        lines.append(f"""{terms[-1]} = Loop <
            body = {tag}inner (int64 {tag}j, bool {tag}d, {ROW} {tag}u) => (bool {tag}e, {ROW} {tag}o) {{
                {tag}e = Identity ({tag}d)
                {chr(10).join(inner)}
                {tag}same = Add ({terms[draw(st.integers(0, len(terms) - 2))]}, b)
                {tag}sum = Add ({result}, {tag}same)
                {tag}o = Mul ({tag}sum, quarter)
            }}> (trips, , {carried})""")
    total = terms[0]
    for n, term in enumerate(terms[1:]):
        lines.append(f"{tag}t{n} = Add ({total}, {term})")
        total = f"{tag}t{n}"
    return lines, total


@st.composite
def programs(draw: st.DrawFn, products: bool) -> LimitedTextProgram:
    """A Loop over rows, with or without a condition, and a trip count that may exceed the number of rows."""
    lines, result = body(draw, "a", "i", "h", products, 1)
    conditional = draw(st.booleans())
    lines.append("keep = Less (i, stop)" if conditional else "keep = Identity (more)")
    text = f"""
    g (int64 M, int64 trips, int64 stop, int64 at, bool flag, float[r,1,3] X, float[1,q,3] Y, int64[r] tokens,
       float[3,4] V, {ROW} h0) => ({ROW} h_last, float[n,1,4] rows)
    <float quarter = {{0.25}}, int64[1] zero1 = {{0}}, int64[2] one_three = {{1, 3}}, bool cond = {{1}}>
    {{
      h_last, rows = Loop <body = step (int64 i, bool more, {ROW} h) => (bool keep, {ROW} h_next, {ROW} row) {{
        {chr(10).join(lines)}
        scaled = Mul ({result}, quarter)
        h_next = Identity (scaled)
        row = Identity (scaled)
      }}> ({draw(st.sampled_from(("M", "M", "M", "")))}, {"cond" if conditional else ""}, h0)
    }}"""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    rows = draw(st.integers(1, 12))
    inputs: dict[str, Any] = {
        "M": np.int64(draw(st.sampled_from((-1, 0, 1, 3, rows, rows, rows, rows + 2)))),
        "trips": np.int64(draw(st.integers(-1, 3))),
        "stop": np.int64(draw(st.integers(0, rows + 2))),
        "at": np.int64(draw(st.sampled_from((0, 1, 2, 7)))),
        "flag": np.bool_(draw(st.booleans())),
        "X": rng.standard_normal((rows, 1, 3)).astype(np.float32),
        "Y": rng.standard_normal((1, rows + draw(st.integers(-1, 2)), 3)).astype(np.float32),
        "tokens": rng.integers(0, 5, rows),
        "V": rng.standard_normal((3, 4)).astype(np.float32),
        "h0": rng.standard_normal((1, 4)).astype(np.float32),
    }
    limit = draw(st.sampled_from((None, None, None, 0, 2, 6)))
    return LimitedTextProgram(text, {name: np.asarray(value) for name, value in inputs.items()}, limit)


def weights() -> list[onnx.TensorProto]:
    rng = np.random.default_rng(7)
    shapes = {"W": (3, 4), "Wt": (4, 3), "S": (3, 3), "R": (4, 4), "b": (4,), "w3": (3,), "table": (5, 1, 3)}
    return [
        onnx.numpy_helper.from_array(rng.uniform(-0.5, 0.5, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]


def load_program(program: LimitedTextProgram) -> loopdbg.Model:
    source = proto(program.text)
    source.graph.initializer.extend(weights())
    onnx.checker.check_model(source)
    return loopdbg.Model(frontend.from_proto(source, "random"))
