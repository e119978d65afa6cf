"""Small tensors and scalars: back edges that cross, pass through or share a result, captures, inner loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .text_program import TextProgram

SHAPES = ((), (1,), (3,), (2, 3))
BINARY = ("Add", "Sub", "Mul", "Min", "Max")
UNARY = ("Neg", "Abs", "Relu", "Identity")


def _type(shape: tuple[int, ...]) -> str:
    return f"float[{','.join(map(str, shape))}]" if shape else "float"


@st.composite
def programs(draw: st.DrawFn) -> TextProgram:
    """A Loop with 1 to 3 carried values, a captured one, scan outputs, a trip count, sometimes a condition, sometimes
    an inner loop; back edges may cross, pass through, or share a result."""
    shapes = [draw(st.sampled_from(SHAPES)) for _ in range(draw(st.integers(1, 3)))]
    available: list[tuple[str, tuple[int, ...]]] = [(f"p{k}", shape) for k, shape in enumerate(shapes)]
    available += [("w", (3,)), ("fi", ())]
    lines = ["fi = Cast <to = 1> (i)"]
    for n in range(draw(st.integers(0, 8))):
        name = f"t{n}"
        a, a_shape = draw(st.sampled_from(available))
        kind = draw(st.integers(0, 9))
        if kind < 6:
            b, b_shape = draw(st.sampled_from(available))
            lines.append(f"{name} = {draw(st.sampled_from(BINARY))} ({a}, {b})")
            shape = np.broadcast_shapes(a_shape, b_shape)
        elif kind < 8:
            lines.append(f"{name} = {draw(st.sampled_from(UNARY))} ({a})")
            shape = a_shape
        elif kind == 8:
            lines.append(f"{name} = ReduceMax <keepdims = 0> ({a})")
            shape = ()
        else:
            lines.append(f"""{name} = Loop <body = inner{n} (int64 j{n}, bool d{n}, {_type(a_shape)} u{n}) =>
                (bool d{n}_out, {_type(a_shape)} u{n}_out) {{
                    d{n}_out = Identity (d{n})
                    half{n} = Constant <value = float {{0.5}}> ()
                    m{n} = Mul (u{n}, half{n})
                    u{n}_out = Add (m{n}, half{n})
                }}> (i, , {a})""")
            shape = a_shape
        available.append((name, shape))
    results = []
    for k, shape in enumerate(shapes):
        fitting = [name for name, have in available if have == shape]
        results.append(draw(st.sampled_from(fitting)) if fitting else f"p{k}")
    # onnxruntime returns wrong values for direct outputs (docs/check.md B7) or refuses them: an Identity is inserted.
    outs = [f"r{k}" for k in range(len(shapes))]
    lines += [f"r{k} = Identity ({name})" for k, name in enumerate(results)]
    scanned = [draw(st.sampled_from(available)) for _ in range(draw(st.integers(0, 2)))]
    lines += [f"e{k} = Identity ({name})" for k, (name, _) in enumerate(scanned)]
    conditional = draw(st.booleans())
    if conditional:
        name, _ = draw(st.sampled_from(available))
        lines.append(f"top = ReduceMax <keepdims = 0> ({name})\nkeep = Less (top, bound)")
    else:
        lines.append("keep = Identity (c)")
    params = ", ".join(f"{_type(shape)} p{k}" for k, shape in enumerate(shapes))
    body_outs = [f"{_type(shape)} {out}" for out, shape in zip(outs, shapes, strict=True)]
    body_outs += [f"{_type(shape)} e{k}" for k, (_, shape) in enumerate(scanned)]
    parameters = ", ".join(f"{_type(shape)} v{k}" for k, shape in enumerate(shapes))
    finals = [f"{_type(shape)} o{k}" for k, shape in enumerate(shapes)]
    finals += [f"{_type((0, *shape)).replace('[0', '[N')} s{k}" for k, (_, shape) in enumerate(scanned)]
    names = ", ".join([f"o{k}" for k in range(len(shapes))] + [f"s{k}" for k in range(len(scanned))])
    text = f"""
    g (int64 M, bool cond, float[3] w, float bound, {parameters}) => ({", ".join(finals)}) {{
      {names} = Loop <body = body (int64 i, bool c, {params}) => (bool keep, {", ".join(body_outs)}) {{
        {chr(10).join(lines)}
      }}> (M, {"cond" if conditional else ""}, {", ".join(f"v{k}" for k in range(len(shapes)))})
    }}"""
    numbers = st.floats(-4, 4, width=32).map(lambda x: x + 0.0)  # no -0.0: Max of -0.0 and 0.0 may be either
    inputs: dict[str, Any] = {
        "M": np.int64(draw(st.integers(-1, 6))),
        "cond": np.array(draw(st.booleans())),
        "w": np.array(draw(st.lists(numbers, min_size=3, max_size=3)), np.float32),
        "bound": np.float32(draw(numbers)),
    }
    for k, shape in enumerate(shapes):
        flat = draw(st.lists(numbers, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        inputs[f"v{k}"] = np.array(flat, np.float32).reshape(shape)
    return TextProgram(text, {name: np.asarray(value) for name, value in inputs.items()})
