"""Carried tensors of varying length, which grow, shrink and swap ends; all numbers are small integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .text_program import TextProgram

# Applied to a [n, 2] tensor, with a result of shape [any, 2].
UPDATES = (
    "Concat <axis = 0> ({x}, row)",
    "Concat <axis = 0> ({x}, row, row)",
    "Concat <axis = 0> (row, {x})",
    "Concat <axis = 0> ({x}, {y})",
    "Slice ({x}, one, end, zero)",
    "Slice ({x}, zero, minus, zero)",
    "Slice ({x}, minus9, end, zero)",
    "Slice ({x}, zero, nine, zero)",
    "Identity ({x})",
    "Neg ({x})",
    "Add ({x}, row)",
    "Max ({x}, row)",
)
# The same with numbers computed from shapes and from the iteration; ``{n}`` is the prefix of assigned names.
_LENGTH = "{n}s = Shape ({x})\n {n}h = Slice ({n}s, zero, one, zero)\n"
COMPUTED_UPDATES = (
    _LENGTH + "{n}t = Concat <axis = 0> ({n}h, two)\n {n} = Reshape ({x}, {n}t)",
    _LENGTH + "{n}t = Concat <axis = 0> (minus, {n}h)\n {n}w = Reshape ({x}, {n}t)\n {n} = Reshape ({n}w, pairs)",
    _LENGTH + "{n}e = Sub ({n}h, one)\n {n} = Slice ({x}, zero, {n}e, zero)",
    _LENGTH + "{n}e = Sub ({n}h, two)\n {n} = Slice ({x}, {n}e, {n}h, zero)",
    _LENGTH + "{n} = Expand (row, {n}s)",
    _LENGTH + "{n} = ConstantOfShape ({n}s)",
    _LENGTH
    + """{n}q = Squeeze ({n}h)\n {n}r = Range (zero0, {n}q, one0)\n {n}f = Cast <to = 1> ({n}r)
         {n}m = Mod <fmod = 1> ({n}f, five)\n {n}u = Unsqueeze ({n}m, one)\n {n} = Add ({n}u, {x})""",
    "{n}i = Unsqueeze (i, zero)\n {n} = Slice ({x}, zero, {n}i, zero)",
    "{n}i = Unsqueeze (i, zero)\n {n} = Slice ({x}, {n}i, end, zero)",
    "{n}i = Unsqueeze (i, zero)\n {n}t = Concat <axis = 0> ({n}i, two)\n {n} = Expand (row, {n}t)",
)
# The number of elements depends on the data.
_COLUMN = "{n}c = Gather <axis = 1> ({x}, zero0)\n {n}l = Mod <fmod = 1> ({n}c, three)\n "
DATA_DEPENDENT_UPDATES = (
    _COLUMN + "{n}b = Cast <to = 9> ({n}l)\n {n} = Compress <axis = 0> ({x}, {n}b)",
    _COLUMN + "{n}b = Cast <to = 9> ({n}l)\n {n}k = Compress ({x}, {n}b)\n "
    "{n}u = Unsqueeze ({n}k, one)\n {n} = Add ({n}u, row)",
    _COLUMN
    + """{n}z = NonZero ({n}l)\n {n}p = Transpose <perm = [1, 0]> ({n}z)\n {n}f = Cast <to = 1> ({n}p)
         {n}m = Mod <fmod = 1> ({n}f, five)\n {n} = Add ({n}m, row)""",
    _COLUMN + "{n}z = NonZero ({n}l)\n {n}q = Squeeze ({n}z, zero)\n {n} = Gather <axis = 0> ({x}, {n}q)",
    _COLUMN
    + """{n}v, {n}h, {n}w, {n}a = Unique <sorted = 1> ({n}l)\n {n}u = Unsqueeze ({n}v, one)
         {n}g = Gather <axis = 0> ({x}, {n}h)\n {n} = Add ({n}u, {n}g)""",
    _COLUMN + "{n}v, {n}h, {n}w = Unique <sorted = 0> ({n}l)\n {n} = Gather <axis = 0> ({x}, {n}w)",
)
# A summary of a tensor, with a shape that does not depend on its length.
SUMMARIES = (
    "ReduceSum <keepdims = 0> ({x})",
    "ReduceSum <keepdims = 0> ({x}, zero)",
    "ReduceMax <keepdims = 0> (with_row)",
    "Shape ({x})",
    "Gather <axis = 0> (with_row, last)",
)


@st.composite
def programs(draw: st.DrawFn) -> TextProgram:
    """A Loop with one or two carried tensors of any length, often inside another one that runs ``K`` times."""
    count = draw(st.integers(1, 2))
    lines = [
        "f = Cast <to = 1> (i)",
        "step = Mod <fmod = 1> (f, five)",
        "row = Add (e, step)",
        "some = Cast <to = 9> (step)",
    ]

    def changed(source: list[str], prefix: str, most: int) -> list[str]:
        results = list(source)
        for n in range(draw(st.integers(1, most))):
            # Doubling at each step would soon fill the memory.
            kinds = [c for c in UPDATES if "{y}" not in c or (n == 0 and not prefix.startswith("in"))]
            name, x = f"{prefix}{n}", draw(st.sampled_from(results))
            if draw(st.booleans()):
                lines.append(f"{name} = {draw(st.sampled_from(kinds)).format(x=x, y='e')}")
            else:
                lines.append(draw(st.sampled_from((*COMPUTED_UPDATES, *DATA_DEPENDENT_UPDATES))).format(x=x, n=name))
            results.append(name)
        return results

    available = changed([f"p{k}" for k in range(count)], "t", 3)
    if draw(st.booleans()):
        start = draw(st.sampled_from(available))
        kind = draw(st.sampled_from([c for c in UPDATES if "{y}" not in c])).format(x="u")
        lines.append(f"""inner = Loop <body = inside (int64 j, bool d, float[a,2] u) => (bool d2, float[b,2] w) {{
            d2 = Identity (d)
            w = {kind}
        }}> (K, , {start})""")
        available.append("inner")
        available = changed(available, "after", 2)

    def chosen(result: str) -> str:
        """The output of one of two branches, depending on the iteration."""
        kinds = st.sampled_from([c for c in UPDATES if "{y}" not in c])
        then, other = (draw(kinds).format(x=draw(st.sampled_from(available))) for _ in range(2))
        return f"""{result} = If <
            then_branch = then_{result} () => (float[a,2] {result}t) {{ {result}t = {then} }},
            else_branch = else_{result} () => (float[b,2] {result}e) {{ {result}e = {other} }}> (some)"""

    for k in range(count):
        name, way = draw(st.sampled_from(available)), draw(st.integers(0, 2))
        ways = f"r{k} = Identity ({name})", f"r{k} = Concat <axis = 0> ({name}, row)"
        lines.append(ways[way] if way < 2 else chosen(f"r{k}"))
    seen = draw(st.sampled_from(available))
    view = draw(st.sampled_from(SUMMARIES)).format(x=seen)
    lines += [
        f"with_row = Concat <axis = 0> ({seen}, row)",
        f"view = {view}",
        "keep = Identity (c)",
    ]
    params = ", ".join(f"float[n{k},2] p{k}" for k in range(count))
    outs = ", ".join(f"float[m{k},2] r{k}" for k in range(count))
    kind = "int64[2]" if view.startswith("Shape") else "float[2]" if "zero" in view or "Gather" in view else "float"
    text = f"""
    g (int64 M, int64 K, {", ".join(f"float[k{k},2] v{k}" for k in range(count))}, float[1,2] e) =>
        ({", ".join(f"float[l{k},2] o{k}" for k in range(count))}, {_stacked_view(kind)} s)
    <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] minus = {{-1}},
     int64 zero0 = {{0}}, int64 one0 = {{1}}, int64[2] pairs = {{-1, 2}}, int64[1] nine = {{9}},
     int64[1] minus9 = {{-9}}, int64[1] end = {{9223372036854775807}}, int64 last = {{-1}}, float five = {{5}},
     float three = {{3}}> {{
      {", ".join(f"o{k}" for k in range(count))}, s = Loop <
        body = body (int64 i, bool c, {params}) => (bool keep, {outs}, {kind} view) {{
          {chr(10).join(lines)}
        }}> (M, , {", ".join(f"v{k}" for k in range(count))})
    }}"""
    inputs: dict[str, Any] = {
        "M": np.array(draw(st.integers(0, 25))),
        "K": np.array(draw(st.integers(0, 3))),
        "e": np.array([[draw(st.integers(-4, 4)), 1]], np.float32),
    }
    for k in range(count):
        length = draw(st.integers(0, 12))
        inputs[f"v{k}"] = np.arange(2 * length, dtype=np.float32).reshape(length, 2) % 7
    return TextProgram(text, inputs)


def _stacked_view(kind: str) -> str:
    return kind.replace("[", "[N,") if "[" in kind else f"{kind}[N]"
