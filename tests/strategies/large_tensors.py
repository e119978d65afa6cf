"""Bodies over large tensors, whose nodes run together block by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .text_program import SLICE_CONSTANTS

SCALAR_SHAPE = ()
TYPES = {"float": np.float32, "int64": np.int64, "bool": np.bool_}
BINARY = ("Add", "Sub", "Mul", "Max", "Min")
UNARY = {"float": ("Neg", "Abs", "Relu", "Tanh", "Exp", "Floor", "Identity"), "int64": ("Neg", "Abs", "Identity")}

#: Tensors of two and of three axes: blocks run along two of those, or along one if a reduction requires it.
SHAPES = ((96, 96), (4, 48, 48))
AXES = ("zero", "one", "two")

Value = tuple[str, str, tuple[int, ...]]  # name, type, shape


def declaration(value: Value) -> str:
    name, kind, shape = value
    return f"{kind}[{','.join(map(str, shape))}] {name}" if shape else f"{kind} {name}"


@dataclass
class LargeTensorBody:
    """A body under construction."""

    draw: st.DrawFn
    values: list[Value]
    full: tuple[int, ...]
    lines: list[str] = field(default_factory=list)

    def pick(self, *kinds: str, shape: tuple[int, ...] | None = None) -> Value:
        fitting = [v for v in self.values if v[1] in kinds and (shape is None or v[2] == shape)]
        # Later values are preferred, so that chains arise.
        return fitting[-1 - min(self.draw(st.integers(0, 5)), len(fitting) - 1)]

    def add(self, text: str, kind: str, shape: tuple[int, ...]) -> None:
        name = f"t{len(self.values)}"
        self.lines.append(f"{name} = {text}")
        self.values.append((name, kind, shape))

    def grow(self) -> None:
        what = self.draw(st.integers(0, 13))
        a = self.pick("float", "int64")
        if what < 4:
            b = self.pick(a[1])
            self.add(f"{self.draw(st.sampled_from(BINARY))} ({a[0]}, {b[0]})", a[1], np.broadcast_shapes(a[2], b[2]))
        elif what < 6:
            self.add(f"{self.draw(st.sampled_from(UNARY[a[1]]))} ({a[0]})", a[1], a[2])
        elif what == 6:
            b = self.pick(a[1])
            self.add(f"Less ({a[0]}, {b[0]})", "bool", np.broadcast_shapes(a[2], b[2]))
        elif what == 7:
            c, b = self.pick("bool"), self.pick(a[1])
            self.add(f"Where ({c[0]}, {a[0]}, {b[0]})", a[1], np.broadcast_shapes(a[2], b[2], c[2]))
        elif what == 8:
            b = self.pick("int64", "bool")
            self.add(f"Cast <to = 1> ({b[0]})", "float", b[2])
        elif what == 9:
            b = self.pick("float", "int64", shape=self.full)
            perm = "1, 0" if len(self.full) == 2 else "0, 2, 1"
            self.add(f"Transpose <perm = [{perm}]> ({b[0]})", b[1], self.full)
        elif what == 10:
            b = self.pick("float", "int64", shape=self.full)
            step, axis = self.draw(st.sampled_from(("flip", "turn"))), self.draw(st.sampled_from(("zero", "one")))
            self.add(f"Slice ({b[0]}, {step}_from, {step}_to, {axis}, {step}_by)", b[1], self.full)
        elif what == 11:
            b = self.pick("float", "int64", shape=self.full)
            op = self.draw(st.sampled_from(("ReduceMax", "ReduceMin", "ReduceSum")))
            axis = self.draw(st.integers(0, len(self.full) - 1))
            shape = (*self.full[:axis], 1, *self.full[axis + 1 :])
            self.add(f"{op} ({b[0]}, {AXES[axis]})", b[1], shape)
        elif what == 12:
            b = self.pick("float", "int64", shape=self.full)
            op = self.draw(st.sampled_from(("ReduceMax", "ReduceMin", "ReduceSum")))
            self.add(f"{op} <keepdims = 0> ({b[0]})", b[1], SCALAR_SHAPE)
        else:
            b = self.pick("float", "int64", shape=self.full)
            n = len(self.values)
            along = self.draw(st.integers(0, 1))
            self.lines.append(f"p{n}, q{n} = Split <axis = {along}, num_outputs = 2> ({b[0]})")
            self.add(f"Concat <axis = {along}> (q{n}, p{n})", b[1], self.full)


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A loop that carries a float and an int64 tensor, with captured rows, columns and scalars, and a scan output."""
    full = draw(st.sampled_from(SHAPES))
    outer: list[Value] = [
        ("row", "float", full[-1:]),
        ("column", "float", (full[-2], 1)),
        ("scalar", "float", SCALAR_SHAPE),
        ("counts", "int64", full),
        ("flags", "bool", full),
    ]
    carried: list[Value] = [("n", "int64", full), ("x", "float", full)]
    body = LargeTensorBody(draw, [*outer, *carried], full)
    for _ in range(draw(st.integers(3, 14))):
        body.grow()
    x, n = body.pick("float", shape=full), body.pick("int64", shape=full)
    body.lines += [f"n_out = BitwiseAnd ({n[0]}, mask)", f"x_near = Mul ({x[0]}, half)", "x_out = Tanh (x_near)"]
    seen = draw(st.sampled_from(body.values))
    body.lines.append(f"e = Identity ({seen[0]})")
    kind = declaration(seen).rpartition(" ")[0]
    stacked = f"{seen[1]}[N{''.join(f',{d}' for d in seen[2])}]"
    extents = ",".join(map(str, full))
    text = f"""
    g (int64 M, int64[{extents}] n0, float[{extents}] x0, {", ".join(map(declaration, outer))})
        => (int64[{extents}] n_last, float[{extents}] x_last, {stacked} s) {{
      half = Constant <value = float {{0.5}}> ()
      mask = Constant <value = int64 {{1023}}> ()
      zero = Constant <value_ints = [0]> ()
      one = Constant <value_ints = [1]> ()
      two = Constant <value_ints = [2]> ()
      {SLICE_CONSTANTS}
      n_last, x_last, s = Loop <
        body = body (int64 i, bool c, int64[{extents}] n, float[{extents}] x)
            => (bool c_out, int64[{extents}] n_out, float[{extents}] x_out, {kind} e) {{
          {chr(10).join(body.lines)}
          c_out = Identity (c)
        }}
      > (M, , n0, x0)
    }}"""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    inputs: dict[str, Any] = {"M": np.int64(draw(st.integers(3, 6)))}
    for name, kind, shape in (("n0", "int64", full), ("x0", "float", full), *outer):
        values = rng.uniform(-3, 3, shape)
        if draw(st.booleans()):
            values = np.where(rng.uniform(size=shape) < 0.5, np.copysign(0.0, values), values)
        if kind == "float" and draw(st.integers(0, 4)) == 0:
            values = np.where(rng.uniform(size=shape) < 0.01, rng.choice([np.nan, np.inf, -np.inf], size=shape), values)
        inputs[name] = np.asarray(values).astype(TYPES[kind])
    return text, inputs
