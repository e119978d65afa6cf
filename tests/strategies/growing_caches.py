"""Bodies that append to tensors on an inner axis, and transpose, slice and stack the growing value before it is
used."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

#: An extent: a number, or the excess of a growing axis over that of the carried value.
Extent = int | tuple[str, int]
Value = tuple[str, tuple[Extent, ...]]

GROWING_EXTENT: Extent = ("n", 0)
UNARY, BINARY = ("Neg", "Abs", "Relu", "Identity", "Floor"), ("Add", "Sub", "Mul", "Max")
CONSTANTS = """axis0 = Constant <value_ints = [0]> ()
      axis1 = Constant <value_ints = [1]> ()
      axis2 = Constant <value_ints = [2]> ()
      axis3 = Constant <value_ints = [3]> ()
      zero = Constant <value_int = 0> ()
      last = Constant <value_int = -1> ()
      first = Constant <value_ints = [0]> ()
      second = Constant <value_ints = [1]> ()
      minus = Constant <value_ints = [-1]> ()
      five_before = Constant <value_ints = [-5]> ()
      far = Constant <value_ints = [1000]> ()"""


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A loop that carries a growing tensor [2, n, 8] or [1, 2, n, 8], another one that is only appended to, and two of
    them stacked."""
    shape: tuple[Extent, ...] = draw(
        st.sampled_from(
            [(2, GROWING_EXTENT, 8), (1, 2, GROWING_EXTENT, 8), (4, 8, GROWING_EXTENT), (3, 1, GROWING_EXTENT, 16)]
        )
    )
    axis = shape.index(GROWING_EXTENT)
    stack = (2, *shape)
    appended = tuple(("n", 1) if extent == GROWING_EXTENT else extent for extent in shape)
    values: list[Value] = [("x", shape), ("both", stack), ("cache", shape), ("cache_out", appended)]
    lines: list[str] = []

    def add(text: str, of: tuple[Extent, ...]) -> Value:
        lines.append(f"t{len(lines)} = {text}")
        values.append((f"t{len(lines) - 1}", of))
        return values[-1]

    def pick() -> Value:
        return values[-1 - min(draw(st.integers(0, 5)), len(values) - 1)]

    def view() -> None:
        name, of = pick()
        rank = len(of)
        match draw(st.integers(0, 6)):
            case 0:
                perm = draw(st.permutations(range(rank)))
                add(f"Transpose <perm = {list(perm)}> ({name})", tuple(of[d] for d in perm))
            case 1 if rank < 5:
                where = draw(st.integers(0, min(rank, 3)))
                add(f"Unsqueeze ({name}, axis{where})", (*of[:where], 1, *of[where:]))
            case 2 if 1 in of and rank > 2 and of.index(1) < 4:
                where = of.index(1)
                add(f"Squeeze ({name}, axis{where})", (*of[:where], *of[where + 1 :]))
            case 3 if rank > 2:
                where = draw(st.sampled_from([d for d in range(rank) if isinstance(of[d], int)]))
                index = draw(st.sampled_from(("zero", "last")))
                add(f"Gather <axis = {where}> ({name}, {index})", (*of[:where], *of[where + 1 :]))
            case 4:
                where = next((d for d in range(rank) if not isinstance(of[d], int)), -1)
                if 0 <= where < 4:
                    start, end, by = draw(st.sampled_from((("second", "far", -1), ("first", "minus", -1))))
                    longer = of[where]
                    assert not isinstance(longer, int)
                    # Sliced from a tensor longer than the carried value: never from an empty one.
                    if longer[1] > 0:
                        add(f"Slice ({name}, {start}, {end}, axis{where})",
                            (*of[:where], ("n", longer[1] + by), *of[where + 1 :]))  # fmt: skip
            case _:
                add(f"{draw(st.sampled_from(UNARY))} ({name})", of)

    def compute() -> None:
        name, of = pick()
        match draw(st.integers(0, 4)):
            case 0:
                other = next((v for v in values[:-1] if v[1] == of), (name, of))
                add(f"{draw(st.sampled_from(BINARY))} ({name}, {other[0]})", of)
            case 1:
                where = next((d for d in range(len(of)) if isinstance(of[d], int)), -1)
                extent = of[where]
                if where >= 0 and isinstance(extent, int) and extent < 16:
                    other = next((v for v in values[:-1] if v[1] == of), (name, of))
                    add(f"Concat <axis = {where}> ({other[0]}, {name})", (*of[:where], 2 * extent, *of[where + 1 :]))
            case 2:
                grown()
            case 3 if len(of) > 1:
                turned = (*of[:-2], of[-1], of[-2])
                across = add(f"Transpose <perm = {[*range(len(of) - 2), len(of) - 1, len(of) - 2]}> ({name})", turned)
                if draw(st.booleans()):
                    product = add(f"MatMul ({name}, {across[0]})", ())
                    values.remove(product)
                    add(f"MatMul ({product[0]}, {name})", of)
            case _:
                add(f"Mul ({name}, half)", of)

    def grown() -> Value:
        alike = [v for v in values if v[1] == shape]
        return add(f"Concat <axis = {axis}> ({draw(st.sampled_from(alike))[0]}, row)", appended)

    grown()
    for _ in range(draw(st.integers(2, 10))):
        view() if draw(st.integers(0, 2)) else compute()
    longer = grown()[1]
    a, b = (draw(st.sampled_from([v for v in values if v[1] == longer])) for _ in range(2))
    up = [add(f"Unsqueeze ({v[0]}, axis0)", (1, *longer)) for v in (a, b)]
    result = draw(st.sampled_from([v for v in values if v[1] == longer]))
    seen = pick()
    dims = ",".join("n" if extent == GROWING_EXTENT else str(extent) for extent in shape)
    carried, later, ended = (dims.replace("n", name) for name in "klm")
    first = ",".join("1" if extent == GROWING_EXTENT else str(extent) for extent in shape)
    text = f"""
    g (int64 M, float[{dims}] x0, float[2,{dims}] both0, float[{dims}] cache0, float[{first}] e, float half)
        => (float[{ended}] x_last, float[2,{ended}] both_last, float[{ended}] cache_last, float[N] s) {{
      {CONSTANTS}
      x_last, both_last, cache_last, s = Loop <
        body = body (int64 i, bool c, float[{carried}] x, float[2,{carried}] both, float[{carried}] cache)
            => (bool c_out, float[{later}] x_out, float[2,{later}] both_out, float[{later}] cache_out, float e_out) {{
          f = Cast <to = 1> (i)
          row = Add (e, f)
          cache_out = Concat <axis = {axis}> (cache, row)
          {chr(10).join(lines)}
          x_out = {"Identity" if draw(st.booleans()) else "Relu"} ({result[0]})
          both_out = Concat <axis = 0> ({up[0][0]}, {up[1][0]})
          e_out = ReduceSum <keepdims = 0> ({seen[0]})
          c_out = Identity (c)
        }}
      > (M, , x0, both0, cache0)
    }}"""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    length = draw(st.integers(0, 4))

    def numbers(of: tuple[Extent, ...], grows: int) -> Any:
        return rng.uniform(-2, 2, [extent if isinstance(extent, int) else grows for extent in of]).astype(np.float32)

    inputs: dict[str, Any] = {"M": np.int64(draw(st.integers(3, 16))), "half": np.float32(0.5)}
    inputs |= {"x0": numbers(shape, length), "both0": numbers(stack, length), "cache0": numbers(shape, length)}
    inputs["e"] = numbers(shape, 1)
    return text, inputs
