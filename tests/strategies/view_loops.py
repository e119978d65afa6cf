"""Bodies in which tensors are transposed, sliced and reshaped between the nodes that compute with them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .text_program import SLICE_CONSTANTS

#: Enough bytes for view elision, too few for fusion.
SIZE = 576
SHAPES = ((24, 24), (12, 48), (1, 24, 24), (3, 8, 24), (4, 1, 144))
BINARY, UNARY = ("Add", "Sub", "Mul", "Max"), ("Neg", "Abs", "Relu", "Tanh", "Exp", "Floor", "Identity")

Value = tuple[str, tuple[int, ...]]


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A loop that carries two tensors, and collects a third."""
    values: list[Value] = [("x", SHAPES[0]), ("y", SHAPES[0]), ("w", SHAPES[0])]
    lines: list[str] = []

    def pick(rank: int | None = None) -> Value:
        fitting = [v for v in values if rank is None or len(v[1]) == rank]
        return fitting[-1 - min(draw(st.integers(0, 4)), len(fitting) - 1)]

    def add(text: str, shape: tuple[int, ...]) -> Value:
        lines.append(f"t{len(lines)} = {text}")
        values.append((f"t{len(lines) - 1}", shape))
        return values[-1]

    def reshaped(value: Value, shape: tuple[int, ...]) -> Value:
        lines.append(f"s{len(lines)} = Constant <value_ints = {list(shape)}> ()")
        return add(f"Reshape ({value[0]}, s{len(lines) - 1})", shape)

    def grow() -> None:
        name, shape = pick()
        rank = len(shape)
        match draw(st.integers(0, 9)):
            case 0 | 1:
                reshaped((name, shape), draw(st.sampled_from(SHAPES)))
            case 2 | 3:
                perm = draw(st.permutations(range(rank)))
                add(f"Transpose <perm = {list(perm)}> ({name})", tuple(shape[d] for d in perm))
            case 4:
                axis = draw(st.integers(0, rank - 1))
                way = draw(st.sampled_from(("flip", "turn")))
                add(f"Slice ({name}, {way}_from, {way}_to, axis{axis}, {way}_by)", shape)
            case 5:
                axis = draw(st.integers(0, rank - 1))
                half = (*shape[:axis], shape[axis] // 2, *shape[axis + 1 :])
                if shape[axis] % 2:
                    return
                n = len(lines)
                lines.append(f"p{n}, q{n} = Split <axis = {axis}, num_outputs = 2> ({name})")
                a, b = add(f"Neg (p{n})", half), add(f"Abs (q{n})", half)
                values.remove(a)
                values.remove(b)
                add(f"Concat <axis = {axis}> ({b[0]}, {a[0]})", shape)
            case 6:
                other = next((v for v in reversed(values[:-1]) if v[1] == shape), (name, shape))
                add(f"{draw(st.sampled_from(BINARY))} ({name}, {other[0]})", shape)
            case 7:
                add(f"{draw(st.sampled_from(UNARY))} ({name})", shape)
            case 8:
                lowered = add(f"ReduceSum <keepdims = 1> ({name}, axis{draw(st.integers(0, rank - 1))})", ())
                values.remove(lowered)
                add(f"Mul ({name}, {lowered[0]})", shape)
            case 9:
                turned = add(f"Transpose <perm = {[*range(rank - 2), rank - 1, rank - 2]}> ({name})",
                             (*shape[: rank - 2], shape[-1], shape[-2]))  # fmt: skip
                product = add(f"MatMul ({name}, {turned[0]})", ())
                values.remove(product)
                add(f"MatMul ({product[0]}, {name})", shape)

    for _ in range(draw(st.integers(4, 16))):
        grow()
    x, y = reshaped(pick(), SHAPES[0]), reshaped(pick(), SHAPES[0])
    seen = pick()
    assert all(math.prod(shape) == SIZE for _, shape in values)
    # The nodes after the loop alias memory where possible.
    after: list[str] = []
    tail = "x_last"
    for k, shape in enumerate(draw(st.lists(st.sampled_from(SHAPES), max_size=4))):
        turn = list(draw(st.permutations(range(len(shape)))))
        after.append(f"to{k} = Constant <value_ints = {list(shape)}> ()")
        after.append(f"cut{k} = Reshape ({tail}, to{k})")
        after.append(f"turned{k} = Transpose <perm = {turn}> (cut{k})")
        tail = draw(st.sampled_from((f"cut{k}", f"turned{k}")))
    text = f"""
    g (int64 M, float[24,24] x0, float[24,24] y0, float[24,24] w)
        => (float[24,24] x_last, float[24,24] y_last, float[N,{",".join(map(str, seen[1]))}] s, float[{SIZE}] flat) {{
      {SLICE_CONSTANTS}
      axis0 = Constant <value_ints = [0]> ()
      axis1 = Constant <value_ints = [1]> ()
      axis2 = Constant <value_ints = [2]> ()
      x_last, y_last, s = Loop <
        body = body (int64 i, bool c, float[24,24] x, float[24,24] y)
            => (bool c_out, float[24,24] x_out, float[24,24] y_out, float[{",".join(map(str, seen[1]))}] e) {{
          {chr(10).join(lines)}
          x_out = Tanh ({x[0]})
          y_out = Sin ({y[0]})
          e = Identity ({seen[0]})
          c_out = Identity (c)
        }}
      > (M, , x0, y0)
      {chr(10).join(after)}
      row = Constant <value_ints = [{SIZE}]> ()
      flat = Reshape ({tail}, row)
    }}"""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    inputs: dict[str, Any] = {"M": np.int64(draw(st.integers(3, 7)))}
    for name in ("x0", "y0", "w"):
        inputs[name] = rng.uniform(-2, 2, SHAPES[0]).astype(np.float32)
    return text, inputs
